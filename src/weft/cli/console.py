"""What every command uses: the console, files and their errors, the argument QUERIES."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from weft.errors import WeftError

FAILED, INTERRUPTED = 1, 130
PLAIN_WIDTH = 160  # columns when the output is no terminal: wide enough that nothing is cut

Queries = Annotated[
    Path,
    typer.Argument(metavar="QUERIES", help="A file of queries, or a directory of *.weft and *.ccl files."),
]


def terminal(*, error: bool = False) -> Console:
    """Return a console on standard output or standard error."""
    console = Console(stderr=error, highlight=False)
    return console if console.is_terminal else Console(stderr=error, highlight=False, width=PLAIN_WIDTH)


def say_error(message: str) -> None:
    """Print a message for people on standard error, line ends as they are."""
    terminal(error=True).print(Text(message), soft_wrap=True)


def say_cautions(cautions: Iterable[object]) -> None:
    """Print on standard error what is likely to explode."""
    for caution in cautions:
        say_error(f"caution: {caution}")


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
