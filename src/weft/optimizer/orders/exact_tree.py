"""The cheapest tree of all, by dynamic programming over subsets.

Idea        The best tree over a subset joins the best trees over some two parts of it.
Reference   Vance, Maier. Rapid Bushy Join-order Optimization with Cartesian Products. SIGMOD 1996; for
            events Kolchinsky, Schuster. Join Query Optimization Techniques for Complex Event Processing
            Applications. PVLDB 11(11), 2018.
Differs     Contains given sub-trees, and may use trees that exist already: as they are, or with the
            negations checked that they have left to their readers.
Complexity  O(3^n) for n items and given sub-trees; optimal among trees that check every negation as soon
            as its items are there. Beyond MOST_EXACT items, the better of the greedy order and
            ZStream's tree is returned.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_

import numpy as np

from weft.cost.model import CostModel
from weft.cost.shape import MOST_EXACT, Shape
from weft.kernels.subsets import cheapest_splits
from weft.optimizer.orders.greedy_order import greedy_order
from weft.optimizer.orders.local_cost import local_cost, passed
from weft.optimizer.orders.units import built_tree, subset_masks, unit_prices, units_of
from weft.optimizer.orders.zstream_tree import zstream_tree
from weft.optimizer.trees import Tree, nodes_of, order_tree


def exact_tree(
    shape: Shape,
    model: CostModel,
    pinned: Sequence[Tree] = (),
    existing: Mapping[int, Tree] | None = None,
    reading: Mapping[int, float] | None = None,
) -> Tree:
    """Return the cheapest tree that contains the given sub-trees.

    `existing` are trees, by their items, that are computed anyway: one only has to read them, which
    costs something where `reading` says so.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.trees import leaf, pair, shown
    >>> chain = Shape((47.0, 2.0, 9.0), (0, 0b001, 0b011), window=1.0)
    >>> shown(exact_tree(chain, PartialMatches()), "abc")
    '(a (b c))'
    >>> shown(exact_tree(chain, PartialMatches(), existing={0b101: pair(leaf(0), leaf(2))}), "abc")
    '((a c) b)'
    """
    if shape.n_items > MOST_EXACT:
        return _approximate(shape, model, pinned)
    units = units_of(shape, pinned)
    masks = subset_masks(units)
    usable = {mask: tree for mask, tree in (existing or {}).items() if _contains(tree, pinned)}
    covered = reduce(or_, usable, 0)  # the leaves below a tree that exists do too
    found = {1 << place: unit for place, unit in enumerate(units) if not unit.is_leaf or unit.mask & covered}
    found |= {subset: usable[mask] for subset, mask in enumerate(masks.tolist()) if mask in usable}
    given, costs = np.full(masks.size, -1, np.int64), np.zeros(masks.size)
    for subset, tree in found.items():  # these cost the same in every plan
        given[subset] = passed(tree, shape)
        costs[subset] = (reading or {}).get(tree.mask, 0.0) if subset & (subset - 1) else 0.0
    is_list = sum(1 << place for place, unit in enumerate(units) if not unit.mask & ~shape.list_mask)
    _, parts_of = cheapest_splits(unit_prices(model.prices(shape), masks), given, costs, is_list)
    return built_tree(masks.size - 1, parts_of, units, found)


def _contains(tree: Tree, pinned: Sequence[Tree]) -> bool:
    """Say whether a tree contains all the given ones that it has items of."""
    parts = set(nodes_of(tree))
    return all(one in parts for one in pinned if one.mask & tree.mask)


def _approximate(shape: Shape, model: CostModel, pinned: Sequence[Tree]) -> Tree:
    """Return the better of two trees that take little time to find."""
    options = [zstream_tree(shape, model, pinned)]
    if not pinned:
        options.append(order_tree(greedy_order(shape)))
    return min(options, key=lambda tree: local_cost(tree, shape, model))
