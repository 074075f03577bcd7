"""Assemble plan nodes from a normal form along an evaluation tree."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from weft.cost.shape import items_of
from weft.expressions import Comparison, Expression, variables_of
from weft.optimizer.demands import (
    Context,
    anchor_of,
    demands_of,
    extent_of,
    key_equalities,
    key_of,
    may_collide,
    same_key,
)
from weft.optimizer.gaps import gap_of
from weft.optimizer.trees import Demands, Tree
from weft.pattern.canonical import in_columns, own_predicates, speaks_of_list
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.plan.nodes import (
    Absence,
    Await,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Project,
    Scan,
    column_types,
)

EVERYTHING_BEFORE = Extent("time", 0)  # an event waits for all that come before it


@dataclass(frozen=True, slots=True)
class Assembled:
    """A node and the variable of each of its columns."""

    node: Node
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """What a node holds: the items of a tree, the negations that its rows have passed, and its demands."""

    tree: Tree
    checks: int
    demands: Demands


def assemble(
    form: NormalForm,
    tree: Tree,
    context: Context,
    contents: dict[Node, Content] | None = None,
    *,
    checks_strategy_last: bool = False,
) -> Assembled:
    """Return the plan node that computes the matches of a normal form.

    What the nodes hold is noted in `contents`. Where the strategy is checked last, all joins are those of the
    same query under any other.
    """
    noted = {} if contents is None else contents
    last = frozenset(
        number
        for number, negation in enumerate(form.negations)
        if checks_strategy_last and negation.is_strategic
    )
    return _Assembly(form, context, demands_of(form), noted, last).whole(tree)


@dataclass(frozen=True)
class _Assembly:
    form: NormalForm
    context: Context
    demands: Demands
    contents: dict[Node, Content]
    checked_last: frozenset[int] = frozenset()
    checks_negations: bool = True

    @property
    def extent(self) -> Extent | None:
        return self.demands.extent

    def whole(self, tree: Tree) -> Assembled:
        """Return the node of a tree over all items, with every negation checked."""
        built, checked = self._part(tree)
        pending = [n for number, n in enumerate(self.form.negations) if number not in checked]
        for negation in sorted(pending, key=lambda negation: negation.needs_whole_match):
            built = self._check_negation(built, negation)
        self._note(built, tree, -1)
        return built

    def _note(self, built: Assembled, tree: Tree, checks: int) -> None:
        self.contents[built.node] = Content(tree, checks, self.demands)

    def _part(self, tree: Tree) -> tuple[Assembled, frozenset[int]]:
        """Return the node of a tree, and the negations that it has checked."""
        if tree.left is None or tree.right is None:
            built, passed = self._leaf(self.form.items[next(items_of(tree.mask))])
            self._note(built, tree, 0)
            return built, passed
        if tree.computed_for is not None:
            built, checked = self._select_rows(tree, tree.computed_for)
        else:
            left, left_checked = self._part(tree.left)
            right, right_checked = self._part(tree.right)
            built, passed = self._join_parts(left, right)
            checked = left_checked | right_checked | passed
        self._note(built, tree, sum(1 << number for number in checked))
        is_checked = self.checks_negations and not tree.unchecked
        for number in range(len(self.form.negations)) if is_checked else ():
            negation = self.form.negations[number]
            if (
                number not in checked | self.checked_last
                and not negation.needs_whole_match
                and needs_of(negation, self.form, self.context) <= set(built.variables)
            ):
                built = self._check_negation(built, negation)
                checked |= {number}
                self._note(built, tree, sum(1 << number for number in checked))
        return built, checked

    def _select_rows(self, tree: Tree, general: Demands) -> tuple[Assembled, frozenset[int]]:
        """Return those rows of a tree, computed for more general demands, that meet the form's own."""
        names = self.form.variables
        weaker = replace(self.form, order=frozenset((names[a], names[b]) for a, b in general.order))
        inner = _Assembly(weaker, self.context, general, self.contents, checks_negations=False)
        built, passed = inner._part(tree._replace(computed_for=None))
        columns = built.variables
        missing = {(a, b) for a, b in self.form.order - weaker.order if a in columns and b in columns}
        order = sorted(
            (columns.index(a), columns.index(b))
            for a, b in missing
            if not any((a, c) in self.form.order and (c, b) in self.form.order for c in columns)
        )
        own = None if general.extent == self.extent else self.extent
        selected = Project(built.node, tuple(range(len(columns))), own, tuple(order))
        return Assembled(selected, columns), passed

    def _leaf(self, item: Item) -> tuple[Assembled, frozenset[int]]:
        source = leaf_node(item, self.form, self.context)
        if len(self.form.items) > 1:
            return Assembled(source, (item.variable,)), frozenset()
        if item.is_list:
            return self._expand_list(None, item, source)
        keys = [key_of(item.variable, key, self.context) for key in self.form.keys]
        present = [Comparison("=", key, key) for key in keys]  # unless the key is NULL
        return Assembled(_add_filter(source, present, (item.variable,)), (item.variable,)), frozenset()

    def _join_parts(self, left: Assembled, right: Assembled) -> tuple[Assembled, frozenset[int]]:
        """Join two parts; a list is expanded where the other part stands, which may check negations."""
        for part, other in ((right, left), (left, right)):
            if self._is_list_leaf(part):
                passed = frozenset[int]()
                if self._is_list_leaf(other):
                    other, passed = self._expand_list(None, self._item(other), other.node)
                built, own = self._expand_list(other, self._item(part), part.node)
                return built, passed | own
        options = [(left, right), (right, left)]
        if left.node == right.node:
            joins = (self._join(*option) for option in options)
            return min(joins, key=lambda join: repr(join.node)), frozenset()
        return self._join(*min(options, key=lambda option: self._rank(*option))), frozenset()

    def _is_list_leaf(self, part: Assembled) -> bool:
        return isinstance(part.node, Scan | Filter) and self._item(part).is_list

    def _item(self, part: Assembled) -> Item:
        return next(item for item in self.form.items if item.variable == part.variables[0])

    def _rank(self, left: Assembled, right: Assembled) -> tuple[object, ...]:
        """Orient a join the same way for everybody: what ends the match, and the smaller part, right."""
        order = self.form.order
        ends_last = all(any((a, b) in order for b in right.variables) for a in left.variables)
        tie = repr(left.node) if column_types(left.node) == column_types(right.node) else ""
        return (not ends_last, -len(left.variables), column_types(left.node), tie)

    def _join(self, left: Assembled, right: Assembled) -> Assembled:
        columns = (*left.variables, *right.variables)
        node = Join(
            left.node,
            right.node,
            self._order(left.variables, right.variables),
            self._distinct(left.variables, right.variables),
            in_columns(self._conditions(left.variables, right.variables), columns),
            self.extent,
        )
        return Assembled(node, columns)

    def _expand_list(
        self, source: Assembled | None, item: Item, elements: Node
    ) -> tuple[Assembled, frozenset[int]]:
        """Return rows with lists of an item, and the negation that they have passed, if any.

        What lies in the gaps of a list is known once all events up to its last are there.
        """
        earlier = source.variables if source else ()
        columns = (*earlier, item.variable)
        conditions = self._conditions(earlier, (item.variable,))
        conditions += [
            predicate
            for predicate in self.form.predicates
            if variables_of(predicate) == {item.variable} and speaks_of_list(predicate)
        ]
        if source is None:
            conditions += [same_key(item.variable, key, self.context) for key in self.form.keys]
        rule = gap_of(item, earlier, self.form, lambda n: needs_of(n, self.form, self.context))
        waits = rule is not None
        node = KleeneExpand(
            None if source is None else Await(source.node, EVERYTHING_BEFORE) if waits else source.node,
            Await(elements, EVERYTHING_BEFORE) if waits else elements,
            item.least,
            item.most,
            self._order(earlier, (item.variable,)),
            self._distinct(earlier, (item.variable,)),
            in_columns(conditions, columns),
            self.extent,
        )
        if rule is None:
            return Assembled(node, columns), frozenset()
        node = replace(
            node,
            passed=absence_of(self.form.negations[rule.gap], columns, self.form, self.context),
            begins_early=rule.begins_early,
            ends_late=rule.ends_late,
        )
        return Assembled(node, columns), frozenset({rule.gap})

    def _conditions(self, left: tuple[str, ...], right: tuple[str, ...]) -> list[Expression]:
        """The predicates that speak of both parts, and agreement of the two on the keys."""
        bound = {*left, *right}
        conditions = [
            predicate
            for predicate in self.form.predicates
            if variables_of(predicate) <= bound
            and variables_of(predicate) & set(left)
            and variables_of(predicate) & set(right)
        ]
        if left:
            anchors = anchor_of(left, self.form), anchor_of(right, self.form)
            conditions += key_equalities(*anchors, self.form, self.context)
        return conditions

    def _order(self, left: tuple[str, ...], right: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
        """The order between two parts, without the pairs that follow from others."""
        columns, order = (*left, *right), self.form.order
        crossing = [(a, b) for a in left for b in right] + [(b, a) for a in left for b in right]
        return tuple(
            sorted(
                (columns.index(a), columns.index(b))
                for a, b in crossing
                if (a, b) in order and not any((a, c) in order and (c, b) in order for c in columns)
            )
        )

    def _distinct(self, left: tuple[str, ...], right: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
        types = {item.variable: item.type for item in self.form.items}
        return tuple(
            (column, len(left) + place)
            for column, a in enumerate(left)
            for place, b in enumerate(right)
            if may_collide(types[a], types[b], (a, b), self.form, self.context)
        )

    def _check_negation(self, built: Assembled, negation: NegatedForm) -> Assembled:
        absence = absence_of(negation, built.variables, self.form, self.context)
        return Assembled(NegationCheck(built.node, absence), built.variables)


def leaf_node(item: Item, form: NormalForm, context: Context) -> Node:
    """Return the events of an item that satisfy the predicates on it alone."""
    return _add_filter(Scan(item.type, context.copy), own_predicates(item, form), (item.variable,))


def absence_of(negation: NegatedForm, outer: tuple[str, ...], form: NormalForm, context: Context) -> Absence:
    """Return what a negation of a form forbids to a row with columns `outer`."""
    return _absence(negation, outer, anchor_of(outer, form), form, context)


def _absence(
    negation: NegatedForm, outer: tuple[str, ...], anchor: str, form: NormalForm, context: Context
) -> Absence:
    """Return what a negation forbids to a row with columns `outer`; `anchor` is an item of its form."""
    own = negation.form
    own_variables = set(own.variables)
    outward = tuple(inner for inner in own.negations if not inner.outer_variables <= own_variables)
    alone = is_single_event(negation)
    searched = replace(
        own,
        keys=() if alone else own.keys,
        negations=tuple(inner for inner in own.negations if inner not in outward),
    )
    inner = assemble(searched, context.tree_of(searched), context)
    columns = (*outer, *inner.variables)
    conditions = [*negation.predicates, *_agreement(negation, anchor, inner.variables[0], form, context)]
    types = {item.variable: item.type for item in (*form.items, *own.items)}
    return Absence(
        inner.node,
        after=tuple(sorted(columns.index(variable) for variable in negation.after)),
        before=tuple(sorted(columns.index(variable) for variable in negation.before)),
        distinct=tuple(
            (columns.index(variable), columns.index(negated))
            for variable in _competitors(negation, form, context)
            for negated in inner.variables
            if types[variable] == types[negated] or context.types_overlap
        ),
        predicates=in_columns(conditions, columns),
        extent=extent_of(form),
        unless=tuple(_absence(exception, columns, inner.variables[0], own, context) for exception in outward),
        scope=negation.scope,
    )


def _agreement(
    negation: NegatedForm, anchor: str, negated: str, form: NormalForm, context: Context
) -> list[Expression]:
    """Return what makes a negated event agree on the keys; in a gap, with the event before it."""
    if negation.scope != "gap":
        return key_equalities(anchor, negated, form, context)
    before = [replace(key_of(negation.after[0], key, context), place="previous") for key in form.keys]
    return [
        Comparison("=", earlier, key_of(negated, key, context))
        for earlier, key in zip(before, form.keys, strict=True)
    ]


def is_single_event(negation: NegatedForm) -> bool:
    """Say whether a negation forbids single events, and nothing that has a length or conditions on others."""
    form = negation.form
    return len(form.items) == 1 and not form.items[0].is_list and not form.negations


def needs_of(negation: NegatedForm, form: NormalForm, context: Context) -> frozenset[str]:
    """Return the variables that must be bound before a negation can be checked."""
    if negation.needs_whole_match:
        return frozenset(form.variables)
    return negation.outer_variables | frozenset(_competitors(negation, form, context))


def _competitors(negation: NegatedForm, form: NormalForm, context: Context) -> list[str]:
    """The items whose events may lie in the scope and be of a negated type."""
    negated_types = {item.type for item in negation.form.items}
    return [
        item.variable
        for item in form.items
        if (context.types_overlap or item.type in negated_types)
        and not any(item.variable == a or (item.variable, a) in form.order for a in negation.after)
        and not any(item.variable == b or (b, item.variable) in form.order for b in negation.before)
    ]


def _add_filter(source: Node, predicates: Iterable[Expression], columns: tuple[str, ...]) -> Node:
    placed = in_columns(predicates, columns)
    if not placed:
        return source
    if isinstance(source, Filter):
        merged = dict.fromkeys((*source.predicates, *placed))
        return Filter(source.input, tuple(sorted(merged, key=repr)))
    return Filter(source, placed)
