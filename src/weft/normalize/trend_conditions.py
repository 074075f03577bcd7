"""Sort the conditions of a trend query by what they speak of: single events, or neighbors in a trend."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from weft.errors import Problem, QueryError, Span
from weft.expressions import Aggregate, Attribute, Comparison, Expression, flip, variables_of
from weft.normalize.simplify_predicates import simplify_predicates
from weft.normalize.split_alternatives import negated_variables, positive_variables
from weft.pattern.canonical import canonical
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query
from weft.plan.template import EVENT, PREVIOUS, EdgePredicate
from weft.tree import find, transform_up

ALTERNATIVE = "ask for matches, without COUNT(*), SLIDE and GROUP BY, and aggregate them afterwards"


@dataclass(frozen=True, slots=True)
class Between:
    """A condition on the events of two variables: `step` if `before` comes first, else the step flipped."""

    before: str
    after: str
    step: EdgePredicate
    flipped: EdgePredicate
    span: Span | None


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a trend query: `on_event` and `in_list` by variable, `between` two variables."""

    on_event: Mapping[str, tuple[Expression, ...]]
    in_list: Mapping[str, tuple[EdgePredicate, ...]]
    between: tuple[Between, ...]


def refusal(query: Query, message: str, span: Span | None, hint: str = ALTERNATIVE) -> QueryError:
    """Return the error for something that no template can express."""
    return QueryError([Problem(message, span or query.span, hint, query.name)])


def conditions_of(query: Query, pattern: Pattern) -> Conditions:
    """Return the sorted conditions of a bound query, whose pattern has no operators of one operand.

    >>> from weft.schema import LONG
    >>> large = Comparison(">", Attribute("b", "x", type=LONG), Attribute("b", "y", type=LONG))
    >>> b = Kleene(Event("B", "b"), 1, None)
    >>> conditions_of(Query("q", b, (large,)), b).on_event["b"][0].left
    Attribute(variable='$0', name='x', place='each', type=Type(kind='long', scale=0))
    """
    lists = {kleene.operand.variable for kleene in find(pattern, Kleene) if isinstance(kleene.operand, Event)}
    groups = dict(_groups(pattern, ()))
    negated = negated_variables(pattern)
    on_event: dict[str, list[Expression]] = {event.variable: [] for event in find(pattern, Event)}
    in_list: dict[str, list[EdgePredicate]] = {}
    between: list[Between] = []
    for condition in query.conditions:
        _refuse_whole_lists(query, condition)
        names = variables_of(condition)
        if any(attribute.place == "previous" for attribute in find(condition, Attribute)):
            for variable, step in _steps_in_list(query, condition, lists):
                in_list.setdefault(variable, []).append(step)
        elif len(names) <= 1:
            for variable in names or positive_variables(pattern):
                on_event[variable].append(_rename_variable(condition, EVENT))
        else:
            between.append(_between(query, condition, groups, lists | negated))
    return Conditions(
        {variable: tuple(sorted(simplify_predicates(own), key=repr)) for variable, own in on_event.items()},
        {variable: tuple(sorted(set(steps), key=repr)) for variable, steps in in_list.items()},
        tuple(between),
    )


def _rename_variable(expression: Expression, variable: str) -> Expression:
    def rename(node: object) -> object:
        return Attribute(variable, node.name, type=node.type) if isinstance(node, Attribute) else node

    return transform_up(expression, rename)


def _refuse_whole_lists(query: Query, condition: Expression) -> None:
    for aggregate in find(condition, Aggregate):
        message = f"{aggregate.function.upper()} in WHERE speaks of all events of one trend"
        raise refusal(query, f"{message}, which a trend query never builds", aggregate.span or condition.span)
    for attribute in find(condition, Attribute):
        if attribute.place in ("first", "last"):
            message = f"{attribute.place.upper()}({attribute.variable}) in WHERE speaks of all of one list"
            raise refusal(
                query, f"{message}, which a trend query never builds", attribute.span or condition.span
            )


def _steps_in_list(
    query: Query, condition: Expression, lists: set[str]
) -> Iterator[tuple[str, EdgePredicate]]:
    """Yield what a condition on `v[i-1]` and `v[i]` says of two consecutive elements of v."""
    variable = min(node.variable for node in find(condition, Attribute) if node.place == "previous")
    if variables_of(condition) != {variable}:
        message = f"a condition on {variable}[i-1] and {variable}[i] mentions other variables as well"
        raise refusal(query, message, condition.span)
    if variable not in lists:
        message = f"{variable}[i-1] needs a quantifier directly on the event of {variable}"
        raise refusal(query, message, condition.span)
    for part in simplify_predicates([condition]):
        step = _step_in_list(part)
        if step is None:
            message = f"expected {variable}[i-1] alone on one side of a comparison and {variable}[i] alone"
            raise refusal(query, f"{message} on the other", condition.span)
        yield variable, step


def _step_in_list(part: Expression) -> EdgePredicate | None:
    if not isinstance(part, Comparison):
        return None
    left, right = (
        {attribute.place == "previous" for attribute in find(side, Attribute)}
        for side in (part.left, part.right)
    )
    if (left, right) == ({True}, {False}):
        return _step(part)
    return _step(flip(part)) if (left, right) == ({False}, {True}) else None


def _step(comparison: Comparison) -> EdgePredicate:
    """Return the step of a comparison whose left side speaks of the event before."""
    left, right = _rename_variable(comparison.left, PREVIOUS), _rename_variable(comparison.right, EVENT)
    return EdgePredicate(comparison.operator, canonical(left), canonical(right))


def _groups(pattern: Pattern, around: tuple[Pattern, ...]) -> Iterator[tuple[str, tuple[Pattern, ...]]]:
    """Yield each variable with the repeated groups that it lies in."""
    match pattern:
        case Event(variable=variable):
            yield variable, around
        case Kleene(operand=operand, most=most):
            yield from _groups(operand, around if most == 1 else (*around, pattern))
        case _:
            for operand in (pattern.operand,) if isinstance(pattern, Negation) else pattern.operands:
                yield from _groups(operand, around)


def _between(
    query: Query, condition: Expression, groups: Mapping[str, tuple[Pattern, ...]], not_single: set[str]
) -> Between:
    names = sorted(variables_of(condition))
    listed = " and ".join(names)
    for variable in names:
        if variable in not_single:
            message = f"a condition on {listed}, but {variable} is no single event of the trend"
            raise refusal(query, message, condition.span)
        if groups[variable] != groups[names[0]]:
            message = f"a condition on {listed}, which are not in the same repeated group"
            raise refusal(query, message, condition.span)
    part = canonical(condition)
    if isinstance(part, Comparison):
        left, right = sorted(variables_of(part.left)), sorted(variables_of(part.right))
        if len(left) == len(right) == 1 and left != right:
            return Between(left[0], right[0], _step(part), _step(flip(part)), condition.span)
    message = f"a condition on {listed} is no comparison of one of them alone with the other alone"
    raise refusal(query, message, condition.span)
