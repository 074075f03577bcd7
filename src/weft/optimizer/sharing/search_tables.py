"""The patterns of a search as tables: prices of all subsets, places of sub-patterns, and who has them."""

from typing import Generic

import numpy as np

from weft.cost.shape import MOST_EXACT
from weft.kernels.plans.neighbors import VARIANTS
from weft.kernels.plans.tables import (
    GROWN,
    MOST_EXTENTS,
    MOST_PLACES,
    NOTHING,
    PATTERN,
    PLACES,
    SUB_PATTERN,
    UNKNOWN,
    USER,
)
from weft.optimizer.sharing.growing_rows import GrowingRows
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key, Label
from weft.plan.nodes import Extent

NO_END = 1 << 62  # the length of no extent


def is_expressible(neighborhood: Neighborhood[Key]) -> bool:
    """Say whether steps of a search can be compiled: not for orders, latency and very large patterns."""
    patterns = [neighborhood.multitree.patterns[key] for key in neighborhood.common]
    return (
        type(neighborhood.plans) is LocalPlans
        and not neighborhood.multitree.numbers.counts_latency
        and max((pattern.n_items for pattern in patterns), default=0) <= MOST_EXACT
        and sum(len(own) for own in neighborhood.common.values()) < MOST_PLACES // 2
        and len({pattern.extent for pattern in patterns}) < MOST_EXTENTS
    )


class SearchTables(Generic[Key]):
    """Patterns by number, and the places where each has a sub-pattern, under its own or a weaker order.

    Sub-patterns are numbered too, as far as patterns could share them.
    """

    def __init__(self, neighborhood: Neighborhood[Key]) -> None:
        self.neighborhood = neighborhood
        self.multitree = neighborhood.multitree
        self.keys = list(neighborhood.common)
        self.of_key = {key: number for number, key in enumerate(self.keys)}
        self.of_number: list[Pattern] = [self.multitree.patterns[key] for key in self.keys]
        self.extents: list[Extent | None] = list(dict.fromkeys(p.extent for p in self.of_number))
        self._extent_numbers = {extent: number for number, extent in enumerate(self.extents)}
        self.patterns, self.places, self.sub_patterns = (
            GrowingRows(PATTERN),
            GrowingRows(PLACES),
            GrowingRows(SUB_PATTERN),
        )
        self.users, self.grown = GrowingRows(USER), GrowingRows(GROWN)
        self.places_of, self.leaves = GrowingRows(np.dtype(np.int64)), GrowingRows(np.dtype(np.int64))
        self.rows, self.equal = GrowingRows(np.dtype(np.float64)), GrowingRows(np.dtype(np.float64))
        self.ready, self.survivals = GrowingRows(np.dtype(np.int64)), GrowingRows(np.dtype(np.float64))
        self.tariffs = np.zeros((len(self.keys), 6))
        self.labels: list[tuple[int, Label]] = []  # of places: the pattern, and the items in order
        self._places: dict[tuple[int, Label], int] = {}
        self._sub_patterns: dict[int, int] = {}
        self._negations: dict[frozenset[int], int] = {}
        self._unordered: dict[int, list[Label]] = {}  # by the first leaf
        self._asked_weaker: dict[int, list[int]] = {}  # patterns that know theirs, by leaf
        for number in range(len(self.keys)):
            self._add_pattern(number)
        for of_sub_pattern, users in neighborhood.users.items():
            self._add_users(of_sub_pattern, users)
        searched = [self.of_key[key] for key in neighborhood.keys]
        self.searched = np.array(searched, np.int64)

    def _add_pattern(self, number: int) -> None:
        key, pattern = self.keys[number], self.of_number[number]
        prices = self.multitree.model.prices(pattern.shape)
        self.tariffs[number] = prices.tariff
        first_price = self.rows.extend(prices.rows)
        self.equal.extend(prices.equal)
        self.ready.extend(prices.ready)
        first_check = self.survivals.extend(prices.survivals)
        common, pairs = self.neighborhood.common[key], self.neighborhood.unordered[key]
        first_common = self.places.count
        for label in common:
            self.place(number, label)
        length = NO_END if pattern.extent is None else pattern.extent.length
        row = (
            *(NOTHING, NOTHING, 0, pattern.n_items, pattern.shape.list_mask),
            *(0, first_price, first_check, len(prices.survivals), first_common, len(common)),
            self.grown.extend([(UNKNOWN, UNKNOWN)] * (VARIANTS * len(pairs))),
            *(VARIANTS * len(pairs), self._extent_numbers[pattern.extent], length, UNKNOWN),
        )
        self.patterns.add(row)

    def _add_users(self, of_sub_pattern: int, users: dict[Key, list[Label]]) -> None:
        owner = self.sub_pattern(of_sub_pattern)
        places = [
            (self.of_key[key], [self.place(self.of_key[key], label) for label in labels])
            for key, labels in users.items()
        ]
        first = self.users.count
        for number, own in places:
            self.users.add((number, self.places_of.extend(own), len(own)))
        self.sub_patterns.array[owner]["first_user"] = first
        self.sub_patterns.array[owner]["n_users"] = len(places)

    def place(self, number: int, label: Label) -> int:
        """Return the number of the places at which a pattern has a sub-pattern."""
        known = self._places.get((number, label))
        if known is not None:
            return known
        pattern = self.of_number[number]
        negations = pattern.negations_in(label.items) if pattern.form.negations else frozenset()
        row = (
            *(number, label.mask, self.sub_pattern(label.number)),
            self._negations.setdefault(negations, len(self._negations)),
            *(pattern.is_own(label, pattern.extent), UNKNOWN, NOTHING),
        )
        self.labels.append((number, label))
        found = self._places[number, label] = self.places.add(row)
        return found

    def sub_pattern(self, label: int) -> int:
        """Return the number of a sub-pattern here, by that of its label."""
        known = self._sub_patterns.get(label)
        if known is None:
            known = self._sub_patterns[label] = self.sub_patterns.add((NOTHING, 0, 0, 0))
        return known

    def is_shareable(self, label: Label) -> bool:
        """Say whether others could use what a pattern computes of a sub-pattern."""
        return label.number in self._sub_patterns or (self.multitree.weakens and label.is_unordered)

    def offer(self, label: Label) -> int:
        """Return the number of a sub-pattern that somebody computes, so that others may use it."""
        number = self.sub_pattern(label.number)
        row = self.sub_patterns.array[number]
        if not row["is_offered"]:
            row["is_offered"] = 1
            if self.multitree.weakens and label.is_unordered:
                self._unordered.setdefault(label.leaves[0], []).append(label)
                for asked in self._asked_weaker.get(label.leaves[0], ()):
                    self._note_weaker(asked, label)
        return number

    def find_weaker(self, number: int) -> None:
        """Note all that a pattern may use under a weaker order than its own, now and from now on."""
        self.patterns.array[number]["weaker"] = NOTHING
        pattern = self.of_number[number]
        for leaf in sorted(pattern.leaf_set) if pattern.own.order else ():
            self._asked_weaker.setdefault(leaf, []).append(number)
            for label in self._unordered.get(leaf, ()):
                self._note_weaker(number, label)

    def _note_weaker(self, number: int, label: Label) -> None:
        usable = self.of_number[number].weaker(label)
        if usable is not None:
            places = self.place(number, usable)
            self.places.array[places]["next"] = self.patterns.array[number]["weaker"]
            self.patterns.array[number]["weaker"] = places
