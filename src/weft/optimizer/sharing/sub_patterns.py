"""The sub-patterns of a pattern, told by numbers: equal numbers mean equal events, conditions and order.

The same number never means two things, because it is an index into what was numbered; two numbers for
one thing would only miss a chance to share.

A sub-pattern has no window and no negations: these are the business of the joins that compute it.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby, islice, product
from typing import TypeVar

from weft.cost.model import PlanStep
from weft.cost.shape import Shape, items_of
from weft.expressions import Expression, variables_of
from weft.optimizer.assemble import leaf_node
from weft.optimizer.demands import Context, demands_of, extent_of
from weft.optimizer.memoize import memoize
from weft.optimizer.shape_of import shape_of
from weft.optimizer.trees import Tree
from weft.pattern.canonical import MOST_LABELLINGS, exchanges, in_columns, least_labelling, speaks_of_list
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Extent
from weft.statistics.model import Statistics

Key = TypeVar("Key", bound=Hashable)  # by which callers know a pattern
Order = frozenset[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Label:
    """A sub-pattern: its number, its items in the order that equal sub-patterns share, and its order.

    The order relates places among the items; `leaves` are the numbers of the leaves in these places.
    """

    number: int
    items: tuple[int, ...]
    order: Order
    leaves: tuple[int, ...]

    @property
    def mask(self) -> int:
        return mask_of(self.items)

    @property
    def places(self) -> dict[int, int]:
        """The place of each item."""
        return {item: place for place, item in enumerate(self.items)}

    @property
    def is_unordered(self) -> bool:
        """Whether two items at least may come in any order."""
        return 2 * len(self.order) < len(self.items) * (len(self.items) - 1)


class InternTable:
    """Gives equal things equal numbers; knows how each node is priced, and a label of each sub-pattern.

    Where latency counts, what waits for the last event of a match is priced apart: patterns that share a
    node may end in other places.
    """

    def __init__(self, *, counts_latency: bool = False) -> None:
        self.counts_latency = counts_latency
        self._numbers: dict[Hashable, int] = {}
        self.priced: dict[int, tuple[Shape, PlanStep]] = {}
        self.labels: dict[int, Label] = {}

    def of(self, thing: Hashable) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def node(self, thing: Hashable, shape: Shape, step: PlanStep) -> int:
        """Return the number of a node, which costs what a step of this shape costs."""
        number = self.of(thing)
        self.priced.setdefault(number, (shape, step))
        return number


@dataclass(frozen=True, slots=True)
class NumberedNodes:
    """The nodes of a tree, its own last, as numbers with the windows in seconds for which they are needed.

    `columns` are the items of its columns, `checks` the negations that its rows have passed.
    """

    nodes: tuple[tuple[int, float], ...]
    columns: tuple[int, ...]
    checks: int

    @property
    def number(self) -> int:
        return self.nodes[-1][0]


@dataclass(frozen=True, slots=True)
class SharablePart:
    """A tree over a sub-pattern, its items being the places of the label; what it has checked; its extent."""

    number: int
    tree: Tree
    negations: frozenset[int]
    extent: Extent | None


@dataclass(frozen=True, slots=True)
class Offer:
    """A tree that others compute, and what it costs to read it."""

    tree: Tree
    cost: float = 0.0


class SubPatterns:
    """A normal form, and the numbers of its items, of what relates them, and of its sub-patterns."""

    def __init__(
        self, form: NormalForm, statistics: Statistics, context: Context, numbers: InternTable
    ) -> None:
        self.form = form
        self.context = context
        self.variables = form.variables
        self.shape = shape_of(form, statistics, context)
        self.own = demands_of(form)
        self.numbers = numbers

    @property
    def n_items(self) -> int:
        return len(self.form.items)

    @cached_property
    def extent(self) -> Extent | None:
        return extent_of(self.form)

    @cached_property
    def frame(self) -> int:
        """What all sub-patterns of the pattern have in common: keys, and the clock of the window."""
        clock = None if self.extent is None else (self.extent.clock, self.extent.partition_by)
        return self.numbers.of(("frame", self.form.keys, clock))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The number of each item."""
        numbers = []
        for place, item in enumerate(self.form.items):
            node: Hashable = leaf_node(item, self.form, self.context)
            if item.is_list:
                own = [p for p in self.form.predicates if variables_of(p) == {item.variable}]
                about = in_columns([p for p in own if speaks_of_list(p)], (item.variable,))
                starts = self.shape.list_mask == self.shape.everything  # then lists are built from nothing
                node = ("list", node, item.least, item.most, item.strategy, about, starts)
            elif self.n_items == 1 and self.form.keys:
                node = ("present", node, self.form.keys)
            numbers.append(self.numbers.node(node, self.shape, PlanStep(1 << place)))
        return tuple(numbers)

    @memoize
    def order_within(self, mask: int) -> Order:
        """Return the order among some items."""
        return frozenset(pair for among, pair in self._ordered if not among & ~mask)

    @cached_property
    def _ordered(self) -> list[tuple[int, tuple[int, int]]]:
        """The pairs of items in order, with the mask of each."""
        return [(1 << a | 1 << b, (a, b)) for a, b in self.own.order]

    def within(self, order: Order, mask: int) -> Order:
        return self.order_within(mask) if order is self.own.order else order_among(order, mask)

    @cached_property
    def relations(self) -> tuple[tuple[int, ...], ...]:
        """The number of all that relates two items, in this order of the two."""
        places = range(self.n_items)
        return tuple(
            tuple(self._relation(a, b, self.own.order) if a != b else -1 for b in places) for a in places
        )

    def relation(self, a: int, b: int, order: Order) -> int:
        return self.relations[a][b] if order is self.own.order else self._relation(a, b, order)

    def _relation(self, a: int, b: int, order: Order) -> int:
        return self._signed_relation(a, b, ((a, b) in order) - ((b, a) in order))

    @memoize
    def _signed_relation(self, a: int, b: int, sign: int) -> int:
        first, second = self.form.items[a], self.form.items[b]
        names = (first.variable, second.variable)
        distinct = not sign and (first.type == second.type or self.context.types_overlap)
        about = self._predicates_on.get(frozenset(names), ())
        return self.numbers.of(("relation", sign, distinct, in_columns(about, names)))

    @cached_property
    def _predicates_on(self) -> dict[frozenset[str], list[Expression]]:
        """The predicates on the same variables."""
        predicates: dict[frozenset[str], list[Expression]] = {}
        for predicate in self.form.predicates:
            predicates.setdefault(variables_of(predicate), []).append(predicate)
        return predicates

    @cached_property
    def wide(self) -> tuple[tuple[int, Expression], ...]:
        """The predicates on three items or more, with their items."""
        places = {variable: place for place, variable in enumerate(self.form.variables)}
        return tuple(
            (sum(1 << places[v] for v in variables_of(p)), p)
            for p in self.form.predicates
            if len(variables_of(p)) > 2
        )

    def wide_between(self, columns: tuple[int, ...], left: int, right: int) -> tuple[int, ...]:
        """The predicates on three items or more that can be decided by joining two parts."""
        if not self.wide:
            return ()
        names = [self.variables[item] for item in columns]
        ready = [p for mask, p in self.wide if not mask & ~(left | right) and mask & ~left and mask & ~right]
        return tuple(sorted(self.numbers.of(("wide", p)) for p in in_columns(ready, names))) if ready else ()

    @memoize
    def label(self, mask: int, weaker: Order | None = None) -> Label:
        """Return the sub-pattern of some items, without negations, under its own or a weaker order."""
        order = self.own.order if weaker is None else weaker
        if len(self.leaf_set) == len(self.leaves):
            items = tuple(item for item in self._by_leaf if mask >> item & 1)
            description = self._describe(items, mask, order)
        else:
            description, items = least_labelling(
                exchanges(self.alike(mask)), lambda items: self._describe(items, mask, order)
            )
        places = {item: place for place, item in enumerate(items)}
        among = frozenset((places[a], places[b]) for a, b in self.within(order, mask))
        leaves = tuple(self.leaves[item] for item in items)
        label = Label(self.numbers.of(description), items, among, leaves)
        self.numbers.labels.setdefault(label.number, label)
        return label

    @cached_property
    def _by_leaf(self) -> list[int]:
        """The items by the numbers of their leaves."""
        return sorted(range(self.n_items), key=self.leaves.__getitem__)

    @memoize
    def alike(self, mask: int) -> list[list[int]]:
        """Return some items by the number of their leaves, those that look the same together."""
        leaf_of = self.leaves.__getitem__
        return [list(items) for _, items in groupby(sorted(items_of(mask), key=leaf_of), leaf_of)]

    def _describe(self, items: tuple[int, ...], mask: int, order: Order) -> tuple[int, ...]:
        """Return what identifies a sub-pattern whose items stand in this order."""
        if order is self.own.order:
            known = self.relations
            relations = [known[a][b] for a, b in combinations(items, 2)]
        else:
            relations = [self._relation(a, b, order) for a, b in combinations(items, 2)]
        numbers: list[int] = []
        wide = [p for needed, p in self.wide if not needed & ~mask]
        if wide:
            names = [self.variables[item] for item in items]
            numbers = sorted(self.numbers.of(("wide", p)) for p in in_columns(wide, names))
        frame = self.frame if len(items) > 1 else -1
        return (-2, frame, *(self.leaves[item] for item in items), -1, *relations, -1, *numbers)

    @cached_property
    def leaf_set(self) -> frozenset[int]:
        return frozenset(self.leaves)

    @cached_property
    def is_chain(self) -> bool:
        """Whether all items are in order, so that no order of them is stricter."""
        return 2 * len(self.own.order) == self.n_items * (self.n_items - 1)

    def weaker(self, label: Label) -> Label | None:
        """Return the items of this pattern in the places of another's sub-pattern with a weaker order.

        It is None unless events and conditions are the same, and the order is stricter here. Lists are left
        out.
        """
        return self._weaker(label.number)

    @memoize
    def _weaker(self, number: int) -> Label | None:
        label = self.numbers.labels[number]
        if not self.leaf_set.issuperset(label.leaves):
            return None
        choices = [
            [item for item, leaf in enumerate(self.leaves) if leaf == wanted] for wanted in label.leaves
        ]
        for items in islice(product(*choices), MOST_LABELLINGS):
            mask = mask_of(items)
            if mask.bit_count() == len(items) and not mask & self.shape.list_mask:
                moved = frozenset((items[a], items[b]) for a, b in label.order)
                if moved < self.order_within(mask):
                    own = self.label(mask, moved)
                    if own.number == number:
                        return own
        return None


def mask_of(items: Iterable[int]) -> int:
    """Return the mask of some items."""
    mask = 0
    for item in items:
        mask |= 1 << item
    return mask


def order_among(order: Order, mask: int) -> Order:
    """Return the part of an order that relates items of a mask."""
    return frozenset((a, b) for a, b in order if mask >> a & 1 and mask >> b & 1)
