"""The cheapest tree from a root to given vertices of a directed graph, through others where that pays.

Idea        Take or drop one vertex after another, the most promising part first, and leave out what
            cannot be cheaper than the best tree known. Where the limit ends that search, anneal.
Reference   The directed Steiner minimum tree in section V-B of Zhang, Vo, Dahlmeier, He. Multi-Query
            Optimization for Complex Event Processing in SAP ESP. ICDE 2017.
Differs     The graph has no cycles, and an edge from the root to every vertex: a source has fewer
            operands, a weaker operator or a longer window than what is computed from it, and everything
            can be computed from scratch. So the best tree over chosen vertices is the lightest edge
            into each. Vertices that feed nothing in common are searched apart. Bounds come from Wong's
            dual ascent.
Complexity  Exponential in the vertices that the reductions leave open; each node of the search takes
            O(r e) for e edges and r raises of the dual ascent. The result says how far from the
            optimum it is at most.
"""

import heapq
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import count

from weft.optimizer.rewriting.dual_ascent import Dual, dual_ascent
from weft.optimizer.rewriting.selection import VertexSelection, anneal
from weft.optimizer.rewriting.steiner_instance import SteinerInstance, Weight, instance_of
from weft.optimizer.sharing.limits import Limit

SHARE_OF_SEARCH = 0.8  # of the limit that is left, before annealing

Decisions = tuple[frozenset[int], frozenset[int]]  # vertices taken, and vertices still open


@dataclass(frozen=True)
class SteinerTree:
    """The source of every vertex but the root, the cost, and a lower bound on the cost of any tree."""

    sources: Mapping[int, int]
    cost: Weight
    bound: Weight

    @property
    def is_optimal(self) -> bool:
        return not self.gap

    @property
    def gap(self) -> float:
        """By how much of its cost the tree is dearer than the optimum at most."""
        return float((self.cost - self.bound) / self.cost) if self.cost > self.bound else 0.0


def steiner_tree(
    into: Mapping[int, Mapping[int, Weight]],
    terminals: Iterable[int],
    limit: Limit,
    *,
    root: int = 0,
    seed: int = 0,
) -> SteinerTree:
    """Return the cheapest tree found; `into` are the weights of the edges into each vertex, by source.

    >>> edges = {1: {0: 4}, 2: {0: 3, 1: 1}, 3: {0: 3, 1: 1}, 4: {0: 3, 1: 2}}
    >>> tree = steiner_tree(edges, [2, 3, 4], Limit(steps=100))
    >>> dict(tree.sources), tree.cost, tree.is_optimal
    ({1: 0, 2: 1, 3: 1, 4: 1}, 8, True)
    """
    edges = {vertex: dict(weights) for vertex, weights in into.items()}
    wanted = sorted(set(terminals))
    _check(edges, wanted, root)
    instance = instance_of(edges, wanted, edges, root)
    instance.reduce()
    bound, chosen = instance.settled, {*wanted, *instance.chosen}
    searches = [SteinerSearch(part) for part in instance.parts()]
    dice = random.Random(seed)
    searching = limit.part(SHARE_OF_SEARCH)
    for search in searches:
        search.run(searching)
    undecided = [search for search in searches if not search.is_done]
    for place, search in enumerate(undecided):
        search.improve(limit.part(1 / (len(undecided) - place)), dice)
    for search in searches:
        bound += search.bound
        chosen |= search.best
    return _tree(edges, set(wanted), chosen, bound, root)


