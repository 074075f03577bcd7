"""The network that events of given sites make up: rates by kind and site, and the queries to place there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.pattern.nodes import Query
from weft.placement.network import Network, Numbers
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.placement.projection import Projection
from weft.schema import Schema
from weft.statistics.model import ItemKey, Statistics

RARE = 1e-9  # of the smallest rate: that of events which nobody expects


@dataclass(frozen=True, eq=False, slots=True)
class SiteCounts:
    """How many events of each kind arose at each site.

    Those of kinds in `bounds` are counted without all of their conditions, so there are at most as many.
    `event_bytes` is what an event takes on the way to another site.
    """

    sites: tuple[str, ...]
    counts: Mapping[str, Numbers]
    bounds: frozenset[str] = frozenset()
    event_bytes: float = 0.0


@dataclass(frozen=True, eq=False)
class SiteStatistics:
    """A network, the alternatives of queries to place there, and those that cannot match: `idle`.

    Rates are per second. The events came in `seconds`, so that a rate times these is a number of rows;
    stretches of time without any events do not count.
    """

    network: Network
    queries: tuple[NormalFormQuery, ...]
    idle: tuple[NormalFormQuery, ...]
    seconds: float
    event_bytes: float

    def rows(self, rate: float) -> float:
        """Return how many rows a rate makes in the time of the events."""
        return rate * self.seconds

    def match_bytes(self, projection: Projection) -> float:
        """Return what a match takes on the way: an event for every item, and two for a list."""
        return len(projection.kinds) * self.event_bytes


def site_statistics(
    queries: Sequence[Query], schema: Schema | None, statistics: Statistics, counted: SiteCounts
) -> SiteStatistics:
    """Return the network of the sites that were counted; statistics tell what no count does.

    >>> from weft.language.parser import parse
    >>> counted = SiteCounts(("x", "y"), {"A": np.array([50.0, 50.0]), "B": np.array([0.0, 10.0])})
    >>> rates = Statistics(rates={ItemKey("A"): 10.0, ItemKey("B"): 1.0})
    >>> known = site_statistics(parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute"), None, rates, counted)
    >>> known.seconds, known.network.rates["A"].tolist()
    (10.0, [5.0, 5.0])
    """
    projected = normal_form_queries(queries, schema, statistics)
    keys = kinds_of(projected)
    seconds = _seconds(keys, statistics, counted)
    rates = {}
    for kind, key in keys.items():
        counts = counted.counts[kind]
        if kind in counted.bounds and counts.sum() > 0:
            expected = max(1.0, statistics.rate(key) * seconds)  # a sample may have missed them all
            counts = counts * min(1.0, expected / counts.sum())
        rates[kind] = np.asarray(counts, np.float64) / seconds
    network = Network(counted.sites, with_rare_events(rates, projected))
    placed = normal_form_queries(queries, schema, _with_rates(statistics, keys, network))
    idle = tuple(query for query in placed if not all(network.emitters(kind) for kind in query.kinds))
    able = tuple(query for query in placed if query not in idle)
    return SiteStatistics(network, able, idle, seconds, counted.event_bytes)


def stream_network(
    queries: Sequence[Query], schema: Schema | None, statistics: Statistics, known: Network
) -> tuple[Network, tuple[NormalFormQuery, ...]]:
    """Return the network in which to place queries of a stream, and these with its rates.

    A kind of which `known` tells nothing has the rates of its type. Where none are known, or none are
    expected, events are taken to be rare: a graph that is complete for the network then misses nothing.

    >>> from weft.language.parser import parse
    >>> known = Network(("x", "y"), {"A": np.array([5.0, 0.0]), "B": np.array([1.0, 1.0])})
    >>> network, _ = stream_network(
    ...     parse("QUERY q PATTERN SEQ(A a, C c) WITHIN 1 minute"), None, Statistics(), known
    ... )
    >>> network.rates["A"].tolist(), network.emitters("C")
    ([5.0, 1e-09], 3)
    """
    keys = kinds_of(normal_form_queries(queries, schema, statistics))
    positive = [float(rate) for rates in known.rates.values() for rate in np.asarray(rates) if rate > 0]
    rare = RARE * min(positive, default=1.0)
    nothing = np.zeros(len(known.sites))
    rates = {}
    for kind, key in keys.items():
        given = np.asarray(known.rates.get(kind, known.rates.get(key.type, nothing)), np.float64)
        rates[kind] = np.where(given > 0, given, rare)
    network = Network(known.sites, rates, known.links)
    return network, normal_form_queries(queries, schema, _with_rates(statistics, keys, network))


def with_rare_events(
    rates: Mapping[str, Numbers], queries: Iterable[NormalFormQuery]
) -> Mapping[str, Numbers]:
    """Return rates where no kind of a central query is idle: without its events, there are timeouts."""
    central = kinds_of(query for query in queries if query.central is not None)
    return {
        kind: np.full(own.size, RARE) if kind in central and not own.any() else own
        for kind, own in rates.items()
    }


def kinds_of(queries: Iterable[NormalFormQuery]) -> dict[str, ItemKey]:
    """Return the kinds of events that queries look at, and what statistics know them by."""
    return {kind: key for query in queries for kind, key in query.kind_keys.items()}


def _seconds(keys: Mapping[str, ItemKey], statistics: Statistics, counted: SiteCounts) -> float:
    """Return the seconds in which events with the rates of the statistics are as many as were counted."""
    exact = [kind for kind in keys if kind not in counted.bounds and counted.counts[kind].sum() > 0]
    rate = sum(statistics.rate(keys[kind]) for kind in exact)
    if not rate:
        return statistics.span
    return float(sum(counted.counts[kind].sum() for kind in exact)) / rate


def _with_rates(statistics: Statistics, keys: Mapping[str, ItemKey], network: Network) -> Statistics:
    """Return statistics with the rates of a network, all sites together."""
    totals = {key: network.totals[kind] for kind, key in keys.items()}
    return replace(statistics, rates={**statistics.rates, **totals})
