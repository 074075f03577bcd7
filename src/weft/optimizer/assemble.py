"""Assemble plan nodes from a normal form, one item after the other."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from weft.expressions import Aggregate, Attribute, Comparison, Expression, variables_of
from weft.normalize.simplify_predicates import canonical
from weft.pattern.nodes import CountWindow
from weft.pattern.normal_form import Item, NegatedForm, NormalForm
from weft.plan.nodes import (
    Absence,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Scan,
    column_variable,
)
from weft.schema import Type
from weft.tree import find, transform_up

LONGEST = 1 << 59  # microseconds: more than from year 1 to year 9999, and far from overflow

OrderOf = Callable[[NormalForm], Sequence[Item]]


@dataclass(frozen=True, slots=True)
class Context:
    """What assembling needs to know besides the form.

    `attribute_type` gives the type of a key attribute; `types_overlap` says that one event may have
    several types, so that two items of different types may compete for it; `order_of` chooses the
    order in which the items are joined.
    """

    attribute_type: Callable[[str], Type | None]
    types_overlap: bool
    order_of: OrderOf


@dataclass(frozen=True, slots=True)
class Assembled:
    """A node and the variable of each of its columns."""

    node: Node
    variables: tuple[str, ...]


def assemble(form: NormalForm, context: Context) -> Assembled:
    """Return the plan node that computes the matches of a normal form."""
    pending_predicates = [p for p in form.predicates if len(variables_of(p)) > 1 or _speaks_of_list(p)]
    single = [p for p in form.predicates if p not in pending_predicates]
    negations = list(form.negations)
    built: Assembled | None = None
    for item in context.order_of(form):
        own = [p for p in single if variables_of(p) <= {item.variable}]
        single = [p for p in single if p not in own]
        source = _filtered(Scan(item.type), own, (item.variable,))
        bound = {*(built.variables if built else ()), item.variable}
        ready = [p for p in pending_predicates if variables_of(p) <= bound]
        pending_predicates = [p for p in pending_predicates if p not in ready]
        built = _extended(built, item, source, ready, form, context)
        for negation in [n for n in negations if _is_ready(n, form, bound, context)]:
            negations.remove(negation)
            built = _checked(built, negation, form, context)
    if built is None:
        raise ValueError("a normal form has at least one item")
    return built


def _extended(
    built: Assembled | None,
    item: Item,
    source: Node,
    predicates: Iterable[Expression],
    form: NormalForm,
    context: Context,
) -> Assembled:
    earlier = built.variables if built else ()
    columns = (*earlier, item.variable)
    order = _reduced_order(earlier, item.variable, form)
    types = {one.variable: one.type for one in form.items}
    distinct = tuple(
        (column, len(earlier))
        for column, variable in enumerate(earlier)
        if not _ordered(variable, item.variable, form)
        and (types[variable] == item.type or context.types_overlap)
    )
    conditions = list(predicates)
    if earlier:
        conditions += _key_equalities(earlier[0], item.variable, form, context)
    elif item.is_list:
        conditions += [_same_key(item.variable, key, context) for key in form.keys]
    elif form.keys:
        source = _filtered(source, _single_key_conditions(item.variable, form, context), columns)
    renamed = rename(conditions, columns)
    extent = extent_of(form)
    if item.is_list:
        node: Node = KleeneExpand(
            built.node if built else None, source, item.least, item.most, order, distinct, renamed, extent
        )
    elif built is None:
        node = _filtered(source, conditions, columns)
    else:
        node = Join(built.node, source, order, distinct, renamed, extent)
    return Assembled(node, columns)


def _checked(built: Assembled, negation: NegatedForm, form: NormalForm, context: Context) -> Assembled:
    absence = _absence(negation, built.variables, built.variables[0], form, context)
    return Assembled(NegationCheck(built.node, absence), built.variables)


def _absence(
    negation: NegatedForm, outer: tuple[str, ...], anchor: str, form: NormalForm, context: Context
) -> Absence:
    """Return what a negation forbids to a row with columns `outer`; `anchor` is an item of its form."""
    own = negation.form
    own_variables = set(own.variables)
    outward = tuple(inner for inner in own.negations if not inner.outer_variables <= own_variables)
    alone = len(own.items) == 1 and not own.items[0].is_list
    inner = assemble(
        replace(
            own,
            keys=() if alone else own.keys,
            negations=tuple(inner for inner in own.negations if inner not in outward),
        ),
        context,
    )
    columns = (*outer, *inner.variables)
    conditions = [*negation.predicates, *_key_equalities(anchor, inner.variables[0], form, context)]
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
        predicates=rename(conditions, columns),
        extent=extent_of(form),
        unless=tuple(_absence(one, columns, inner.variables[0], own, context) for one in outward),
    )


def _is_ready(negation: NegatedForm, form: NormalForm, bound: set[str], context: Context) -> bool:
    """A negation is checked as soon as all that it looks at is bound."""
    if negation.needs_whole_match:
        return bound == set(form.variables)
    return negation.outer_variables <= bound and set(_competitors(negation, form, context)) <= bound


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


def rename(expressions: Iterable[Expression], columns: Sequence[str]) -> tuple[Expression, ...]:
    """Replace variables by column numbers and bring the result to canonical order."""
    numbers = {variable: column_variable(column) for column, variable in enumerate(columns)}

    def renamed(node: object) -> object:
        if isinstance(node, Attribute):
            return Attribute(numbers[node.variable], node.name, node.place, node.type)
        if isinstance(node, Aggregate):
            return Aggregate(node.function, numbers[node.variable], node.name, node.argument_type)
        return node

    found = {canonical(transform_up(expression, renamed)): None for expression in expressions}
    return tuple(sorted(found, key=repr))


def extent_of(form: NormalForm) -> Extent | None:
    """Return the extent that the window of a form gives to all its nodes."""
    if form.window is None:
        return None
    length = min(form.window.length, LONGEST)
    if isinstance(form.window, CountWindow):
        return Extent("position", length - 1, tuple(sorted(form.partition_by)))
    return Extent("time", length)


def _filtered(source: Node, predicates: Iterable[Expression], columns: tuple[str, ...]) -> Node:
    renamed = rename(predicates, columns)
    if not renamed:
        return source
    if isinstance(source, Filter):
        merged = dict.fromkeys((*source.predicates, *renamed))
        return Filter(source.input, tuple(sorted(merged, key=repr)))
    return Filter(source, renamed)


def _speaks_of_list(predicate: Expression) -> bool:
    """Whether a predicate on one variable concerns more than one element at a time."""
    return any(attribute.place != "each" for attribute in find(predicate, Attribute)) or any(
        find(predicate, Aggregate)
    )


def _ordered(a: str, b: str, form: NormalForm) -> bool:
    return (a, b) in form.order or (b, a) in form.order


def _reduced_order(earlier: Sequence[str], new: str, form: NormalForm) -> tuple[tuple[int, int], ...]:
    """Order pairs between bound columns and a new one, without those that follow from others."""
    position = len(earlier)
    below = [v for v in earlier if (v, new) in form.order]
    above = [v for v in earlier if (new, v) in form.order]
    nearest_below = [v for v in below if not any((v, other) in form.order for other in below)]
    nearest_above = [v for v in above if not any((other, v) in form.order for other in above)]
    pairs = [(earlier.index(v), position) for v in nearest_below]
    pairs += [(position, earlier.index(v)) for v in nearest_above]
    return tuple(sorted(pairs))


def _key_equalities(a: str, b: str, form: NormalForm, context: Context) -> list[Expression]:
    return [Comparison("=", _key(a, key, context), _key(b, key, context)) for key in form.keys]


def _key(variable: str, key: str, context: Context) -> Attribute:
    return Attribute(variable, key, type=context.attribute_type(key))


def _same_key(variable: str, key: str, context: Context) -> Expression:
    """All elements of a list agree with its first one on a key."""
    first = Attribute(variable, key, "first", context.attribute_type(key))
    return Comparison("=", _key(variable, key, context), first)


def _single_key_conditions(variable: str, form: NormalForm, context: Context) -> list[Expression]:
    """An event agrees with itself on a key unless the key is NULL."""
    if len(form.items) > 1:
        return []  # the equality with another item says it already
    return [Comparison("=", _key(variable, key, context), _key(variable, key, context)) for key in form.keys]
