"""Plans that no sane optimizer would choose: random trees, extents, column orders and places of checks.

Every choice that must not change the result is left to chance: which parts are joined and on which
side, when a list is expanded, where conditions and negations are checked, how much longer than the
window the inner nodes reach, and where columns are put in another order.
"""

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from weft.expressions import Aggregate, Attribute, Comparison, Expression, type_of, variables_of
from weft.normalize.pipeline import normalize
from weft.normalize.resolve_absent import substitute_absent
from weft.pattern.nodes import CountWindow, Query
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.plan.extents import span_of
from weft.plan.invariants import check_plan
from weft.plan.nodes import (
    Absence,
    Branch,
    DistinctUnion,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Output,
    Plan,
    Project,
    ReturnedColumn,
    Scan,
)
from weft.schema import Schema
from weft.tree import find, transform_up

SLACKS = (0, 1, 500_000, 3_000_000)  # how much longer than the window a node may reach; level -1: no end


@dataclass
class Part:
    """A node, the variable of each column, and how far beyond the window its rows reach, as a level."""

    node: Node
    variables: tuple[str, ...]
    level: int = len(SLACKS)


@dataclass
class Work:
    """What is left to do for a form: conditions and negations not yet checked."""

    form: NormalForm
    predicates: list[Expression]
    negations: list[NegatedForm]


