"""The value of an expression, and whether a predicate holds, for events bound to variables."""

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import pairwise, product
from typing import cast

from weft.expressions import (
    Absolute,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    ComparisonOperator,
    CountTrends,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
    Suppressed,
    type_of,
)
from weft.reference.events import Bindings, ReferenceEvent
from weft.reference.values import ORDER, Value, calculate, compare, convert, fit, sample_deviation
from weft.schema import DOUBLE, Type
from weft.tree import find

_COMPARISONS: dict[ComparisonOperator, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True)
class CurrentElements:
    """The elements that a predicate speaks of: one of each list, and with it the one before."""

    current: Mapping[str, ReferenceEvent] = field(default_factory=dict)
    previous: Mapping[str, ReferenceEvent] = field(default_factory=dict)


def holds(predicate: Expression, bindings: Bindings) -> bool:
    """Say whether a predicate is true of every combination of elements of the lists it mentions.

    A variable mentioned as `v[i-1]` goes through the consecutive pairs of its list. An absent
    variable is an empty list, of which everything said of its elements is true.

    >>> from weft.schema import LONG
    >>> def event(row: int, x: int) -> ReferenceEvent:
    ...     return ReferenceEvent(row, frozenset("A"), row, attributes={"x": x})
    >>> rises = Comparison(">", Attribute("l", "x", "current", LONG), Attribute("l", "x", "previous", LONG))
    >>> holds(rises, {"l": (event(0, 5), event(1, 6))}), holds(rises, {"l": (event(0, 5), event(1, 5))})
    (True, False)
    """
    return all(
        evaluate(predicate, bindings, elements) is True for elements in _combinations(predicate, bindings)
    )


def _combinations(predicate: Expression, bindings: Bindings) -> Iterator[CurrentElements]:
    attributes = list(find(predicate, Attribute))
    paired = {node.variable for node in attributes if node.place == "previous"}
    single = {node.variable for node in attributes if node.place in ("each", "current")} - paired
    pairs = [[(v, first, second) for first, second in pairwise(bindings[v])] for v in sorted(paired)]
    singles = [[(v, element) for element in bindings[v]] for v in sorted(single)]
    for chosen_pairs in product(*pairs):
        for chosen in product(*singles):
            current = dict(chosen) | {v: second for v, _, second in chosen_pairs}
            yield CurrentElements(current, {v: first for v, first, _ in chosen_pairs})


def evaluate(expression: Expression, bindings: Bindings, elements: CurrentElements | None = None) -> Value:
    """Return the value of a bound expression; None is NULL.

    An attribute of a variable that has no current element is NULL.

    >>> from weft.schema import LONG
    >>> missing = Attribute("a", "x", type=LONG)
    >>> evaluate(Comparison("=", missing, missing), {}), evaluate(IsNull(missing), {})
    (None, True)
    """
    elements = elements or CurrentElements()
    value_of = partial(evaluate, bindings=bindings, elements=elements)
    match expression:
        case Literal(value=value):
            return value
        case Attribute():
            return _attribute(expression, bindings, elements)
        case Aggregate(variable=variable):
            return aggregate_events(expression, bindings.get(variable, ()), total=_sum, average=_average)
        case CountTrends() | Suppressed():
            raise ValueError("COUNT(*) and SUPPRESSED() are values of all matches together, not of one")
        case Cast(operand=operand, to=to):
            return convert(value_of(operand), type_of(operand), to)
        case Negate(operand=operand) | Absolute(operand=operand):
            return _change_sign(expression, value_of(operand))
        case Arithmetic(operator=symbol, left=left, right=right):
            return calculate(symbol, value_of(left), value_of(right), type_of(expression))
        case Comparison(operator=symbol, left=left, right=right):
            return _comparison(symbol, value_of(left), value_of(right))
        case And(operands=operands):
            return _conjunction(map(value_of, operands))
        case Or(operands=operands):
            return _negation(_conjunction(_negation(value_of(operand)) for operand in operands))
        case Not(operand=operand):
            return _negation(value_of(operand))
        case IsNull(operand=operand):
            return value_of(operand) is None
        case InList(operand=operand, values=literals):
            value = value_of(operand)
            return None if value is None else any(compare(value, literal.value) == 0 for literal in literals)
        case Like(operand=operand, pattern=pattern):
            value = value_of(operand)
            return None if value is None else is_like(str(value), pattern)


def _attribute(attribute: Attribute, bindings: Bindings, elements: CurrentElements) -> Value:
    variable = attribute.variable
    event: ReferenceEvent | None
    match attribute.place:
        case "each" | "current":
            event = elements.current.get(variable)
        case "previous":
            event = elements.previous.get(variable)
        case "first":
            event = next(iter(bindings.get(variable, ())), None)
        case "last":
            event = next(reversed(bindings.get(variable, ())), None)
    return None if event is None else event.value(attribute.name)


def _change_sign(expression: Negate | Absolute, value: Value) -> Value:
    if value is None:
        return None
    number = cast(int, value)  # a number; int stands for it
    return fit(-number if isinstance(expression, Negate) else abs(number), type_of(expression.operand))


def _comparison(symbol: ComparisonOperator, left: Value, right: Value) -> bool | None:
    return None if left is None or right is None else _COMPARISONS[symbol](compare(left, right), 0)


def _conjunction(values: Iterable[Value]) -> bool | None:
    known = list(values)
    if any(value is False for value in known):
        return False
    return None if any(value is None for value in known) else True


def _negation(value: Value) -> bool | None:
    return None if value is None else not value


def is_like(text: str, pattern: str) -> bool:
    r"""Say whether the whole text fits a LIKE pattern: % any run, _ one character, \ escapes.

    >>> is_like("gate 7", "gate%"), is_like("gate", "_ate"), is_like("5%", r"5\%"), is_like("50", r"5\%")
    (True, True, True, False)
    """
    parts: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "%":
            parts.append(".*")
        elif character == "_":
            parts.append(".")
        else:
            literal = next(characters, character) if character == "\\" else character
            parts.append(re.escape(literal))
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def aggregate_events(
    aggregate: Aggregate,
    events: Sequence[ReferenceEvent],
    *,
    total: Callable[[Sequence[Value], Type], Value],
    average: Callable[[Sequence[Value], Type], Value],
) -> Value:
    """Return the value of an aggregate of events, with `total` and `average` for SUM and AVG."""
    if aggregate.name is None:  # COUNT(v)
        return len(events)
    values = [value for event in events if (value := event.value(aggregate.name)) is not None]
    if aggregate.function == "count":
        return len(values)
    if aggregate.function == "distinct":
        return sum(compare(left, right) != 0 for left, right in pairwise(sorted(values, key=ORDER))) + bool(
            values
        )
    if not values or aggregate.argument_type is None:
        return None
    match aggregate.function:
        case "sum":
            return total(values, aggregate.argument_type)
        case "avg":
            return average(values, aggregate.argument_type)
        case "stddev":
            return sample_deviation(values)
        case "min":
            return min(values, key=ORDER)
        case "max":
            return max(values, key=ORDER)


def _sum(values: Sequence[Value], kind: Type) -> Value:
    """Add in list order; once a step overflows the sum is NULL."""
    return reduce(lambda total, value: calculate("+", total, value, kind), values)


def _average(values: Sequence[Value], kind: Type) -> Value:
    total = _sum([convert(value, kind, DOUBLE) for value in values], DOUBLE)
    return cast(float, total) / len(values)
