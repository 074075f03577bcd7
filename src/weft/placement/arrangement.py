"""Arrangements: how each projection of a plan is found and where, with costs that are quick to work out.

A projection is found at several hosts that divide the events of one of its kinds among themselves, the
partitioning kind: every site that emits the kind has a host, and a host finds the matches whose event of that
kind comes from one of its sites. So each binding is found once. Of an input that has an event of the
partitioning kind, and is partitioned by it too, a host reads only what comes from its own sites; every other
input it reads completely. A host may have a combination of inputs of its own. All hosts equal: a single sink;
every site its own host: a partitioning multi-sink placement (Akili, Weidlich, SIGMOD 2021, section 6.1.3).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network, Numbers
from weft.placement.projection import ProjectedQuery, Projection

Sites = NDArray[np.int64]
Arrangements = Mapping[str, "Arrangement"]  # by the text of the projection; primitive ones are left out


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
        totals = [float(self.network.rates[kind].sum()) for kind in self.projection.kinds]
        n_sites = len(self.network.sites)
        found = np.zeros(n_sites)
        if self.partition is None:
            found[self.hosts[0]] = self.projection.factor * prod(totals)
            return found
        totals.remove(float(self.network.rates[self.partition].sum()))
        emitters = np.flatnonzero(self.hosts >= 0)
        weights = self.network.rates[self.partition][emitters]
        found += np.bincount(self.hosts[emitters], weights=weights, minlength=n_sites)
        return found * (self.projection.factor * prod(totals))

    @cached_property
    def away(self) -> Numbers:
        """What it costs each site to get all matches."""
        return cost_to_gather(self.network, self.rates)

    @cached_property
    def reads(self) -> tuple[Read, ...]:
        """The inputs of the hosts, negated events that they need included."""
        if self.query is None:
            return ()
        readers: dict[tuple[str, bool], list[int]] = {}
        for inputs, hosts in self._hosts_by_inputs().items():
            for items in inputs:
                projection = self.substitutes.get(items) or self.query.projection(items)
                is_divided = self.partition is not None and self.partition in projection.kinds
                readers.setdefault((projection.text, is_divided), []).extend(hosts)
            for kind in sorted(self.query.needed_kinds(self.items, inputs)):
                readers.setdefault((kind, False), []).extend(hosts)
        return tuple(Read(text, divided, np.array(hosts)) for (text, divided), hosts in readers.items())

    def _hosts_by_inputs(self) -> dict[tuple[int, ...], list[int]]:
        hosts: dict[tuple[int, ...], list[int]] = {}
        for host in self.sites.tolist():
            hosts.setdefault(self.own_inputs.get(host, self.inputs), []).append(host)
        return hosts

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The texts of all that is read."""
        return tuple(dict.fromkeys(read.text for read in self.reads))


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


def events_as_they_arise(network: Network, kind: str) -> Arrangement:
    """Return the arrangement of the events of a kind: every site finds its own."""
    sites = np.arange(len(network.sites))
    hosts = np.where(np.asarray(network.rates[kind]) > 0, sites, -1)
    return Arrangement(network, Projection(kind, (kind,)), kind, hosts)


@dataclass(frozen=True, slots=True)
class Sent:
    """What is sent of one projection: everything to some sites, and parts from site to site."""

    everything_to: NDArray[np.bool_]
    origins: Sites
    targets: Sites
    cost: float


