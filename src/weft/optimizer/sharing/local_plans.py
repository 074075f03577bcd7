"""The algorithm for single patterns that the search calls, with what it found before."""

from collections.abc import Mapping, Sequence

import numpy as np

from weft.cost.model import CostModel
from weft.cost.shape import MOST_EXACT, Array, Shape
from weft.kernels.matches.subsets import cheapest_splits
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.orders.exact_tree import exact_tree
from weft.optimizer.orders.greedy_order import greedy_order
from weft.optimizer.orders.local_cost import passed
from weft.optimizer.orders.units import built_tree, units_of
from weft.optimizer.sharing.numbering import Offer
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Tree, order_of, order_tree


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
        order = exact_order(shape, model, start, start_checks=passed(pinned[0], shape))
        return order_tree(order[len(start) :], pinned[0])

    def reply(self, pattern: Pattern, existing: Mapping[int, Offer], pinned: Sequence[Tree] = ()) -> Tree:
        """Return the tree that costs least when the trees of others are there already."""
        if self.orders_only:
            return self.best(pattern, pinned)
        trees = {mask: offer.tree for mask, offer in existing.items()}
        reading = {mask: offer.cost for mask, offer in existing.items()}
        return exact_tree(pattern.shape, self.model, pinned, trees, reading)

    def part(self, pattern: Pattern, mask: int) -> Tree:
        """Return the best tree over some items of a pattern."""
        shape = pattern.shape
        if shape.n_items > MOST_EXACT or self.orders_only:
            order = [item for item in greedy_order(shape) if mask >> item & 1]
            return order_tree(sorted(order, key=lambda item: item in shape.lists))
        if pattern not in self._splits:
            prices, nothing = self.model.prices(shape), np.full(1 << shape.n_items, -1, np.int64)
            costs = np.zeros(nothing.size)
            self._splits[pattern] = cheapest_splits(prices, nothing, costs, shape.list_mask)[1]
        return built_tree(mask, self._splits[pattern], units_of(shape, ()), {})
