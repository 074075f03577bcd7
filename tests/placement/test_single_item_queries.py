"""Queries of one item: placed by every algorithm, together with others, and turned into programs."""

import numpy as np
import pytest

from weft.errors import PlacementError
from weft.language.read import read_queries
from weft.placement.checks import check_graph
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network, bits
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.placement.pipeline import ALGORITHMS, Placed, place
from weft.placement.projection import Projection
from weft.placement.site_program import site_program
from weft.schema import LONG, STRING, TIMESTAMP, Schema
from weft.statistics.model import Statistics
from weft_lab.placement.optimal import EXACT

SCHEMA = Schema({"ts": TIMESTAMP, "id": LONG, "user": STRING, "x": LONG}, time="ts")
NETWORK = Network(
    ("x", "y", "z"),
    {"A": np.array([50.0, 40.0, 0.0]), "B": np.array([0.0, 0.0, 1.0]), "C": np.array([1.0, 0.0, 2.0])},
)
ALONE = "QUERY alone PATTERN A a WITHIN 1 second"
NEGATED = "QUERY negated PATTERN SEQ(A a, NOT B b) WITHIN 1 second"
LISTED = "QUERY listed PATTERN A+ a[] WITHIN 1 second"
PAIRS = "QUERY pairs PATTERN SEQ(A a, C c) WITHIN 1 second"


def placed(text: str, algorithm: str) -> Placed:
    bound = read_queries(text, SCHEMA, origin="q", tie_break=False)
    queries = normal_form_queries(bound, SCHEMA, Statistics())
    found = place(NETWORK, queries, algorithm, seconds=0.1, algorithms=EXACT)
    program = site_program(found.graph, queries, SCHEMA, Statistics())
    named = {finding.query for work in program.works for finding in work.findings if finding.query}
    assert named == {query.name for query in queries}
    return found


@pytest.mark.parametrize(
    ("text", "least", "single", "central"),
    [
        (ALONE, 0.0, 0.0, 0.0),
        (NEGATED, 2.0, 41.0, 91.0),
        (LISTED, 40.0, 40.0, 90.0),
        (f"{NEGATED} {LISTED}", 41.0, 41.0, 91.0),
    ],
)
def test_costs_of_every_algorithm(text: str, least: float, single: float, central: float) -> None:
    algorithms = ("best", *ALGORITHMS, *EXACT)
    expected = dict.fromkeys(algorithms, least) | {"single-sink": single, "central": central}
    assert {algorithm: placed(text, algorithm).cost for algorithm in algorithms} == expected


def test_what_others_send_is_free() -> None:
    """The pairs get all C to the sites with A; the lists get the A of one site to the other."""
    together = placed(f"{PAIRS} {LISTED} {NEGATED}", "best").cost
    apart = sum(placed(text, "best").cost for text in (PAIRS, LISTED, NEGATED))
    assert together < apart


def queries_of(text: str) -> tuple[NormalFormQuery, ...]:
    return normal_form_queries(read_queries(text, SCHEMA, origin="q", tie_break=False), SCHEMA, Statistics())


@pytest.mark.parametrize(
    ("text", "dropped", "message"),
    [
        (ALONE, "A", "query alone: no vertex for A at x"),
        (NEGATED, "B", "does not read all negated events: B"),
        (NEGATED, "A", "cannot be made up of what it reads: B"),
        (LISTED, "A", "reads nothing"),
    ],
)
def test_a_graph_that_misses_events_is_refused(text: str, dropped: str, message: str) -> None:
    graph = placed(text, "single-sink").graph
    check_graph(graph, queries_of(text))
    inputs = {
        vertex: tuple(event for event in read if event.projection.text != dropped)
        for vertex, read in graph.inputs.items()
    }
    if text == ALONE:
        inputs = {}
    with pytest.raises(PlacementError, match=message):
        check_graph(MuseGraph(graph.network, inputs), queries_of(text))


def test_lists_and_events_are_found_at_one_site_each() -> None:
    """A list may take events of several sites; what a site reads of an event with a negation is its own."""
    events = {
        kind: [Vertex(Projection(kind, (kind,)), site) for site in bits(NETWORK.emitters(kind))]
        for kind in "AB"
    }
    for text, message in ((LISTED, "no sink finds"), (NEGATED, None)):
        (query,) = queries_of(text)
        negated = events["B"] if query.all_negated_kinds else []
        raw: dict[Vertex, tuple[Vertex, ...]] = dict.fromkeys((*events["A"], *events["B"]), ())
        apart = {Vertex(query.root, event.site): (event, *negated) for event in events["A"]}
        twice = {Vertex(query.root, site): (*events["A"], *negated) for site in (0, 1)}
        with pytest.raises(PlacementError, match="find the same matches"):
            check_graph(MuseGraph(NETWORK, raw | twice), [query])
        if message is None:
            check_graph(MuseGraph(NETWORK, raw | apart), [query])
        else:
            with pytest.raises(PlacementError, match=message):
                check_graph(MuseGraph(NETWORK, raw | apart), [query])
