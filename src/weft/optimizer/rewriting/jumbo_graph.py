"""The graph of all that can be computed for a workload, and of what each can be computed from.

Idea        Vertices are the patterns, and the sub-patterns that the rules find interesting, each for every
            window that a pattern with it has. An edge leads from a source to what is computed from
            it: the source's rows, filtered where its order is weaker or its window longer, joined
            with the items that remain, in pattern order. It weighs what these joins and the filter cost.
Reference   Sections IV-D and V of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     Conditions are part of a sub-pattern. Where they make two of a common sub-query, those with one
            operand less are looked at as well. Lists and negations are left to the pattern.
Complexity  O(v^2) edges in the worst case for v vertices, each priced by the nodes of a tree.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import reduce
from typing import Generic, Literal, TypeVar

from weft.cost.model import CostModel
from weft.cost.shape import items_of
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.rewriting.decomposition import MOST_SUB_QUERIES, closure
from weft.optimizer.rewriting.flat_query import FlatQuery
from weft.optimizer.rewriting.levels import Level, levels_of
from weft.optimizer.rewriting.transformation import interesting_sub_queries
from weft.optimizer.sharing.ledger import SCALE
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.numbering import Labelled
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Demands, Tree, leaf, made_bare, order_tree, pair
from weft.plan.extents import is_within
from weft.plan.nodes import Extent

Key = TypeVar("Key", bound=Hashable)
Techniques = Literal["motto", "mst"]
ROOT = 0
SHARE_OF_RULES = 0.6  # of the limit, after which no more sub-queries are looked for


@dataclass(frozen=True)
class Vertex(Generic[Key]):
    """A sub-pattern with what is demanded of it, at home in one pattern; no label: the whole pattern."""

    key: Key
    label: Labelled | None
    demands: Demands

    @property
    def identity(self) -> tuple[Hashable, Extent | None]:
        """Equal vertices compute the same."""
        return (("whole", self.key) if self.label is None else self.label.number), self.demands.extent


@dataclass(frozen=True)
class Source:
    """A vertex from which another is computed, and the items of the latter's home in its places."""

    number: int
    label: Labelled
    demands: Demands


