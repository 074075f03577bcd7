"""Watch a stream of matches: metrics of each batch, totals, and notices of what needs a look."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from weft.hosts.spark.stream import REPORTS
from weft.notices import Notice
from weft.runtime.stages.report import Report
from weft.runtime.stages.shard_executor import PlanChange

STILL_BATCHES = 5  # batches with rows after which a watermark that does not move is worth a notice
LARGE_SHARE = 0.1  # of the rows of a batch
SUMMED = ("seconds", "rows", "rejected", "late", "duplicates", "sent_rows", "sent_bytes")  # over batches
SAID_ONCE = {
    "stopped": "query {} was stopped, the others go on: {}",
    "started": "query {} is new or changed: it starts empty, with the events from now on",
    "ended": "query {} is no longer asked: its state is given up",
}


@dataclass(frozen=True, slots=True)
class QueryMetrics:
    """One query in one batch: the matches and timeouts it found then, and what it keeps now."""

    matches: int
    partial_matches: int
    state_bytes: int
    timeouts: int = 0


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """What one batch of a stream did, all shards together.

    `rows` includes the `rejected` ones, which are no events. Rows sent to shards of several parts count
    once among the `late` ones, but in each part among the `duplicates` and the `buffered` ones.
    `watermark` is None as long as there is none. `stopped` gives the reason for each query that has
    exceeded its budget, now or earlier; `started` queries began empty in a stream that was running,
    `ended` ones are no longer asked. `changes` are alarms and what they came to: other plans, or why these
    are kept. `sent_rows` and `sent_bytes` are what sites sent each other, where queries are placed.
    """

    batch: int
    seconds: float
    rows: int
    rejected: int
    late: int
    duplicates: int
    watermark: datetime | None
    queries: Mapping[str, QueryMetrics]
    state_bytes: int
    buffered: int
    stopped: Mapping[str, str]
    started: tuple[str, ...]
    ended: tuple[str, ...]
    changes: tuple[PlanChange, ...] = ()
    sent_rows: int = 0
    sent_bytes: int = 0

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0


@dataclass
class StreamTotals:
    """Sums over the batches of a stream; what is kept is that of the latest report of every shard."""

    batches: int = 0
    seconds: float = 0.0
    rows: int = 0
    rejected: int = 0
    late: int = 0
    duplicates: int = 0
    sent_rows: int = 0
    sent_bytes: int = 0
    matches: Counter[str] = field(default_factory=Counter)
    timeouts: Counter[str] = field(default_factory=Counter)
    stopped: dict[str, str] = field(default_factory=dict)
    _latest: dict[str, Report] = field(default_factory=dict, repr=False)
    _last_batch: tuple[str, int] | None = field(default=None, repr=False)

    @property
    def events(self) -> int:
        return self.rows - self.rejected

    def add(self, progress: StreamingQueryProgress) -> BatchMetrics | None:
        """Take the progress of a batch; None when it tells nothing of Weft, or nothing new."""
        batch = str(progress.runId), progress.batchId
        observed = progress.observedMetrics
        if batch == self._last_batch or REPORTS not in observed:
            return None
        self._last_batch = batch
        reported = observed[REPORTS].asDict()
        reports = {shard: _report(text, shard) for shard, text in reported.items() if text is not None}
        # A changed workload has other shards; those that are gone keep nothing.
        self._latest = {shard: old for shard, old in self._latest.items() if shard in reported} | reports
        metrics = self._metrics(progress, list(reports.values()))
        self._sum(metrics)
        return metrics

    def _metrics(self, progress: StreamingQueryProgress, reports: Sequence[Report]) -> BatchMetrics:
        kept = self._latest.values()
        matches = _sum_counts(report.matches for report in reports)
        timeouts = _sum_counts(report.timeouts for report in reports)
        partial = _sum_counts(report.partial_matches for report in kept)
        size = _sum_counts(report.query_bytes for report in kept)
        return BatchMetrics(
            batch=progress.batchId,
            seconds=progress.batchDuration / 1000,
            rows=progress.numInputRows or 0,
            rejected=sum(report.rejected for report in reports),
            late=sum(report.late for report in reports),
            duplicates=sum(report.duplicates for report in reports),
            watermark=_watermark(progress),
            queries={
                name: QueryMetrics(matches[name], partial[name], size[name], timeouts[name])
                for name in sorted(matches.keys() | timeouts.keys() | partial.keys() | size.keys())
            },
            state_bytes=sum(report.state_bytes for report in kept),
            buffered=sum(report.buffered for report in kept),
            stopped={name: reason for report in kept for name, reason in report.stopped.items()},
            started=tuple(dict.fromkeys(name for report in reports for name in report.started)),
            ended=tuple(dict.fromkeys(name for report in reports for name in report.ended)),
            changes=tuple(change for report in reports for change in report.changes),
            sent_rows=sum(transfer.rows for report in reports for transfer in report.sent),
            sent_bytes=sum(transfer.bytes for report in reports for transfer in report.sent),
        )

    def _sum(self, metrics: BatchMetrics) -> None:
        self.batches += 1
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(metrics, name))
        self.stopped |= metrics.stopped
        self.matches.update({name: query.matches for name, query in metrics.queries.items()})
        self.timeouts.update({name: query.timeouts for name, query in metrics.queries.items()})


class StreamMonitor(StreamingQueryListener):
    """Follows a stream of matches: `spark.streams.addListener(weft.StreamMonitor(print))`.

    Spark tells its listeners of every stream of a session. Those that are none of Weft's are ignored;
    where several of Weft's run, follow each with a monitor of its own, by the query's name.

    Attributes
    ----------
    last
        The metrics of the latest batch, or None before the first.
    totals
        The sums over all batches that were seen.
    notices
        What a person should know, in the order in which it showed: a query that was stopped, queries
        that began empty or ended when the workload changed, plans that were changed, a watermark that
        stands still, many late rows.
    """

    def __init__(
        self,
        on_batch: Callable[[BatchMetrics], object] | None = None,
        *,
        on_notice: Callable[[Notice], object] | None = None,
        name: str | None = None,
    ) -> None:
        self.last: BatchMetrics | None = None
        self.totals = StreamTotals()
        self.notices: list[Notice] = []
        self._on_batch = on_batch
        self._on_notice = on_notice
        self._name = name
        self._watch = _Watch()
        self._ended = threading.Event()

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """Do nothing: the first batch tells more."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """Take the metrics of a batch."""
        progress = event.progress
        if self._name is not None and progress.name != self._name:
            return
        metrics = self.totals.add(progress)
        if metrics is None:
            return
        self.last = metrics
        if self._on_batch is not None:
            self._on_batch(metrics)
        for reason, remedy in self._watch.reasons(metrics):
            notice = Notice(kind="stream", batch=metrics.batch, reason=reason, remedy=remedy)
            self.notices.append(notice)
            if self._on_notice is not None:
                self._on_notice(notice)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: ARG002
        """Let those go on who wait for the end."""
        self._ended.set()

    def wait_for_end(self, seconds: float) -> bool:
        """Wait until Spark has told all of a stream that has ended; False when that takes too long."""
        return self._ended.wait(seconds)


class _Watch:
    """Remembers what was said, so that nothing is said twice."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()
        self._watermark: datetime | None = None
        self._n_still = 0
        self._had_many_late = False

    def reasons(self, metrics: BatchMetrics) -> Iterator[tuple[str, str | None]]:
        """Yield what there is to tell of a batch, and what to do about it."""
        for kind, text in SAID_ONCE.items():
            for name in getattr(metrics, kind):
                if (kind, name) not in self._told:
                    self._told.add((kind, name))
                    yield text.format(name, metrics.stopped.get(name)), None
        for change in metrics.changes:
            if change.kept is not None or change.measured is not None:
                continue
            told = f"{change.shard} goes on with version {change.version} of its plan"
            yield f"{told}, {change.predicted:.0%} cheaper by the statistics: {change.reason}", None
        if metrics.rows:
            yield from self._about_the_watermark(metrics)
            yield from self._about_late_rows(metrics)

    def _about_the_watermark(self, metrics: BatchMetrics) -> Iterator[tuple[str, str]]:
        if metrics.watermark != self._watermark:
            self._watermark, self._n_still = metrics.watermark, 0
        self._n_still += 1
        if self._n_still == STILL_BATCHES + 1:  # the first of them may have brought it here
            place = "there is no watermark yet" if self._watermark is None else f"at {self._watermark:%F %T}"
            yield (
                f"the watermark stands still: {place}, though {STILL_BATCHES} more batches had rows; "
                "matches that wait for it are held back",
                "is the time column the right one, in the right unit? does a partition of the "
                "source or a sender's clock stand still? did one event come from the future?",
            )

    def _about_late_rows(self, metrics: BatchMetrics) -> Iterator[tuple[str, str]]:
        has_many = metrics.late > LARGE_SHARE * metrics.rows
        if has_many and not self._had_many_late:
            yield (
                f"{metrics.late:,} of {metrics.rows:,} rows of a batch came too late to be matched",
                "a longer watermark waits for them, and delays matches that depend on an absence",
            )
        self._had_many_late = has_many


def _report(text: str, shard: str) -> Report:
    report = Report.from_json(text)
    report.changes = [replace(change, shard=shard) for change in report.changes]
    return report


def _sum_counts(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for own in counts:
        total.update(own)
    return total


def _watermark(progress: StreamingQueryProgress) -> datetime | None:
    """Return the watermark; Spark gives the epoch as long as there is none."""
    text = progress.eventTime.get("watermark")
    watermark = None if text is None else datetime.fromisoformat(text).astimezone(UTC)
    return None if watermark is None or watermark.timestamp() == 0 else watermark
