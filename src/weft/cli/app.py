"""The command line: its commands, each imported when it is called, so that help comes at once."""

import logging
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from weft import __version__

SETTINGS = {"help_option_names": ["-h", "--help"]}
SUMMARIES = {  # of the commands: the first lines of their help
    "check": "Check queries for mistakes, without events: syntax, names, types as far as they are known.",
    "explain": "Show the normal forms of queries and their shared plan as a tree.",
    "test": "Test rules: find out whether they find in small tables of events what they should.",
    "run": "Find all matches of queries in events, and the aggregates of trend queries.",
    "why": "Say how far a rule gets on given events, step by step, and what it misses most narrowly.",
    "stream": "Find matches in a stream, as its events come.",
    "warm": "Compile all kernels now, so that nobody waits for them later.",
    "place": "Decide which parts of queries to evaluate at which sites, so that little is sent between them.",
    "demo": "Find fraud in a million events of a bank: twenty queries, one shared plan, some matches "
    "to read.",
}
WITHOUT_WAIT = ("check", "warm")  # commands that compile no kernels, or do nothing else


class LazyGroup(TyperGroup):
    """A group that knows the summaries of its commands, and imports a command when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of a command, the command itself, and the arguments that are left."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, known and load_command(str(name)), rest


def load_command(name: str) -> Any:
    """Return the command that the module of its name has, with all its options."""
    module = import_module(f"weft.cli.{name}")
    if name not in WITHOUT_WAIT:
        import_module("weft.cli.report").say_when_compiling()
    single = typer.Typer(add_completion=False, rich_markup_mode="rich", context_settings=SETTINGS)
    single.command(name, epilog=module.EXAMPLES)(getattr(module, name))
    return get_command(single)


app = typer.Typer(
    cls=LazyGroup,
    name="weft",
    help="Find patterns of events with Spark: many queries, one shared plan.\n\n"
    "Queries stand in *.weft files, or as statements of CCL in *.ccl files. The best plan is searched for, "
    "or one is read from a file: see --plan of weft run.",
    epilog="Start with: weft demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings=SETTINGS,
)


def _show_version(value: bool) -> None:  # noqa: FBT001 - as Typer calls it
    if value:
        typer.echo(f"weft {__version__}")
        raise typer.Exit


@app.callback()
def weft(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


for _name, _summary in SUMMARIES.items():
    app.command(_name, help=_summary)(lambda: None)  # it stands in the list of commands, and is never called


def main() -> None:
    """Run the command line."""
    # The bridge to Java logs stack traces when it is interrupted; what matters is told by us.
    logging.getLogger().addHandler(logging.NullHandler())
    app()