class TreeWriter:
    """Writes plans by chance; the same seed gives the same plan."""

    def __init__(self, schema: Schema, seed: int) -> None:
        self.schema = schema
        self.random = random.Random(seed)

    def plan(self, queries: Sequence[Query]) -> Plan:
        plan = Plan(tuple(map(self._output, queries)))
        check_plan(plan, "arbitrary_trees")
        return plan

    def _chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def _output(self, query: Query) -> Output:
        alternatives: dict[frozenset[str], list[Part]] = {}
        for form in normalize(query):
            part = self._within_window(self._form(form), form)
            alternatives.setdefault(frozenset(part.variables), []).append(part)
        branches = []
        for same in alternatives.values():
            variables = tuple(self.random.sample(same[0].variables, len(same[0].variables)))
            nodes = tuple(dict.fromkeys(self._in_order(part, variables).node for part in same))
            node = nodes[0] if len(nodes) == 1 else DistinctUnion(nodes)
            present = frozenset(variables)
            returns = [
                renamed(substitute_absent(column.expression, present), variables) for column in query.returns
            ]
            branches.append(Branch(node, variables, tuple(returns)))
        columns = tuple(ReturnedColumn(column.name, type_of(column.expression)) for column in query.returns)
        return Output(query.name, columns, tuple(branches))

    def _form(self, form: NormalForm) -> Part:
        work = Work(form, list(form.predicates), list(form.negations))
        lists = [item for item in form.items if item.is_list]
        parts = [self._leaf(item, work) for item in form.items if not item.is_list]
        while lists or len(parts) > 1:
            self.random.shuffle(parts)
            self.random.shuffle(lists)
            if lists and (not parts or self._chance(20)):
                built = self._expanded(None, lists.pop(), work)
            elif lists and (len(parts) < 2 or self._chance(50)):
                built = self._expanded(parts.pop(), lists.pop(), work)
            else:
                built = self._joined(parts.pop(), parts.pop(), work)
            parts.append(self._changed(built, work))
        (part,) = parts
        part = self._filtered(part, self._due(work, part.variables, late=True), form)
        if len(form.items) == 1:
            own = [self._key(part.variables[0], key) for key in form.keys]
            keys = [Comparison("=", key, key) for key in own]
            part = self._filtered(part, keys, form)
        while work.negations:
            negation = work.negations.pop(self.random.randrange(len(work.negations)))
            if negation.needs_whole_match:
                part = self._within_window(part, form)
            part = self._checked(part, negation, form)
        return part

    def _leaf(self, item: Item, work: Work) -> Part:
        part = Part(Scan(item.type, self.random.choice((0, 0, 1))), (item.variable,))
        return self._filtered(part, self._due(work, part.variables), work.form)

    def _due(self, work: Work, variables: Iterable[str], *, late: bool = False) -> list[Expression]:
        """Take the predicates that can be checked; without need, some are left for later."""
        bound = set(variables)
        due = [p for p in work.predicates if variables_of(p) <= bound and (late or self._chance(75))]
        work.predicates = [p for p in work.predicates if p not in due]
        return due

    def _joined(self, left: Part, right: Part, work: Work) -> Part:
        columns = (*left.variables, *right.variables)
        level = self._level(left.level, right.level)
        conditions = self._due(work, columns)
        conditions += self._same_key(self.random.choice(left.variables), right, work.form)
        node = Join(
            left.node,
            right.node,
            *self._relations(left.variables, right.variables, work.form),
            tuple(renamed(condition, columns) for condition in conditions),
            self._extent(work.form, level),
        )
        return Part(node, columns, level)

    def _expanded(self, part: Part | None, item: Item, work: Work) -> Part:
        earlier = part.variables if part else ()
        columns = (*earlier, item.variable)
        level = self._level(part.level if part else len(SLACKS))
        elementwise = [
            p
            for p in work.predicates
            if variables_of(p) == {item.variable} and not speaks_of_list(p) and self._chance(70)
        ]
        work.predicates = [p for p in work.predicates if p not in elementwise]
        elements = self._filtered(Part(Scan(item.type), (item.variable,)), elementwise, work.form).node
        conditions = self._due(work, columns)
        if part is None:
            conditions += [
                Comparison(
                    "=", self._key(item.variable, key), replace(self._key(item.variable, key), place="first")
                )
                for key in work.form.keys
            ]
        else:
            conditions += self._same_key(
                self.random.choice(earlier), Part(elements, (item.variable,)), work.form
            )
        node = KleeneExpand(
            part.node if part else None,
            elements,
            item.least,
            item.most,
            *self._relations(earlier, (item.variable,), work.form),
            tuple(renamed(condition, columns) for condition in conditions),
            self._extent(work.form, level),
        )
        return Part(node, columns, level)

    def _changed(self, part: Part, work: Work) -> Part:
        """Check what can be checked, narrow the rows or move the columns, or do nothing."""
        for negation in list(work.negations):
            wanted = negation.outer_variables | set(self._competitors(negation, work.form))
            if not negation.needs_whole_match and wanted <= set(part.variables) and self._chance(50):
                work.negations.remove(negation)
                part = self._checked(part, negation, work.form)
        if self._chance(25):
            variables = tuple(self.random.sample(part.variables, len(part.variables)))
            part = self._in_order(part, variables)
        if self._chance(15) and part.level > 0:
            level = self.random.randrange(0, min(part.level, len(SLACKS)))
            extent = self._extent(work.form, level)
            if extent is not None:
                columns = tuple(range(len(part.variables)))
                part = Part(Project(part.node, columns, extent), part.variables, level)
        return part

    def _filtered(self, part: Part, predicates: Iterable[Expression], form: NormalForm) -> Part:
        found = tuple(renamed(predicate, part.variables) for predicate in predicates)
        return Part(Filter(part.node, found), part.variables, part.level) if found else part

    def _in_order(self, part: Part, variables: tuple[str, ...]) -> Part:
        if variables == part.variables:
            return part
        columns = tuple(part.variables.index(variable) for variable in variables)
        return Part(Project(part.node, columns), variables, part.level)

    def _within_window(self, part: Part, form: NormalForm) -> Part:
        extent = self._extent(form, 0)
        if span_of(part.node) == extent or len(form.items) == 1 and not form.items[0].is_list:
            return part
        columns = tuple(self.random.sample(range(len(part.variables)), len(part.variables)))
        return Part(
            Project(part.node, columns, extent), tuple(part.variables[column] for column in columns), 0
        )

    def _level(self, *inputs: int) -> int:
        """Choose how far a node reaches: at most as far as its inputs."""
        return self.random.randint(0, min(*inputs, len(SLACKS)))

    def _extent(self, form: NormalForm, level: int) -> Extent | None:
        if form.window is None or level == len(SLACKS):
            return None
        length = form.window.length
        if isinstance(form.window, CountWindow):
            slack = min(SLACKS[level], level)
            return Extent("position", length - 1 + slack, tuple(sorted(form.partition_by)))
        return Extent("time", length + SLACKS[level])

    def _relations(
        self, left: Sequence[str], right: Sequence[str], form: NormalForm
    ) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
        """Return order and distinct of the columns of two sides; what follows may be said or not."""
        columns = (*left, *right)
        places = {variable: place for place, variable in enumerate(columns)}
        crossing = {
            (a, b) for a, b in form.order if a in places and b in places and (a in left) != (b in left)
        }
        if self._chance(70):
            crossing -= {
                (a, b)
                for a, b in crossing
                if any((a, c) in form.order and (c, b) in form.order for c in columns)
            }
        types = {item.variable: item.type for item in form.items}
        distinct = [
            (places[a], places[b])
            for a, b in product(left, right)
            if (a, b) not in form.order
            and (b, a) not in form.order
            and (types[a] == types[b] or self.schema.types_overlap)
        ]
        return tuple(sorted((places[a], places[b]) for a, b in crossing)), tuple(distinct)

    def _same_key(self, anchor: str, part: Part, form: NormalForm) -> list[Expression]:
        other = self.random.choice(part.variables)
        return [Comparison("=", self._key(anchor, key), self._key(other, key)) for key in form.keys]

    def _key(self, variable: str, key: str) -> Attribute:
        return Attribute(variable, key, type=self.schema.type_of(key))

    def _checked(self, part: Part, negation: NegatedForm, form: NormalForm) -> Part:
        absence = self._absence(negation, part.variables, self.random.choice(part.variables), form)
        return Part(NegationCheck(part.node, absence), part.variables, part.level)

    def _absence(
        self, negation: NegatedForm, outer: tuple[str, ...], anchor: str, form: NormalForm
    ) -> Absence:
        own = negation.form
        outward = tuple(one for one in own.negations if not one.outer_variables <= set(own.variables))
        inner = self._form(replace(own, negations=tuple(one for one in own.negations if one not in outward)))
        columns = (*outer, *inner.variables)
        conditions = [*negation.predicates, *self._same_key(anchor, inner, form)]
        types = {item.variable: item.type for item in (*form.items, *own.items)}
        return Absence(
            inner.node,
            after=tuple(columns.index(variable) for variable in negation.after),
            before=tuple(columns.index(variable) for variable in negation.before),
            distinct=tuple(
                (columns.index(a), columns.index(b))
                for a, b in product(self._competitors(negation, form), inner.variables)
                if types[a] == types[b] or self.schema.types_overlap
            ),
            predicates=tuple(renamed(condition, columns) for condition in conditions),
            extent=self._extent(form, 0),
            unless=tuple(self._absence(one, columns, inner.variables[0], own) for one in outward),
        )

    def _competitors(self, negation: NegatedForm, form: NormalForm) -> list[str]:
        negated_types = {item.type for item in negation.form.items}
        return [
            item.variable
            for item in form.items
            if (self.schema.types_overlap or item.type in negated_types)
            and not any(item.variable == a or (item.variable, a) in form.order for a in negation.after)
            and not any(item.variable == b or (b, item.variable) in form.order for b in negation.before)
        ]


def speaks_of_list(predicate: Expression) -> bool:
    places = {attribute.place for attribute in find(predicate, Attribute)}
    return bool(places - {"each"}) or any(find(predicate, Aggregate))


def renamed(expression: Expression, columns: Sequence[str]) -> Expression:
    """Replace variables by the columns that hold them."""

    def change(node: object) -> object:
        if isinstance(node, Attribute | Aggregate):
            return replace(node, variable=f"${columns.index(node.variable)}")
        return node

    return transform_up(expression, change)