class Accounts:
    """The costs of arrangements in a network; what was worked out once is remembered."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._events: dict[str, Arrangement] = {}
        self._sent: dict[tuple[Arrangement, frozenset[Arrangement]], Sent] = {}
        self._arrangements: dict[tuple[object, ...], Arrangement] = {}

    def arrange(
        self,
        query: ProjectedQuery,
        items: int,
        inputs: Iterable[int],
        partition: str | None,
        hosts: Sites,
        own_inputs: Mapping[int, tuple[int, ...]] | None = None,
        substitutes: Mapping[int, Projection] | None = None,
    ) -> Arrangement:
        """Return the arrangement of a projection; equal ones are the same object.

        A partitioning kind whose events all have the same host is none.
        """
        projection = query.projection(items)
        sites = members(hosts)
        if len(sites) == 1:
            partition, hosts = None, sites
        own_inputs = own_inputs or {}
        inputs = tuple(inputs)
        own = (tuple(own_inputs.items()), tuple((substitutes or {}).items()))
        key = (projection.text, id(query), items, inputs, partition, hosts.tobytes(), own)
        found = self._arrangements.get(key)
        if found is None:
            found = self._arrangements[key] = Arrangement(
                self.network,
                projection,
                partition,
                hosts,
                query,
                items,
                inputs,
                own_inputs,
                substitutes or {},
            )
        return found

    def source(self, plan: Arrangements, text: str) -> Arrangement:
        """Return how a projection is found, which may be events as they arise."""
        found = plan.get(text) or self._events.get(text)
        if found is None:
            found = self._events[text] = events_as_they_arise(self.network, text)
        return found

    def cost(self, plan: Arrangements) -> float:
        """Return the cost of all that is sent."""
        return sum(self.sent(plan, text, readers).cost for text, readers in readers_of(plan).items())

    def sent(self, plan: Arrangements, text: str, readers: Iterable[Arrangement]) -> Sent:
        """Return what is sent of one projection to those that read it."""
        key = (self.source(plan, text), frozenset(readers))
        found = self._sent.get(key)
        if found is None:
            found = self._sent[key] = self._work_out(*key)
        return found

    def price(self, plan: Arrangements, text: str, readers: Iterable[Arrangement]) -> Numbers:
        """Return for every site what it costs to get all of a projection there, besides what is sent."""
        source = self.source(plan, text)
        sent = self.sent(plan, text, readers)
        price = np.where(sent.everything_to, 0.0, source.away)
        if len(sent.origins):
            np.subtract.at(price, sent.targets, self._pair_costs(source, sent.origins, sent.targets))
        return np.maximum(price, 0.0)

    def _work_out(self, source: Arrangement, readers: frozenset[Arrangement]) -> Sent:
        n_sites = len(self.network.sites)
        everything_to = np.zeros(n_sites, dtype=np.bool_)
        pairs: list[Sites] = []
        for reader in readers:
            for read in reader.reads:
                if read.text != source.projection.text:
                    continue
                if not read.is_divided:
                    everything_to[read.hosts] = True
                    continue
                emitters = np.flatnonzero(reader.hosts >= 0)
                origins, targets = source.hosts[emitters], reader.hosts[emitters]
                is_sent = origins != targets
                if reader.own_inputs:
                    is_sent &= np.isin(targets, read.hosts)
                pairs.append(origins[is_sent] * n_sites + targets[is_sent])
        if not pairs:
            none = np.zeros(0, dtype=np.int64)
            return Sent(everything_to, none, none, float(source.away[everything_to].sum()))
        distinct = np.sort(np.concatenate(pairs))
        distinct = distinct[np.diff(distinct, prepend=-1) > 0]
        distinct = distinct[~everything_to[distinct % n_sites]]
        origins, targets = distinct // n_sites, distinct % n_sites
        cost = source.away[everything_to].sum() + self._pair_costs(source, origins, targets).sum()
        return Sent(everything_to, origins, targets, float(cost))

    def _pair_costs(self, source: Arrangement, origins: Sites, targets: Sites) -> Numbers:
        rates = source.rates[origins]
        return rates if self.network.links is None else rates * self.network.links[origins, targets]


def readers_of(plan: Arrangements) -> dict[str, list[Arrangement]]:
    """Return the arrangements that read each projection."""
    readers: dict[str, list[Arrangement]] = {}
    for arrangement in plan.values():
        for text in arrangement.sources:
            readers.setdefault(text, []).append(arrangement)
    return readers


def needed_for(plan: Arrangements, wanted: Iterable[str]) -> dict[str, Arrangement]:
    """Return the part of a plan that wanted projections rest on."""
    needed: dict[str, Arrangement] = {}
    waiting = [text for text in wanted if text in plan]
    while waiting:
        text = waiting.pop()
        if text not in needed:
            needed[text] = plan[text]
            waiting.extend(source for source in plan[text].sources if source in plan)
    return {text: arrangement for text, arrangement in plan.items() if text in needed}


def is_sound(plan: Arrangements) -> bool:
    """Whether every divided input is partitioned as its reader is, or more finely."""
    for arrangement in plan.values():
        for read in arrangement.reads:
            if read.is_divided and read.text in plan:
                source = plan[read.text]
                if source.partition != arrangement.partition:
                    return False
                pairs = set(zip(source.hosts.tolist(), arrangement.hosts.tolist(), strict=True))
                if len(pairs) != len({origin for origin, _ in pairs}):
                    return False
    return True


def graph_of(network: Network, queries: Iterable[ProjectedQuery], plan: Arrangements) -> MuseGraph:
    """Return the MuSE graph of a plan."""
    accounts = Accounts(network)
    inputs: dict[Vertex, tuple[Vertex, ...]] = {}
    for query in queries:
        kinds = {*query.projection(query.whole).kinds, *query.needed_kinds(query.whole, ())}
        for kind in sorted(kinds):
            inputs.update((vertex, ()) for vertex in _vertices(accounts.source({}, kind)))
    for arrangement in needed_for(plan, (query.projection(query.whole).text for query in queries)).values():
        read_by: dict[int, dict[Vertex, None]] = {host: {} for host in arrangement.sites.tolist()}
        for read in arrangement.reads:
            source = accounts.source(plan, read.text)
            everything = dict.fromkeys(_vertices(source))
            for host in read.hosts.tolist():
                if read.is_divided:
                    own = members(source.hosts[arrangement.hosts == host]).tolist()
                    read_by[host].update((Vertex(source.projection, site), None) for site in own)
                else:
                    read_by[host].update(everything)
        for host, vertices in read_by.items():
            inputs[Vertex(arrangement.projection, host)] = tuple(vertices)
    return MuseGraph(network, inputs)


def _vertices(arrangement: Arrangement) -> Iterator[Vertex]:
    return (Vertex(arrangement.projection, site) for site in arrangement.sites.tolist())
