"""What patterns have in common, told by numbers: equal numbers mean equal computations.

A leaf is numbered by its type and predicates, a join by the numbers of its two parts, by all that
relates their columns and by its extent, a check by its input and what it forbids, a filter by its input
and what it demands.
"""

from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property, reduce
from operator import or_

from weft.cost.model import PlanStep
from weft.cost.shape import Shape, items_of
from weft.optimizer.assemble import absence_of, needs_of
from weft.optimizer.demands import Context
from weft.optimizer.memoize import memoize
from weft.optimizer.shape_of import shape_of
from weft.optimizer.sharing.sub_patterns import (
    InternTable,
    Label,
    NumberedNodes,
    Order,
    SharablePart,
    SubPatterns,
    mask_of,
)
from weft.optimizer.trees import Demands, Tree, check_early, leaf, relabel, uncheck
from weft.pattern.normal_form import NormalForm
from weft.plan.extents import is_within, same_clock
from weft.plan.nodes import Extent
from weft.statistics.corrections import known_corrections
from weft.statistics.model import Statistics


class Pattern(SubPatterns):
    """A normal form made ready for sharing."""

    def __init__(
        self, form: NormalForm, statistics: Statistics, context: Context, numbers: InternTable
    ) -> None:
        super().__init__(form, statistics, context, numbers)
        self.statistics = statistics
        self.negated = tuple(shape_of(negation.form, statistics, context) for negation in form.negations)

    @property
    def window(self) -> float:
        return self.shape.window

    @memoize
    def shape_under(self, order: Order) -> Shape:
        """Return the shape of the pattern under a weaker order."""
        if order == self.own.order:
            return self.shape
        before = [mask_of(a for a, later in order if later == b) for b in range(self.n_items)]
        known = known_corrections(self.form_under(order), self.statistics.corrections)
        return replace(self.shape, before=tuple(before), corrections={**self.shape.corrections, **known})

    def form_under(self, order: Order) -> NormalForm:
        """Return the form of the pattern under a weaker order."""
        named = frozenset((self.variables[a], self.variables[b]) for a, b in order)
        return replace(self.form, order=named)

    def window_of(self, extent: Extent | None) -> float:
        """Return the seconds that an extent lasts."""
        if extent is None or self.extent is None or extent.length == self.extent.length:
            return self.window
        if extent.clock == "time":
            return extent.length / 1e6
        return self.window * (extent.length + 1) / (self.extent.length + 1)

    @cached_property
    def needs(self) -> tuple[int, ...]:
        """For each negation, the items that it waits for."""
        places = {variable: place for place, variable in enumerate(self.form.variables)}
        return tuple(
            mask_of(places[v] for v in needs_of(negation, self.form, self.context))
            for negation in self.form.negations
        )

    def number_nodes(self, tree: Tree) -> NumberedNodes:
        """Return the nodes of a tree over all items, every negation checked."""
        nodes = self.part(tree)
        return self._number_checks(nodes, tree.mask) if tree.unchecked else nodes

    @memoize
    def part(self, tree: Tree, demands: Demands | None = None) -> NumberedNodes:
        """Return the nodes of a tree over some items, checked unless it says otherwise.

        With demands other than the pattern's own, nothing is checked.
        """
        nodes = self._number_unchecked(tree, demands)
        return self._number_checks(nodes, tree.mask) if demands is None and not tree.unchecked else nodes

    def _number_unchecked(self, tree: Tree, demands: Demands | None) -> NumberedNodes:
        wanted = demands or self.own
        window = self.window_of(wanted.extent)
        if tree.left is None or tree.right is None:
            item = next(items_of(tree.mask))
            return NumberedNodes(((self.leaves[item], window),), (item,), 0)
        if tree.computed_for is not None:
            inner = self.part(tree._replace(computed_for=None), tree.computed_for)
            return self._number_filter(inner, tree, tree.computed_for, wanted)
        left, right = self.part(tree.left, demands), self.part(tree.right, demands)
        checks = left.checks | right.checks
        (thing, columns) = min(
            self._describe_join(left, right, wanted),
            self._describe_join(right, left, wanted),
            key=lambda option: option[0],
        )
        step = PlanStep(tree.mask, tree.left.mask, tree.right.mask, checks)
        own = self._number_work(thing, self.shape_under(wanted.order), step, window)
        return NumberedNodes((*left.nodes, *right.nodes, *own), columns, checks)

    def _number_work(
        self, thing: Hashable, shape: Shape, step: PlanStep, window: float
    ) -> tuple[tuple[int, float], ...]:
        """Return a node, and before it what waits of its work for the last event, where that counts."""
        if not self.numbers.counts_latency:
            return ((self.numbers.node(thing, shape, step), window),)
        late = round(self.shape.late_share(step.mask), 9)  # as equal shares are one node
        number = self.numbers.node(thing, shape, step._replace(late=0.0))
        if not late:
            return ((number, window),)
        waiting = step._replace(late=late, is_wait=True)
        return ((self.numbers.node(("wait", number, late), shape, waiting), window), (number, window))

    def _describe_join(
        self, left: NumberedNodes, right: NumberedNodes, wanted: Demands
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return what identifies a join, and its columns."""
        columns = (*left.columns, *right.columns)
        frame = self.numbers.of(("frame", self.form.keys, wanted.extent))
        relations = (self.relation(a, b, wanted.order) for a in left.columns for b in right.columns)
        wide = self.wide_between(columns, mask_of(left.columns), mask_of(right.columns))
        return (-1, frame, left.number, right.number, *relations, -1, *wide), columns

    def _number_filter(
        self, inner: NumberedNodes, tree: Tree, general: Demands, wanted: Demands
    ) -> NumberedNodes:
        """Add the filter that takes what is wanted of more general rows."""
        place = inner.columns.index
        missing = [(place(a), place(b)) for a, b in self.within(wanted.order, tree.mask) - general.order]
        thing = ("filter", inner.number, tuple(sorted(missing)), wanted.extent)
        step = PlanStep(tree.mask, tree.mask, is_filter=True)
        window = self.window_of(general.extent)
        own = self._number_work(thing, self.shape_under(general.order), step, window)
        return NumberedNodes((*inner.nodes, *own), inner.columns, 0)

    def _number_checks(self, below: NumberedNodes, mask: int) -> NumberedNodes:
        """Add the negations that can be checked now."""
        for place, needs in enumerate(self.needs):
            if below.checks >> place & 1 or needs & ~mask:
                continue
            negated, forbidden = self._describe_check(place, below.columns)
            thing = ("check", below.number, forbidden)
            own = self._number_work(thing, self.shape, PlanStep(mask, mask, 0, below.checks), self.window)
            nodes = (*below.nodes, (negated, self.window), *own)
            below = NumberedNodes(nodes, below.columns, below.checks | 1 << place)
        return below

    @memoize
    def _describe_check(self, place: int, columns: tuple[int, ...]) -> tuple[int, int]:
        """Return the number of the node that a negation looks at, and what identifies the check."""
        negation, inner = self.form.negations[place], self.negated[place]
        names = tuple(self.variables[item] for item in columns)
        absence = absence_of(negation, names, self.form, self.context)
        number = self.numbers.node(absence.negated, inner, PlanStep(inner.everything, checks=-1))
        return number, self.numbers.of(absence)

    def negations_in(self, items: tuple[int, ...]) -> frozenset[int]:
        """Return what is negated within a sub-pattern, so that two patterns can be compared."""
        mask = mask_of(items)
        ready = [place for place, needs in enumerate(self.needs) if not needs & ~mask]
        return frozenset(self._describe_check(place, items)[1] for place in ready)

    @memoize
    def parts(self, tree: Tree, demands: Demands | None = None) -> tuple[SharablePart, ...]:
        """Return the joins of a tree, and what is filtered, so that other patterns can use them."""
        if tree.is_leaf:
            return ()
        if tree.computed_for is not None:
            inner = self.parts(tree._replace(computed_for=None), tree.computed_for)
        else:
            inner = tuple(offered for part in tree.parts for offered in self.parts(part, demands))
        return (*inner, *self.own_parts(tree, demands))

    def own_parts(self, tree: Tree, demands: Demands | None = None) -> tuple[SharablePart, ...]:
        """Return what a join offers to others: its rows, and those that have passed its checks."""
        wanted = demands or self.own
        label = self.label(tree.mask, None if demands is None else self.within(wanted.order, tree.mask))
        places, offered = label.places, []
        checks, below = (self.part(tree).checks, self._below(tree)) if demands is None else (0, 0)
        if not below:
            unchecked = relabel(uncheck(tree), places)
            offered.append(SharablePart(label.number, unchecked, frozenset(), wanted.extent))
        if checks:
            negations = self.negations_in(label.items)
            offered.append(SharablePart(label.number, relabel(tree, places), negations, wanted.extent))
        return tuple(offered)

    def _below(self, tree: Tree) -> int:
        """Return the negations that the parts of a join have passed."""
        if tree.computed_for is not None:
            return 0
        return reduce(or_, (self.part(part).checks for part in tree.parts), 0)

    def fit(self, part: SharablePart, sharable: Label) -> Tree | None:
        """Return a part as a tree over items of this pattern; None when it does not serve it.

        `sharable` names the sub-pattern that the part computes, and the items of this pattern in its
        places; their own order may be stricter.
        """
        if not is_within(self.extent, part.extent):
            return None
        if part.negations and (
            not self.is_own(sharable, part.extent) or part.negations != self.negations_in(sharable.items)
        ):
            return None
        return self.place(part.tree, sharable, part.extent)

    def place(self, tree: Tree, sharable: Label, extent: Extent | None) -> Tree:
        """Return a tree over the places of a sub-pattern, computed for an extent, as a tree over items."""
        mine = relabel(tree, sharable.items)
        if not self.is_own(sharable, extent):
            mine = uncheck(mine)
            if mine.computed_for is None:
                mine = mine._replace(computed_for=self.demands(sharable, extent))
        return self.simplify(mine)

    def demands(self, sharable: Label, extent: Extent | None) -> Demands:
        """Return what is demanded of a sub-pattern, in items of this pattern."""
        return Demands(self._order_of(sharable), extent)

    def is_own(self, sharable: Label, extent: Extent | None) -> bool:
        """Say whether a sub-pattern for an extent is what this pattern itself has, and no more general."""
        return extent == self.extent and self._order_of(sharable) == self.order_within(sharable.mask)

    def _order_of(self, sharable: Label) -> Order:
        item = sharable.items.__getitem__
        return frozenset((item(a), item(b)) for a, b in sharable.order)

    def admits(self, tree: Tree) -> bool:
        """Say whether all that a tree is to be computed for is more general than what the pattern demands."""
        return self._admits(tree, self.own)

    def _admits(self, tree: Tree, around: Demands) -> bool:
        inner = tree.computed_for or around
        if inner is not around:
            order = self.within(around.order, tree.mask)
            is_weaker = inner.order == order or (inner.order < order and not tree.mask & self.shape.list_mask)
            if not is_weaker or not _is_longer(inner.extent, around.extent):
                return False
        return all(self._admits(part, inner) for part in tree.parts)

    @memoize
    def simplify(self, tree: Tree) -> Tree:
        """Return the tree itself, or a simpler one that is the same.

        Without negations, none can wait; and demands need not be given where they are the pattern's own.
        """
        return self._plain(tree if self.form.negations else check_early(tree), self.own)

    def _plain(self, tree: Tree, demands: Demands) -> Tree:
        if tree.left is None or tree.right is None:
            return leaf(next(items_of(tree.mask)))
        general = tree.computed_for
        if general is not None and general == demands._replace(order=self.within(demands.order, tree.mask)):
            general = None
        inner = general or demands
        left, right = self._plain(tree.left, inner), self._plain(tree.right, inner)
        return Tree(tree.mask, left, right, tree.unchecked, general)


def _is_longer(extent: Extent | None, other: Extent | None) -> bool:
    """Say whether an extent is of the same clock as another, and at least as long."""
    if extent is None or other is None:
        return extent is other
    return same_clock(extent, other) and extent.length >= other.length
