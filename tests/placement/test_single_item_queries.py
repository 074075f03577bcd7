"""Queries of one item: placed by every algorithm, together with others, and turned into programs."""

import numpy as np
import pytest

from weft.errors import PlacementError
from weft.language.read import read
from weft.placement.muse_graph import MuseGraph
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.placement.pipeline import ALGORITHMS, Placed, place
from weft.placement.single_item_queries import check_single_item_queries
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
    bound = read(text, SCHEMA, origin="q", tie_break=False)
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
    return normal_form_queries(read(text, SCHEMA, origin="q", tie_break=False), SCHEMA, Statistics())


@pytest.mark.parametrize(
    ("text", "dropped", "message"),
    [
        (ALONE, "A", "a site that emits A has no vertex"),
        (NEGATED, "B", "does not read all of the negated events"),
        (NEGATED, "A", "not every event is read at one vertex"),
        (LISTED, "A", "not every event is read at one vertex"),
    ],
)
def test_a_graph_that_misses_events_is_refused(text: str, dropped: str, message: str) -> None:
    graph = placed(text, "single-sink").graph
    check_single_item_queries(graph, queries_of(text))
    inputs = {
        vertex: tuple(event for event in read if event.projection.text != dropped)
        for vertex, read in graph.inputs.items()
    }
    if text == ALONE:
        inputs = {}
    with pytest.raises(PlacementError, match=message):
        check_single_item_queries(MuseGraph(graph.network, inputs), queries_of(text))
