"""The cheapest shared plan of a small workload, by looking at all of them."""

from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

from weft.cost.model import CostModel
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Numbers, Pattern
from weft.optimizer.trees import Tree, leaf, pair

Key = TypeVar("Key", bound=Hashable)


def all_trees(mask: int, lists: int = 0) -> Iterator[Tree]:
    """Yield every tree over some items.

    The items in `lists` are joined one at a time, to something else unless there is nothing else.
    """
    if mask & (mask - 1) == 0:
        yield leaf(mask.bit_length() - 1)
        return
    lowest = mask & -mask
    part = rest = mask ^ lowest
    while part:
        part = (part - 1) & rest
        left, right = part | lowest, rest ^ part
        of_lists = [side for side in (left, right) if not side & ~lists and side & (side - 1)]
        if len(of_lists) == 2 or (of_lists and mask & ~lists):
            continue
        for one in all_trees(left, lists):
            for other in all_trees(right, lists):
                yield pair(one, other)


def cheapest(
    patterns: Mapping[Key, Pattern], numbers: Numbers, model: CostModel, bound: float = float("inf")
) -> tuple[float, dict[Key, Tree]]:
    """Return the cost and the trees of the cheapest multitree.

    Adding a tree never makes a plan cheaper, so what costs more than the best found is not continued.
    """
    multitree: MultiTree[Key] = MultiTree(numbers, model)
    keys = list(patterns)
    options = {key: list(all_trees(p.shape.everything, p.shape.list_mask)) for key, p in patterns.items()}
    best: list[tuple[float, dict[Key, Tree]]] = [(bound * (1 + 1e-9), {})]

    def extend(place: int) -> None:
        if multitree.cost >= best[0][0]:
            return
        if place == len(keys):
            best[0] = (multitree.cost, dict(multitree.trees))
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
    return best[0]
