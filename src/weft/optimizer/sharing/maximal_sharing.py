"""Share as much as possible, and never look at what it costs: a baseline.

Idea        The largest common sub-patterns first, those of most patterns first among these; everything
            else in the order in which the patterns name it. What is shared is computed for the longest
            window of those that share it.
Reference   The method SH of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event Streams.
            SIGMOD 2019, section 6.2.2.
Complexity  O(g log g) for g common sub-patterns. Optimal in nothing.
"""

from collections.abc import Sequence

from weft.cost.shape import items_of
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.sharing.multi_pattern_graph import MultiPatternGraph
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree, join_all, order_tree, relabel, uncheck, units_of
from weft.plan.extents import longest


def maximal_sharing(graph: MultiPatternGraph[Key], patterns: dict[Key, Pattern]) -> dict[Key, Tree]:
    """Return a tree for every pattern."""
    numbers: dict[int, int] = {}
    for key in patterns:
        for mask, number in graph.common(key).items():
            numbers[number] = mask.bit_count()
    ranked = sorted(numbers, key=lambda number: (-numbers[number], -len(graph.owners(number)), number))
    pinned: dict[Key, list[Tree]] = {key: [] for key in patterns}
    for number in ranked:
        places = {
            key: next((mask for mask in masks if not mask & _mask_of_all(pinned[key])), 0)
            for key, masks in graph.owners(number).items()
        }
        free = {key: mask for key, mask in places.items() if mask}
        if len(free) > 1:
            _pin(free, patterns, pinned)
    return {key: _in_pattern_order(pattern, pinned[key]) for key, pattern in patterns.items()}


def _mask_of_all(trees: Sequence[Tree]) -> int:
    return sum(tree.mask for tree in trees)


def _pin(places: dict[Key, int], patterns: dict[Key, Pattern], pinned: dict[Key, list[Tree]]) -> None:
    """Give all patterns the tree that the first one has for the sub-pattern."""
    first = next(iter(places))
    order = [item for item in pattern_order(patterns[first].shape) if places[first] >> item & 1]
    if all(item in patterns[first].shape.lists for item in items_of(places[first])):
        return
    labels = {key: patterns[key].label(mask) for key, mask in places.items()}
    shared = relabel(uncheck(order_tree(order)), labels[first].places)
    extent = longest(patterns[key].extent for key in places)
    for key, label in labels.items():
        pinned[key].append(patterns[key].place(shared, label, extent))


def _in_pattern_order(pattern: Pattern, pinned: Sequence[Tree]) -> Tree:
    """Join the shared parts and the other items as the pattern names them, lists last."""
    units = units_of(pattern.shape, pinned)
    units.sort(key=lambda unit: unit.mask & ~pattern.shape.list_mask == 0)
    return join_all(units)
