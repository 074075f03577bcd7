"""Queries with TIMEOUTS are at one site, the one where that is cheapest; others are placed without them."""

import numpy as np
import pytest

from weft.language.parser import parse
from weft.placement.network import Network
from weft.placement.normal_form_query import normal_form_queries
from weft.placement.pipeline import place
from weft.statistics.model import Statistics

TIMED = "QUERY timed PATTERN SEQ(A a, B b?, C c) WITHIN 10 seconds TIMEOUTS"
FREE = TIMED.replace("timed", "free").removesuffix("TIMEOUTS")
NETWORK = Network(
    ("x", "y", "z"),
    {"A": np.array([9.0, 5.0, 0.0]), "B": np.array([0.0, 2.0, 0.0]), "C": np.array([0.0, 3.0, 1.0])},
)


@pytest.mark.parametrize("algorithm", ["best", "amuse", "single-sink"])
def test_all_alternatives_are_where_the_most_events_arise(algorithm: str) -> None:
    queries = normal_form_queries(parse(TIMED), None, Statistics())
    graph = place(NETWORK, queries, algorithm).graph
    sites = [vertex.site for vertex in graph.order if vertex.projection in [query.root for query in queries]]
    assert sites == [1, 1]
    assert graph.cost == 9 + 1


def test_the_same_query_without_timeouts_is_placed_as_if_alone() -> None:
    alone = place(NETWORK, normal_form_queries(parse(FREE), None, Statistics()), steps=50).graph
    both = place(NETWORK, normal_form_queries(parse(f"{TIMED}\n{FREE}"), None, Statistics()), steps=50).graph
    assert set(alone.inputs.items()) <= set(both.inputs.items())
    assert both.cost <= alone.cost + 9 + 1


def test_the_center_has_them_where_everything_is_sent_there() -> None:
    queries = normal_form_queries(parse(TIMED), None, Statistics())
    placed = place(NETWORK, queries, "central")
    assert placed.cost == placed.central_cost == 20
