"""What people see of a stream on a terminal: a live table, or a line for each batch."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from weft.cli.console import in_options, say_error, terminal
from weft.hosts.spark.monitor import BatchMetrics, StreamMonitor
from weft.notices import Notice


def batch_line(metrics: BatchMetrics) -> str:
    """Return what a batch of a stream did in one line."""
    matches = sum(query.matches for query in metrics.queries.values())
    counted = f", {matches:,} {'match' if matches == 1 else 'matches'}"
    return f"batch {metrics.batch}: {_batch_text(metrics, counted)}"


def _batch_text(metrics: BatchMetrics, counted: str = "") -> str:
    watermark = "none yet" if metrics.watermark is None else f"{metrics.watermark:%Y-%m-%d %H:%M:%S}"
    return (
        f"{metrics.rows:,} rows, {metrics.rejected:,} rejected, {metrics.late:,} late{counted}, "
        f"watermark {watermark}, {metrics.seconds:.1f} s, {metrics.rows_per_second:,.0f} rows/s"
    )


def stream_table(names: Sequence[str], monitor: StreamMonitor) -> Table:
    """Return the state of a stream: its queries, and below them the latest batch."""
    table = Table("query", "matches", "in this batch", "partial matches", "state bytes", show_footer=True)
    last = monitor.last
    for name in names:
        query = last.queries.get(name) if last is not None else None
        counts = (query.matches, query.partial_matches, query.state_bytes) if query else (0, 0, 0)
        is_stopped = name in monitor.totals.stopped
        shown = f"{escape(name)} [red](stopped)[/red]" if is_stopped else escape(name)
        table.add_row(shown, f"{monitor.totals.matches.get(name, 0):,}", *(f"{count:,}" for count in counts))
    for column in table.columns[1:]:
        column.justify = "right"
    if last is not None:
        table.columns[0].footer = f"batch {last.batch}"
        table.columns[4].footer = f"{last.state_bytes:,}"
        table.caption = _batch_text(last)
    return table


@contextmanager
def show_stream(names: Sequence[str], *, notices: bool) -> Iterator[StreamMonitor]:
    """Yield a monitor that shows on standard error what a stream does: a live table, or a line per batch."""
    console = terminal(error=True)
    if not console.is_terminal or not sys.stderr.isatty():
        yield StreamMonitor(
            lambda metrics: say_error(batch_line(metrics)),
            on_notice=(lambda notice: say_error(_notice_text(notice))) if notices else None,
        )
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:

        def tell(notice: Notice) -> None:
            live.console.print(Text(_notice_text(notice), style="yellow"), soft_wrap=True)

        monitor = StreamMonitor(
            lambda _: live.update(stream_table(names, monitor), refresh=True),
            on_notice=tell if notices else None,
        )
        live.update(stream_table(names, monitor), refresh=True)
        yield monitor


def _notice_text(notice: Notice) -> str:
    return in_options(f"batch {notice.batch}: {notice.text}")
