"""What patterns have in common, told by numbers: equal numbers mean equal computations.

A leaf is numbered by its type and predicates, a join by the numbers of its two parts and by all that
relates their columns, a check by its input and what it forbids. Windows are left out: a node serves
all windows up to its own. The same number never means two things, because it is an index into what
was numbered; two numbers for one thing would only miss a chance to share.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, permutations, product

from weft.cost.model import Step
from weft.cost.shape import Shape, items_of
from weft.expressions import Expression, variables_of
from weft.optimizer.assemble import (
    Context,
    absence_of,
    extent_of,
    leaf_node,
    may_collide,
    needs_of,
    rename,
    speaks_of_list,
)
from weft.optimizer.shape_of import shape_of
from weft.optimizer.trees import Tree, made_bare, made_checking, relabelled
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Extent
from weft.statistics.model import Statistics

MOST_LABELLINGS = 24  # of items that look the same


class Numbers:
    """Gives equal things equal numbers, and remembers how each numbered node is priced."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self.priced: dict[int, tuple[Shape, Step]] = {}

    def of(self, thing: Hashable) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    def node(self, thing: Hashable, shape: Shape, step: Step) -> int:
        """Return the number of a node, which costs what a step of this shape costs."""
        number = self.of(thing)
        self.priced.setdefault(number, (shape, step))
        return number


@dataclass(frozen=True, slots=True)
class Numbered:
    """The nodes of a tree as numbers, its own last; `columns` are the items of its columns.

    `join` is the number of the node below the checks that the tree ends with.
    """

    nodes: tuple[int, ...]
    columns: tuple[int, ...]
    checks: int
    join: int

    @property
    def number(self) -> int:
        return self.nodes[-1]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A sub-pattern: its number, and its items in the order that equal sub-patterns share."""

    number: int
    items: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A tree over a sub-pattern, its items being the places of the label; and what it has checked."""

    number: int
    tree: Tree
    negations: frozenset[int]


