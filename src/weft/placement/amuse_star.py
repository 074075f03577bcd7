"""Place one query by aMuSE*: aMuSE with fewer projections and fewer places for them.

Idea        Only a projection whose matches are all together no more than the events of one of its kinds at
            one site, and only where such events arise: placed there, it saves something for sure.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 6.2, aMuSE*.
Differs     As aMuSE does. The places of a projection are limited by the kinds of its items, where the paper
            limits them by the inputs of each combination. The whole query may be placed anywhere.
Complexity  As aMuSE, of the projections that are left.
"""

from weft.placement.amuse import construct
from weft.placement.combinations import beneficial_projections, n_bindings, rate_per_binding
from weft.placement.network import Network
from weft.placement.options import Draft
from weft.placement.projection import ProjectedQuery, Projection


def place_query_star(network: Network, query: ProjectedQuery, others: Draft) -> Draft:
    """Return a draft with the query besides the others.

    >>> from weft.placement.example import robots
    >>> network, (query,) = robots("SEQ(C c, F f)")
    >>> place_query_star(network, query, Draft()).cost
    1.0
    """
    whole = query.projection(query.whole)

    def may_host(network: Network, projection: Projection, kind: str) -> bool:
        return projection == whole or saves(network, projection, kind)

    projections = [
        items
        for items in beneficial_projections(network, query)
        if items == query.whole
        or any(saves(network, query.projection(items), kind) for kind in query.projection(items).kinds)
    ]
    return construct(network, query, projections, others, may_host)


def saves(network: Network, projection: Projection, kind: str) -> bool:
    """Whether all matches of a projection are no more than the events of a kind at one site."""
    matches = rate_per_binding(network, projection) * n_bindings(network, projection)
    return rate_per_binding(network, Projection(kind, (kind,))) >= matches
