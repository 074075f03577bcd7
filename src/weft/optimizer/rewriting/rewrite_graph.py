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
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple

from weft.cost.model import CostModel
from weft.cost.shape import items_of
from weft.optimizer.memoize import memoize
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.rewriting.placing import LEAST_PLACED, Placing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.shared_nodes import SCALE
from weft.optimizer.sharing.sub_patterns import Key, Label
from weft.optimizer.trees import Demands, Tree, join_all, leaf, order_tree, uncheck
from weft.plan.extents import is_within
from weft.plan.nodes import Extent

Techniques = Literal["motto", "mst"]
ROOT = 0
SHARE_OF_GRAPH = 0.85  # of the limit, after which no more edges are looked for
LEAST_OFFERS = 5_000  # edges that are looked at whatever the time


@dataclass(frozen=True)
class RewriteVertex(Generic[Key]):
    """A sub-pattern with what is demanded of it, at home in one pattern; no label: the whole pattern."""

    key: Key
    label: Label | None
    demands: Demands

    @property
    def identity(self) -> tuple[Hashable, Extent | None]:
        """Equal vertices compute the same."""
        return (("whole", self.key) if self.label is None else self.label.number), self.demands.extent


@dataclass(frozen=True)
class RewriteSource:
    """A vertex from which another is computed, and the items of the latter's home in its places."""

    number: int
    label: Label
    demands: Demands


class PlacedSubPattern(NamedTuple):
    """A sub-pattern of a pattern, its items there, and the order that is demanded of them."""

    label: Label
    mask: int
    order: frozenset[tuple[int, int]]


