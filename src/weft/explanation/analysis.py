"""What the nodes of plans, the sharing of trends and the sites did in all shards, summed up and shown."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from weft.explanation.placement_picture import number_text
from weft.explanation.placements import bytes_text
from weft.explanation.plans import plan_lines
from weft.expressions import INTRINSIC, Attribute
from weft.plan.dag import topological_order
from weft.plan.nodes import Filter, Node, Plan, Scan
from weft.runtime.budget import NodeMetrics
from weft.runtime.stages.report import Report, Transfer
from weft.runtime.trends.shared import Counters
from weft.statistics.model import ItemKey
from weft.tree import find

MOST_TRANSFERS = 20  # that are shown one by one

StoppedQueries = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class AnalyzedPlan:
    """A plan, what each of its nodes did in all shards, and the time that each shard took."""

    plan: Plan
    metrics: Mapping[Node, NodeMetrics]
    shard_nanoseconds: Mapping[str, int]
    estimated: Mapping[Node, float] | None = None

    def lines(self) -> list[str]:
        spent = self.shard_nanoseconds.values()
        slowest = f"{max(spent, default=0) / 1e6:,.1f} ms in the slowest of {_counted(len(spent), 'shard')}"
        total = f"{sum(spent) / 1e6:,.1f} ms in the nodes"
        return [f"{total}, {slowest}", *plan_lines(self.plan, self.estimated, self.metrics)]


@dataclass(frozen=True)
class AnalyzedTrends:
    """Trend queries: the number of results of each, and what sharing did in all shards."""

    results: Mapping[str, int]
    counters: Counters
    n_shards: int

    def lines(self) -> list[str]:
        """Write what was counted.

        >>> for line in AnalyzedTrends({"q": 3}, Counters(bursts=4, graphlets=7), 2).lines()[:3]:
        ...     print(line)
        Trends: 3 results in 2 shards
          bursts              4
          graphlets           7
        """
        results = _counted(sum(self.results.values()), "result")
        counters = {name.replace("_", " "): count for name, count in asdict(self.counters).items()}
        return [
            f"Trends: {results} in {_counted(self.n_shards, 'shard')}",
            *(f"  {name:<18}  {n:,}" for name, n in counters.items() if name not in ("numbers", "bytes")),
        ]


@dataclass(frozen=True)
class Analysis:
    """One run: matches and timeouts of queries, what nodes of plans did, trend queries, what sites sent.

    `stopped` has for each query that exceeded its budget, by shard, the reason.
    """

    matches: Mapping[str, int]
    timeouts: Mapping[str, int] = field(default_factory=dict)
    plans: tuple[AnalyzedPlan, ...] = ()
    trends: AnalyzedTrends | None = None
    transfers: tuple[Transfer, ...] | None = None
    stopped: StoppedQueries = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of matches, and of results of trend queries."""
        return {**self.matches, **(self.trends.results if self.trends is not None else {})}

    def __str__(self) -> str:
        parts = [plan.lines() for plan in self.plans]
        parts += [] if self.trends is None else [self.trends.lines()]
        parts += [] if self.transfers is None else [transfer_lines(self.transfers)]
        parts += [stopped_lines(self.stopped)] if self.stopped else []
        return "\n\n".join("\n".join(lines) for lines in parts)


@dataclass(frozen=True)
class CountedOutcomes:
    """The outcomes of one run: how many results and timeouts each query has; the reports of shards."""

    counts: Mapping[str, int]
    timeouts: Mapping[str, int]
    reports: Mapping[str, Report]

    @property
    def stopped(self) -> StoppedQueries:
        """For each query that exceeded its budget, by shard, the reason; its matches are incomplete."""
        stopped: dict[str, dict[str, str]] = {}
        for shard, report in sorted(self.reports.items()):
            for query, reason in report.stopped.items():
                stopped.setdefault(query, {})[shard] = reason
        return stopped


def stopped_lines(stopped: StoppedQueries) -> list[str]:
    """Return what was stopped as text, a message for each query.

    >>> stopped_lines({"q": {"partition 1": "query q: too much", "partition 4": "query q: too much"}})
    ['query q was stopped in 2 shards (partition 1, ...), the others go on: query q: too much']
    """
    lines = []
    for query, reasons in stopped.items():
        shard, reason = next(iter(reasons.items()))
        further = ", ..." if len(reasons) > 1 else ""
        place = f"in {_counted(len(reasons), 'shard')} ({shard}{further})"
        lines.append(f"query {query} was stopped {place}, the others go on: {reason}")
    return lines


