"""A choice of open vertices of a Steiner instance, and search for a cheaper one.

Idea        Given the choice, every vertex takes its lightest edge. Take or drop one vertex at a time:
            whenever that is cheaper, and while annealing also, less and less often, when it is dearer.
Reference   The approximate solver in section V-B of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization
            for Complex Event Processing in SAP ESP. ICDE 2017; simulated annealing for Steiner trees:
            Osborne, Gillett. A Comparison of Two Simulated Annealing Algorithms Applied to the Directed
            Steiner Problem on Networks. ORSA Journal on Computing 3(3), 1991.
Differs     A step takes or drops a single vertex; its effect is worked out from the edges of the vertex.
Complexity  O(d) to take a vertex of d edges, O(d^2) to drop it.
"""

import random
from collections.abc import Iterable

from weft.optimizer.rewriting.steiner_instance import SteinerInstance, Weight
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.simulated_annealing import accepts

N_PROBES = 200  # steps whose effects set the first temperature
COOLING = 0.999


class VertexSelection:
    """Chosen open vertices, the edge that each vertex takes, and what all of it costs.

    >>> from weft.optimizer.rewriting.steiner_instance import instance_of
    >>> edges = {1: {0: 4}, 2: {0: 3, 1: 1}, 3: {0: 3, 1: 1}, 4: {0: 3, 1: 2}}
    >>> selection = VertexSelection(instance_of([1, 2, 3, 4], [2, 3, 4], edges, root=0))
    >>> selection.cost, selection.change_by_taking(1)
    (9, -1)
    """

    def __init__(self, instance: SteinerInstance, chosen: Iterable[int] = ()) -> None:
        self.instance = instance
        self.chosen: set[int] = set()
        self.weights = {vertex: instance.scratch[vertex] for vertex in instance.waiting}
        self.cost: Weight = instance.settled + sum(self.weights.values())
        for vertex in sorted(chosen):
            self.flip(vertex)

    def _weight(self, vertex: int, without: int = -1) -> Weight:
        least = self.instance.scratch[vertex]
        for source, weight in self.instance.into[vertex].items():
            if weight < least and source in self.chosen and source != without:
                least = weight
        return least

    def change_by_taking(self, vertex: int) -> Weight:
        """Return what another vertex adds to the cost."""
        change = self._weight(vertex)
        weights = self.weights
        for other, weight in self.instance.feeds[vertex].items():
            if other in weights and weight < weights[other]:
                change += weight - weights[other]
        return change

    def change_by_dropping(self, vertex: int) -> Weight:
        """Return what the cost changes by without a chosen vertex."""
        change = -self.weights[vertex]
        for other, weight in self.instance.feeds[vertex].items():
            if other in self.weights and weight == self.weights[other]:
                change += self._weight(other, without=vertex) - weight
        return change

    def change_by_flipping(self, vertex: int) -> Weight:
        """Return what the cost changes by when a vertex is taken, or dropped where it is chosen."""
        return self.change_by_dropping(vertex) if vertex in self.chosen else self.change_by_taking(vertex)

    def flip(self, vertex: int) -> None:
        """Take a vertex, or drop it where it is chosen."""
        self.cost += self.change_by_flipping(vertex)
        fed = self.instance.feeds[vertex]
        if vertex in self.chosen:
            self.chosen.remove(vertex)
            del self.weights[vertex]
            for other, weight in fed.items():
                if other in self.weights and weight == self.weights[other]:
                    self.weights[other] = self._weight(other)
        else:
            self.weights[vertex] = self._weight(vertex)
            self.chosen.add(vertex)
            for other, weight in fed.items():
                if other in self.weights and weight < self.weights[other]:
                    self.weights[other] = weight

    def descend(self) -> None:
        """Take and drop vertices one by one as long as that is cheaper."""
        vertices = sorted(self.instance.open)
        changed = True
        while changed:
            changed = False
            for vertex in vertices:
                if self.change_by_flipping(vertex) < 0:
                    self.flip(vertex)
                    changed = True


def anneal(selection: VertexSelection, limit: Limit, dice: random.Random) -> set[int]:
    """Return the cheapest choice found within the limit; never dearer than the one given."""
    vertices = sorted(selection.instance.open)
    best, best_cost = set(selection.chosen), selection.cost
    if not vertices:
        return best
    probes = [abs(selection.change_by_flipping(dice.choice(vertices))) for _ in range(N_PROBES)]
    temperature = float(sorted(probes)[N_PROBES // 10])
    cooling = COOLING ** (1000 / max(1000, 20 * len(vertices)))
    while limit.allows_step():
        vertex = dice.choice(vertices)
        change = selection.change_by_flipping(vertex)
        if change <= 0 or accepts(change, temperature, dice):
            selection.flip(vertex)
            if selection.cost < best_cost:
                best, best_cost = set(selection.chosen), selection.cost
        temperature *= cooling
    return best
