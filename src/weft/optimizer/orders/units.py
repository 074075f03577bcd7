"""The parts from which a tree is built: given sub-trees, and the items that are in none of them."""

from collections.abc import Mapping, Sequence

import numpy as np

from weft.cost.shape import Array, Shape
from weft.kernels.matches.subsets import Prices
from weft.optimizer.trees import Tree, leaf, pair


def units_of(shape: Shape, pinned: Sequence[Tree]) -> list[Tree]:
    """Return the given trees and a leaf for every other item, by their first items.

    >>> from weft.optimizer.trees import pair
    >>> units = units_of(Shape((1.0, 1.0, 1.0), (0, 0, 0), 1.0), [pair(leaf(0), leaf(2))])
    >>> [unit.mask for unit in units]
    [5, 2]
    """
    taken = 0
    for tree in pinned:
        if tree.mask & taken:
            raise ValueError("given sub-trees have no item in common")
        taken |= tree.mask
    rest = [leaf(item) for item in range(shape.n_items) if not taken >> item & 1]
    return sorted((*pinned, *rest), key=lambda unit: unit.mask & -unit.mask)


def subset_masks(units: Sequence[Tree]) -> Array:
    """Return the items of every subset of the units."""
    masks = np.zeros(1, np.int64)
    for unit in units:
        masks = np.concatenate([masks, masks | unit.mask])
    return masks


def unit_prices(prices: Prices, masks: Array) -> Prices:
    """Return the prices of subsets of units."""
    return prices._replace(rows=prices.rows[masks], equal=prices.equal[masks], ready=prices.ready[masks])


def built_tree(part: int, parts_of: Array, units: Sequence[Tree], given: Mapping[int, Tree]) -> Tree:
    """Return the tree that `cheapest_splits` describes, from units and from trees that are there.

    >>> parts_of = np.array([[0, 0], [0, 0], [0, 0], [0b01, 0b10]])
    >>> built_tree(0b11, parts_of, [leaf(0), leaf(1)], {}) == pair(leaf(0), leaf(1))
    True
    """
    if part < 0:
        return given[-part]
    if part & (part - 1) == 0:
        return units[part.bit_length() - 1]
    left, right = parts_of[part].tolist()
    if not right:
        return given[part]._replace(bare=False)
    return pair(built_tree(left, parts_of, units, given), built_tree(right, parts_of, units, given))
