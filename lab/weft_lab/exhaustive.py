"""The cheapest shared plan of a small workload, by looking at all of them.

Idea        Every tree of the first pattern with every tree of the second, and so on, each part of them
            computed for what the pattern demands or for what another one demands that has it too. A
            further tree never makes a plan cheaper, so what costs as much as the best plan found is not
            continued.
Reference   The yardstick for the local search of Kolchinsky, Schuster. Real-Time Multi-Pattern
            Detection over Event Streams. SIGMOD 2019.
Complexity  Exponential in the number of patterns, with (2n - 3)!! trees for a pattern of n items: for
            some 5 patterns of 4 items. Optimal.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from weft.cost.model import CostModel
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import InternTable
from weft.optimizer.trees import Demands, Tree, leaf, pair, uncheck
from weft.plan.extents import is_within

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
        for first in all_trees(left, lists):
            for second in all_trees(right, lists):
                yield pair(first, second)


def all_general(tree: Tree, pattern: Pattern, generals: Mapping[int, Sequence[Demands]]) -> Iterator[Tree]:
    """Yield a tree with each of its joins as it is, or computed for more general demands."""
    yield from _all_general(tree, pattern.own, generals)


def _all_general(tree: Tree, around: Demands, generals: Mapping[int, Sequence[Demands]]) -> Iterator[Tree]:
    if tree.left is None or tree.right is None:
        yield tree
        return
    for general in (None, *generals.get(tree.mask, ())):
        inner = general or around
        if inner.order <= around.order and is_within(around.extent, inner.extent):
            for left in _all_general(tree.left, inner, generals):
                for right in _all_general(tree.right, inner, generals):
                    joined = tree._replace(left=left, right=right, computed_for=general)
                    yield joined if general is None else uncheck(joined)


def generals_of(
    patterns: Mapping[Key, Pattern], *, weakens: bool = True
) -> dict[Key, dict[int, list[Demands]]]:
    """Return the demands of others on what they have in common with a pattern, by its items."""
    generals: dict[Key, dict[int, list[Demands]]] = {key: {} for key in patterns}
    for key, pattern in patterns.items():
        own = {pattern.label(mask).number: pattern.label(mask) for mask in _several(pattern)}
        for other in patterns.values():
            for label in {other.label(mask) for mask in _several(other)}:
                mine = own.get(label.number) or (pattern.weaker(label) if weakens else None)
                if mine is None or not is_within(pattern.extent, other.extent):
                    continue
                demands = pattern.demands(mine, other.extent)
                known = generals[key].setdefault(mine.mask, [])
                if not pattern.is_own(mine, other.extent) and demands not in known:
                    known.append(demands)
    return generals


def _several(pattern: Pattern) -> Iterator[int]:
    """Yield the sub-patterns of more than one item."""
    return (mask for mask in range(pattern.shape.everything + 1) if mask & (mask - 1))


def all_options(pattern: Pattern, generals: Mapping[int, Sequence[Demands]]) -> list[Tree]:
    """Return every tree of a pattern, with parts as general as others demand them."""
    trees = all_trees(pattern.shape.everything, pattern.shape.list_mask)
    return [option for tree in trees for option in all_general(tree, pattern, generals)]


def cheapest_multitree(
    patterns: Mapping[Key, Pattern],
    numbers: InternTable,
    model: CostModel,
    bound: float = float("inf"),
    *,
    weakens: bool = True,
) -> tuple[float, dict[Key, Tree]]:
    """Return the cost and the trees of the cheapest multitree; no trees when none is cheaper than `bound`."""
    multitree: MultiTree[Key] = MultiTree(numbers, model)
    keys = list(patterns)
    generals = generals_of(patterns, weakens=weakens)
    options = {key: all_options(pattern, generals[key]) for key, pattern in patterns.items()}
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
            ranked.append((multitree.nodes.total, tree))
            multitree.remove(key)
        for _, tree in sorted(ranked, key=lambda option: option[0]):
            multitree.add(key, patterns[key], tree)
            extend(place + 1)
            multitree.remove(key)

    extend(0)
    return best