def input_kinds(plan: Plan) -> dict[Node, ItemKey]:
    """Return the kind of the events that each scan reads, and that each filter right above one passes.

    >>> from weft.expressions import Attribute, IsNull
    >>> from weft.plan.nodes import Branch, Output
    >>> large = Filter(Scan("A"), (IsNull(Attribute("$0", "x")),))
    >>> kinds = input_kinds(Plan((Output("q", (), (Branch(large, ("a",), ()),)),)))
    >>> [(kind.type, len(kind.predicates)) for kind in kinds.values()]
    [('A', 0), ('A', 1)]
    """
    kinds: dict[Node, ItemKey] = {}
    for node in topological_order(plan):
        match node:
            case Scan(type=name):
                kinds[node] = ItemKey(name)
            case Filter(input=Scan(type=name), predicates=predicates) if not any(
                attribute.name in INTRINSIC for attribute in find(predicates, Attribute)
            ):
                kinds[node] = ItemKey(name, predicates)
    return kinds


def analyze_plan(
    plan: Plan,
    reports: Mapping[str, Report],
    estimated: Mapping[Node, float] | None,
    n_events: Mapping[Node, int] | None = None,
) -> AnalyzedPlan:
    """Sum up what the nodes of a plan did in its shards.

    Of what reads the input, `n_events` has the number of events there are: a shard is given no others than
    may matter to it, and those near the ends of slices of time several times.
    """
    nodes = topological_order(plan)
    metrics = dict.fromkeys(nodes, NodeMetrics())
    spent: dict[str, int] = {}
    for shard, report in reports.items():
        done = report.activity.nodes if report.activity is not None else ()
        for node, own in zip(nodes, done, strict=True):
            metrics[node] += own
        spent[shard] = sum(own.nanoseconds for own in done)
    for node, rows in (n_events or {}).items():
        metrics[node] = replace(metrics[node], rows=rows)
    return AnalyzedPlan(plan, metrics, spent, estimated)


def analyze_trends(counted: Iterable[CountedOutcomes]) -> AnalyzedTrends:
    """Sum up what sharing did for trend queries."""
    results: dict[str, int] = {}
    counters, n_shards = Counters(), 0
    for group in counted:
        results |= group.counts
        n_shards += len(group.reports)
        for report in group.reports.values():
            if report.activity is not None and report.activity.sharing is not None:
                counters += report.activity.sharing
    return AnalyzedTrends(results, counters, n_shards)


def transfers_of(reports: Iterable[Report], predicted: Sequence[Transfer]) -> tuple[Transfer, ...]:
    """Add what sites say they sent to what was predicted of each channel."""
    total = list(predicted)
    for report in reports:
        for sent in report.sent:
            if sent.channel is not None:
                known = total[sent.channel]
                total[sent.channel] = replace(
                    known, rows=known.rows + sent.rows, bytes=known.bytes + sent.bytes
                )
    return tuple(total)


def transfer_lines(transfers: Sequence[Transfer]) -> list[str]:
    """Return what sites sent each other as text, the most first.

    >>> transfer_lines([Transfer("SEQ(A, B)", "x", "y", 12, 480, 11.0, 500.0)])[1]
    '  x -> y  SEQ(A, B)  12 rows (11 predicted), 480 B (500 B predicted)'
    """
    lines = [f"Between sites: {_amount(transfers)}"]
    for transfer in sorted(transfers, key=lambda transfer: -transfer.rows)[:MOST_TRANSFERS]:
        lines.append(
            f"  {transfer.source} -> {transfer.target}  {transfer.projection}  {_amount([transfer])}"
        )
    if len(transfers) > MOST_TRANSFERS:
        lines.append(f"  and {len(transfers) - MOST_TRANSFERS} more")
    return lines


def _amount(transfers: Sequence[Transfer]) -> str:
    rows, size = sum(transfer.rows for transfer in transfers), sum(transfer.bytes for transfer in transfers)
    expected_rows = number_text(sum(transfer.predicted_rows or 0 for transfer in transfers))
    expected_size = bytes_text(sum(transfer.predicted_bytes or 0 for transfer in transfers))
    return f"{rows:,} rows ({expected_rows} predicted), {bytes_text(size)} ({expected_size} predicted)"


def _counted(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"
