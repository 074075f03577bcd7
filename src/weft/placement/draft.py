"""Drafts: MuSE graphs under construction, with what they send and what that costs.

A draft has an arrangement for every projection that is found, and from these follow all streams: matches
that several vertices at a site read are sent there once. Every algorithm builds and compares drafts, and the
graph is made of the last one. A ledger remembers the costs of arrangements, so that drafts that differ a
little are quickly compared.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from weft.placement.arrangement import Arrangement, Sites, members
from weft.placement.muse_graph import MuseGraph, Vertex
from weft.placement.network import Network, Numbers, bits_of, mask_of
from weft.placement.projection import ProjectedQuery, Projection

GAIN = 1 - 1e-9  # what is called cheaper is so by more than rounding
NO_SITES: Sites = np.zeros(0, dtype=np.int64)


class Sent(NamedTuple):
    """What is sent of one projection: everything to some sites, as bits, and parts from site to site."""

    everything_to: int
    origins: Sites
    targets: Sites
    cost: float


NOTHING = Sent(0, NO_SITES, NO_SITES, 0.0)


class TransferLedger:
    """The costs of arrangements in a network; what was worked out once is remembered."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._events: dict[str, Arrangement] = {}
        self._sent: dict[tuple[Arrangement, frozenset[Arrangement]], Sent] = {}
        self._arrangements: dict[tuple[object, ...], Arrangement] = {}

    def draft(self, arrangements: Mapping[str, Arrangement] | None = None) -> "GraphDraft":
        """Return a draft of arrangements by the texts of their projections, which are none at first."""
        return GraphDraft(self, {} if arrangements is None else arrangements)

    def draft_at(self, site: int, parts: Iterable[tuple[ProjectedQuery, int, Iterable[int]]]) -> "GraphDraft":
        """Return a draft that finds projections of queries at one site; each is given with its inputs."""
        hosts = np.array([site])
        arrangements = [self.arrange(query, items, inputs, None, hosts) for query, items, inputs in parts]
        return self.draft({arrangement.projection.text: arrangement for arrangement in arrangements})

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
        inputs, own_inputs, substitutes = tuple(inputs), own_inputs or {}, substitutes or {}
        own = (tuple(own_inputs.items()), tuple(substitutes.items()))
        key = (projection.text, id(query), items, inputs, partition, hosts.tobytes(), own)
        known = self._arrangements.get(key)
        if known is None:
            known = self._arrangements[key] = Arrangement(
                self.network, projection, partition, hosts, query, items, inputs, own_inputs, substitutes
            )
        return known

    def events(self, kind: str) -> Arrangement:
        """Return the arrangement of events as they arise: every site has its own."""
        known = self._events.get(kind)
        if known is None:
            hosts = np.where(np.asarray(self.network.rates[kind]) > 0, np.arange(len(self.network.sites)), -1)
            known = self._events[kind] = Arrangement(self.network, Projection(kind, (kind,)), kind, hosts)
        return known

    def sent(self, source: Arrangement, readers: Iterable[Arrangement]) -> Sent:
        """Return what is sent of one projection to those that read it."""
        key = (source, frozenset(readers))
        known = self._sent.get(key)
        if known is None:
            known = self._sent[key] = self._work_out(*key)
        return known

    def price(self, source: Arrangement, readers: Iterable[Arrangement]) -> Numbers:
        """Return for every site what it costs to get all of a projection there, besides what is sent."""
        sent = self.sent(source, readers)
        price = np.where(mask_of(sent.everything_to, len(source.away)), 0.0, source.away)
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
        cost = float(source.away[everything_to].sum())
        if not pairs:
            return Sent(bits_of(everything_to), NO_SITES, NO_SITES, cost)
        distinct = np.sort(np.concatenate(pairs))
        distinct = distinct[np.diff(distinct, prepend=-1) > 0]
        distinct = distinct[~everything_to[distinct % n_sites]]
        origins, targets = distinct // n_sites, distinct % n_sites
        cost += float(self._pair_costs(source, origins, targets).sum())
        return Sent(bits_of(everything_to), origins, targets, cost)

    def _pair_costs(self, source: Arrangement, origins: Sites, targets: Sites) -> Numbers:
        rates = source.rates[origins]
        return rates if self.network.links is None else rates * self.network.links[origins, targets]


