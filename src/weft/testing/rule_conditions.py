"""The conditions of a rule, each with the rule as it is without it.

A condition is a conjunct of WHERE or HAVING, an attribute of `[key]` or PARTITION BY, a NOT, the length of
WITHIN, a bound of a list. An event decides it when the rule finds something else without it. A window is not
left out but ten times as long, and the bound of a list is wider by one: so their neighbors are tested.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from weft.expressions import Aggregate, CountTrends, Equivalence, Predicate, variables_of
from weft.language.lexer import quote_name
from weft.language.printer import expression_to_text, pattern_to_text, window_to_text
from weft.pattern.nodes import Event, Kleene, Negation, Operator, Pattern, Query
from weft.tree import find

LONGER = 10  # times, of a window


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """A condition of a rule as text, the rule without it, and what event would decide it."""

    rule: str
    text: str
    without: Query
    hint: str


def conditions_of(rule: Query) -> tuple[RuleCondition, ...]:
    """Return the conditions of a rule that is not bound to events.

    >>> from weft.language.parser import parse
    >>> text = "QUERY q PATTERN SEQ(A{2,} a[], NOT B b, C c) WHERE [user] AND b.x = c.x WITHIN 1 hour"
    >>> [condition.text for condition in conditions_of(parse(text)[0])]
    ['[user]', 'b.x = c.x', 'NOT B b', 'WITHIN 1 hour', 'a: at least 2']
    """
    shown = rule if rule.is_trend else replace(rule, returns=())
    parts = chain(
        *(_conjuncts(shown), _keys(shown), _negations(shown), _window(shown), _bounds(shown)),
        _thresholds(shown),
    )
    return tuple(RuleCondition(rule.name, text, without, hint) for text, without, hint in parts)


Part = tuple[str, Query, str]


def _conjuncts(rule: Query) -> Iterator[Part]:
    for place, part in enumerate(rule.where):
        before, after = rule.where[:place], rule.where[place + 1 :]
        if not isinstance(part, Equivalence):
            hint = "add events that fit but for this"
            yield expression_to_text(part), replace(rule, where=(*before, *after)), hint
            continue
        for name in part.attributes:
            rest = tuple(other for other in part.attributes if other != name)
            kept: tuple[Predicate, ...] = (Equivalence(rest, part.span),) if rest else ()
            yield (
                f"[{quote_name(name)}]",
                replace(rule, where=(*before, *kept, *after)),
                f"add events that fit but for their {name}",
            )


def _keys(rule: Query) -> Iterator[Part]:
    for name in rule.partition_by:
        rest = tuple(other for other in rule.partition_by if other != name)
        hint = f"add events that fit but for their {name}"
        yield f"PARTITION BY {quote_name(name)}", replace(rule, partition_by=rest), hint


def _negations(rule: Query) -> Iterator[Part]:
    for negation in find(rule.pattern, Negation):
        rest = _without(rule.pattern, negation)
        if rest is None:
            continue
        gone = {event.variable for event in find(negation, Event)}
        where = tuple(
            part for part in rule.where if isinstance(part, Equivalence) or not variables_of(part) & gone
        )
        text = pattern_to_text(negation)
        yield (
            text,
            replace(rule, pattern=rest, where=where),
            "add events that fit but for one that must not be there",
        )


def _without(pattern: Pattern, part: Pattern) -> Pattern | None:
    """Return a pattern without one of its parts, None if nothing is left."""
    if pattern is part:
        return None
    if isinstance(pattern, Operator):
        operands = [_without(operand, part) for operand in pattern.operands]
        kept = tuple(operand for operand in operands if operand is not None)
        if len(kept) == len(pattern.operands):
            return replace(pattern, operands=kept)
        return kept[0] if len(kept) == 1 else (replace(pattern, operands=kept) if kept else None)
    if isinstance(pattern, Negation | Kleene):
        operand = _without(pattern.operand, part)
        return None if operand is None else replace(pattern, operand=operand)
    return pattern


def _window(rule: Query) -> Iterator[Part]:
    if rule.window is not None:
        longer = replace(rule.window, length=LONGER * rule.window.length)
        hint = "add events that fit but lie further apart"
        yield f"WITHIN {window_to_text(rule.window)}", replace(rule, window=longer), hint


def _bounds(rule: Query) -> Iterator[Part]:
    for kleene in find(rule.pattern, Kleene):
        if kleene.least > 1:
            fewer = kleene.least - 1
            hint = f"add a list of {fewer}"
            yield _bound_text(kleene, f"at least {kleene.least}"), _with_list(rule, kleene, least=fewer), hint
        if kleene.most is not None and kleene.most > 1:
            more = kleene.most + 1
            hint = f"add a list of {more}"
            yield _bound_text(kleene, f"at most {kleene.most}"), _with_list(rule, kleene, most=more), hint


def _thresholds(rule: Query) -> Iterator[Part]:
    for place, part in enumerate(rule.having):
        without = replace(rule, having=(*rule.having[:place], *rule.having[place + 1 :]))
        if without.is_trend and any(_aggregates(without)):
            hint = "add a result that fits but for this"
            yield f"HAVING {expression_to_text(part)}", without, hint


def _aggregates(rule: Query) -> Iterator[Aggregate | CountTrends]:
    for part in (*rule.returns, *rule.having):
        yield from find(part, Aggregate)
        yield from find(part, CountTrends)


def _bound_text(kleene: Kleene, bound: str) -> str:
    operand = kleene.operand
    shown = quote_name(operand.variable) if isinstance(operand, Event) else f"({pattern_to_text(operand)})"
    return f"{shown}: {bound}"


def _with_list(rule: Query, kleene: Kleene, **bounds: int) -> Query:
    wider = replace(kleene, **bounds)  # type: ignore[arg-type]
    return replace(rule, pattern=_exchange(rule.pattern, lambda part: wider if part is kleene else part))


def _exchange(pattern: Pattern, change: Callable[[Pattern], Pattern]) -> Pattern:
    """Return a pattern some of whose parts are others."""
    changed = change(pattern)
    if changed is not pattern:
        return changed
    if isinstance(pattern, Operator):
        return replace(pattern, operands=tuple(_exchange(operand, change) for operand in pattern.operands))
    if isinstance(pattern, Negation | Kleene):
        return replace(pattern, operand=_exchange(pattern.operand, change))
    return pattern
