"""The algorithm for single patterns that the search calls, with what it found before."""

from collections.abc import Mapping, Sequence

import numpy as np

from weft.cost.model import CostModel
from weft.cost.shape import MOST_EXACT, Array
from weft.kernels.matches.subsets import cheapest_splits
from weft.optimizer.memoize import memoize
from weft.optimizer.orders.exact_tree import built_tree, exact_tree
from weft.optimizer.orders.greedy_order import greedy_order
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Offer
from weft.optimizer.trees import Tree, order_tree, units_of


class LocalPlans:
    """The best trees of patterns and of their parts."""

    def __init__(self, model: CostModel) -> None:
        self.model = model

    def best(self, pattern: Pattern, pinned: Sequence[Tree] = ()) -> Tree:
        """Return the best tree that contains the given ones."""
        return self._best(pattern, tuple(pinned))

    @memoize
    def _best(self, pattern: Pattern, pinned: tuple[Tree, ...]) -> Tree:
        return exact_tree(pattern.shape, self.model, pinned)

    def reply(self, pattern: Pattern, existing: Mapping[int, Offer], pinned: Sequence[Tree] = ()) -> Tree:
        """Return the tree that costs least when the trees of others are there already."""
        trees = {mask: offer.tree for mask, offer in existing.items()}
        reading = {mask: offer.cost for mask, offer in existing.items()}
        return exact_tree(pattern.shape, self.model, pinned, trees, reading)

    def part(self, pattern: Pattern, mask: int) -> Tree:
        """Return the best tree over some items of a pattern."""
        shape = pattern.shape
        if shape.n_items > MOST_EXACT:
            order = [item for item in greedy_order(shape) if mask >> item & 1]
            return order_tree(sorted(order, key=lambda item: item in shape.lists))
        return built_tree(mask, self._table(pattern), units_of(shape, ()), {})

    @memoize
    def _table(self, pattern: Pattern) -> Array:
        """Return how the best tree over every subset of a pattern's items is divided."""
        prices, nothing = self.model.prices(pattern.shape), np.full(1 << pattern.n_items, -1, np.int64)
        return cheapest_splits(prices, nothing, np.zeros(nothing.size), pattern.shape.list_mask)[1]
