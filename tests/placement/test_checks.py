"""Graphs that would miss or repeat matches are refused, and the vertex is named."""

import random
import re
from itertools import product

import pytest

from weft.errors import PlacementError
from weft.placement.checks import _missing, _overlapping_pair, check_graph, is_correct
from weft.placement.multi_query import multi_query
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import bits
from weft.placement.projection import Projection
from weft_lab.placement.problem_file import problem_of

PROBLEM = problem_of(
    {
        "sites": {"x": ["A", "B"], "y": ["B", "C"], "z": ["A"]},
        "rates": {"A": 10, "B": 3, "C": 1},
        "queries": ["SEQ(A, B, C)"],
    }
)
QUERY = PROBLEM.queries[0]
EVENTS = {
    (kind, site): Vertex(Projection(kind, (kind,)), site)
    for kind in "ABC"
    for site in bits(PROBLEM.network.emitters(kind))
}


def graph_with(sinks: dict[Vertex, tuple[Vertex, ...]], *, without: Vertex | None = None) -> MuseGraph:
    inputs: dict[Vertex, tuple[Vertex, ...]] = dict.fromkeys(EVENTS.values(), ())
    inputs.pop(without, None)  # type: ignore[arg-type]
    return MuseGraph(PROBLEM.network, inputs | sinks)


def refused(graph: MuseGraph, message: str) -> None:
    with pytest.raises(PlacementError, match=re.escape(message)):
        check_graph(graph, PROBLEM.queries)


WHOLE = QUERY.projection(0b111)
ALL = tuple(EVENTS.values())


def test_a_good_graph_passes() -> None:
    check_graph(graph_with({Vertex(WHOLE, 0): ALL}), PROBLEM.queries)


def test_events_must_be_there() -> None:
    events = tuple(event for event in ALL if event != EVENTS["A", 2])
    refused(graph_with({Vertex(WHOLE, 0): events}, without=EVENTS["A", 2]), "query q1: no vertex for A at z")


def test_inputs_must_make_up_what_is_found() -> None:
    events = tuple(event for event in ALL if event.projection.text != "B")
    message = "SEQ(A, B, C) at site x cannot be made up of what it reads: A, C"
    refused(graph_with({Vertex(WHOLE, 0): events}), message)


def test_events_do_not_arise_where_they_cannot() -> None:
    refused(graph_with({Vertex(Projection("C", ("C",)), 0): ()}), "C at site x: no such event arises there")


def test_a_composite_vertex_reads_something() -> None:
    refused(graph_with({Vertex(QUERY.projection(0b011), 0): ()}), "SEQ(A, B) at site x reads nothing")


def test_all_bindings_must_be_found() -> None:
    events = tuple(event for event in ALL if event != EVENTS["A", 2])
    message = "query q1: no sink finds SEQ(A, B, C) with events from A at z, B at x, C at y"
    refused(graph_with({Vertex(WHOLE, 0): events}), message)


def test_no_binding_may_be_found_twice() -> None:
    message = "query q1: SEQ(A, B, C) at site x and SEQ(A, B, C) at site y find the same matches"
    refused(graph_with({Vertex(WHOLE, 0): ALL, Vertex(WHOLE, 1): ALL}), message)


def test_a_query_without_sink() -> None:
    refused(graph_with({}), "query q1: no sink finds SEQ(A, B, C)")


def test_matches_of_another_query_may_be_read_if_they_include_those_needed() -> None:
    problem = problem_of(
        {
            "sites": {"x": ["A", "B", "C"]},
            "rates": {"A": 1, "B": 1, "C": 1},
            "queries": ["SEQ(A, B, C)", "AND(A, B)", "SEQ(B, A)"],
        }
    )
    ordered, unordered, reverse = problem.queries
    rest = Projection("C", ("C",))
    for other, is_right in ((unordered, True), (reverse, False)):
        inputs = (other.projection(0b11), rest)
        assert is_correct(ordered, ordered.projection(0b111), inputs, problem.queries) is is_right


def test_a_kind_that_is_also_negated_spoils_a_partition() -> None:
    """The vertex reads B from all sites as negated events, so its part of the B events cannot be told."""
    problem = problem_of(
        {
            "sites": {"x": ["A", "B"], "y": ["B"]},
            "rates": {"A": 1, "B": 100},
            "queries": ["SEQ(A, NOT B, B)"],
        }
    )
    whole = problem.queries[0].projection(0b11)
    a = Vertex(Projection("A", ("A",)), 0)
    b = [Vertex(Projection("B", ("B",)), site) for site in (0, 1)]
    inputs: dict[Vertex, tuple[Vertex, ...]] = {a: (), b[0]: (), b[1]: ()}
    inputs |= {Vertex(whole, site): (a, *b) for site in (0, 1)}
    with pytest.raises(PlacementError, match="find the same matches"):
        check_graph(MuseGraph(problem.network, inputs), problem.queries)
    assert multi_query(problem.network, problem.queries).cost == 100


def test_boxes_against_all_their_points() -> None:
    rng = random.Random(5)
    for _ in range(300):
        whole = tuple(rng.randint(1, 7) for _ in range(3))
        boxes = tuple(tuple(rng.randint(0, 7) for _ in range(3)) for _ in range(rng.randint(0, 6)))
        points = set(product(*map(bits, whole)))
        inside = [set(product(*map(bits, box))) for box in boxes]
        left = points.difference(*inside)
        missing = _missing(whole, boxes)
        assert (missing is None) == (not left)
        if missing is not None:
            assert set(product(*map(bits, missing))) <= left
        overlap = any(one & other for place, one in enumerate(inside) for other in inside[place + 1 :])
        assert (_overlapping_pair(boxes) is not None) == overlap