class SteinerSearch:
    """Branch and bound over the open vertices of one instance."""

    def __init__(self, instance: SteinerInstance) -> None:
        self.instance = instance
        self.counter = count()
        self.best: set[int] = set()
        self.cost: Weight = VertexSelection(instance).cost
        self.heap: list[tuple[Weight, int, Decisions, int]] = []
        self._look_at(instance.copy())

    @property
    def is_done(self) -> bool:
        return not self.heap or self.heap[0][0] >= self.cost

    @property
    def bound(self) -> Weight:
        """No choice costs less than this."""
        return min(self.heap[0][0], self.cost) if self.heap else self.cost

    def run(self, limit: Limit) -> None:
        """Search until the optimum is known or the limit is reached."""
        while not self.is_done and limit.allows_step():
            bound, _, decisions, vertex = heapq.heappop(self.heap)
            instance = self._instance_after(decisions)
            without = instance.copy()
            without.drop(vertex)
            instance.take(vertex)
            self._look_at(instance, bound)
            self._look_at(without, bound)

    def _instance_after(self, decisions: Decisions) -> SteinerInstance:
        instance, (chosen, still_open) = self.instance.copy(), decisions
        for vertex in sorted(self.instance.open):
            if vertex in chosen:
                instance.take(vertex)
            elif vertex not in still_open:
                instance.drop(vertex)
        return instance

    def improve(self, limit: Limit, dice: random.Random) -> None:
        """Look for a cheaper choice without a bound."""
        selection = VertexSelection(self.instance, self.best)
        selection = VertexSelection(self.instance, anneal(selection, limit, dice))
        selection.descend()
        self._offer(selection.cost, selection.chosen)

    def _offer(self, cost: Weight, chosen: set[int]) -> None:
        if cost < self.cost:
            self.cost, self.best = cost, set(chosen)

    def _look_at(self, instance: SteinerInstance, least: Weight = 0) -> None:
        """Reduce an instance, offer a good choice in it, and keep it where a better one is possible."""
        while True:
            instance.reduce()
            if not instance.open:
                cost = instance.settled + sum(instance.scratch[vertex] for vertex in instance.waiting)
                self._offer(cost, instance.chosen)
                return
            dual = dual_ascent(instance)
            selection = VertexSelection(instance, dual.support(instance))
            selection.descend()
            self._offer(selection.cost, instance.chosen | selection.chosen)
            bound = max(least, instance.settled + dual.bound)
            if bound >= self.cost:
                return
            if not self._drop_too_dear(instance, dual):
                break
        vertex = max(
            sorted(instance.open),
            key=lambda vertex: (vertex in selection.chosen, instance.most_saved(vertex)),
        )
        decisions = frozenset(instance.chosen), frozenset(instance.open)
        heapq.heappush(self.heap, (bound, next(self.counter), decisions, vertex))

    def _drop_too_dear(self, instance: SteinerInstance, dual: Dual) -> bool:
        """Drop the vertices with which no tree is cheaper than the best one known."""
        bound, additions = instance.settled + dual.bound, dual.least_additions(instance)
        dear = [
            vertex
            for vertex in sorted(instance.open)
            if bound + additions.get(vertex, self.cost) >= self.cost
        ]
        for vertex in dear:
            instance.drop(vertex)
        return bool(dear)


def _check(edges: Mapping[int, Mapping[int, Weight]], terminals: Iterable[int], root: int) -> None:
    for vertex, weights in edges.items():
        if vertex == root:
            raise ValueError(f"vertex {vertex} is the root, and edges lead into it; remove these")
        if root not in weights:
            raise ValueError(f"no edge leads from the root {root} to vertex {vertex}; every vertex needs one")
        for source, weight in weights.items():
            if source != root and source not in edges:
                raise ValueError(f"vertex {vertex} has the source {source}, which has no edges into it")
            if weight < 0:
                raise ValueError(f"the edge from {source} to {vertex} weighs {weight}, expected 0 or more")
    unknown = [terminal for terminal in terminals if terminal not in edges]
    if unknown:
        raise ValueError(f"terminals {unknown} are not vertices of the graph")
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        raise ValueError(f"the edges form a cycle through {error.args[1]}; expected none") from error


def _tree(
    edges: Mapping[int, Mapping[int, Weight]], terminals: set[int], chosen: set[int], bound: Weight, root: int
) -> SteinerTree:
    """Give every chosen vertex its lightest edge; leave out those that feed nothing."""
    sources: dict[int, int] = {}
    kept = {*chosen, root}
    for vertex in sorted(chosen):
        options = [(weight, source) for source, weight in edges[vertex].items() if source in kept]
        sources[vertex] = min(options)[1]
    while idle := set(sources) - terminals - set(sources.values()):
        for vertex in idle:
            del sources[vertex]
    cost = sum(edges[vertex][source] for vertex, source in sources.items())
    return SteinerTree(sources, cost, min(bound, cost))
