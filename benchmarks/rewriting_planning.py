"""MOTTO's planner by itself: how long it takes, and how far from the optimum its plan is at most."""

import time
from dataclasses import dataclass

from contest import Arena
from rewriting import measured_cost

import weft
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.pipeline import weave_for
from weft.optimizer.rewriting.rewrite_plan import rewrite_plan
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.trees import order_tree

SHARE_OF_SEARCH = 0.95  # of the time; the rest is for building the trees


@dataclass(frozen=True)
class Planning:
    """What the planner looked at, the seconds that it took, and how much its plan may be too dear.

    The gap is that to the best plan with the candidates, which are all where it is complete.
    """

    n_candidates: int
    n_chosen: int
    seconds: float
    gap: float
    is_optimal: bool
    is_complete: bool


def exact_planning(arena: Arena, seconds: float) -> Planning:
    """Plan the queries of an arena exactly, or as well as the time allows."""
    model = measured_cost(arena)
    weave = weave_for(arena.schema, weft.Planning(statistics=arena.statistics, cost=model))
    for query in arena.queries:
        weave.add(query, lambda pattern: order_tree(pattern_order(pattern.shape)))
    start = time.perf_counter()
    found = rewrite_plan(weave.multitree.patterns, model, Limit(seconds=seconds * SHARE_OF_SEARCH))
    return Planning(
        found.n_candidates,
        found.n_chosen,
        seconds=time.perf_counter() - start,
        gap=found.gap,
        is_optimal=found.is_optimal,
        is_complete=found.is_complete,
    )
