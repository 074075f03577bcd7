"""Place queries of small problems at the least cost, by branch and bound.

Idea        Decide for one projection after another from what and where it is found, larger ones first: then
            all its readers are known, and so is what it sends. What is sent so far, and the least that
            projections still to be decided must send to their readers, bounds all that follows.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 5.3; in place of algorithm 1, which lists all graphs.
Differs     The result is exact among graphs in which all matches of a projection are found from the same
            inputs, none of them redundant, at a single site or at all sites that emit one of its kinds, each
            with its own events of that kind; with `groupings` also at any sites among which those that emit
            the kind are divided. Several queries are placed together.
Complexity  Exponential; for a few queries of up to four items at a handful of sites. A step is one
            way to find and place a projection that is looked at.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from math import inf

import numpy as np

from weft.errors import PlacementError
from weft.placement.arrangement import Arrangement, Sites, partition_kinds
from weft.placement.combinations import Combination
from weft.placement.draft import GraphDraft
from weft.placement.multi_query import multi_query
from weft.placement.network import Network, bits
from weft.placement.projection import ProjectedQuery, Projection
from weft_lab.placement.all_combinations import all_combinations

MOST_ITEMS = 6
TOO_MANY = "too many ways to place the queries: try aMuSE, or allow more steps"
Readers = dict[str, tuple[Arrangement, ...]]
OpenPart = tuple[ProjectedQuery, int]


def optimal(
    network: Network,
    queries: Iterable[ProjectedQuery],
    *,
    groupings: bool = False,
    most_steps: int = 300_000,
) -> GraphDraft:
    """Return the cheapest draft; raise an error after more steps than allowed.

    >>> from weft_lab.placement.example import robots
    >>> optimal(*robots("SEQ(C c, F f)")).cost
    1.0
    """
    queries = tuple(queries)
    if any(query.n_items > MOST_ITEMS for query in queries):
        raise PlacementError(TOO_MANY)
    search = _BranchAndBound(multi_query(network, queries), groupings=groupings, most_steps=most_steps)
    wholes = {query.root.text: (query, query.whole) for query in queries}
    search.go_on({}, wholes, {}, {})
    return search.best


class _BranchAndBound:
    """The cheapest draft so far, and arrangements that are used again and again."""

    def __init__(self, start: GraphDraft, *, groupings: bool, most_steps: int) -> None:
        network = self.network = start.ledger.network
        self.ledger = start.ledger
        self.best = start
        self.least = start.cost
        self.groupings = groupings
        rates = [np.asarray(network.rates[kind]) for kind in sorted(network.rates)]
        self.likeness = [
            (0 if network.links is None else site, *(float(rate[site]) for rate in rates))
            for site in range(len(network.sites))
        ]
        self.steps_left = most_steps
        self._places: dict[str, list[Arrangement]] = {}
        self._combinations: dict[int, list[Combination]] = {}
        self._arrangements: dict[tuple[Arrangement, ProjectedQuery, Combination], Arrangement] = {}

    def go_on(
        self,
        plan: dict[str, Arrangement],
        open_parts: dict[str, OpenPart],
        readers: Readers,
        bounds: dict[str, float],
    ) -> None:
        """Decide on the largest open projection in every way that may still be cheaper than the best plan.

        `bounds` has for every projection that is read the cost of what it sends, or the least of it.
        """
        if not open_parts:
            self.best, self.least = self.ledger.draft(plan), sum(bounds.values())
            return
        text = max(open_parts, key=lambda text: (open_parts[text][1].bit_count(), text))
        query, items = open_parts[text]
        others = {other: part for other, part in open_parts.items() if other != text}
        ways: list[tuple[float, int, Arrangement, Readers, dict[str, float]]] = []
        for place in self.places(query, items):
            if not self.is_needed(place, plan):
                continue
            sent = self.cost_sent(place, readers.get(text, ()))
            if sum(bounds.values()) - bounds.get(text, 0.0) + sent >= self.least:
                continue
            for combination in self.combinations(items):
                self.count_step()
                arrangement = self.arrangement(place, query, items, combination)
                way = self.decide(query, arrangement, readers, bounds | {text: sent})
                if way is not None:
                    ways.append((sum(way[1].values()), len(ways), arrangement, *way))
        for bound, _, arrangement, new_readers, new_bounds in sorted(ways, key=lambda way: way[:2]):
            if bound >= self.least - 1e-12 * self.least:
                break
            parts = others | {
                query.projection(part).text: (query, part)
                for part in arrangement.inputs
                if not query.projection(part).is_primitive
            }
            self.go_on(plan | {text: arrangement}, parts, new_readers, new_bounds)

    def count_step(self) -> None:
        """Count one way to find and place a projection."""
        self.steps_left -= 1
        if self.steps_left < 0:
            raise PlacementError(TOO_MANY)

    def is_needed(self, place: Arrangement, plan: dict[str, Arrangement]) -> bool:
        """Whether a single site is not like an earlier one, as far as the plan tells sites apart."""
        if place.partition is not None or self.groupings:
            return True
        told_apart = {int(placed.hosts[0]) for placed in plan.values() if placed.partition is None}
        site = int(place.hosts[0])
        return site in told_apart or all(
            self.likeness[earlier] != self.likeness[site] or earlier in told_apart for earlier in range(site)
        )

    def decide(
        self, query: ProjectedQuery, arrangement: Arrangement, readers: Readers, bounds: dict[str, float]
    ) -> tuple[Readers, dict[str, float]] | None:
        """Return readers and bounds with one arrangement more; None if an input cannot serve all readers."""
        readers, bounds = dict(readers), dict(bounds)
        by_text = {query.projection(part).text: self.places(query, part) for part in arrangement.inputs}
        for read in arrangement.reads:
            readers[read.text] = (*readers.get(read.text, ()), arrangement)
            places = by_text.get(read.text) or [self.ledger.events(read.text)]
            bounds[read.text] = min(self.cost_sent(place, readers[read.text]) for place in places)
            if bounds[read.text] == inf:
                return None
        return readers, bounds

    def cost_sent(self, place: Arrangement, readers: tuple[Arrangement, ...]) -> float:
        """Return the cost of what a placed projection sends; infinite if a reader cannot use it."""
        text = place.projection.text
        for reader in readers:
            divided = any(read.is_divided for read in reader.reads if read.text == text)
            if divided and not place.is_finer_than(reader):
                return inf
        return self.ledger.sent(place, readers).cost if readers else 0.0

    def places(self, query: ProjectedQuery, items: int) -> list[Arrangement]:
        """Return all places of a projection, as arrangements that read nothing."""
        projection = query.projection(items)
        if projection.is_primitive:
            return [self.ledger.events(projection.text)]
        if projection.text not in self._places:
            self._places[projection.text] = [
                Arrangement(self.network, projection, partition, hosts)
                for partition, hosts in self._hosts(query, projection)
            ]
        return self._places[projection.text]

    def _hosts(self, query: ProjectedQuery, projection: Projection) -> Iterator[tuple[str | None, Sites]]:
        n_sites = len(self.network.sites)
        for site in range(n_sites):
            yield None, np.array([site])
        for kind in partition_kinds(query, projection.kinds):
            if not self.groupings:
                yield kind, self.ledger.events(kind).hosts
                continue
            emitters = bits(self.network.emitters(kind))
            for targets in product(range(n_sites), repeat=len(emitters)):
                hosts = np.full(n_sites, -1)
                hosts[emitters] = targets
                yield kind, hosts

    def combinations(self, items: int) -> list[Combination]:
        """Return all combinations of a projection that are not redundant."""
        if items not in self._combinations:
            self._combinations[items] = list(all_combinations(items, range(1, items)))
        return self._combinations[items]

    def arrangement(
        self, place: Arrangement, query: ProjectedQuery, items: int, inputs: Combination
    ) -> Arrangement:
        """Return the arrangement with a place and a combination, always the same one."""
        key = (place, query, inputs)
        if key not in self._arrangements:
            self._arrangements[key] = Arrangement(
                self.network, place.projection, place.partition, place.hosts, query, items, inputs
            )
        return self._arrangements[key]


EXACT = {"optimal": optimal}  # by name, for those who choose among algorithms
