"""Improve a shared plan pattern by pattern: each takes the best tree that the others leave it.

Idea        What others compute is free. The cheapest tree of a pattern, given that, comes from the
            same dynamic program over subsets; repeat until no pattern gains.
Reference   Our own; the best-response dynamics of congestion games, of which a shared plan is one.
Complexity  O(3^m) for each pattern of m items and each round; few rounds.
"""

from collections.abc import Sequence

from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.sharables import Sharables
from weft.optimizer.sharing.sub_patterns import Key


def best_reply(
    multitree: MultiTree[Key],
    sharables: Sharables[Key],
    plans: LocalPlans,
    keys: Sequence[Key],
    limit: Limit,
) -> None:
    """Give each pattern the best reply to the others, in turn, while that makes the plan cheaper."""
    known = {key: sharables.of(key) for key in keys}
    improved = True
    while improved:
        improved = False
        for key in keys:
            if not limit.allows_step():
                return
            pattern, old = multitree.patterns[key], multitree.trees[key]
            existing = multitree.existing(key, known[key])
            tree = plans.reply(pattern, existing)
            delta = multitree.replace({key: tree})
            if delta > 0:
                multitree.replace({key: old})
            improved |= delta < 0
        limit.tell(multitree.cost)
