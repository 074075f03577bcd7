"""A Steiner problem in the making: vertices taken for certain, vertices still open, and what that settles.

A vertex that is taken for certain feeds others at the weight of the edge alone, as the root does. So an
instance has edges from open vertices only, and for every vertex the least weight from the root or from
a taken vertex. An edge that is not lighter than that is never needed.
"""

from collections.abc import Iterable, Mapping, Set

Weight = float


class SteinerInstance:
    """What is left to decide.

    `waiting` are the taken vertices that an open one may still feed; the others cost `settled`.
    """

    def __init__(self) -> None:
        self.settled: Weight = 0
        self.chosen: set[int] = set()
        self.waiting: set[int] = set()
        self.open: set[int] = set()
        self.scratch: dict[int, Weight] = {}
        self.into: dict[int, dict[int, Weight]] = {}
        self.feeds: dict[int, dict[int, Weight]] = {}

    def copy(self) -> "SteinerInstance":
        """Return an instance that can be changed on its own."""
        other = self.part(self.into.keys())
        other.settled, other.chosen = self.settled, set(self.chosen)
        return other

    def part(self, vertices: Set[int]) -> "SteinerInstance":
        """Return the instance of some vertices that have no edge to the others."""
        other = SteinerInstance()
        other.waiting, other.open = self.waiting.intersection(vertices), self.open.intersection(vertices)
        other.scratch = {vertex: self.scratch[vertex] for vertex in vertices}
        other.into = {vertex: dict(self.into[vertex]) for vertex in vertices}
        other.feeds = {vertex: dict(self.feeds[vertex]) for vertex in other.open}
        return other

    def drop(self, vertex: int) -> None:
        """Decide that an open vertex is not in the tree."""
        self.open.remove(vertex)
        self._forget_edges_from(vertex)
        for source in self.into.pop(vertex):
            del self.feeds[source][vertex]
        del self.scratch[vertex]

    def take(self, vertex: int) -> None:
        """Decide that an open vertex is in the tree."""
        self.open.remove(vertex)
        self.chosen.add(vertex)
        fed = dict(self.feeds[vertex])
        self._forget_edges_from(vertex)
        self.waiting.add(vertex)
        for other, weight in fed.items():
            if weight < self.scratch[other]:
                self.scratch[other] = weight
                for source in [vertex for vertex, w in self.into[other].items() if w >= weight]:
                    del self.into[other][source], self.feeds[source][other]

    def _forget_edges_from(self, vertex: int) -> None:
        for other in self.feeds.pop(vertex):
            del self.into[other][vertex]

    def reduce(self) -> None:
        """Decide what can be decided without a search.

        An open vertex is dropped when all that it may feed would save no more than it costs at least;
        it is taken when the taken vertices save as much as it costs at most, whatever else is chosen.
        """
        changed = True
        while changed:
            changed = False
            for vertex in sorted(self.open):
                if self.most_saved(vertex) <= self.least_cost(vertex):
                    self.drop(vertex)
                    changed = True
                elif self._surely_saved(vertex) >= self.scratch[vertex]:
                    self.take(vertex)
                    changed = True
        for vertex in [vertex for vertex in self.waiting if not self.into[vertex]]:
            self.settled += self.scratch.pop(vertex)
            self.waiting.remove(vertex)
            del self.into[vertex]

    def least_cost(self, vertex: int) -> Weight:
        """Return what a vertex costs whatever else is chosen."""
        return min(self.into[vertex].values(), default=self.scratch[vertex])

    def most_saved(self, vertex: int) -> Weight:
        """Return what a vertex saves when all that it may feed are there, and have no other source."""
        return sum(self.scratch[other] - weight for other, weight in self.feeds[vertex].items())

    def _surely_saved(self, vertex: int) -> Weight:
        saved: Weight = 0
        for other, weight in self.feeds[vertex].items():
            if other in self.waiting:
                rival = self.scratch[other]
                for source, w in self.into[other].items():
                    if source != vertex and w < rival:
                        rival = w
                saved += max(0, rival - weight)
        return saved

    def parts(self) -> list["SteinerInstance"]:
        """Return the parts that have no edge between them, small ones first."""
        waiting, parts = set(self.into), []
        while waiting:
            part, stack = set[int](), [min(waiting)]
            while stack:
                vertex = stack.pop()
                if vertex not in part:
                    part.add(vertex)
                    stack.extend(self.into[vertex])
                    stack.extend(self.feeds.get(vertex, ()))
            waiting -= part
            parts.append(self.part(part))
        return sorted(parts, key=lambda part: (len(part.open), min(part.into)))


def instance_of(
    vertices: Iterable[int], terminals: Iterable[int], into: Mapping[int, Mapping[int, Weight]], root: int
) -> SteinerInstance:
    """Return the instance in which the terminals are taken.

    >>> instance = instance_of([1, 2, 3], [2, 3], {1: {0: 2}, 2: {0: 3, 1: 1}, 3: {0: 3, 1: 1}}, root=0)
    >>> instance.reduce()
    >>> instance.chosen, instance.settled  # 1 is worth while: 2 + 1 + 1 is less than 3 + 3
    ({1}, 4)
    """
    instance = SteinerInstance()
    ordered = sorted(vertices)
    for vertex in ordered:
        instance.scratch[vertex] = into[vertex][root]
        instance.into[vertex] = {}
        instance.feeds[vertex] = {}
        instance.open.add(vertex)
    for vertex in ordered:
        for source, weight in sorted(into[vertex].items()):
            if source != root and weight < instance.scratch[vertex]:
                instance.into[vertex][source] = weight
                instance.feeds[source][vertex] = weight
    for vertex in sorted(terminals):
        instance.take(vertex)
    instance.chosen.clear()
    return instance
