"""The example of this package's documentation: two robots that see much and seldom feel the floor."""

import numpy as np

from weft.language.parser import parse
from weft.placement.network import Network
from weft.placement.normal_form_query import NormalFormQuery, normal_form_queries
from weft.statistics.model import Statistics


def robots(*patterns: str) -> tuple[Network, tuple[NormalFormQuery, ...]]:
    """Return a network of two robots, and a query for each pattern, SEQ(C c, F f) if none is given.

    Both see with their cameras, C, nine times a second; F is the floor that one of them feels once a second.

    >>> network, queries = robots("AND(C c, F f)")
    >>> network.totals, queries[0].projection(0b11).text
    ({'C': 18.0, 'F': 1.0}, 'AND(C, F) WITHIN 1 second')
    """
    network = Network(("R1", "R2"), {"C": np.array([9.0, 9.0]), "F": np.array([0.0, 1.0])})
    written = enumerate(patterns or ("SEQ(C c, F f)",), start=1)
    text = "\n".join(f"QUERY q{number} PATTERN {pattern} WITHIN 1 second" for number, pattern in written)
    return network, normal_form_queries(parse(text), None, Statistics())