class RewriteGraph(Generic[Key]):
    """Vertices by number, from 1; `into` are the weights of edges, `sources` what they stand for.

    `is_complete` says whether the limit left time for all that the rules find; unless that `is_strict`, the
    most promising is looked at however late it is.
    """

    def __init__(
        self,
        patterns: Mapping[Key, Pattern],
        model: CostModel,
        techniques: Techniques = "motto",
        limit: Limit | None = None,
        *,
        is_strict: bool = False,
    ) -> None:
        self._limit = (limit or Limit()).part(1.0)
        self._least_offers = 0 if is_strict else LEAST_OFFERS
        self.patterns = patterns
        self.model = model
        self.vertices: dict[int, RewriteVertex[Key]] = {}
        self.terminals: dict[Key, int] = {}
        self.into: dict[int, dict[int, int]] = {}
        self.sources: dict[tuple[int, int], RewriteSource] = {}
        self._numbers: dict[tuple[Hashable, Extent | None], int] = {}
        self._windows: dict[int, list[Extent | None]] = defaultdict(list)
        self._n_others: dict[int, int] = {}
        self._prices: dict[tuple[int, float], int] = {}
        placing = Placing(patterns, self._limit, 0 if is_strict else LEAST_PLACED)
        if techniques == "mst":
            placing.place_whole_queries()
        else:
            placing.place_sub_queries()
        self.is_complete = placing.is_complete
        self._places = {
            key: [
                PlacedSubPattern(label, label.mask, patterns[key].demands(label, None).order)
                for label in places
            ]
            for key, places in placing.places.items()
        }
        for key, pattern in patterns.items():
            self.terminals[key] = self._add(self._whole(key, pattern))
        if techniques != "mst":
            self._add_sub_patterns()
        self._connect(has_windows=techniques != "mst")

    @property
    def n_candidates(self) -> int:
        """How many vertices are no pattern's own."""
        return len(self.vertices) - len(set(self.terminals.values()))

    def _whole(self, key: Key, pattern: Pattern) -> RewriteVertex[Key]:
        is_plain = not pattern.form.negations and not pattern.shape.lists and pattern.n_items > 1
        label = pattern.label(pattern.shape.everything) if is_plain else None
        return RewriteVertex(key, label, pattern.own)

    def _add(self, vertex: RewriteVertex[Key]) -> int:
        number = self._numbers.setdefault(vertex.identity, len(self._numbers) + 1)
        if number not in self.vertices:
            self.vertices[number] = vertex
            if vertex.label is not None:
                self._windows[vertex.label.number].append(vertex.demands.extent)
        return number

    def _add_sub_patterns(self) -> None:
        """Make vertices of sub-patterns that several patterns have, for each of their windows."""
        owners: dict[int, dict[Key, Label]] = defaultdict(dict)
        for key, places in self._places.items():
            for place in places:
                owners[place.label.number].setdefault(key, place.label)
        for number, places_of in owners.items():
            if len(places_of) < 2:
                continue
            self._n_others[number] = len(places_of) - 1
            for extent in dict.fromkeys(self.patterns[key].extent for key in places_of):
                self._add(self._home(places_of, extent))

    def _home(self, owners: Mapping[Key, Label], extent: Extent | None) -> RewriteVertex[Key]:
        """Return a sub-pattern in the pattern that demands no more than that of it, if there is one."""

        def strangeness(key: Key) -> tuple[bool, bool]:
            pattern = self.patterns[key]
            return pattern.extent != extent, not pattern.is_own(owners[key], extent)

        fitting = [key for key in owners if is_within(self.patterns[key].extent, extent)]
        key = min(fitting, key=strangeness)
        return RewriteVertex(key, owners[key], self._demands(key, owners[key], extent))

    def _demands(self, key: Key, label: Label, extent: Extent | None) -> Demands:
        pattern = self.patterns[key]
        return pattern.own if pattern.is_own(label, extent) else pattern.demands(label, extent)

    def _connect(self, *, has_windows: bool) -> None:
        """Find all that vertices can be computed from; when it is late, the most promising sources alone."""
        offers: list[tuple[int, Label, Extent | None]] = []
        for number, vertex in self.vertices.items():
            self.into[number] = {ROOT: self.weight(vertex, [])}
            offers += [(number, label, vertex.demands.extent) for label in self._usable(vertex)]
            if has_windows:
                offers += [(number, label, longer) for label, longer in self._longer(vertex)]
        offers.sort(key=lambda offer: -self._promise(offer[1], offer[2]))
        for n_offered, (number, label, extent) in enumerate(offers):
            is_late = n_offered >= self._least_offers and self._limit.used_share() > SHARE_OF_GRAPH
            if is_late or self._limit.is_cancelled():
                self.is_complete = False
                break
            self._offer(number, self.vertices[number], label, extent)

    def _promise(self, label: Label, extent: Extent | None) -> int:
        """Return what is saved where all that have a sub-pattern take it from one, which costs nothing."""
        known = self._numbers.get((label.number, extent))
        return 0 if known is None else self.into[known][ROOT] * self._n_others.get(label.number, 0)

    def _usable(self, vertex: RewriteVertex[Key]) -> Iterator[Label]:
        """Yield the sub-patterns of a vertex that demand no more than it does."""
        pattern, mask = self.patterns[vertex.key], self.mask_of(vertex)
        order = pattern.within(vertex.demands.order, mask)
        for place in self._places[vertex.key]:
            if not place.mask & ~mask and place.order <= order:
                yield place.label

    def _longer(self, vertex: RewriteVertex[Key]) -> Iterator[tuple[Label, Extent | None]]:
        """Yield the same for longer windows: a vertex may be what a filter leaves of it."""
        extent = vertex.demands.extent
        if vertex.label is not None:
            for longer in self._windows[vertex.label.number]:
                if longer != extent and is_within(extent, longer):
                    yield vertex.label, longer

    def _offer(self, number: int, vertex: RewriteVertex[Key], label: Label, extent: Extent | None) -> None:
        """Let a vertex be computed from a sub-pattern of its home, for its own or a longer window."""
        known = self._numbers.get((label.number, extent))
        if known is None or known == number:
            return
        source = RewriteSource(known, label, self._demands(vertex.key, label, extent))
        weight, into = self.weight(vertex, [source]), self.into[number]
        if weight < into.get(known, weight + 1):
            into[known] = weight
            self.sources[known, number] = source

    def other_sources(self, number: int, present: Set[int]) -> list[RewriteSource]:
        """Return what a vertex can be computed from among those that are present, large ones first."""
        vertex = self.vertices[number]
        extent = vertex.demands.extent
        sources = []
        for label in self._usable(vertex):
            known = self._numbers.get((label.number, extent))
            if known in present and known is not None and known != number:
                sources.append(RewriteSource(known, label, self._demands(vertex.key, label, extent)))
        return sorted(sources, key=lambda source: -source.label.mask.bit_count())

    def weight(self, vertex: RewriteVertex[Key], sources: Sequence[RewriteSource]) -> int:
        """Return what a vertex costs when its sources are there, in units of 1 / SCALE.

        Events read from the stream cost nothing.
        """
        return min(self._weights(vertex, sources))

    def _weights(self, vertex: RewriteVertex[Key], sources: Sequence[RewriteSource]) -> list[int]:
        """Return the same for each of the trees that the sources could be joined by."""
        pattern = self.patterns[vertex.key]
        starts = [self._in_order(vertex.key, source.label.mask) for source in sources]
        present = set[tuple[int, float]]()
        for source, start in zip(sources, starts, strict=True):
            present |= self._part_nodes(pattern, start, source.demands)
        trees = self._trees(vertex, sources, starts)
        return [self._price(pattern, self._nodes(vertex, tree) - present) for tree in trees]

    def _price(self, pattern: Pattern, nodes: Set[tuple[int, float]]) -> int:
        return sum(self._node_price(pattern, node) for node in nodes)

    def _node_price(self, pattern: Pattern, node: tuple[int, float]) -> int:
        if node not in self._prices:
            number, window = node
            shape, step = pattern.numbers.priced[number]
            self._prices[node] = round(self.model.node(shape, step, window) * SCALE) if step.left else 0
        return self._prices[node]

    def _nodes(self, vertex: RewriteVertex[Key], tree: Tree) -> set[tuple[int, float]]:
        pattern = self.patterns[vertex.key]
        if vertex.label is None:
            return set(pattern.number_nodes(tree).nodes)
        return self._part_nodes(pattern, tree, vertex.demands)

    def _part_nodes(self, pattern: Pattern, tree: Tree, demands: Demands) -> set[tuple[int, float]]:
        return set(pattern.part(tree, None if demands is pattern.own else demands).nodes)

    @memoize
    def _in_order(self, key: Key, mask: int) -> Tree:
        order = pattern_order(self.patterns[key].shape)
        return uncheck(order_tree(item for item in order if mask >> item & 1))

    def mask_of(self, vertex: RewriteVertex[Key]) -> int:
        """Return the items of a vertex at its home."""
        return self.patterns[vertex.key].shape.everything if vertex.label is None else vertex.label.mask

    def tree(
        self, vertex: RewriteVertex[Key], sources: Sequence[RewriteSource], starts: Sequence[Tree]
    ) -> Tree:
        """Return the tree of a vertex over the items of its home, given trees for its sources."""
        weights = self._weights(vertex, sources)
        return self._trees(vertex, sources, starts)[weights.index(min(weights))]

    def _trees(
        self, vertex: RewriteVertex[Key], sources: Sequence[RewriteSource], starts: Sequence[Tree]
    ) -> tuple[Tree, ...]:
        """Return the first source joined with everything else in pattern order, and all in pattern order.

        Sub-patterns leave all checks to whoever reads them.
        """
        pattern = self.patterns[vertex.key]
        units = []
        for source, start in zip(sources, starts, strict=True):
            given = _demands_within(pattern, source.demands, start.mask)
            is_other = start.computed_for is None and given != _demands_within(
                pattern, vertex.demands, start.mask
            )
            units.append(start._replace(computed_for=given) if is_other else start)
        rest = self.mask_of(vertex) & ~sum(start.mask for start in starts)
        order = pattern_order(pattern.shape)
        units.extend(leaf(item) for item in order if rest >> item & 1)
        further = sorted(units[1:], key=lambda unit: order.index(next(items_of(unit.mask))))
        everything = sorted(units, key=lambda unit: order.index(next(items_of(unit.mask))))
        options = dict.fromkeys(join_all(option) for option in ([units[0], *further], everything))
        return tuple(tree if vertex.label is None else uncheck(tree) for tree in options)


def _demands_within(pattern: Pattern, demands: Demands, mask: int) -> Demands:
    return Demands(pattern.within(demands.order, mask), demands.extent)
