"""The cheapest shared plan of a small workload, by looking at all of them.

Idea        Every tree of the first pattern with every tree of the second, and so on. A further tree
            never makes a plan cheaper, so what costs as much as the best plan found is not continued.
Reference   The yardstick for the local search of Kolchinsky, Schuster. Real-Time Multi-Pattern
            Detection over Event Streams. SIGMOD 2019.
Complexity  Exponential in the number of patterns, with (2n - 3)!! trees for a pattern of n items: for
            some 5 patterns of 4 items. Optimal.
"""

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

from weft.cost.model import CostModel
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Numbers, Pattern
from weft.optimizer.trees import Tree, leaf, pair

Key = TypeVar("Key", bound=Hashable)


def all_trees(mask: int, lists: int = 0) -> Iterator[Tree]:
    """Yield every tree over some items; the items in `lists` are joined one at a time.

    >>> sum(1 for _ in all_trees(0b1111))
    15
    """
    if mask & (mask - 1) == 0:
        yield leaf(mask.bit_length() - 1)
        return
    lowest = mask & -mask
    part = rest = mask ^ lowest
    while part:
        part = (part - 1) & rest
        left, right = part | lowest, rest ^ part
        several = [side & ~lists == 0 and side & (side - 1) != 0 for side in (left, right)]
        if any(several) and (mask & ~lists or all(several)):
            continue
        for one in all_trees(left, lists):
            for other in all_trees(right, lists):
                yield pair(one, other)


def cheapest_multitree(
    patterns: Mapping[Key, Pattern], numbers: Numbers, model: CostModel, bound: float = float("inf")
) -> tuple[float, dict[Key, Tree]]:
    """Return the cost and the trees of the cheapest multitree; no trees when none is cheaper than `bound`."""
    multitree: MultiTree[Key] = MultiTree(numbers, model)
    keys = list(patterns)
    options = {key: list(all_trees(p.shape.everything, p.shape.list_mask)) for key, p in patterns.items()}
    best: tuple[float, dict[Key, Tree]] = (bound, {})

    def extend(place: int) -> None:
        nonlocal best
        if multitree.cost >= best[0]:
            return
        if place == len(keys):
            best = (multitree.cost, dict(multitree.trees))
            return
        key = keys[place]
        ranked = []
        for tree in options[key]:
            multitree.add(key, patterns[key], tree)
            ranked.append((multitree.ledger.total, tree))
            multitree.remove(key)
        for _, tree in sorted(ranked, key=lambda option: option[0]):
            multitree.add(key, patterns[key], tree)
            extend(place + 1)
            multitree.remove(key)

    extend(0)
    return best
