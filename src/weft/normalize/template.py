"""Turn a bound trend query into the template that the machine runs."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

from weft.normalize.position_automaton import (
    MOST_POSITIONS,
    Built,
    Items,
    build_automaton,
    too_many_positions,
)
from weft.normalize.thresholds import Inputs
from weft.normalize.trend_conditions import conditions_of, refusal
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, Disjunction, Event, Negation, Pattern, Query
from weft.pattern.policies import Suppression
from weft.plan.template import Automaton, Template, TrendColumn
from weft.schema import Schema
from weft.tree import find, transform_up


def template_of(query: Query, schema: Schema | None = None) -> Template:
    """Return the template of a bound trend query, or refuse what no template can express.

    The schema gives the types of group columns that RETURN does not mention; without it they are None.

    >>> from weft.pattern.nodes import Kleene
    >>> pattern = nodes.Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None)))
    >>> ((automaton,),) = template_of(Query("q", pattern, group_by=("site",))).alternatives
    >>> [(position.variable, [feed.source for feed in position.feeds]) for position in automaton.positions]
    [('a', [0]), ('b', [1, 2])]
    >>> automaton.ends
    (Transition(source=2, ways=1),)
    """
    if not query.is_trend:
        raise ValueError(f"{query.name} is no trend query: it has no SLIDE, GROUP BY or COUNT(*)")
    length, slide = _window(query)
    pattern = transform_up(query.pattern, _flat)
    items = Items(query, conditions_of(query, pattern))
    alternatives = []
    n_positions = 0
    for alternative in _alternatives(pattern, items):
        alternatives.append(alternative)
        n_positions += sum(len(automaton.positions) for automaton in alternative)
        if max(n_positions, len(items.all)) > MOST_POSITIONS:  # both are bits of a word
            raise too_many_positions(query)
    if not alternatives:
        raise refusal(query, "the pattern has no event", query.pattern.span, "a trend has at least one event")
    inputs, suppression = Inputs(query), query.policy.suppression
    thresholds = tuple(map(inputs.expression, query.having))
    columns = _columns(query, schema, inputs)
    return Template(
        query=query.name,
        items=items.all,
        alternatives=tuple(alternatives),
        keys=tuple(sorted({*query.group_by, *query.keys})),
        group_by=query.group_by,
        length=length,
        slide=slide,
        columns=columns,
        inputs=inputs.columns,
        thresholds=thresholds,
        quiet=None if suppression is None else suppression.length,
        quiet_keys=() if suppression is None else _quiet_keys(suppression, query),
    )


def _quiet_keys(suppression: Suppression, query: Query) -> tuple[str, ...]:
    keys = tuple(dict.fromkeys(attribute.name for attribute in suppression.per)) or query.group_by
    if query.window is None or not set(keys) <= set(query.group_by):
        message = "SUPPRESS needs windows, and attributes of GROUP BY"
        raise refusal(
            query, message, suppression.span, "write for example WITHIN 1 hour ... SUPPRESS 2 hours"
        )
    return keys


def _window(query: Query) -> tuple[int | None, int | None]:
    if isinstance(query.window, nodes.CountWindow):
        message = f"WITHIN {query.window.length} EVENTS counts events, but windows of trends are of time"
        raise refusal(query, message, query.window.span, "write a length of time, such as WITHIN 10 minutes")
    if query.slide is not None and query.slide <= 0:
        raise refusal(query, "SLIDE needs a length above 0", query.span, "write for example SLIDE 1 minute")
    if query.window is None:
        if query.slide is not None:
            raise refusal(query, "SLIDE without WITHIN", query.span, "add for example WITHIN 10 minutes")
        return None, None
    return query.window.length, query.window.length if query.slide is None else query.slide


def _flat(node: object) -> object:
    """Unwrap an operator of one operand, and splice an operator into one of its kind."""
    if not isinstance(node, nodes.Sequence | Conjunction | Disjunction):
        return node
    operands: list[Pattern] = []
    for operand in node.operands:
        if type(operand) is type(node):
            operands += operand.operands
        else:
            operands.append(operand)
    return operands[0] if len(operands) == 1 else type(node)(tuple(operands), node.span)


def _alternatives(pattern: Pattern, items: Items) -> Iterator[tuple[Automaton, ...]]:
    operands: tuple[Pattern, ...] = (pattern,)
    if isinstance(pattern, Disjunction) and any(find(pattern, Conjunction)):
        operands = pattern.operands
    for operand in operands:
        parts = operand.operands if isinstance(operand, Conjunction) else (operand,)
        negated = [part for part in parts if isinstance(part, Negation) and len(parts) > 1]
        built = [build_automaton(part, items) for part in parts if part not in negated]
        if isinstance(operand, Conjunction):
            _check_conjunction(operand, built, items)
        undone_by = tuple(items.number_of_negated(part) for part in negated)
        for automata in _present(built):
            yield tuple(replace(automaton, undone_by=undone_by) for automaton in automata)


def _check_conjunction(conjunction: Conjunction, built: list[Built], items: Items) -> None:
    """Refuse what relates the operands of AND to each other: their trends are counted independently."""
    query = items.query
    for left, right in combinations(conjunction.operands, 2):
        common = _types(left) & _types(right)
        if common:
            message = f"two operands of AND have the type {min(common)} in common"
            raise refusal(query, message, conjunction.span)
    for condition in items.conditions.between:
        holders = [part for part in built if {condition.before, condition.after} & part.variables]
        if len(holders) > 1:
            message = f"{condition.before} and {condition.after} are compared, but AND does not order them"
            raise refusal(query, message, condition.span)
    positive = [operand for operand in conjunction.operands if not isinstance(operand, Negation)]
    for operand, part in zip(positive, built, strict=True):
        if part.empty:
            message = "an operand of AND with NOT may bind nothing"
            raise refusal(query, message, operand.span, "let one of its events be no longer optional")


def _types(pattern: Pattern) -> frozenset[str]:
    return frozenset(event.type for event in find(pattern, Event))


def _present(built: list[Built]) -> Iterator[tuple[Automaton, ...]]:
    """Yield an alternative for each choice of the automata that are optional, except for none at all."""
    choices = [(True,) if part.empty is None else (True, False) for part in built]
    for choice in product(*choices):
        present = tuple(part.automaton for part, is_present in zip(built, choice, strict=True) if is_present)
        if any(automaton.positions for automaton in present):
            yield present


def _columns(query: Query, schema: Schema | None, inputs: Inputs) -> tuple[TrendColumn, ...]:
    returned = [inputs.column_of(column) for column in query.returns]
    shown = {column.name for column in returned if column.is_group}
    missing = [
        TrendColumn(name, None, None, name, None if schema is None else schema.type_of(name))
        for name in query.group_by
        if name not in shown
    ]
    for column, written in zip(returned, query.returns, strict=True):
        if any(column.column == group.column for group in missing):
            message = f"RETURN has a column named {column.column}, as GROUP BY has"
            raise refusal(query, message, written.span, "name the column differently, with AS")
    return (*missing, *returned)
