"""A lower bound for a Steiner tree, and the edges that a good tree is made of.

Idea        Every terminal is entered by an edge of the tree, and so is every set of vertices around it
            without the root. Raise a price for such a set until an edge into it is paid for in full, add
            the vertex behind the edge to the set, and go on until the root is reached. The prices
            together are a lower bound; what an edge lacks to be paid is what it adds to the bound.
Reference   Wong. A dual ascent approach for Steiner tree problems on a directed graph. Mathematical
            Programming 28, 1984.
Differs     The graph has no cycles, which makes distances in what edges lack simple.
Complexity  O(e) for each raise, e the edges into the set; at most one raise for every edge.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter

from weft.optimizer.rewriting.steiner_instance import SteinerInstance, Weight


@dataclass(frozen=True)
class Dual:
    """The bound, what the edges from the root and those from open vertices lack, in the latter's order."""

    bound: Weight
    scratch: dict[int, Weight]
    into: dict[int, dict[int, Weight]]

    def support(self, instance: SteinerInstance) -> set[int]:
        """Return the open vertices through which terminals are reached by edges paid in full."""
        reached = {vertex for vertex, lacking in self.scratch.items() if not lacking}
        for vertex in _sources_first(self.into):
            if vertex not in reached and any(
                not lacking and source in reached for source, lacking in self.into[vertex].items()
            ):
                reached.add(vertex)
        return _paid_sources(instance.waiting, self.into) & reached & instance.open

    def least_additions(self, instance: SteinerInstance) -> dict[int, Weight]:
        """Return, for every open vertex, by how much a tree with it exceeds the bound at least."""
        order = _sources_first(self.into)
        down: dict[int, Weight] = {}
        for vertex in order:
            options = [down[source] + lacking for source, lacking in self.into[vertex].items()]
            down[vertex] = min([self.scratch[vertex], *options])
        up: dict[int, Weight] = dict.fromkeys(instance.waiting, 0)
        for vertex in reversed(order):
            if vertex in up:
                for source, lacking in self.into[vertex].items():
                    beyond = up[vertex] + lacking
                    if source not in up or beyond < up[source]:
                        up[source] = beyond
        return {vertex: down[vertex] + up[vertex] for vertex in instance.open if vertex in up}


def dual_ascent(instance: SteinerInstance) -> Dual:
    """Return a lower bound on what the vertices that wait, and those that feed them, cost.

    >>> from weft.optimizer.rewriting.steiner_instance import instance_of
    >>> edges = {1: {0: 4}, 2: {0: 3, 1: 1}, 3: {0: 3, 1: 1}, 4: {0: 3, 1: 2}}
    >>> dual_ascent(instance_of([1, 2, 3, 4], [2, 3, 4], edges, root=0)).bound
    8
    """
    scratch = dict(instance.scratch)
    into = {vertex: dict(edges) for vertex, edges in instance.into.items()}
    bound: Weight = 0
    heap = [(len(into[terminal]), terminal) for terminal in sorted(instance.waiting)]
    heapq.heapify(heap)
    while heap:
        _, terminal = heapq.heappop(heap)
        around = _paid_sources([terminal], into)
        raised = min(scratch[vertex] for vertex in around)
        if not raised:
            continue
        entering = []
        for vertex in around:
            edges = into[vertex]
            for source, lacking in edges.items():
                if source not in around:
                    entering.append((edges, source))
                    if lacking < raised:
                        raised = lacking
        bound += raised
        for vertex in around:
            scratch[vertex] -= raised
        for edges, source in entering:
            edges[source] -= raised
        heapq.heappush(heap, (len(entering) + len(around), terminal))
    return Dual(bound, scratch, into)


def _paid_sources(terminals: Iterable[int], into: dict[int, dict[int, Weight]]) -> set[int]:
    """Return terminals, and the vertices from which edges paid in full lead to them."""
    stack = list(terminals)
    sources = set(stack)
    while stack:
        for source, lacking in into[stack.pop()].items():
            if not lacking and source not in sources:
                sources.add(source)
                stack.append(source)
    return sources


def _sources_first(into: dict[int, dict[int, Weight]]) -> list[int]:
    return list(TopologicalSorter(into).static_order())
