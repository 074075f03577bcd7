"""The cheapest plan for one query, given what others already send.

Idea        Dynamic programming over the projections of the query by increasing size. For a projection, `here`
            is what it costs to find it at a target, which is either a single site or all sites that emit a
            kind; `there` is the same if it may be found elsewhere and sent. To find it at a target, its items
            are covered by smaller ones that come there and may overlap, as SEQ(A, B) and SEQ(B, C) do.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, algorithm 3, has the same recursion over placements.
Differs     All single sites and combinations are looked at, for all targets at once. Only projections
            cheaper to send than their parts take part in combinations. Streams that are sent already are
            free; others are counted once for every reader, which prices below their cost can make up for.
Complexity  O(4^k) steps for k items at worst, far fewer if few projections are worth sending, each on arrays
            with a number for each of the k kinds and the sites.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from weft.placement.arrangement import Arrangement, Sites, cost_to_gather
from weft.placement.draft import GAIN, TransferLedger
from weft.placement.network import Numbers, bits
from weft.placement.projection import ProjectedQuery, Projection

MOST_SINKS = 128  # sites that are tried as single sinks
SMALL_QUERY = 6  # items of a query all of whose projections are looked at
FEWEST = 4  # projections of each size that are looked at for each item of larger queries
MOST_TARGETS = 4  # for the whole query, whose exact costs are compared


class Targets:
    """The places where projections of a query may be wanted: all emitters of a kind, or a single site."""

    def __init__(self, ledger: TransferLedger, query: ProjectedQuery) -> None:
        network = self.network = ledger.network
        self.ledger = ledger
        self.query = query
        self.kinds = tuple(kind for kind in dict.fromkeys(query.kinds) if network.emitters(kind))
        n_sites = len(network.sites)
        rates = np.array([network.rates[kind] for kind in self.kinds]).reshape(-1, n_sites)
        self.emits = (rates > 0).astype(np.float64)
        self.sites = likely_sinks(rates)
        self._emits_at_sites = self.emits[:, self.sites] > 0
        shares = rates / rates.sum(axis=1, keepdims=True)
        sent = np.array([cost_to_gather(network, share) for share in shares]).reshape(-1, n_sites)
        if network.links is None:
            single = np.ones((len(self.sites), n_sites))
            single[np.arange(len(self.sites)), self.sites] = 0.0
        else:
            single = network.links[self.sites]
        # What a match costs from where it is to where it is wanted, and the least of it between two places.
        self.transfer = self.at_targets(np.concatenate([sent, single]))
        stays = np.eye(len(self.transfer), dtype=np.bool_) & (self.transfer == 0.0)
        self.least_transfer = float(np.where(stays, np.inf, self.transfer).min())

    def at_targets(self, prices: Numbers) -> Numbers:
        """Return prices for the targets, given those for every site."""
        return np.concatenate([prices @ self.emits.T, prices[..., self.sites]], axis=-1)

    @cached_property
    def subsets(self) -> dict[int, "Subset"]:
        """The projections of the query by their items, small ones first."""
        order = sorted(range(1, self.query.whole + 1), key=lambda items: (items.bit_count(), items))
        return {items: self._subset(items) for items in order}

    @cached_property
    def looked_at(self) -> frozenset[int]:
        """The projections that may be sent: of large queries, those with few matches for one of the items."""
        if self.query.n_items <= SMALL_QUERY:
            return frozenset(self.subsets)
        chosen: dict[tuple[int, int], list[int]] = {}
        for subset in sorted(self.subsets.values(), key=lambda subset: subset.total):
            for item in bits(subset.items):
                fewest = chosen.setdefault((item, subset.items.bit_count()), [])
                if len(fewest) < FEWEST:
                    fewest.append(subset.items)
        return frozenset(items for fewest in chosen.values() for items in fewest)

    def _subset(self, items: int) -> "Subset":
        projection = self.query.projection(items)
        kinds = projection.kinds
        checked = self.query.checked_negations(items)
        negated = {kind for negation in checked for kind in self.query.negated_kinds(negation)}
        elements = items | sum(1 << (self.query.n_items + negation) for negation in checked)
        within = np.array([kind in kinds for kind in self.kinds])
        possible = np.array([kinds.count(kind) <= 1 and kind not in negated for kind in self.kinds])
        every_site = np.ones(len(self.sites), dtype=np.bool_)
        return Subset(
            items,
            elements,
            projection.text,
            projection.rate(self.network),
            can_be_target=np.concatenate([possible, every_site]),
            can_be_placed=np.flatnonzero(np.concatenate([possible & within, every_site])),
            can_be_sent=np.concatenate([~within, every_site]),
            wanted_elsewhere=np.flatnonzero(np.concatenate([~within, every_site])),
        )

    def likely_origins(self, subset: "Subset", here: Numbers) -> NDArray[np.int64]:
        """Return where a projection may best be found to be sent, given what that costs at the targets.

        If all links are equal, the cheapest single site is best, or the cheapest of those that want it.
        """
        if self.network.links is not None:
            return subset.can_be_placed
        n_kinds = len(self.kinds)
        at_sites = np.where(self._emits_at_sites, here[n_kinds:], np.inf).argmin(axis=1)
        by_kind = subset.can_be_placed[subset.can_be_placed < n_kinds]
        return np.concatenate([by_kind, n_kinds + at_sites, [n_kinds + int(here[n_kinds:].argmin())]])

    def placement(self, target: int) -> tuple[str | None, Sites]:
        """Return the partitioning kind and the hosts of a projection that is found at a target."""
        if target >= len(self.kinds):
            return None, self.sites[target - len(self.kinds)][np.newaxis]
        return self.kinds[target], self.ledger.events(self.kinds[target]).hosts


@dataclass(frozen=True, eq=False, slots=True)
class Subset:
    """What the dynamic program knows of a projection; elements are its items and the negations it checks."""

    items: int
    elements: int
    text: str
    total: float
    can_be_target: NDArray[np.bool_]
    can_be_placed: NDArray[np.int64]
    can_be_sent: NDArray[np.bool_]
    wanted_elsewhere: NDArray[np.int64]  # the same as numbers


@dataclass(frozen=True, eq=False, slots=True)
class Present:
    """A projection that others find, and what all of it costs at every site."""

    arrangement: Arrangement
    price: Numbers


class CheapestPlan:
    """The table of the dynamic program.

    `prices` are what all events of a kind cost at every site; `present` are the projections that others find
    and that can be read for a set of items, its own first if it is there.
    """

    def __init__(
        self,
        targets: Targets,
        prices: Mapping[str, Numbers],
        present: Mapping[int, Sequence[Present]],
    ) -> None:
        self.targets = targets
        self.present = present
        self.arriving: dict[int, list[Numbers]] = {}  # what those present cost at the targets
        self.here: dict[int, Numbers] = {}
        self.there: dict[int, Numbers] = {}
        self.single: dict[int, Numbers] = {}  # by element
        self.worth_sending: list[Subset] = []
        self._fill_singles(prices)
        for items, subset in targets.subsets.items():
            if items in targets.looked_at or items in present:
                self._fill(subset)

    def _fill_singles(self, prices: Mapping[str, Numbers]) -> None:
        targets = self.targets
        query = targets.query
        arriving = {kind: targets.at_targets(price) for kind, price in prices.items()}
        for number, kind in enumerate(query.kinds):
            price = arriving[kind]
            if kind in targets.kinds:
                price = price.copy()
                price[targets.kinds.index(kind)] = 0.0
            self.single[1 << number] = price
        for negation in query.checked_negations(query.whole):
            kinds = query.negated_kinds(negation)
            self.single[1 << (query.n_items + negation)] = np.sum([arriving[kind] for kind in kinds], axis=0)

    def _fill(self, subset: Subset) -> None:
        if subset.items & (subset.items - 1) == 0:
            self.here[subset.items] = self.there[subset.items] = self.single[subset.items]
            return
        here = np.where(subset.can_be_target, self._cost_to_cover(subset), np.inf)
        self.here[subset.items] = here
        present = self.present.get(subset.items, ())
        arriving = self.arriving[subset.items] = [self._arriving(subset, known) for known in present]
        if not self._is_found(subset) and self._may_be_sent(subset, here):
            placed = self.targets.likely_origins(subset, here)
            sent = (here[placed, np.newaxis] + subset.total * self.targets.transfer[placed]).min(axis=0)
            sent[~subset.can_be_sent] = np.inf
            arriving = [*arriving, sent]
        there = reduce(np.minimum, arriving, here)
        self.there[subset.items] = there
        if bool((there < here * GAIN).any()):
            self.worth_sending.append(subset)

    def _may_be_sent(self, subset: Subset, here: Numbers) -> bool:
        """Whether it can be cheaper somewhere to have a projection sent there."""
        least = float(here[subset.can_be_placed].min()) + subset.total * self.targets.least_transfer
        return least < float(here[subset.wanted_elsewhere].max())

    def _is_found(self, subset: Subset) -> bool:
        """Whether others find the projection itself, so that it stays where it is."""
        present = self.present.get(subset.items, ())
        return any(known.arrangement.projection.text == subset.text for known in present)

    def _arriving(self, subset: Subset, known: Present) -> Numbers:
        """Return what a projection costs that others find, at the targets."""
        arriving = np.where(subset.can_be_sent, self.targets.at_targets(known.price), np.inf)
        partition = known.arrangement.partition
        if partition in self.targets.kinds and known.arrangement.is_at_emitters:
            arriving[self.targets.kinds.index(partition)] = 0.0
        return arriving

    def _cost_to_cover(self, subset: Subset) -> Numbers:
        """Return what the cheapest combination for a projection costs, at every target."""
        parts = [
            (part.elements, self.there[part.items])
            for part in self.worth_sending
            if not part.items & ~subset.items
        ]
        single = self.single
        known: dict[int, Numbers] = {0: np.zeros(len(self.targets.transfer))}

        def cover(elements: int) -> Numbers:
            best = known.get(elements)
            if best is None:
                first = elements & -elements
                best = single[first] + cover(elements ^ first)
                for part, costs in parts:
                    if part & first:
                        best = np.minimum(best, costs + cover(elements & ~part))
                known[elements] = best
            return best

        return cover(subset.elements)

    def best_targets(self) -> list[int]:
        """Return the best single site and the best kinds for the whole query, the cheapest first."""
        costs = self.here[self.targets.query.whole]
        n_kinds = len(self.targets.kinds)
        targets = [*range(n_kinds), n_kinds + int(np.argmin(costs[n_kinds:]))]
        possible = [target for target in targets if costs[target] < np.inf]
        return sorted(possible, key=lambda target: float(costs[target]))[:MOST_TARGETS]

    def arrangements(self, target: int) -> dict[str, Arrangement]:
        """Return the arrangements, by text, of the cheapest plan that finds the query at a target."""
        arranged: dict[int, Arrangement] = {}
        self._arrange(self.targets.query.whole, target, arranged)
        return {arrangement.projection.text: arrangement for arrangement in arranged.values()}

    def _arrange(self, items: int, target: int, arranged: dict[int, Arrangement]) -> None:
        if items in arranged:
            return
        targets = self.targets
        inputs = self._inputs(items, target)
        substitutes: dict[int, Projection] = {}
        for read in inputs:
            if read & (read - 1):
                source = self._source(targets.subsets[read], target)
                if isinstance(source, int):
                    self._arrange(read, source, arranged)
                elif source.text != targets.subsets[read].text:
                    substitutes[read] = source
        place = targets.placement(target)
        arranged[items] = targets.ledger.arrange(
            targets.query, items, inputs, *place, substitutes=substitutes
        )

    def _source(self, subset: Subset, target: int) -> int | Projection:
        """Return what is best read at a target for a projection, or where it is best found to be sent."""
        arriving = [float(costs[target]) for costs in self.arriving[subset.items]]
        if self._is_found(subset):
            origin, cost = -1, np.inf
        else:
            placed = subset.can_be_placed
            costs = self.here[subset.items][placed] + subset.total * self.targets.transfer[placed, target]
            origin, cost = int(placed[np.argmin(costs)]), float(costs.min())
        if arriving and min(arriving) <= cost:
            return self.present[subset.items][int(np.argmin(arriving))].arrangement.projection
        return origin

    def _inputs(self, items: int, target: int) -> tuple[int, ...]:
        """Return the inputs of a projection that is found at a target."""
        whole = self.targets.subsets[items].elements
        parts = [
            (part.items, part.elements, float(self.there[part.items][target]))
            for part in self.worth_sending
            if not part.items & ~items
            and part.items != items
            and self.there[part.items][target] < self.here[part.items][target] * GAIN
        ]  # to find others at the target first would save nothing
        known: dict[int, tuple[float, tuple[int, ...]]] = {0: (0.0, ())}

        def cover(elements: int) -> tuple[float, tuple[int, ...]]:
            best = known.get(elements)
            if best is None:
                first = elements & -elements
                cost, inputs = cover(elements ^ first)
                own = (first,) if first <= self.targets.query.whole else ()
                best = (cost + float(self.single[first][target]), own + inputs)
                for part, part_elements, part_cost in parts:
                    if part_elements & first:
                        cost, inputs = cover(elements & ~part_elements)
                        if cost + part_cost < best[0] * GAIN:
                            best = (cost + part_cost, (part, *inputs))
                known[elements] = best
            return best

        return cover(whole)[1]


def likely_sinks(rates: Numbers) -> Sites:
    """Return the sites to try as single sinks: in large networks those with most events or most kinds."""
    n_sites = rates.shape[1]
    if n_sites <= MOST_SINKS:
        return np.arange(n_sites)
    order = np.lexsort((-rates.sum(axis=0), -(rates > 0).sum(axis=0)))
    by_rate = np.argsort(-rates.sum(axis=0), kind="stable")
    chosen = dict.fromkeys([*by_rate[: MOST_SINKS // 2].tolist(), *order.tolist()])
    return np.sort(np.array(list(chosen)[:MOST_SINKS]))
