"""The command `weft check`: what is wrong with queries, without events and without Spark."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from weft.cli.console import Queries, report_errors, say_notices, terminal
from weft.cli.groups import with_groups
from weft.cli.policy_options import PolicyOptions
from weft.explanation.contradictions import contradictions, contradictions_of_usual_times
from weft.language.literals import format_duration
from weft.language.printer import pattern_to_text, window_to_text
from weft.language.read import read_queries
from weft.normalize.cautions import list_cautions
from weft.pattern.nodes import Query

EXAMPLES = "Examples:\n\n  weft check fraud.weft\n\n  weft check queries/ --time at"


@with_groups
def check(
    queries: Queries,
    *,
    time: Annotated[str, typer.Option(help="The column of the event time, for conditions on it.")] = "ts",
    policies: PolicyOptions,
) -> None:
    """Check queries for mistakes, without events: syntax, names, types as far as they are known."""
    with report_errors():
        bound = read_queries(queries, None, tie_break=True, default=policies.policy(), time=time)
        terminal().print(queries_table(bound))
        say_notices(contradictions(bound, {time, "time"}, tie_break=True))
        say_notices(contradictions_of_usual_times(bound, time, tie_break=True))
        say_notices(list_cautions(bound).values())
        terminal().print(f"{len(bound)} {'query is' if len(bound) == 1 else 'queries are'} fine.")


def queries_table(queries: Sequence[Query]) -> Table:
    """Return one line per query: its name, pattern, window and RETURN columns."""
    table = Table("query", "pattern", "within", "returns")
    for query in queries:
        returns = ", ".join(column.name for column in query.returns)
        texts = query.name, pattern_to_text(query.pattern), within_text(query), returns
        table.add_row(*map(escape, texts))
    return table


def within_text(query: Query) -> str:
    """Return the window of a query as it is written, or that there is none."""
    slide = "" if query.slide is None else f" slide {format_duration(query.slide)}"
    return ("unbounded" if query.window is None else window_to_text(query.window)) + slide
