"""Options: one way to find a projection and to place it, with all that it rests on and what that sends.

A projection is placed at all sites that emit one of its kinds, each of which finds the matches with its own
events of that kind, or at a single site. Everything that is sent is then all matches of a projection to some
sites, so that what an option sends is a set of sites, as bits, for every projection.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from weft.placement.arrangement import Arrangement, cost_to_gather
from weft.placement.network import Network, Numbers, bits
from weft.placement.projection import ProjectedQuery, Projection


@dataclass(frozen=True, eq=False, slots=True)
class Option:
    """A projection made up of inputs, at the sites that emit the partitioning kind or at a single host.

    `rests_on` are the options of all projections below it, itself included, by their texts; `sends` the
    sites to which each is sent; and `cost` the cost of that, besides what is sent anyway.
    """

    projection: Projection
    query: ProjectedQuery | None  # none for events as they arise
    items: int
    inputs: tuple[int, ...]
    partition: str | None
    hosts: int
    away: Numbers  # for every site, what it costs to get all matches there
    rests_on: dict[str, "Option"] = field(default_factory=dict)
    sends: dict[str, int] = field(default_factory=dict)
    cost: float = 0.0
    _costs: dict[int, float] = field(default_factory=dict)

    @property
    def reads(self) -> tuple[str, ...]:
        """The texts of all that it reads, negated events included."""
        if self.query is None:
            return ()
        texts = [self.query.projection(part).text for part in self.inputs]
        return tuple(dict.fromkeys((*texts, *sorted(self.query.needed_kinds(self.items, self.inputs)))))

    def is_divided(self, other: "Option") -> bool:
        """Whether its hosts read only their own part of another option, which is divided as it is."""
        return self.partition is not None and self.partition in other.projection.kinds

    def cost_to(self, sites: int) -> float:
        """Return the cost of sending all matches to some sites."""
        found = self._costs.get(sites)
        if found is None:
            found = self._costs[sites] = float(self.away[bits(sites)].sum())
        return found


@dataclass(slots=True)
class Draft:
    """Options taken together, one for a projection, and all that they send.

    `others` are options that are there anyway; what they send costs nothing more.
    """

    options: dict[str, Option] = field(default_factory=dict)
    sends: dict[str, int] = field(default_factory=dict)
    cost: float = 0.0
    others: "Draft | None" = None

    def with_option(self, option: Option, sites: int) -> "Draft | None":
        """Return the draft with an option, sent to some sites; None if it has another for a projection."""
        options = self.options
        if self.others is None or self.others.options.get(option.projection.text) is not option:
            for text, other in option.rests_on.items():
                if options.get(text, other) is not other:
                    return None
            draft = Draft(options | option.rests_on, dict(self.sends), self.cost, self.others)
            for text, targets in option.sends.items():
                draft.send(text, targets)
        else:
            draft = Draft(options, dict(self.sends), self.cost, self.others)
        if sites:
            draft.send(option.projection.text, sites)
        return draft

    def send(self, text: str, sites: int) -> None:
        """Send a projection to more sites."""
        earlier = self.sends.get(text, 0)
        new = sites & ~earlier
        if new and self.others is not None:
            new &= ~self.others.sends.get(text, 0)
        if new:
            self.sends[text] = earlier | new
            self.cost += self.option(text).cost_to(new)

    def option(self, text: str) -> Option:
        """Return how a projection is found."""
        found = self.options.get(text)
        return self.others.option(text) if found is None and self.others is not None else self.options[text]

    def joined(self) -> "Draft":
        """Return the draft with the others in it."""
        if self.others is None:
            return self
        sends = dict(self.others.sends)
        for text, sites in self.sends.items():
            sends[text] = sends.get(text, 0) | sites
        return Draft(self.others.options | self.options, sends, self.others.cost + self.cost)


def draft_of(options: Mapping[str, Option], wanted: Iterable[str]) -> Draft:
    """Return a draft of some options, with all that they rest on and no more."""
    draft = Draft()
    waiting = list(wanted)
    while waiting:
        text = waiting.pop()
        if text not in draft.options:
            draft.options[text] = options[text]
            waiting.extend(options[text].reads)
    for option in draft.options.values():
        for text in option.reads:
            if not option.is_divided(draft.options[text]):
                draft.send(text, option.hosts)
    return draft


def events_option(network: Network, kind: str) -> Option:
    """Return the only option for the events of a kind: every site has its own."""
    option = Option(
        Projection(kind, (kind,)),
        None,
        0,
        (),
        kind,
        network.emitters(kind),
        cost_to_gather(network, np.asarray(network.rates[kind], dtype=np.float64)),
    )
    option.rests_on[kind] = option
    return option


def costs_away(network: Network, projection: Projection, partition: str | None, hosts: int) -> Numbers:
    """Return for every site what it costs to get all matches of a placed projection there."""
    matches = projection.factor * prod(network.totals[kind] for kind in projection.kinds)
    if partition is None:
        rates = np.zeros(len(network.sites))
        rates[bits(hosts)] = matches
    else:
        rates = network.rates[partition] * (matches / network.totals[partition])
    return cost_to_gather(network, rates)


def arrangements(network: Network, options: Mapping[str, Option]) -> dict[str, Arrangement]:
    """Return options as arrangements."""
    sites = np.arange(len(network.sites))
    arranged: dict[str, Arrangement] = {}
    for text, option in options.items():
        if option.query is None:
            continue
        hosts = np.array(bits(option.hosts))
        if option.partition is not None:
            hosts = np.where(network.rates[option.partition] > 0, sites, -1)
        arranged[text] = Arrangement(
            network, option.projection, option.partition, hosts, option.query, option.items, option.inputs
        )
    return arranged


def partition_kinds(query: ProjectedQuery, kinds: Iterable[str]) -> tuple[str, ...]:
    """Return those kinds that can divide matches: they occur once, and the query does not negate them."""
    kinds = tuple(kinds)
    negated = query.needed_kinds(query.whole, ())
    return tuple(kind for kind in kinds if kinds.count(kind) == 1 and kind not in negated)
