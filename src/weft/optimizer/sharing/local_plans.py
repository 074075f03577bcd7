"""The algorithm for single patterns that the search calls, with what it found before."""

from collections.abc import Mapping, Sequence

import numpy as np

from weft.cost.model import CostModel
from weft.cost.shape import MOST_EXACT, Array, Shape, items_of
from weft.kernels.subsets import cheapest_splits
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.exact_tree import exact_tree
from weft.optimizer.orders.greedy_order import greedy_order
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Tree, leaf, order_of, order_tree, pair


class LocalPlans:
    """The best trees of patterns and of their parts; with `orders_only`, trees that grow to one side."""

    def __init__(self, model: CostModel, *, orders_only: bool = False) -> None:
        self.model = model
        self.orders_only = orders_only
        self._best: dict[tuple[Pattern, tuple[Tree, ...]], Tree] = {}
        self._splits: dict[Pattern, Array] = {}

    def best(self, pattern: Pattern, pinned: Sequence[Tree] = ()) -> Tree:
        """Return the best tree that contains the given ones."""
        key = (pattern, tuple(sorted(pinned)))
        if key not in self._best:
            find = self._best_order if self.orders_only else exact_tree
            self._best[key] = find(pattern.shape, self.model, pinned)
        return self._best[key]

    def _best_order(self, shape: Shape, model: CostModel, pinned: Sequence[Tree]) -> Tree:
        """Return the best order that starts with the first of the given trees; it cannot keep others."""
        if not pinned:
            return order_tree(exact_order(shape, model))
        start = order_of(pinned[0])
        return order_tree(exact_order(shape, model, start)[len(start) :], pinned[0])

    def reply(self, pattern: Pattern, existing: Mapping[int, Tree], pinned: Sequence[Tree] = ()) -> Tree:
        """Return the tree that costs least when the trees of others are there already."""
        if self.orders_only:
            return self.best(pattern, pinned)
        return exact_tree(pattern.shape, self.model, pinned, existing)

    def part(self, pattern: Pattern, mask: int) -> Tree:
        """Return the best tree over some items of a pattern."""
        shape = pattern.shape
        if shape.n_items > MOST_EXACT or self.orders_only:
            order = [item for item in greedy_order(shape) if mask >> item & 1]
            return order_tree(sorted(order, key=lambda item: item in shape.lists))
        if pattern not in self._splits:
            prices = self.model.prices(shape)
            free = np.full(prices.own.size, np.inf)
            self._splits[pattern] = cheapest_splits(
                prices.own, prices.rows, prices.equal, prices.weight, free, shape.list_mask
            )[1]
        left_of = self._splits[pattern]

        def tree_of(subset: int) -> Tree:
            if subset & (subset - 1) == 0:
                return leaf(next(items_of(subset)))
            left = int(left_of[subset])
            return pair(tree_of(left), tree_of(subset ^ left))

        return tree_of(mask)
