"""Shared online trend aggregation as the paper prints it, with all that it keeps on the way.

Idea        Events are gathered into graphlets, runs of one type. Within a graphlet of the type E of a
            shared E+, the count of trends that end at an event is an expression over snapshots, the same
            one for all queries; only the values of the snapshots differ from query to query.
Reference   Poppe, Lei, Ma, Rozet, Rundensteiner. To Share, or Not to Share Online Event Trend Aggregation
            Over Bursty Event Streams. SIGMOD 2021. doi:10.1145/3448016.3452785. Algorithm 1, equations 1
            to 3 and 5, definitions 3.6 to 3.11.
Differs     The snapshot of a graphlet sums up all events that may precede the graphlet, as tables 4 and 5
            do, not only those of the last graphlet of another type, as lines 11 to 13 do; it also holds
            the one that equation 1 adds at a start type. An event gets a snapshot of its own also when
            its predecessors before the graphlet are not those of the graphlet's snapshot, because an edge
            does not hold or because times are equal. Every graphlet of E is shared by all queries.
Complexity  O(n^2 s + s k n) for n events, k queries and s snapshots.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class StreamEvent(NamedTuple):
    """An event of the paper: a name, a type and a time."""

    id: str
    type: str
    time: int


@dataclass(frozen=True, slots=True)
class KleeneQuery:
    """SEQ(prefix, kleene+, suffix) over distinct types, where prefix and suffix may be missing.

    `edge` says whether an event of the Kleene type may directly follow another one in a trend.
    """

    name: str
    prefix: str | None
    kleene: str
    suffix: str | None = None
    edge: Callable[[StreamEvent, StreamEvent], bool] | None = None

    @property
    def types(self) -> frozenset[str]:
        return frozenset(name for name in (self.prefix, self.kleene, self.suffix) if name is not None)

    @property
    def start_type(self) -> str:
        return self.prefix or self.kleene

    @property
    def end_type(self) -> str:
        return self.suffix or self.kleene

    def may_precede(self, first: StreamEvent, second: StreamEvent) -> bool:
        """Say whether `second` may directly follow `first` in a trend."""
        if first.time >= second.time:
            return False
        if first.type == second.type == self.kleene:
            return self.edge is None or self.edge(first, second)
        return (first.type, second.type) in ((self.prefix, self.kleene), (self.kleene, self.suffix))


@dataclass(slots=True)
class Graphlet:
    """A run of events of one type; `before` are, per query, the events that its snapshot sums up."""

    name: str
    type: str
    is_active: bool = True
    events: list[StreamEvent] = field(default_factory=list)
    before: dict[str, frozenset[StreamEvent]] = field(default_factory=dict)

    @property
    def snapshot(self) -> str:
        """The name of the snapshot at graphlet level."""
        return f"into {self.name}"


@dataclass(slots=True)
class HamletGraph:
    """The graphlets in order, and the tables of the algorithm.

    `snapshots` has the value of each snapshot per query, `expressions` the coefficients of the snapshots
    in the count of each shared event, `counts` the trends of each query that end at each of its events.
    """

    queries: tuple[KleeneQuery, ...]
    graphlets: list[Graphlet] = field(default_factory=list)
    snapshots: dict[str, dict[str, int]] = field(default_factory=dict)
    expressions: dict[str, dict[str, int]] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)

    def sum_of(self, graphlet: str, query: str) -> int:
        """Return the trends of a query that end in a graphlet (equation 5)."""
        (shared,) = (each for each in self.graphlets if each.name == graphlet)
        return sum(self.counts[event.id].get(query, 0) for event in shared.events)

    def predecessors(self, event: StreamEvent, query: KleeneQuery) -> frozenset[StreamEvent]:
        """Return the events of the graph that may come directly before an event in a trend."""
        earlier = [other for graphlet in self.graphlets for other in graphlet.events]
        return frozenset(other for other in earlier if query.may_precede(other, event))

    def count(self, event: StreamEvent, query: KleeneQuery) -> int:
        """Return the trends of a query that end at an event, by those it extends (equation 2)."""
        extended = (self.counts[other.id][query.name] for other in self.predecessors(event, query))
        return int(event.type == query.start_type) + sum(extended)


def aggregate_trends(queries: Sequence[KleeneQuery], events: Sequence[StreamEvent]) -> HamletGraph:
    """Count the trends of queries that share one Kleene type in a stream of one window.

    >>> queries = [KleeneQuery("q1", "A", "B"), KleeneQuery("q2", "C", "B")]
    >>> arrivals = [StreamEvent(f"{t.lower()}{n}", t, n) for n, t in enumerate("AACBBB")]
    >>> graph = aggregate_trends(queries, arrivals)
    >>> graph.snapshots, graph.expressions["b5"]
    ({'into B3': {'q1': 2, 'q2': 1}}, {'into B3': 4})
    >>> graph.results
    {'q1': 14, 'q2': 7}
    """
    if len({query.kleene for query in queries}) != 1:
        raise ValueError("the queries share no Kleene type: expected one for all of them")
    graph = HamletGraph(tuple(queries), results={query.name: 0 for query in queries})
    types = frozenset[str]().union(*(query.types for query in queries))
    for event in sorted(events, key=lambda event: event.time):
        if event.type not in types:
            continue
        graphlet = _graphlet_of(event, graph)
        if event.type == queries[0].kleene:
            graph.expressions[event.id] = _expression(event, graphlet, graph)
            values = {query.name: _value(graph.expressions[event.id], query.name, graph) for query in queries}
        else:
            values = {query.name: graph.count(event, query) for query in queries if event.type in query.types}
        graph.counts[event.id] = values
        graphlet.events.append(event)
        for query in queries:  # equation 3
            if event.type == query.end_type:
                graph.results[query.name] += values[query.name]
    return graph


def _graphlet_of(event: StreamEvent, graph: HamletGraph) -> Graphlet:
    """Return the active graphlet for an event (lines 4 to 13); one of the Kleene type has a snapshot."""
    for graphlet in graph.graphlets:
        if graphlet.type != event.type:
            graphlet.is_active = False
    for graphlet in graph.graphlets:
        if graphlet.is_active:
            return graphlet
    graphlet = Graphlet(f"{event.type}{len(graph.graphlets) + 1}", event.type)
    if event.type == graph.queries[0].kleene:
        graphlet.before = {query.name: _all_before(event, query, graph) for query in graph.queries}
        graph.snapshots[graphlet.snapshot] = {
            query.name: int(event.type == query.start_type)
            + sum(graph.counts[other.id][query.name] for other in graphlet.before[query.name])
            for query in graph.queries
        }
    graph.graphlets.append(graphlet)
    return graphlet


def _all_before(event: StreamEvent, query: KleeneQuery, graph: HamletGraph) -> frozenset[StreamEvent]:
    """Return the events of the query's predecessor types that are before an event, whatever the edges."""
    return frozenset(
        other
        for graphlet in graph.graphlets
        for other in graphlet.events
        if other.type in (query.prefix, query.kleene) and other.time < event.time
    )


def _expression(event: StreamEvent, graphlet: Graphlet, graph: HamletGraph) -> dict[str, int]:
    """Return the count of an event of a shared graphlet over snapshots (lines 16 to 20)."""
    inside = frozenset(graphlet.events)
    earlier = {query.name: graph.predecessors(event, query) for query in graph.queries}
    shared = {predecessors & inside for predecessors in earlier.values()}
    follows_snapshot = all(earlier[name] - inside == before for name, before in graphlet.before.items())
    if not follows_snapshot or len(shared) > 1:
        snapshot = f"at {event.id}"
        graph.snapshots[snapshot] = {query.name: graph.count(event, query) for query in graph.queries}
        return {snapshot: 1}
    total = {graphlet.snapshot: 1}
    for other in next(iter(shared)):
        for snapshot, coefficient in graph.expressions[other.id].items():
            total[snapshot] = total.get(snapshot, 0) + coefficient
    return total


def _value(expression: Mapping[str, int], query: str, graph: HamletGraph) -> int:
    return sum(coefficient * graph.snapshots[snapshot][query] for snapshot, coefficient in expression.items())