class JumboGraph(Generic[Key]):
    """Vertices by number, from 1; `into` are the weights of edges, `sources` what they stand for."""

    def __init__(
        self,
        patterns: Mapping[Key, Pattern],
        model: CostModel,
        techniques: Techniques = "motto",
        limit: Limit | None = None,
    ) -> None:
        self._limit = limit or Limit()
        self.patterns = patterns
        self.model = model
        self.vertices: dict[int, Vertex[Key]] = {}
        self.terminals: dict[Key, int] = {}
        self.into: dict[int, dict[int, int]] = {}
        self.sources: dict[tuple[int, int], Source] = {}
        self._numbers: dict[tuple[Hashable, Extent | None], int] = {}
        self._windows: dict[int, list[Extent | None]] = defaultdict(list)
        self._places: dict[Key, dict[Labelled, None]] = {key: {} for key in patterns}
        levels = {key: levels_of(key, pattern) for key, pattern in patterns.items()}
        if techniques == "mst":
            self._place_whole_queries(levels)
        else:
            self._place_sub_queries(levels)
        for key, pattern in patterns.items():
            self.terminals[key] = self._add(self._whole(key, pattern))
        if techniques != "mst":
            self._add_sub_patterns()
        for number, vertex in self.vertices.items():
            self._connect(number, vertex)
            if techniques != "mst":
                self._connect_windows(number, vertex)

    @property
    def n_candidates(self) -> int:
        """How many vertices are no pattern's own."""
        return len(self.vertices) - len(set(self.terminals.values()))

    def _whole(self, key: Key, pattern: Pattern) -> Vertex[Key]:
        is_plain = not pattern.form.negations and not pattern.shape.lists and pattern.n_items > 1
        label = pattern.labelled(pattern.shape.everything) if is_plain else None
        return Vertex(key, label, pattern.own)

    def _add(self, vertex: Vertex[Key]) -> int:
        number = self._numbers.setdefault(vertex.identity, len(self._numbers) + 1)
        if number not in self.vertices:
            self.vertices[number] = vertex
            if vertex.label is not None:
                self._windows[vertex.label.number].append(vertex.demands.extent)
        return number

    def _place_whole_queries(self, levels: Mapping[Key, Sequence[Level[Key]]]) -> None:
        """Find queries that are sources of others as they are: same operator, same window."""
        whole = [one for found in levels.values() for one in found if one.is_whole]
        for source in whole:
            pattern = source.pattern
            if pattern.form.negations or pattern.shape.lists:
                continue
            number = pattern.labelled(pattern.shape.everything).number
            for level in whole:
                other = level.pattern
                if (other.frame, other.extent, level.query.operator) == (
                    pattern.frame,
                    pattern.extent,
                    source.query.operator,
                ):
                    labels = [label for label in level.places_of(source.query) if label.number == number]
                    self._places[level.key].update(dict.fromkeys(labels))

    def _place_sub_queries(self, levels: Mapping[Key, Sequence[Level[Key]]]) -> None:
        """Find the interesting sub-queries of all patterns in every pattern."""
        frames: dict[int, list[Level[Key]]] = defaultdict(list)
        for key, own in levels.items():
            frames[self.patterns[key].frame].extend(own)
        for together in frames.values():
            queries = list(dict.fromkeys(level.query for level in together))
            waiting = [*queries, *closure(queries, interesting_sub_queries, is_late=self._is_late)]
            seen = set(waiting)
            for query in waiting:
                if self._is_late():
                    break
                found = self._place(query, together)
                if len(found) > 1 and len(query.operands) > 2 and len(seen) < MOST_SUB_QUERIES:
                    shorter = [one for one in _with_one_less(query) if one not in seen]
                    seen.update(shorter)
                    waiting.extend(shorter)

    def _is_late(self) -> bool:
        return self._limit.used() > SHARE_OF_RULES or self._limit.is_cancelled()

    def _place(self, query: FlatQuery, levels: Iterable[Level[Key]]) -> set[int]:
        """Note where a query stands in all levels; return the numbers of the sub-patterns it is there."""
        found = set()
        for level in levels:
            for label in level.places_of(query):
                self._places[level.key][label] = None
                found.add(label.number)
        return found

    def _add_sub_patterns(self) -> None:
        """Make vertices of sub-patterns that several patterns have, for each of their windows."""
        owners: dict[int, dict[Key, Labelled]] = defaultdict(dict)
        for key, places in self._places.items():
            for label in places:
                owners[label.number].setdefault(key, label)
        for places_of in owners.values():
            if len(places_of) < 2:
                continue
            for extent in dict.fromkeys(self.patterns[key].extent for key in places_of):
                self._add(self._home(places_of, extent))

    def _home(self, owners: Mapping[Key, Labelled], extent: Extent | None) -> Vertex[Key]:
        """Return a sub-pattern in the pattern that demands no more than that of it, if there is one."""

        def strangeness(key: Key) -> tuple[bool, bool]:
            pattern = self.patterns[key]
            return pattern.extent != extent, not pattern.is_own(owners[key], extent)

        fitting = [key for key in owners if is_within(self.patterns[key].extent, extent)]
        key = min(fitting, key=strangeness)
        return Vertex(key, owners[key], self._demands(key, owners[key], extent))

    def _demands(self, key: Key, label: Labelled, extent: Extent | None) -> Demands:
        pattern = self.patterns[key]
        return pattern.own if pattern.is_own(label, extent) else pattern.demands(label, extent)

    def _connect(self, number: int, vertex: Vertex[Key]) -> None:
        """Find all that a vertex can be computed from."""
        self.into[number] = {ROOT: self.weight(vertex, [])}
        for label in self._usable(vertex):
            self._offer(number, vertex, label, vertex.demands.extent)

    def _usable(self, vertex: Vertex[Key]) -> Iterator[Labelled]:
        """Yield the sub-patterns of a vertex that demand no more than it does."""
        pattern, mask = self.patterns[vertex.key], self.mask_of(vertex)
        order = _within(vertex.demands.order, mask)
        for label in self._places[vertex.key]:
            if not label.mask & ~mask and pattern.demands(label, None).order <= order:
                yield label

    def _connect_windows(self, number: int, vertex: Vertex[Key]) -> None:
        """Let a vertex be what a filter leaves of the same for a longer window."""
        extent = vertex.demands.extent
        if vertex.label is not None:
            for longer in self._windows[vertex.label.number]:
                if longer != extent and is_within(extent, longer):
                    self._offer(number, vertex, vertex.label, longer)

    def _offer(self, number: int, vertex: Vertex[Key], label: Labelled, extent: Extent | None) -> None:
        """Let a vertex be computed from a sub-pattern of its home, for its own or a longer window."""
        known = self._numbers.get((label.number, extent))
        if known is None or known == number:
            return
        source = Source(known, label, self._demands(vertex.key, label, extent))
        weight, into = self.weight(vertex, [source]), self.into[number]
        if weight < into.get(known, weight + 1):
            into[known] = weight
            self.sources[known, number] = source

    def other_sources(self, number: int, present: Set[int]) -> list[Source]:
        """Return what a vertex can be computed from among those that are present, large ones first."""
        vertex = self.vertices[number]
        extent = vertex.demands.extent
        found = []
        for label in self._usable(vertex):
            known = self._numbers.get((label.number, extent))
            if known in present and known is not None and known != number:
                found.append(Source(known, label, self._demands(vertex.key, label, extent)))
        return sorted(found, key=lambda source: -source.label.mask.bit_count())

    def weight(self, vertex: Vertex[Key], sources: Sequence[Source]) -> int:
        """Return what a vertex costs when its sources are there, in the ledger's units.

        Events read from the stream cost nothing.
        """
        return min(self._weights(vertex, sources))

    def _weights(self, vertex: Vertex[Key], sources: Sequence[Source]) -> list[int]:
        """Return the same for each of the trees that the sources could be joined by."""
        pattern = self.patterns[vertex.key]
        starts = [self._in_order(pattern, source.label.mask) for source in sources]
        present = set[tuple[int, float]]()
        for source, start in zip(sources, starts, strict=True):
            present |= self._part_nodes(pattern, start, source.demands)
        trees = self._trees(vertex, sources, starts)
        return [self._price(pattern, self._nodes(vertex, tree) - present) for tree in trees]

    def _price(self, pattern: Pattern, nodes: Set[tuple[int, float]]) -> int:
        total = 0
        for node, window in nodes:
            shape, step = pattern.numbers.priced[node]
            if step.left:
                total += round(self.model.node(shape, step, window) * SCALE)
        return total

    def _nodes(self, vertex: Vertex[Key], tree: Tree) -> set[tuple[int, float]]:
        pattern = self.patterns[vertex.key]
        if vertex.label is None:
            return set(pattern.numbered(tree).nodes)
        return self._part_nodes(pattern, tree, vertex.demands)

    def _part_nodes(self, pattern: Pattern, tree: Tree, demands: Demands) -> set[tuple[int, float]]:
        return set(pattern.part(tree, None if demands is pattern.own else demands).nodes)

    def _in_order(self, pattern: Pattern, mask: int) -> Tree:
        return made_bare(order_tree([item for item in pattern_order(pattern.shape) if mask >> item & 1]))

    def mask_of(self, vertex: Vertex[Key]) -> int:
        """Return the items of a vertex at its home."""
        return self.patterns[vertex.key].shape.everything if vertex.label is None else vertex.label.mask

    def tree(self, vertex: Vertex[Key], sources: Sequence[Source], starts: Sequence[Tree]) -> Tree:
        """Return the tree of a vertex over the items of its home, given trees for its sources."""
        weights = self._weights(vertex, sources)
        return self._trees(vertex, sources, starts)[weights.index(min(weights))]

    def _trees(
        self, vertex: Vertex[Key], sources: Sequence[Source], starts: Sequence[Tree]
    ) -> tuple[Tree, ...]:
        """Return the first source joined with everything else in pattern order, and all in pattern order.

        Sub-patterns leave all checks to whoever reads them.
        """
        pattern = self.patterns[vertex.key]
        units = []
        for source, start in zip(sources, starts, strict=True):
            given = _narrowed(source.demands, start.mask)
            is_other = start.general is None and given != _narrowed(vertex.demands, start.mask)
            units.append(start._replace(general=given) if is_other else start)
        rest = self.mask_of(vertex) & ~sum(start.mask for start in starts)
        order = pattern_order(pattern.shape)
        units.extend(leaf(item) for item in order if rest >> item & 1)
        further = sorted(units[1:], key=lambda unit: order.index(next(items_of(unit.mask))))
        everything = sorted(units, key=lambda unit: order.index(next(items_of(unit.mask))))
        options = dict.fromkeys(joined(one) for one in ([units[0], *further], everything))
        return tuple(tree if vertex.label is None else made_bare(tree) for tree in options)


def joined(units: Sequence[Tree]) -> Tree:
    """Return the tree that joins units one after the other."""
    return reduce(pair, units)


def _with_one_less(query: FlatQuery) -> list[FlatQuery]:
    operands = query.operands
    return [
        FlatQuery(query.operator, (*operands[:place], *operands[place + 1 :]))
        for place in range(len(operands))
    ]


def _within(order: frozenset[tuple[int, int]], mask: int) -> frozenset[tuple[int, int]]:
    return frozenset((a, b) for a, b in order if mask >> a & 1 and mask >> b & 1)


def _narrowed(demands: Demands, mask: int) -> Demands:
    return Demands(_within(demands.order, mask), demands.extent)
