"""What every command uses: the console, files and their errors, the argument QUERIES."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from weft.errors import WeftError
from weft.notices import Notice
from weft.runtime.budget import RAISING

FAILED, STOPPED, INTERRUPTED = 1, 3, 130  # 2 is for options that are wrong; STOPPED: a query, not all of them
PLAIN_WIDTH = 160  # columns when the output is no terminal: wide enough that nothing is cut

Queries = Annotated[
    Path,
    typer.Argument(metavar="QUERIES", help="A file of queries, or a directory of *.weft and *.ccl files."),
]


def terminal(*, error: bool = False) -> Console:
    """Return a console on standard output or standard error."""
    console = Console(stderr=error, highlight=False)
    return console if console.is_terminal else Console(stderr=error, highlight=False, width=PLAIN_WIDTH)


def in_options(message: str) -> str:
    """Return a message that speaks of the options of the command line, where it does of arguments in Python.

    >>> (
    ...     in_options("too many" + RAISING.format("partial_matches")),
    ...     in_options("many" + RAISING.format("held")),
    ... )
    ('too many, or raise the budget (--budget)', 'many')
    """
    told = re.escape(RAISING).replace(r"\{\}", r"(\w+)")
    option = {"partial_matches": ", or raise the budget (--budget)"}
    return re.sub(told, lambda found: option.get(found[1], ""), message)


def say_error(message: str) -> None:
    """Print a message for people on standard error, line ends as they are."""
    terminal(error=True).print(Text(in_options(message)), soft_wrap=True)


def say_notices(notices: Iterable[Notice]) -> None:
    """Print on standard error what a person should know; of compilation this is said when it begins."""
    for notice in notices:
        if notice.kind == "compilation":
            continue
        say_error(f"{'caution' if notice.kind == 'caution' else 'notice'}: {notice}")


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn what goes wrong into a message on standard error and an exit status."""
    try:
        yield
    except WeftError as error:
        say_error(str(error))
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        say_error("interrupted")
        raise typer.Exit(INTERRUPTED) from None


def check_picture(path: str | None) -> None:
    """Refuse a file of --picture that is no SVG."""
    if path is not None and not path.endswith(".svg"):
        raise WeftError(f"--picture {path}: expected a name that ends in .svg")
