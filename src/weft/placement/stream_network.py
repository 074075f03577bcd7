"""The network of a stream: what is known of its sites; but any kind of events may arise at any of them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.pattern.nodes import Query
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.placement.site_statistics import kinds_of
from weft.schema import Schema
from weft.statistics.model import Statistics

RARE = 1e-9  # of the smallest rate: that of events which nobody expects


def stream_network(
    queries: Sequence[Query], schema: Schema | None, statistics: Statistics, known: Network
) -> tuple[Network, tuple[NormalFormQuery, ...]]:
    """Return the network in which to place queries, and these with its rates.

    A kind of which `known` tells nothing has the rates of its type. Where none are known, or none are
    expected, events are taken to be rare: a graph that is complete for the network then misses nothing.

    >>> from weft.language.parser import parse
    >>> known = Network(("x", "y"), {"A": np.array([5.0, 0.0]), "B": np.array([1.0, 1.0])})
    >>> found, _ = stream_network(
    ...     parse("QUERY q PATTERN SEQ(A a, C c) WITHIN 1 minute"), None, Statistics(), known
    ... )
    >>> found.rates["A"].tolist(), found.emitters("C")
    ([5.0, 1e-09], 3)
    """
    keys = kinds_of(normal_form_queries(queries, schema, statistics))
    n_sites = len(known.sites)
    positive = [float(rate) for rates in known.rates.values() for rate in np.asarray(rates) if rate > 0]
    rare = RARE * min(positive, default=1.0)
    nothing = np.zeros(n_sites)
    rates = {}
    for kind, key in keys.items():
        given = np.asarray(known.rates.get(kind, known.rates.get(key.type, nothing)), np.float64)
        rates[kind] = np.where(given > 0, given, rare)
    totals = {key: float(rates[kind].sum()) for kind, key in keys.items()}
    exact = replace(statistics, rates={**statistics.rates, **totals})
    return Network(known.sites, rates, known.links), normal_form_queries(queries, schema, exact)
