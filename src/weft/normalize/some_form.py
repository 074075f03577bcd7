"""One normal form for all combinations of the operands of SOME, where these are single events."""

from collections.abc import Iterable, Iterator

from weft.expressions import Expression, variables_of
from weft.normalize.simplify_predicates import simplify_predicates
from weft.pattern.canonical import canonical
from weft.pattern.nodes import Event, Pattern, Query, Some
from weft.pattern.normal_form import Item, NormalForm

MOST_APART = 3  # operands whose combinations are patterns of their own, and share joins with other queries


def some_form(query: Query) -> NormalForm | None:
    """Return the form whose matches bind some of its items, if a query is SOME of many single events.

    With a strategy, what may lie between events is another thing in each combination.

    >>> a, b, c, d = Event("A", "a"), Event("B", "b"), Event("C", "c"), Event("D", "d")
    >>> some_form(Query("q", Some((a, Some((b, c, d)))))).variables
    ('a', 'b', 'c', 'd')
    """
    if query.is_trend or query.policy.strategy not in (None, "any") or query.policy.timeouts:
        return None
    if not isinstance(query.pattern, Some):
        return None
    operands = list(_operands(query.pattern))
    items = tuple(Item(own.variable, own.type) for own in operands if isinstance(own, Event))
    if len(items) != len(operands) or len(items) <= MOST_APART:
        return None
    return NormalForm(
        items=items,
        order=frozenset(),
        predicates=_whole(query.conditions),
        keys=query.keys,
        window=query.window,
        partition_by=query.partition_by,
        is_some=True,
    )


def _operands(pattern: Pattern) -> Iterator[Pattern]:
    """Yield what is combined; SOME in SOME combines the same."""
    if isinstance(pattern, Some):
        for operand in pattern.operands:
            yield from _operands(operand)
    else:
        yield pattern


def _whole(conditions: Iterable[Expression]) -> tuple[Expression, ...]:
    """Return the conjuncts in canonical spelling, each as long as it says of which combinations it speaks.

    A part that mentions fewer variables than the whole would speak of more of them.
    """
    parts: dict[Expression, None] = {}
    for condition in conditions:
        own = simplify_predicates([condition])
        mentioned = variables_of(condition)
        is_separable = all(variables_of(part) == mentioned for part in own)
        parts |= dict.fromkeys(own if is_separable else (canonical(condition),))
    return tuple(parts)
