"""The multi-pattern tree: an evaluation order for every pattern, of which common prefixes are shared.

Idea        The orders of all patterns in one tree of states; a state is a prefix with all its
            conditions, and equal prefixes are one state. Which states are shared follows from the
            orders alone. To share a sub-pattern, patterns take the cheapest orders that begin with it.
Reference   Sections 3.1 to 3.3 and 4.2 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
            Streams. SIGMOD 2019.
Differs     An order is a tree that grows to one side, so a state is a node of the multitree: events that are
            waiting to be joined count too, and so do negations, which are checked wherever their items are
            bound.
Complexity  One run of the exact order's program for each order.
"""

from collections.abc import Mapping, Sequence

from weft.cost.shape import MOST_EXACT, Array
from weft.kernels.matches.subsets import cheapest_lasts
from weft.optimizer.memoize import memoize
from weft.optimizer.orders.decided import checks_of, local_cost
from weft.optimizer.orders.exact_order import exact_order, order_within
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Offer
from weft.optimizer.trees import Tree, join_all, leaf, order_of, order_tree


class OrderPlans(LocalPlans):
    """The best orders of patterns and of their parts, as trees that grow to one side."""

    @memoize
    def _best(self, pattern: Pattern, pinned: tuple[Tree, ...]) -> Tree:
        """Return the best order that starts with the first of the given trees; it cannot keep others."""
        if not pinned:
            return order_tree(exact_order(pattern.shape, self.model))
        start = order_of(pinned[0])
        if start is None:
            raise ValueError("an order begins with an order, not with a tree that grows to two sides")
        checks = checks_of(pinned[0], pattern.shape)
        order = exact_order(pattern.shape, self.model, start, start_checks=checks)
        return join_all([pinned[0], *map(leaf, order[len(start) :])])

    def reply(self, pattern: Pattern, existing: Mapping[int, Offer], pinned: Sequence[Tree] = ()) -> Tree:
        """Return the order that costs least when the orders of others are there already."""
        best = self.best(pattern, pinned)
        options = {best: local_cost(best, pattern.shape, self.model)}
        for offer in existing.values() if not pinned else ():
            if order_of(offer.tree) is not None:
                tree = self.best(pattern, [offer.tree])
                there = local_cost(offer.tree, pattern.shape, self.model)
                options[tree] = local_cost(tree, pattern.shape, self.model) - there + offer.cost
        return min(options, key=options.__getitem__)

    def part(self, pattern: Pattern, mask: int) -> Tree:
        """Return the best order of some items of a pattern."""
        if pattern.n_items > MOST_EXACT:
            return super().part(pattern, mask)
        return order_tree(order_within(mask, self._table(pattern)))

    @memoize
    def _table(self, pattern: Pattern) -> Array:
        """Return the last item of the best order of every subset of a pattern's items."""
        return cheapest_lasts(self.model.prices(pattern.shape), pattern.shape.list_mask, 0, 0)[1]
