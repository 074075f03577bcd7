"""The algorithm of the HAMLET paper: its tables 3 to 5, and the counts of the enumerating reference."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.trend_notation import count, item, plus, rises, seq, trend_query

from weft.pattern.nodes import Pattern, Query
from weft.reference.events import ReferenceEvent
from weft_lab.hamlet import HamletGraph, KleeneQuery, StreamEvent, aggregate_trends


def events_of(text: str) -> list[StreamEvent]:
    """Read "a1 b1" as events of types A and B at times 1 and 2."""
    return [StreamEvent(name, name[0].upper(), time) for time, name in enumerate(text.split(), 1)]


FIGURE_4 = events_of("a1 a2 c1 b1 b2 b3 b4 a3 a4 c2 c3 c4 b5 b6")  # the paper calls b1 to b4 b3 to b6
FIGURE_6 = events_of("a1 a2 c1 b1 b2 b3 b4 b5 b6 b7 b8")


def without_edge(first: str, second: str) -> Callable[[StreamEvent, StreamEvent], bool]:
    return lambda one, other: (one.id, other.id) != (first, second)


def graph_of(
    events: list[StreamEvent], edge: Callable[[StreamEvent, StreamEvent], bool] | None = None
) -> HamletGraph:
    """Return the graph of the paper's two queries; the edges are those of the second."""
    return aggregate_trends([KleeneQuery("q1", "A", "B"), KleeneQuery("q2", "C", "B", None, edge)], events)


def ending_at(graph: HamletGraph, query: str) -> list[int]:
    return [found[query] for event, found in graph.counts.items() if event.startswith("b")]


class TestWithoutPredicates:
    GRAPH = graph_of(FIGURE_4)

    def test_graphlets_of_figure_4(self) -> None:
        assert {
            graphlet.name: [event.id for event in graphlet.events] for graphlet in self.GRAPH.graphlets
        } == {
            "A1": ["a1", "a2"],
            "C2": ["c1"],
            "B3": ["b1", "b2", "b3", "b4"],
            "A4": ["a3", "a4"],
            "C5": ["c2", "c3", "c4"],
            "B6": ["b5", "b6"],
        }

    def test_table_3_propagation_of_x(self) -> None:
        assert [self.GRAPH.expressions[name] for name in ("b1", "b2", "b3", "b4")] == [
            {"into B3": 1},
            {"into B3": 2},
            {"into B3": 4},
            {"into B3": 8},
        ]

    def test_table_4_values_of_x_and_y(self) -> None:
        assert self.GRAPH.snapshots == {
            "into B3": {"q1": 2, "q2": 1},
            "into B6": {"q1": 34, "q2": 19},
        }
        assert (self.GRAPH.sum_of("A1", "q1"), self.GRAPH.sum_of("C2", "q2")) == (2, 1)
        assert (self.GRAPH.sum_of("B3", "q1"), self.GRAPH.sum_of("B3", "q2")) == (15 * 2, 15 * 1)
        assert (self.GRAPH.sum_of("A4", "q1"), self.GRAPH.sum_of("C5", "q2")) == (2, 3)

    def test_trends_that_end_at_each_event(self) -> None:
        assert ending_at(self.GRAPH, "q1") == [2, 4, 8, 16, 34, 68]
        assert ending_at(self.GRAPH, "q2") == [1, 2, 4, 8, 19, 38]
        assert self.GRAPH.results == {"q1": 132, "q2": 72}


class TestWithAnEdgeThatDoesNotHold:
    GRAPH = graph_of(FIGURE_4, without_edge("b2", "b3"))

    def test_table_5_values_of_z_and_y(self) -> None:
        assert self.GRAPH.snapshots == {
            "into B3": {"q1": 2, "q2": 1},
            "at b3": {"q1": 8, "q2": 2},
            "into B6": {"q1": 34, "q2": 15},
        }
        assert (self.GRAPH.sum_of("B3", "q1"), self.GRAPH.sum_of("B3", "q2")) == (30, 11)

    def test_expressions_of_figure_5c(self) -> None:
        assert [self.GRAPH.expressions[name] for name in ("b1", "b2", "b3", "b4")] == [
            {"into B3": 1},
            {"into B3": 2},
            {"at b3": 1},
            {"into B3": 4, "at b3": 1},
        ]

    def test_trends_that_end_at_each_event(self) -> None:
        assert ending_at(self.GRAPH, "q1") == [2, 4, 8, 16, 34, 68]
        assert ending_at(self.GRAPH, "q2") == [1, 2, 2, 6, 15, 30]
        assert self.GRAPH.results == {"q1": 132, "q2": 56}


def test_figure_6() -> None:
    assert graph_of(FIGURE_6).results == {"q1": 510, "q2": 255}
    graph = graph_of(FIGURE_6, without_edge("b5", "b6"))
    assert graph.results == {"q1": 510, "q2": 191}
    assert ending_at(graph, "q2") == [1, 2, 4, 8, 16, 16, 48, 96]
    assert graph_of([*FIGURE_6, *(StreamEvent(f"b{n}", "B", n + 3) for n in range(9, 13))]).results == {
        "q1": 8190,
        "q2": 4095,
    }


def test_queries_share_one_kleene_type() -> None:
    with pytest.raises(ValueError, match="share no Kleene type"):
        aggregate_trends([KleeneQuery("q1", "A", "B"), KleeneQuery("q2", "B", "A")], [])


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Draw types, times, with ties, and values of events in order of time."""
    event = st.tuples(st.sampled_from("AABBBBCDE"), st.integers(0, 2), st.integers(0, 2))
    time, drawn = 0, []
    for letter, step, value in draw(st.lists(event, max_size=11)):
        time += step
        drawn.append((letter, time, value))
    return drawn


@st.composite
def workloads(draw: st.DrawFn) -> list[tuple[str | None, str | None, bool]]:
    """Draw prefix, suffix, and whether values rise along the list."""
    ends = st.sampled_from([None, "A", "C", "D"])
    queries = st.tuples(ends, ends, st.booleans()).filter(lambda it: it[0] is None or it[0] != it[1])
    return draw(st.lists(queries, min_size=1, max_size=3))


def enumerated(prefix: str | None, suffix: str | None, *, has_edge: bool) -> Query:
    operands: list[Pattern] = [plus(item("B"))]
    if prefix is not None:
        operands.insert(0, item(prefix))
    if suffix is not None:
        operands.append(item(suffix))
    return trend_query(seq(*operands), *((rises("b"),) if has_edge else ()))


@settings(max_examples=150, deadline=None)
@given(streams(), workloads())
def test_the_enumeration_finds_as_many(
    stream: list[tuple[str, int, int]], workload: list[tuple[str | None, str | None, bool]]
) -> None:
    events = [StreamEvent(str(row), letter, time) for row, (letter, time, _) in enumerate(stream)]
    referred = [
        ReferenceEvent(row, frozenset(letter), time, attributes={"x": x})
        for row, (letter, time, x) in enumerate(stream)
    ]

    def does_rise(one: StreamEvent, other: StreamEvent) -> bool:
        return stream[int(one.id)][2] < stream[int(other.id)][2]

    queries = [
        KleeneQuery(f"q{index}", prefix, "B", suffix, does_rise if has_edge else None)
        for index, (prefix, suffix, has_edge) in enumerate(workload)
    ]
    expected = {
        f"q{index}": count(enumerated(prefix, suffix, has_edge=has_edge), referred)
        for index, (prefix, suffix, has_edge) in enumerate(workload)
    }
    assert aggregate_trends(queries, events).results == expected
