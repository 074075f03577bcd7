"""Arrangements: where a projection is found, and from what.

A projection is found at several hosts that divide the events of one of its kinds among themselves, the
partitioning kind: every site that emits the kind has a host, and a host finds the matches whose event of that
kind comes from one of its sites. So each binding is found once. Of an input that has an event of the
partitioning kind, and is partitioned by it too, a host reads only what comes from its own sites; every other
input it reads completely. A host may have a combination of inputs of its own. All hosts equal: a single sink;
every site its own host: a partitioning multi-sink placement (Akili, Weidlich, SIGMOD 2021, section 6.1.3).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from weft.placement.network import Network, Numbers, bits
from weft.placement.projection import ProjectedQuery, Projection

Sites = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Read:
    """An input that some hosts of a projection read; divided: only what comes from their own sites."""

    text: str
    is_divided: bool
    hosts: Sites


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Where a projection is found, and from what.

    `hosts` gives the host of every site that emits the partitioning kind, and -1 for the others. Without a
    partitioning kind, it has one site, the only host. `inputs` are sets of items of `query`, and
    `own_inputs` those of hosts that have a combination of their own. For some inputs, projections of other
    queries that have all their matches are read: `substitutes`.
    """

    network: Network
    projection: Projection
    partition: str | None
    hosts: Sites
    query: ProjectedQuery | None = None  # none for events as they arise
    items: int = 0
    inputs: tuple[int, ...] = ()
    own_inputs: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    substitutes: Mapping[int, Projection] = field(default_factory=dict)

    @cached_property
    def sites(self) -> Sites:
        """The hosts, each once."""
        return members(self.hosts)

    @cached_property
    def rates(self) -> Numbers:
        """How many matches are found at each site."""
        n_sites = len(self.network.sites)
        rates = np.zeros(n_sites)
        if self.partition is None:
            rates[self.hosts[0]] = self.projection.rate(self.network)
            return rates
        totals = [self.network.totals[kind] for kind in self.projection.kinds]
        totals.remove(self.network.totals[self.partition])
        emitters = np.flatnonzero(self.hosts >= 0)
        weights = self.network.rates[self.partition][emitters]
        rates += np.bincount(self.hosts[emitters], weights=weights, minlength=n_sites)
        return rates * (self.projection.factor * prod(totals))

    @cached_property
    def away(self) -> Numbers:
        """What it costs each site to get all matches."""
        return cost_to_gather(self.network, self.rates)

    def cost_to(self, sites: int) -> float:
        """Return the cost of sending all matches to some sites, given as bits."""
        cost = self._costs.get(sites)
        if cost is None:
            cost = self._costs[sites] = float(self.away[bits(sites)].sum())
        return cost

    @cached_property
    def _costs(self) -> dict[int, float]:
        return {}

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The inputs of the hosts, negated events that they need included."""
        if self.query is None:
            return ()
        readers: dict[tuple[str, bool], list[int]] = {}
        for inputs, hosts in self._hosts_by_inputs().items():
            for items in inputs:
                projection = self.read_for(items)
                is_divided = self.partition is not None and self.partition in projection.kinds
                readers.setdefault((projection.text, is_divided), []).extend(hosts)
            for kind in sorted(self.query.needed_kinds(self.items, inputs)):
                readers.setdefault((kind, False), []).extend(hosts)
        return tuple(Read(text, divided, np.array(hosts)) for (text, divided), hosts in readers.items())

    def read_for(self, items: int) -> Projection:
        """Return the projection that is read for a set of items of the query."""
        assert self.query is not None
        return self.substitutes.get(items) or self.query.projection(items)

    def _hosts_by_inputs(self) -> dict[tuple[int, ...], list[int]]:
        hosts: dict[tuple[int, ...], list[int]] = {}
        for host in self.sites.tolist():
            hosts.setdefault(self.own_inputs.get(host, self.inputs), []).append(host)
        return hosts

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The texts of all that is read."""
        return tuple(dict.fromkeys(read.text for read in self.reads))

    @cached_property
    def is_at_emitters(self) -> bool:
        """Whether every site that emits the partitioning kind is its own host."""
        emitters = np.flatnonzero(self.hosts >= 0)
        return self.partition is not None and bool((self.hosts[emitters] == emitters).all())

    def is_finer_than(self, reader: "Arrangement") -> bool:
        """Whether it is divided by its reader's kind, and each part of it is for one host of the reader."""
        if self.partition != reader.partition:
            return False
        pairs = set(zip(self.hosts.tolist(), reader.hosts.tolist(), strict=True))
        return len(pairs) == len({host for host, _ in pairs})


def members(sites: Sites) -> Sites:
    """Return the sites that occur, each once and in order; negative numbers are none.

    >>> members(np.array([4, -1, 2, 4]))
    array([2, 4])
    """
    return np.flatnonzero(np.bincount(sites[sites >= 0]))


def cost_to_gather(network: Network, rates: Numbers) -> Numbers:
    """Return for every site what it costs to get there all that is found at the others.

    >>> cost_to_gather(Network(("1", "2", "3"), {}), np.array([5.0, 2.0, 0.0]))
    array([2., 5., 7.])
    """
    return rates.sum() - rates if network.links is None else rates @ network.links


def partition_kinds(query: ProjectedQuery, kinds: Iterable[str]) -> tuple[str, ...]:
    """Return those kinds that can divide matches: they occur once, and the query does not negate them."""
    kinds = tuple(kinds)
    return tuple(kind for kind in kinds if kinds.count(kind) == 1 and kind not in query.all_negated_kinds)
