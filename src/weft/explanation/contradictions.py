"""Say which conditions of queries contradict each other, as notices."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from weft.expressions import Expression, Or, variables_of
from weft.language.lexer import quote_name
from weft.language.printer import expression_to_text, window_to_text
from weft.normalize.contradictions import Contradiction, Premise, find_contradictions
from weft.notices import Notice
from weft.pattern.nodes import Query
from weft.pattern.normal_form import NormalForm

USUAL_TIMES = ("ts", "timestamp", "event_time", "at", "datetime", "occurred_at", "created_at")
_REMEDY = "all of it must hold at once: change one of the conditions, or join them with OR if either will do"
_REMEDY_OF_NOT = "change one of the conditions, or leave out the NOT"


def contradictions(
    queries: Iterable[Query], times: Collection[str], *, tie_break: bool = False
) -> list[Notice]:
    """Return a notice for everything in bound queries that can never have a match, or never rejects one.

    `times` are the names of the event time: the time of the schema. With a tie-break, events in sequence may
    have equal times. Without types, of attributes that no schema knows, less is found.

    >>> from weft.language.parser import parse
    >>> print(*contradictions(parse("PATTERN A a WHERE a.x > 10 AND a.x < 5"), {"ts"}))
    query query: no event can satisfy a.x > 10 and a.x < 5
      hint: all of it must hold at once: change one of the conditions, or join them with OR if either will do
    """
    notices: dict[Notice, None] = {}
    for query in queries:
        found, forms = find_contradictions(query, times, tie_break=tie_break)
        is_whole = len([one for one in found if not one.negated]) == len(forms)
        for contradiction in found:
            qualifier = "" if is_whole or contradiction.negated else _qualifier(contradiction, forms)
            reason = _reason(contradiction, query, qualifier)
            remedy = _REMEDY_OF_NOT if contradiction.negated else _REMEDY
            notices.setdefault(Notice(kind="contradiction", query=query.name, reason=reason, remedy=remedy))
    return list(notices)


def contradictions_of_usual_times(
    queries: Sequence[Query], time: str, others: Iterable[str] = USUAL_TIMES, *, tie_break: bool = False
) -> list[Notice]:
    """Return what else would never have a match if the event time were a column other than `time`.

    >>> from weft.language.parser import parse
    >>> queries = parse("QUERY q PATTERN SEQ(A a, B b) WHERE b.at < a.at")
    >>> print(*contradictions_of_usual_times(queries, "ts"))
    query q: if at is the time of the events, no match can satisfy b.at < a.at: the pattern puts a before b
      hint: say so: --time at
    """
    known = {notice.reason for notice in contradictions(queries, {time, "time"}, tie_break=tie_break)}
    return [
        replace(
            notice,
            reason=f"if {other} is the time of the events, {notice.reason}",
            remedy=f"say so: --time {other}",
        )
        for other in others
        if other not in (time, "time")
        for notice in contradictions(queries, {other}, tie_break=tie_break)
        if notice.reason not in known
    ]


def _reason(contradiction: Contradiction, query: Query, qualifier: str) -> str:
    """Return what can never hold, and what of the pattern is against it."""
    conditions = [one.condition for one in contradiction.premises if one.condition is not None]
    others = [text for one in contradiction.premises for text in _background(one, query)]
    is_of_event = not qualifier and _is_of_one_event(conditions, contradiction.premises)
    subject = "event" if is_of_event else "match"
    shown = " and ".join(dict.fromkeys(map(_as_conjunct, conditions)))
    because = f": {', '.join(others)}" if others else ""
    if contradiction.negated:
        names = ", ".join(map(quote_name, contradiction.negated))
        return f"the NOT of {names} never rejects a match, as nothing can satisfy {shown}{because}"
    return f"no {subject}{qualifier} can satisfy {shown}{because}"


def _as_conjunct(condition: Expression) -> str:
    text = expression_to_text(condition)
    return f"({text})" if isinstance(condition, Or) else text


def _is_of_one_event(conditions: Sequence[Expression], premises: Sequence[Premise]) -> bool:
    mentioned = {name for condition in conditions for name in variables_of(condition)}
    return len(mentioned) == 1 and len(conditions) == len(premises)


def _background(premise: Premise, query: Query) -> Iterator[str]:
    """Yield what a premise says that is no condition."""
    if premise.order is not None:
        before, after = map(quote_name, premise.order)
        yield f"the pattern puts {before} before {after}"
    elif premise.key is not None:
        yield f"all events agree on {quote_name(premise.key)}"
    elif premise.item is not None:
        item = premise.item
        most = "" if item.most is None else f", {item.most} at most"
        yield f"{quote_name(item.variable)}[] has {item.least} events at least{most}"
    elif premise.is_window and query.window is not None:
        yield f"WITHIN is {window_to_text(query.window)}"


def _qualifier(contradiction: Contradiction, forms: Sequence[NormalForm]) -> str:
    """Return of which alternatives a contradiction speaks, where others are free of it."""
    always = set.intersection(*(set(form.variables) for form in forms))
    conditions = [one.condition for one in contradiction.premises if one.condition is not None]
    mentioned = {name for condition in conditions for name in variables_of(condition)} - always
    names = sorted(mentioned) or [name for name in contradiction.variables if name not in always]
    if names:
        return f" with {' and '.join(map(quote_name, names))}"
    return f" of {', '.join(map(quote_name, contradiction.variables))} alone"
