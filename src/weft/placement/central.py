"""Evaluate all queries at one place outside the network, where every event that they may need is sent."""

from collections.abc import Iterable

import numpy as np

from weft.placement.draft import GraphDraft, TransferLedger
from weft.placement.network import Network
from weft.placement.projection import ProjectedQuery

CENTER = "center"


def central(network: Network, queries: Iterable[ProjectedQuery]) -> GraphDraft:
    """Return the draft whose sinks are at a site of their own, at which no events arise.

    It takes one unit to send a row there, from any site; the cost is that of centralized evaluation.

    >>> from weft_lab.placement.example import robots
    >>> central(*robots("SEQ(C c, F f)")).cost
    19.0
    """
    wholes = ((query, query.whole, query.single_items) for query in queries)
    return TransferLedger(_with_center(network)).draft_at(len(network.sites), wholes)


def _with_center(network: Network) -> Network:
    name = CENTER
    while name in network.sites:
        name += "_"
    rates = {kind: np.append(rates, 0.0) for kind, rates in network.rates.items()}
    links = None if network.links is None else np.pad(network.links, (0, 1), constant_values=1.0)
    if links is not None:
        links[-1, -1] = 0.0
    return Network((*network.sites, name), rates, links)