class Pattern:
    """A normal form made ready for sharing."""

    def __init__(self, form: NormalForm, statistics: Statistics, context: Context, numbers: Numbers) -> None:
        self.form = form
        self.context = context
        self.variables = form.variables
        self.shape = shape_of(form, statistics, context)
        self.negated = tuple(shape_of(one.form, statistics, context) for one in form.negations)
        self.numbers = numbers
        self._trees: dict[Tree, Numbered] = {}
        self._labels: dict[int, Labelled] = {}
        self._parts: dict[Tree, tuple[Part, ...]] = {}
        self._absences: dict[tuple[int, tuple[int, ...]], tuple[int, int]] = {}

    @property
    def window(self) -> float:
        return self.shape.window

    @property
    def n_items(self) -> int:
        return len(self.form.items)

    @cached_property
    def extent(self) -> Extent | None:
        return extent_of(self.form)

    @cached_property
    def frame(self) -> int:
        """What all joins of the pattern have in common: keys, and the clock of the window."""
        clock = None if self.extent is None else (self.extent.clock, self.extent.partition_by)
        return self.numbers.of(("frame", self.form.keys, clock))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The number of each item."""
        found = []
        for place, item in enumerate(self.form.items):
            node: Hashable = leaf_node(item, self.form, self.context)
            if item.is_list:
                own = [p for p in self.form.predicates if variables_of(p) == {item.variable}]
                about = rename([p for p in own if speaks_of_list(p)], (item.variable,))
                starts = self.shape.list_mask == self.shape.everything  # then lists are built from nothing
                node = ("list", node, item.least, item.most, about, starts)
            elif self.n_items == 1 and self.form.keys:
                node = ("present", node, self.form.keys)
            found.append(self.numbers.node(node, self.shape, Step(1 << place)))
        return tuple(found)

    @cached_property
    def relations(self) -> tuple[tuple[int, ...], ...]:
        """The number of all that relates two items, in this order of the two."""
        items = self.form.items
        return tuple(
            tuple(self._relation(a, b) if a != b else -1 for b in range(len(items)))
            for a in range(len(items))
        )

    def _relation(self, a: int, b: int) -> int:
        first, second = self.form.items[a], self.form.items[b]
        names = (first.variable, second.variable)
        order = (names in self.form.order) - (names[::-1] in self.form.order)
        distinct = may_collide(first.type, second.type, names, self.form, self.context)
        about = [p for p in self.form.predicates if variables_of(p) == set(names)]
        return self.numbers.of(("relation", order, distinct, rename(about, names)))

    @cached_property
    def _wide(self) -> tuple[tuple[int, Expression], ...]:
        """The predicates on three items or more, with their items."""
        places = {variable: place for place, variable in enumerate(self.form.variables)}
        return tuple(
            (sum(1 << places[v] for v in variables_of(p)), p)
            for p in self.form.predicates
            if len(variables_of(p)) > 2
        )

    @cached_property
    def needs(self) -> tuple[int, ...]:
        """For each negation, the items that it waits for."""
        places = {variable: place for place, variable in enumerate(self.form.variables)}
        return tuple(
            sum(1 << places[v] for v in needs_of(negation, self.form, self.context))
            for negation in self.form.negations
        )

    def numbered(self, tree: Tree) -> Numbered:
        """Return the nodes of a tree over all items, every negation checked."""
        found = self.part(tree)
        return self._checked(found, tree.mask) if tree.bare else found

    def part(self, tree: Tree) -> Numbered:
        """Return the nodes of a tree over some items, checked where it is not bare."""
        if tree not in self._trees:
            found = self._new_part(tree)
            self._trees[tree] = found if tree.bare else self._checked(found, tree.mask)
        return self._trees[tree]

    def _new_part(self, tree: Tree) -> Numbered:
        if tree.left is None or tree.right is None:
            item = next(items_of(tree.mask))
            return Numbered((self.leaves[item],), (item,), 0, self.leaves[item])
        left, right = self.part(tree.left), self.part(tree.right)
        checks = left.checks | right.checks
        (thing, columns) = min(
            self._joined(left, right), self._joined(right, left), key=lambda option: option[0]
        )
        step = Step(tree.mask, tree.left.mask, tree.right.mask, checks)
        number = self.numbers.node(thing, self.shape, step)
        return Numbered((*left.nodes, *right.nodes, number), columns, checks, number)

    def _joined(self, left: Numbered, right: Numbered) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return what identifies a join, and its columns."""
        columns = (*left.columns, *right.columns)
        relations = (self.relations[a][b] for a in left.columns for b in right.columns)
        wide = self.wide_between(columns, self._mask(left.columns), self._mask(right.columns))
        return (-1, self.frame, left.number, right.number, *relations, -1, *wide), columns

    def _mask(self, columns: Sequence[int]) -> int:
        return sum(1 << item for item in columns)

    def wide_between(self, columns: tuple[int, ...], left: int, right: int) -> tuple[int, ...]:
        """The predicates on three items or more that can be decided by joining two parts."""
        names = [self.variables[item] for item in columns]
        ready = [p for mask, p in self._wide if not mask & ~(left | right) and mask & ~left and mask & ~right]
        return tuple(sorted(self.numbers.of(("wide", p)) for p in rename(ready, names))) if ready else ()

    def _checked(self, found: Numbered, mask: int) -> Numbered:
        """Add the negations that can be checked now."""
        for place, needs in enumerate(self.needs):
            if found.checks >> place & 1 or needs & ~mask:
                continue
            negated, forbidden = self._forbidden(place, found.columns)
            thing = ("check", found.number, forbidden)
            number = self.numbers.node(thing, self.shape, Step(mask, mask, 0, found.checks))
            checks = found.checks | 1 << place
            found = Numbered((*found.nodes, negated, number), found.columns, checks, found.join)
        return found

    def _forbidden(self, place: int, columns: tuple[int, ...]) -> tuple[int, int]:
        """Return the number of the node that a negation looks at, and what identifies the check."""
        if (place, columns) not in self._absences:
            self._absences[place, columns] = self._new_forbidden(place, columns)
        return self._absences[place, columns]

    def _new_forbidden(self, place: int, columns: tuple[int, ...]) -> tuple[int, int]:
        negation, inner = self.form.negations[place], self.negated[place]
        names = tuple(self.variables[item] for item in columns)
        absence = absence_of(negation, names, self.form, self.context)
        number = self.numbers.node(absence.negated, inner, Step(inner.everything, checks=-1))
        kept = absence if negation.needs_whole_match else replace(absence, extent=None)
        return number, self.numbers.of(kept)

    def labelled(self, mask: int) -> Labelled:
        """Return the sub-pattern of some items, without negations."""
        if mask not in self._labels:
            self._labels[mask] = self._new_label(mask)
        return self._labels[mask]

    def _new_label(self, mask: int) -> Labelled:
        ordered = sorted(items_of(mask), key=lambda item: self.leaves[item])
        ties: list[list[int]] = []
        for item in ordered:
            if ties and self.leaves[ties[-1][0]] == self.leaves[item]:
                ties[-1].append(item)
            else:
                ties.append([item])
        if len(ties) == len(ordered):
            items = tuple(ordered)
            return Labelled(self.numbers.of(self._described(items, mask)), items)
        options = (
            tuple(item for tie in choice for item in tie) for choice in product(*map(permutations, ties))
        )
        described, items = min(
            (self._described(items, mask), items) for items in islice(options, MOST_LABELLINGS)
        )
        return Labelled(self.numbers.of(described), items)

    def _described(self, items: tuple[int, ...], mask: int) -> tuple[int, ...]:
        """Return what identifies a sub-pattern whose items stand in this order."""
        relations = (self.relations[a][b] for place, a in enumerate(items) for b in items[place + 1 :])
        names = [self.variables[item] for item in items]
        wide = [p for needed, p in self._wide if not needed & ~mask]
        numbers = sorted(self.numbers.of(("wide", p)) for p in rename(wide, names)) if wide else []
        frame = self.frame if len(items) > 1 else -1
        return (-2, frame, *(self.leaves[item] for item in items), -1, *relations, -1, *numbers)

    def negations_in(self, labelled: Labelled) -> frozenset[int]:
        """Return what is negated within a sub-pattern, so that two patterns can be compared."""
        mask = self._mask(labelled.items)
        found = [place for place, needs in enumerate(self.needs) if not needs & ~mask]
        return frozenset(self._forbidden(place, labelled.items)[1] for place in found)

    def parts(self, tree: Tree) -> tuple[Part, ...]:
        """Return the joins of a tree, so that other patterns can use them."""
        if tree.left is None or tree.right is None:
            return ()
        if tree not in self._parts:
            labelled = self.labelled(tree.mask)
            places = {item: place for place, item in enumerate(labelled.items)}
            is_checked = bool(self.part(tree).checks)
            general = relabelled(tree if is_checked else made_bare(tree), places.__getitem__)
            negations = self.negations_in(labelled) if is_checked else frozenset[int]()
            own = Part(labelled.number, general, negations)
            self._parts[tree] = (*self.parts(tree.left), *self.parts(tree.right), own)
        return self._parts[tree]

    def fitted(self, part: Part, mask: int) -> Tree | None:
        """Return a part as a tree over items of this pattern; None when it has checked something else."""
        labelled = self.labelled(mask)
        if part.negations and part.negations != self.negations_in(labelled):
            return None
        return self.settled(relabelled(part.tree, labelled.items.__getitem__))

    def settled(self, tree: Tree) -> Tree:
        """Return the tree itself, or a simpler one that is the same: without negations, none can wait."""
        return tree if self.form.negations else made_checking(tree)
