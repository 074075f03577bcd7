"""Check that a pattern makes sense by itself: its events, quantifiers and negations."""

from collections.abc import Iterable

from weft.errors import near_name
from weft.language.lexer import quote_name
from weft.language.scope import Complain, Scope, variables_in
from weft.pattern.nodes import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Sequence

_WORDS = {Sequence: "SEQ", Conjunction: "AND", Disjunction: "OR"}


def check_pattern(pattern: Pattern, types: frozenset[str] | None, complain: Complain) -> Scope:
    """Report what is wrong with a pattern and return its variables by name.

    >>> problems = []
    >>> scope = check_pattern(Event("Gat", "g"), frozenset({"Gate"}), lambda *found: problems.append(found))
    >>> problems
    [('unknown event type Gat', None, 'did you mean Gate?')]
    """
    scope: Scope = {}
    for variable in variables_in(pattern):
        event = variable.event
        if event.variable in scope:
            message = f"the variable {quote_name(event.variable)} is declared twice"
            complain(message, event.span, "give each event a variable of its own")
        scope.setdefault(event.variable, variable)
        if types is not None and event.type not in types:
            complain(
                f"unknown event type {quote_name(event.type)}", event.span, suggestion(event.type, types)
            )
    _check_node(pattern, complain)
    _check_positive(pattern, complain)
    return scope


def suggestion(name: str, known: Iterable[str], *, most: int = 12) -> str | None:
    """Return a hint that names the nearest known name, or all of them when they are few.

    >>> suggestion("prise", ["price", "volume"]), suggestion("x", ["price", "volume"])
    ('did you mean price?', 'there are price, volume')
    """
    names = sorted(known)
    close = near_name(name, names)
    if close is not None:
        return f"did you mean {quote_name(close)}?"
    if not names or len(names) > most:
        return None
    return ("there are " if len(names) > 1 else "there is only ") + ", ".join(map(quote_name, names))


def _check_node(pattern: Pattern, complain: Complain) -> None:
    match pattern:
        case Kleene(operand=operand):
            _check_kleene(pattern, complain)
            _check_node(operand, complain)
        case Negation(operand=operand):
            if isinstance(operand, Negation):
                hint = "two NOTs cancel out; leave both away to require the event"
                complain("NOT directly inside NOT", pattern.span, hint)
            _check_node(operand, complain)
        case Sequence() | Conjunction() | Disjunction():
            if not pattern.operands:
                complain(f"{_WORDS[type(pattern)]} needs at least one operand", pattern.span, None)
            for operand in pattern.operands:
                _check_node(operand, complain)


def _check_kleene(kleene: Kleene, complain: Complain) -> None:
    if not isinstance(kleene.operand, Event):
        hint = "repeat a single event instead, as in SEQ(A+ a, B b)"
        complain("a quantifier on a group is not supported yet", kleene.span, hint)
    shown = f"{{{kleene.least},{'' if kleene.most is None else kleene.most}}}"
    if kleene.least < 0:
        complain(f"the quantifier {shown} starts below 0", kleene.span, None)
    elif kleene.most is not None and kleene.most <= 0:
        complain(f"the quantifier {shown} allows no event at all", kleene.span, "leave the event out")
    elif kleene.most is not None and kleene.most < kleene.least:
        hint = f"write {{{kleene.most},{kleene.least}}}"
        complain(f"the quantifier {shown} allows no number of events", kleene.span, hint)


def _check_positive(pattern: Pattern, complain: Complain) -> None:
    """Report a pattern, or an operand of OR, or the inside of a NOT, that has no event to match."""
    empty = _without_positive_event(pattern)
    if empty is not None and not (isinstance(empty, Negation) and isinstance(empty.operand, Negation)):
        what = "the pattern" if empty is pattern else "this branch of OR"
        hint = "a match binds at least one event; add one that is not under NOT"
        complain(f"{what} has no positive event", empty.span, hint)
    for negation in _outer_negations(pattern):
        if not isinstance(negation.operand, Negation):
            _check_positive(negation.operand, complain)


def _without_positive_event(pattern: Pattern) -> Pattern | None:
    """Return the part at fault when some way to match binds no event: the whole, or a branch of OR."""
    match pattern:
        case Event() | Kleene():
            return None
        case Negation():
            return pattern
        case Disjunction(operands=operands):
            return next((found for operand in operands if (found := _without_positive_event(operand))), None)
        case Sequence(operands=operands) | Conjunction(operands=operands):
            faults = [_without_positive_event(operand) for operand in operands]
            return pattern if faults and None not in faults else None


def _outer_negations(pattern: Pattern) -> list[Negation]:
    match pattern:
        case Negation():
            return [pattern]
        case Sequence() | Conjunction() | Disjunction():
            return [found for operand in pattern.operands for found in _outer_negations(operand)]
        case _:
            return []
