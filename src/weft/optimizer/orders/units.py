"""The parts from which a tree is built: given sub-trees, and the items that are in none of them."""

from collections.abc import Sequence

import numpy as np

from weft.cost.model import Prices
from weft.cost.shape import Array, Shape
from weft.optimizer.trees import Tree, leaf


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
    return Prices(
        prices.own[masks], prices.rows[masks], prices.equal[masks], prices.weight, prices.reading[masks]
    )
