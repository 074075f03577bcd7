"""Place queries in a network by any of the algorithms, and say how good the result is."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from math import log10

from weft.errors import PlacementError
from weft.placement.amuse import place_query_star
from weft.placement.central import central
from weft.placement.central_queries import add_central_queries
from weft.placement.checks import check_graph
from weft.placement.draft import GraphDraft
from weft.placement.local_search import search_draft
from weft.placement.lower_bound import lower_bound
from weft.placement.multi_query import multi_query
from weft.placement.muse_graph import MuseGraph, central_cost
from weft.placement.network import Network
from weft.placement.projection import ProjectedQuery
from weft.placement.single_item_queries import add_single_item_queries
from weft.placement.single_sink import single_sink

Queries = tuple[ProjectedQuery, ...]
Algorithms = Mapping[str, Callable[[Network, Queries], GraphDraft]]

ALGORITHMS: Algorithms = {  # besides "best", the search, which goes beyond them
    "amuse": multi_query,
    "amuse-star": partial(multi_query, place=place_query_star),
    "single-sink": single_sink,
    "central": central,
}
ALGORITHM_OF = {"muse": "best", "single-sink": "single-sink", "central": "central"}  # of a placement

MOST_DIGITS = 300  # of the product of the rates of a query
PROJECTIONS_PER_SECOND = 200  # of all queries, that aMuSE and aMuSE* manage, or so


@dataclass(frozen=True, slots=True)
class Placed:
    """A MuSE graph, the cost of centralized evaluation, and a cost that no graph is below."""

    algorithm: str
    graph: MuseGraph
    central_cost: float
    lower_bound: float
    seconds: float

    @property
    def cost(self) -> float:
        """The rate, or cost, of all that the graph sends."""
        return self.graph.cost

    @property
    def ratio(self) -> float:
        """The share of the cost of centralized evaluation."""
        return self.cost / self.central_cost if self.central_cost else 0.0

    @property
    def gap(self) -> float | None:
        """How far the cost can be above the optimum, as a share of it; None if nothing is known."""
        if self.cost <= self.lower_bound:
            return 0.0
        return self.cost / self.lower_bound - 1 if self.lower_bound else None


def place(
    network: Network,
    queries: Iterable[ProjectedQuery],
    algorithm: str = "best",
    *,
    seconds: float | None = None,
    steps: int | None = None,
    seed: int = 0,
    algorithms: Algorithms | None = None,
) -> Placed:
    """Return the graph that an algorithm finds; `seconds` and `steps` limit the search for the best.

    `algorithms` are others by name that may be chosen, besides `ALGORITHMS`.

    >>> from weft_lab.placement.example import robots
    >>> placed = place(*robots("SEQ(C c, F f)"))
    >>> placed.cost, placed.central_cost, placed.lower_bound
    (1.0, 19.0, 1.0)
    """
    queries = tuple(queries)
    _check_rates(network, queries)
    started = time.perf_counter()
    free = [query for query in queries if query.central is None]
    several = tuple(query for query in free if query.n_items > 1)
    if algorithm == "best":
        draft = _best(network, several, seconds=seconds, steps=steps, seed=seed)
    else:
        known = {**ALGORITHMS, **(algorithms or {})}
        if algorithm not in known:
            raise PlacementError(f"unknown algorithm {algorithm}; there are {', '.join(('best', *known))}")
        draft = known[algorithm](network, several)
    sink = len(network.sites) if algorithm == "central" else None
    draft = add_single_item_queries(
        draft,
        [query for query in free if query.n_items == 1],
        sink=sink,
        is_single=algorithm == "single-sink",
    )
    draft = add_central_queries(draft, [query for query in queries if query.central is not None], sink=sink)
    graph = draft.graph(queries)
    check_graph(graph, queries)
    taken = time.perf_counter() - started
    bound = min(lower_bound(network, queries), graph.cost)
    return Placed(algorithm, graph, central_cost(network, queries), bound, taken)


def _check_rates(network: Network, queries: Queries) -> None:
    """Raise an error where the rates of a projection could be larger than a number can be."""
    for query in queries:
        most = [float(network.rates[kind].max()) for kind in query.root.kinds]
        digits = sum(log10(max(rate, 1.0)) + log10(len(network.sites)) for rate in most)
        if digits > MOST_DIGITS:
            raise PlacementError(
                f"query {query.name}: the rates of its events at all sites multiply to about 1e{digits:.0f}, "
                f"expected at most 1e{MOST_DIGITS}\n  hint: give the rates in a shorter unit of time"
            )


def _best(
    network: Network, queries: Queries, *, seconds: float | None, steps: int | None, seed: int
) -> GraphDraft:
    """Return the draft of the search, or that of a single sink, or of aMuSE or aMuSE* where time allows."""
    best = search_draft(network, queries, seconds=seconds, steps=steps, seed=seed)
    n_projections = sum(1 << query.n_items for query in queries)
    is_enough = seconds is not None and n_projections <= PROJECTIONS_PER_SECOND * max(seconds, 1.0)
    for name in ("single-sink", "amuse", "amuse-star") if is_enough else ("single-sink",):
        draft = ALGORITHMS[name](network, queries)
        if draft.is_cheaper_than(best):
            best = draft
    return best