class GraphDraft:
    """A graph under construction: arrangements by the texts of their projections, primitive ones left out.

    What it sends and costs follows from the arrangements, unless it is given by who puts drafts together.
    `others` is a draft that is there anyway: what it sends costs nothing more.

    >>> from weft_lab.placement.example import robots
    >>> network, (query,) = robots("SEQ(C c, F f)")
    >>> ledger = TransferLedger(network)
    >>> pairs = ledger.arrange(query, 0b11, (0b01, 0b10), "C", np.array([0, 1]))
    >>> draft = ledger.draft({pairs.projection.text: pairs})
    >>> draft.cost, draft.graph([query]).cost
    (1.0, 1.0)
    """

    def __init__(
        self,
        ledger: TransferLedger,
        arrangements: Mapping[str, Arrangement],
        sends: dict[str, Sent] | None = None,
        cost: float | None = None,
        others: "GraphDraft | None" = None,
    ) -> None:
        self.ledger = ledger
        self.arrangements = arrangements
        self.others = others
        self._sends = sends
        self._cost = cost

    @property
    def sends(self) -> dict[str, Sent]:
        """What is sent, by the texts of the projections."""
        if self._sends is None:
            self._sends = {
                text: self.ledger.sent(self.source(text), readers) for text, readers in self.readers.items()
            }
        return self._sends

    @property
    def cost(self) -> float:
        """The cost of all that is sent."""
        if self._cost is None:
            self._cost = sum((sent.cost for sent in self.sends.values()), 0.0)
        return self._cost

    @cached_property
    def readers(self) -> dict[str, list[Arrangement]]:
        """The arrangements that read each projection."""
        readers: dict[str, list[Arrangement]] = {}
        for arrangement in self.arrangements.values():
            for text in arrangement.sources:
                readers.setdefault(text, []).append(arrangement)
        return readers

    def is_cheaper_than(self, other: "GraphDraft | None") -> bool:
        """Whether it costs less, by more than rounding."""
        return other is None or self.cost < other.cost * GAIN - 1e-12

    def source(self, text: str) -> Arrangement:
        """Return how a projection is found, which may be events as they arise."""
        known = self.arrangements.get(text)
        if known is None and self.others is not None:
            known = self.others.arrangements.get(text)
        return known or self.ledger.events(text)

    def price(self, text: str, but: Arrangement | None = None) -> Numbers:
        """Return for every site the cost of getting all of a projection there, besides what is sent.

        What only one arrangement reads does not count as sent, if that is given.
        """
        readers = self.readers.get(text, ())
        return self.ledger.price(self.source(text), [reader for reader in readers if reader is not but])

    def with_arrangements(self, added: Mapping[str, Arrangement]) -> "GraphDraft":
        """Return the draft with other arrangements, or more."""
        return GraphDraft(self.ledger, {**self.arrangements, **added})

    def needed_for(self, wanted: Iterable[str]) -> "GraphDraft":
        """Return the part of the draft that wanted projections rest on."""
        arrangements = self.arrangements
        needed: set[str] = set()
        waiting = [text for text in wanted if text in arrangements]
        while waiting:
            text = waiting.pop()
            if text not in needed:
                needed.add(text)
                waiting.extend(source for source in arrangements[text].sources if source in arrangements)
        return GraphDraft(self.ledger, {text: arrangements[text] for text in arrangements if text in needed})

    def is_sound(self) -> bool:
        """Whether every divided input is partitioned as its reader is, or more finely."""
        return all(
            self.arrangements[read.text].is_finer_than(arrangement)
            for arrangement in self.arrangements.values()
            for read in arrangement.reads
            if read.is_divided and read.text in self.arrangements
        )

    def sending(self, part: "GraphDraft", text: str, sites: int) -> "GraphDraft | None":
        """Return the draft with a part, a projection of which is sent to some sites, given as bits.

        Both have the same others. None if they find a projection in two ways.
        """
        arrangements = self.arrangements
        for other, arrangement in part.arrangements.items():
            if arrangements.get(other, arrangement) is not arrangement:
                return None
        sends, cost = dict(self.sends), self.cost
        for other, sent in part.sends.items():
            if other in sends:
                cost += self._send(sends, part.source(other), sent.everything_to)
            else:
                sends[other] = sent
                cost += sent.cost
        if sites and self.others is not None:
            sites &= ~self.others.sends.get(text, NOTHING).everything_to
        if sites:
            cost += self._send(sends, part.source(text), sites)
        return GraphDraft(self.ledger, {**arrangements, **part.arrangements}, sends, cost, self.others)

    @staticmethod
    def _send(sends: dict[str, Sent], source: Arrangement, sites: int) -> float:
        """Send everything of a projection to more sites, and return what that costs."""
        text = source.projection.text
        earlier = sends.get(text, NOTHING)
        new = sites & ~earlier.everything_to
        if not new:
            return 0.0
        cost = source.cost_to(new)
        sends[text] = Sent(earlier.everything_to | new, NO_SITES, NO_SITES, earlier.cost + cost)
        return cost

    def with_others(self) -> "GraphDraft":
        """Return the draft with the others in it."""
        if self.others is None:
            return self
        return GraphDraft(self.ledger, {**self.others.arrangements, **self.arrangements})

    def graph(self, queries: Iterable[ProjectedQuery]) -> MuseGraph:
        """Return the MuSE graph of the draft."""
        queries = tuple(queries)
        inputs: dict[Vertex, tuple[Vertex, ...]] = {}
        for query in queries:
            for kind in query.event_kinds:
                inputs.update((vertex, ()) for vertex in _vertices(self.ledger.events(kind)))
        needed = self.needed_for(query.root.text for query in queries)
        for arrangement in needed.arrangements.values():
            read_by: dict[int, dict[Vertex, None]] = {host: {} for host in arrangement.sites.tolist()}
            for read in arrangement.reads:
                source = self.source(read.text)
                everything = dict.fromkeys(_vertices(source))
                for host in read.hosts.tolist():
                    if read.is_divided:
                        own = members(source.hosts[arrangement.hosts == host]).tolist()
                        read_by[host].update((Vertex(source.projection, site), None) for site in own)
                    else:
                        read_by[host].update(everything)
            for host, vertices in read_by.items():
                inputs[Vertex(arrangement.projection, host)] = tuple(vertices)
        return MuseGraph(self.ledger.network, inputs)


def _vertices(arrangement: Arrangement) -> Iterator[Vertex]:
    return (Vertex(arrangement.projection, site) for site in arrangement.sites.tolist())
