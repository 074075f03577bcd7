"""MuSE graphs: which projections of the queries are evaluated at which sites, and what is sent between them.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
sections 4.3 and 4.4. What differs: rates may differ from site to site and links may have unequal costs. A
match that several vertices at a site read is sent there once, so costs belong to channels, not to edges.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from weft.placement.network import Network, bits
from weft.placement.projection import ProjectedQuery, Projection


@dataclass(frozen=True, slots=True)
class Vertex:
    """The matches of a projection that are found at a site, given by its number."""

    projection: Projection
    site: int

    def __hash__(self) -> int:
        return hash(self.projection.text) ^ self.site


@dataclass(frozen=True, eq=False)
class MuseGraph:
    """Vertices with the vertices that each reads; those that read nothing are events as they arise.

    There is one vertex at most for a projection and a site.

    >>> import numpy as np
    >>> network = Network(("1", "2"), {"A": np.array([5.0, 5.0]), "B": np.array([0.0, 1.0])})
    >>> a1, a2 = (Vertex(Projection("A", ("A",)), site) for site in (0, 1))
    >>> b2 = Vertex(Projection("B", ("B",)), 1)
    >>> pairs = Projection("SEQ(A, B)", ("A", "B"), factor=0.1)
    >>> inputs = {a1: (), a2: (), b2: (), Vertex(pairs, 0): (a1, b2), Vertex(pairs, 1): (a2, b2)}
    >>> graph = MuseGraph(network, inputs)
    >>> graph.cost
    1.0
    """

    network: Network
    inputs: Mapping[Vertex, tuple[Vertex, ...]]

    @cached_property
    def covers(self) -> dict[Vertex, dict[str, int]]:
        """For every vertex the sites, by kind of events, from which the events of its matches come."""
        covers: dict[Vertex, dict[str, int]] = {}
        for vertex in self.order:
            reached: dict[str, int] = {}
            if not self.inputs[vertex]:
                reached[vertex.projection.text] = 1 << vertex.site
            for read in self.inputs[vertex]:
                for kind, sites in covers[read].items():
                    reached[kind] = reached.get(kind, 0) | sites
            covers[vertex] = reached
        return covers

    @cached_property
    def order(self) -> tuple[Vertex, ...]:
        """The vertices, each after those that it reads."""
        order: dict[Vertex, None] = {}

        def visit(vertex: Vertex) -> None:  # as deep as projections are nested
            for read in self.inputs[vertex]:
                if read not in order:
                    visit(read)
            order[vertex] = None

        for vertex in self.inputs:
            if vertex not in order:
                visit(vertex)
        return tuple(order)

    def rate(self, vertex: Vertex) -> float:
        """Return how many matches a vertex finds, per unit of time."""
        cover = self.covers[vertex]
        rates = self.network.rates
        return vertex.projection.factor * prod(
            sum(float(rates[kind][site]) for site in bits(cover[kind])) for kind in vertex.projection.kinds
        )

    @cached_property
    def channels(self) -> dict[tuple[Vertex, int], float]:
        """What is sent: the vertex whose matches they are and the site they go to, with the cost."""
        sent = dict.fromkeys(
            (read, vertex.site)
            for vertex in self.order
            for read in self.inputs[vertex]
            if read.site != vertex.site
        )
        distances = self.network.distances
        return {(read, site): self.rate(read) * float(distances[read.site, site]) for read, site in sent}

    @property
    def cost(self) -> float:
        """The rate, or cost, of all that is sent over the network."""
        return sum(self.channels.values(), 0.0)


def central_cost(network: Network, queries: Iterable[ProjectedQuery]) -> float:
    """Return the cost of sending every event that a query may need to one place outside the network."""
    kinds = {kind for query in queries for kind in query.event_kinds}
    return sum(network.totals[kind] for kind in sorted(kinds))
