"""Improve a shared plan part by part: what costs more than it saves is no longer shared.

Idea        All patterns that have a shared part in their trees give it up at once, and each takes the best
            tree with the other parts that it shares. Where that is cheaper, it stays so; repeat until
            nothing is gained.
Reference   Our own. A pattern that gives up a part by itself gains nothing while others pay for it still.
Complexity  One call of the algorithm for single patterns for each shared part of each pattern and round.
"""

from collections.abc import Sequence

from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree


def give_up_sharing(multitree: MultiTree[Key], plans: LocalPlans, keys: Sequence[Key], limit: Limit) -> None:
    """Give up each part that patterns share, in turn, where that makes the plan cheaper."""
    improved = True
    while improved and not limit.is_over():
        improved = False
        for number, owners in _owners_of_parts(multitree, keys).items():
            if not limit.allows_step():
                return
            before = {key: multitree.trees[key] for key in owners}
            without = {
                key: plans.best(
                    multitree.patterns[key],
                    [
                        part
                        for part in multitree.shared_parts(key)
                        if _join_of(multitree.patterns[key], part) != number
                    ],
                )
                for key in owners
            }
            delta = multitree.replace(without)
            if delta >= 0:
                multitree.replace(before)
            improved |= delta < 0
        limit.tell(multitree.cost)


def _owners_of_parts(multitree: MultiTree[Key], keys: Sequence[Key]) -> dict[int, list[Key]]:
    """Return the patterns that share each part, each pattern once."""
    owners: dict[int, list[Key]] = {}
    for key in keys:
        for part in multitree.shared_parts(key):
            of_part = owners.setdefault(_join_of(multitree.patterns[key], part), [])
            if key not in of_part:
                of_part.append(key)
    return owners


def _join_of(pattern: Pattern, part: Tree) -> int:
    """Return the number of the join that is shared, below all checks and filters."""
    unchecked = part._replace(unchecked=True, computed_for=None)
    return pattern.part(unchecked, part.computed_for).number
