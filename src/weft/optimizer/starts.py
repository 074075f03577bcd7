"""Where a search begins: in each component with the cheapest of several plans, made cheaper part by part."""

import heapq
import math
from collections.abc import Iterator, Sequence
from itertools import islice

from weft.optimizer.rewriting.rewrite_plan import rewrite_plan
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.weave import Key, Weave

REWRITING_STEPS = 100  # for patterns that are rewritten together, where time is no limit
FIRST_TOGETHER, MOST_TOGETHER = 16, 128  # patterns that are rewritten together, at first and at most
SHARING_PACE = 5e-4  # seconds to share as much as possible, for each pattern
PACE = 2e-4  # seconds to rewrite patterns, for the square of their number, before that is known
CAUTION = 2.0  # times that, as more patterns have more in common


def start_with_sharing(weave: Weave, limit: Limit, *, repairs: bool = True) -> None:
    """Begin with all sharing that pays, in those components where that is cheaper, if there is time."""
    if limit.seconds_left() < SHARING_PACE * len(weave.multitree.patterns):
        return
    trees = maximal_sharing(weave.sharables.graph, weave.multitree.patterns)
    weave.start_with(trees, limit if repairs else None)


def start_with_rewriting(weave: Weave, limit: Limit, seed: int, *, repairs: bool = True) -> int:
    """Begin with what MOTTO's planner finds, where that is cheaper; return how many patterns it looked at.

    Those of the dearest component come first, and in it the dearest pattern and those that share with it.
    """
    components = [keys for keys in weave.components() if len(keys) > 1]
    costs = [weave.cost_of(keys) for keys in components]
    n_rewritten = 0
    for place, keys in enumerate(components):
        if limit.is_over():
            break
        part = limit.part(costs[place] / (sum(costs[place:]) or 1.0)) if limit.is_timed else limit
        n_rewritten += _rewrite_component(weave, keys, part, seed, repairs=repairs)
    return n_rewritten


def _rewrite_component(weave: Weave, keys: Sequence[Key], limit: Limit, seed: int, *, repairs: bool) -> int:
    """Rewrite as many patterns together as time allows for, which goes with the square of their number."""
    waiting, n_done = nearest_first(weave, keys), 0
    n_together = _affordable(limit, PACE)
    if limit.is_timed:
        n_together = min(n_together, FIRST_TOGETHER)
    while n_together > 1 and not limit.is_over():
        together, started = list(islice(waiting, n_together)), limit.clock()
        if len(together) < 2:
            return n_done + len(together)
        _rewrite(weave, together, limit, seed, repairs=repairs)
        is_first, n_done = not n_done, n_done + len(together)
        n_together = _affordable(limit, (limit.clock() - started) / len(together) ** 2)
        if is_first and len(together) < len(keys) <= n_together:
            waiting, n_done = iter(keys), 0  # all together, as there is time for that
    return n_done


def _affordable(limit: Limit, pace: float) -> int:
    """Return how many patterns can be rewritten together in the time that is left."""
    if not limit.is_timed:
        return MOST_TOGETHER
    return min(MOST_TOGETHER, math.isqrt(int(limit.seconds_left() / max(CAUTION * pace, 1e-9))))


def _rewrite(weave: Weave, keys: Sequence[Key], limit: Limit, seed: int, *, repairs: bool) -> None:
    """Take the trees of a plan of rewritten queries where they are cheaper."""
    patterns = {key: weave.multitree.patterns[key] for key in keys}
    own = limit.part(1.0) if limit.is_timed else Limit(steps=REWRITING_STEPS, is_cancelled=limit.is_cancelled)
    trees = rewrite_plan(patterns, weave.multitree.model, own, seed=seed, is_strict=True).trees
    weave.start_with(trees, limit if repairs else None)


def nearest_first(weave: Weave, keys: Sequence[Key]) -> Iterator[Key]:
    """Yield the dearest pattern, then again and again the dearest of those that share with one before it."""
    costs = {key: weave.cost_of([key]) for key in keys}
    by_cost = sorted(keys, key=lambda key: -costs[key])
    seen = set[Key]()
    for first in by_cost:
        near = [(-costs[first], first)] if first not in seen else []
        seen.add(first)
        while near:
            _, key = heapq.heappop(near)
            yield key
            for other in weave.sharables.graph.neighbors(key) - seen:
                seen.add(other)
                heapq.heappush(near, (-costs[other], other))
