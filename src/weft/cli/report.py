"""What people see on a terminal: tables, progress, and matches as time lines."""

import json
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from typing import Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from weft.api.compilation import COMPILATION
from weft.api.detection import Detection
from weft.cli.console import say_error, terminal
from weft.hosts.progress import ProgressSource
from weft.hosts.results import TrendNames
from weft.io.targets import TIMEOUTS
from weft.kernels.compilation import tell_of_compilation

MOST_RESULTS = 20  # of trend queries that are shown


def print_summary(
    detection: Detection,
    results: Mapping[str, Mapping[str, int]],
    counts: Mapping[str, int],
    seconds: float,
    more: Mapping[str, object],
    *,
    as_json: bool,
) -> None:
    """Print what a run did: one JSON object, with `more` in it, or a table with a line per query.

    `results` has how many there are of each query, by kind; `counts` those of rows and batches.
    """
    if as_json:
        summary = {**counts, **results, "seconds": round(seconds, 3), **more}
        typer.echo(json.dumps(summary, ensure_ascii=False))
        return
    timeouts = results.get(TIMEOUTS, {})
    n_results = {n: count for kind, own in results.items() if kind != TIMEOUTS for n, count in own.items()}
    table = Table("query", "results" if detection.trend_queries else "matches", show_footer=True)
    if timeouts:
        table.add_column("timeouts", f"{sum(timeouts.values()):,}", justify="right")
    for query in detection.queries:
        own_timeouts = [f"{timeouts[query.name]:,}" if query.name in timeouts else ""] if timeouts else []
        table.add_row(escape(query.name), f"{n_results[query.name]:,}", *own_timeouts)
    shown = {"in all": sum(n_results.values()), **counts}
    ends = {"seconds": f"{seconds:.1f}"} | {name: str(more[name]) for name in ("engine",) if name in more}
    table.columns[0].footer = "\n".join([*shown, *ends])
    table.columns[1].footer = "\n".join([*(f"{count:,}" for count in shown.values()), *ends.values()])
    table.columns[1].justify = "right"
    terminal().print(table)


def trends_table(results: Sequence[Mapping[str, Any]], names: Mapping[str, TrendNames]) -> Table:
    """Return the first results of trend queries, a line each; one result too many says there are more."""
    table = Table("query", "from", "to", "group", "aggregates")
    for row in results[:MOST_RESULTS]:
        own = names[row["query"]]
        texts = row["query"], *(map(_moment_text, (row["window_start"], row["window_end"])))
        table.add_row(*map(escape, (*texts, _values_text(row, own.group), _values_text(row, own.aggregates))))
    if len(results) > MOST_RESULTS:
        table.caption = f"the first {MOST_RESULTS} results; --out FILE.jsonl writes all"
    return table


def _moment_text(moment: datetime | None) -> str:
    return "" if moment is None else value_text(moment)


def _values_text(row: Mapping[str, Any], columns: Mapping[str, str]) -> str:
    beyond = row["beyond"] or {}
    values = {name: beyond.get(column, row[column]) for name, column in columns.items()}
    return "  ".join(
        f"{name} {_long_text(value) if columns[name] in beyond else value_text(value)}"
        for name, value in values.items()
    )


def _long_text(digits: str) -> str:
    """Return a number of many digits in few characters.

    >>> _long_text("-1234567890123456789012345678901234567890")
    '-1234567890… (40 digits)'
    >>> _long_text("8.3512048237e+2107")
    '8.3512048237e+2107'
    """
    if not digits.lstrip("-").replace(".", "").isdecimal():  # rounded, so that it says how long it is
        return digits
    size = len(digits.lstrip("-").split(".")[0])
    return f"{digits[: 10 + digits.startswith('-')]}… ({size:,} digits)"


def time_line(
    match: Mapping[str, Any], returned: Mapping[str, Any], details: Mapping[Any, str] | None = None
) -> Text:
    """Return one match as a person reads it: when, then each event with the time since the first.

    `details` says more of an event, by its id.

    >>> from datetime import UTC
    >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    >>> event = {"variable": "a", "type": "Login", "ts": noon, "id": 7}
    >>> print(time_line({"query": "q", "start": noon, "events": [event]}, {"who": "Zoe"}))
    q  2026-01-01 12:00:00  who Zoe
          +0:00:00  Login  a
    """
    shown = "  ".join(f"{name} {value_text(value)}" for name, value in returned.items())
    text = Text.assemble(
        (match["query"], "bold"), f"  {match['start']:%Y-%m-%d %H:%M:%S}", f"  {shown}" if shown else ""
    )
    width = max(len(event["type"]) for event in match["events"])
    for event in match["events"]:
        since = value_text(event["ts"] - match["start"])
        text.append(f"\n{'+' + since:>14}  ")
        text.append(f"{event['type']:<{width}}", style="cyan")
        text.append(f"  {details[event['id']]}  " if details else "  ")
        text.append(event["variable"], style="dim")
    return text


def value_text(value: object) -> str:
    """Return a value in few characters.

    >>> value_text(1234.5), value_text(None), value_text("FR")
    ('1,234.50', 'NULL', 'FR')
    """
    match value:
        case None:
            return "NULL"
        case float():
            return f"{value:,.2f}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case timedelta():
            return str(value).split(".")[0]
        case _:
            return str(value)


def say_when_compiling() -> None:
    """Have a line on standard error say that kernels are compiled, before somebody waits for it."""
    tell_of_compilation(lambda: say_error(f"notice: {COMPILATION}"))


@contextmanager
def show_progress(text: str, source: ProgressSource) -> Iterator[None]:
    """Show on standard error how far work is, when that is a terminal; otherwise nothing."""
    console = terminal(error=True)
    if not console.is_terminal or not sys.stderr.isatty():
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    finished = threading.Event()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=None)

        def follow() -> None:
            with suppress(Exception):  # what is watched may be gone before its watcher
                while not finished.wait(0.2):
                    now = source()
                    progress.update(task, total=now.total or None, completed=now.done)

        follower = threading.Thread(target=follow, daemon=True)
        follower.start()
        try:
            yield
        finally:
            finished.set()
            follower.join()
