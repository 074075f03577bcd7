"""The network that events of given sites make up: rates by kind and site, and the queries to place there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.pattern.nodes import Query
from weft.placement.network import Network, Numbers
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.placement.projection import Projection
from weft.schema import Schema
from weft.statistics.model import ItemKey, Statistics


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

    @cached_property
    def site_numbers(self) -> dict[str, int]:
        """The number of each site."""
        return {site: number for number, site in enumerate(self.network.sites)}

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
    >>> known = Statistics(rates={ItemKey("A"): 10.0, ItemKey("B"): 1.0})
    >>> found = site_statistics(parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute"), None, known, counted)
    >>> found.seconds, found.network.rates["A"].tolist()
    (10.0, [5.0, 5.0])
    """
    keys = kinds_of(normal_form_queries(queries, schema, statistics))
    seconds = _seconds(keys, statistics, counted)
    rates = {}
    for kind, key in keys.items():
        counts = counted.counts[kind]
        if kind in counted.bounds and counts.sum() > 0:
            expected = max(1.0, statistics.rate(key) * seconds)  # a sample may have missed them all
            counts = counts * min(1.0, expected / counts.sum())
        rates[kind] = np.asarray(counts, np.float64) / seconds
    totals = {key: float(rates[kind].sum()) for kind, key in keys.items()}
    exact = replace(statistics, rates={**statistics.rates, **totals})
    network = Network(counted.sites, rates)
    placed = normal_form_queries(queries, schema, exact)
    idle = tuple(query for query in placed if not all(network.emitters(kind) for kind in query.kinds))
    able = tuple(query for query in placed if query not in idle)
    return SiteStatistics(network, able, idle, seconds, counted.event_bytes)


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
