"""What each pattern could share: the sub-patterns that others have, under its own or a weaker order.

Idea        SEQ(L) is what an order filter leaves of CONJ(L). So a pattern may use a sub-pattern of another
            whose events and conditions are the same and whose order is a part of its own.
Reference   Operator transformation, table I of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for
            Complex Event Processing in SAP ESP. ICDE 2017; on top of the multi-pattern graph of
            Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event Streams. SIGMOD 2019.
Differs     Any partial order may serve any stricter one, not CONJ for SEQ alone. Only orders that some
            pattern has are offered: no more general one pays, because its rows are at least those of all
            the patterns that would read it. Lists are left out. Of the sub-patterns of a large pattern, those
            that are a whole pattern elsewhere and the largest are looked at.
Complexity  O(g v^2) for a pattern with g sub-patterns in common with others, which have v orders each.
"""

from collections.abc import Hashable, Iterator, Mapping
from itertools import islice, permutations, product
from typing import Generic, TypeVar

from weft.optimizer.sharing.multi_pattern_graph import MultiPatternGraph
from weft.optimizer.sharing.numbering import Labelled
from weft.optimizer.sharing.pattern import MOST_LABELLINGS, Order, Pattern

Key = TypeVar("Key", bound=Hashable)
MOST_WITHOUT_ORDER = 128  # sub-patterns of a pattern that are compared with those in other orders


class Sharables(Generic[Key]):
    """Patterns by a key of the caller's, and what they could share; unless `weakens`, equal orders only."""

    def __init__(self, *, weakens: bool = True) -> None:
        self._weakens = weakens
        self._patterns: dict[Key, Pattern] = {}
        self._new: dict[Key, Pattern] = {}
        self._ordered: MultiPatternGraph[Key] = MultiPatternGraph()
        self._unordered: MultiPatternGraph[Key] | None = None
        self._orders: dict[int, dict[int, Order]] = {}
        self._known: dict[Key, list[Labelled]] = {}

    def add(self, key: Key, pattern: Pattern) -> None:
        """Add a pattern; what it has in common with others is found when somebody asks."""
        if key in self._patterns:
            raise ValueError(f"there is a pattern {key!r} already")
        self._patterns[key] = self._new[key] = pattern

    def remove(self, key: Key) -> None:
        """Remove a pattern."""
        del self._patterns[key]
        if self._new.pop(key, None) is None:
            self._forget()
            self._ordered.remove(key)
            if self._unordered is not None:
                self._unordered.remove(key)

    @property
    def graph(self) -> MultiPatternGraph[Key]:
        """The multi-pattern graph of all patterns."""
        self._look_at_new()
        return self._ordered

    def _look_at_new(self) -> None:
        if not self._new:
            return
        self._forget()
        new = self._new
        if self._weakens and self._unordered is None and not all(map(_is_chain, new.values())):
            self._unordered, new = MultiPatternGraph(ordered=False), self._patterns
        if self._unordered is not None:
            for key, pattern in new.items():
                self._unordered.add(key, pattern)
        for key, pattern in self._new.items():
            self._ordered.add(key, pattern)
        self._new = {}

    def _forget(self) -> None:
        self._orders.clear()
        self._known.clear()

    def components(self) -> list[list[Key]]:
        """Return the patterns that have something to share with each other, directly or through others."""
        self._look_at_new()
        return (self._unordered or self._ordered).components()

    def of(self, key: Key) -> list[Labelled]:
        """Return what a pattern could share: sub-patterns, with the items of this pattern in their places."""
        self._look_at_new()
        if key not in self._known:
            pattern, common = self._patterns[key], self._ordered.common(key)
            found = [pattern.labelled(mask) for mask in common]
            for mask, number in self._without_order(key):
                orders = self._orders_of(number)
                found += _weaker(pattern, mask, orders)
                if mask not in common and _serves_others(pattern, mask, orders):
                    found.append(pattern.labelled(mask))
            self._known[key] = found
        return self._known[key]

    def _without_order(self, key: Key) -> list[tuple[int, int]]:
        """Return what a pattern has in common with others if no order counts: the most promising parts."""
        if self._unordered is None:
            return []
        lists = self._patterns[key].shape.list_mask
        found = [(mask, number) for mask, number in self._unordered.common(key).items() if not mask & lists]
        if len(found) > MOST_WITHOUT_ORDER:
            found.sort(key=lambda one: (not self._is_whole(one[1]), -one[0].bit_count(), one[0]))
        return found[:MOST_WITHOUT_ORDER]

    def _is_whole(self, number: int) -> bool:
        """Say whether a sub-pattern is all there is of some pattern."""
        owners = {} if self._unordered is None else self._unordered.owners(number)
        return any(self._patterns[key].shape.everything in masks for key, masks in owners.items())

    def _orders_of(self, number: int) -> dict[int, Order]:
        """Return the orders under which patterns have a sub-pattern, by the number they have with it."""
        if number not in self._orders and self._unordered is not None:
            labels = [
                self._patterns[key].labelled(mask)
                for key, masks in self._unordered.owners(number).items()
                for mask in masks
            ]
            self._orders[number] = {label.number: label.order for label in labels}
        return self._orders[number]


def _is_chain(pattern: Pattern) -> bool:
    """Say whether all items are in order, so that no order is weaker than that of another chain."""
    return 2 * len(pattern.own.order) == pattern.n_items * (pattern.n_items - 1)


def _serves_others(pattern: Pattern, mask: int, orders: Mapping[int, Order]) -> bool:
    """Say whether some order is stricter than that of a pattern, going by its size."""
    return any(len(order) > len(pattern.order_within(mask)) for order in orders.values())


def _weaker(pattern: Pattern, mask: int, orders: Mapping[int, Order]) -> Iterator[Labelled]:
    """Yield the sub-patterns under weaker orders, with the items of a pattern in their places."""
    for number, order in orders.items():
        if len(order) < len(pattern.order_within(mask)):
            found = _fitted(pattern, mask, number, order)
            if found is not None:
                yield found


def _fitted(pattern: Pattern, mask: int, number: int, order: Order) -> Labelled | None:
    """Return the items of a pattern in the places of a sub-pattern with a weaker order, if they fit."""
    options = islice(product(*map(permutations, pattern.alike(mask))), MOST_LABELLINGS)
    for choice in options:
        items = tuple(item for tie in choice for item in tie)
        moved = frozenset((items[a], items[b]) for a, b in order)
        if moved < pattern.order_within(mask):
            labelled = pattern.labelled(mask, moved)
            if labelled.number == number:
                return labelled
    return None
