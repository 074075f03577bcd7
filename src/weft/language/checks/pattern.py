"""Check that a pattern makes sense by itself: its events, quantifiers and negations."""

from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.language.printer import OPERATOR_WORDS
from weft.language.scope import Scope, is_same_elsewhere, scope_of
from weft.pattern.nodes import Disjunction, Event, Kleene, Negation, Operator, Pattern, Some
from weft.tree import find, walk


def check_pattern(
    pattern: Pattern, types: frozenset[str] | None, findings: Findings, *, is_trend: bool = False
) -> Scope:
    """Report what is wrong with a pattern and return its variables by name.

    Only a trend query may repeat groups. Two branches of an OR may have a variable in common, except in
    a trend query: it is the same event in another combination.

    >>> findings = Findings()
    >>> scope = check_pattern(Event("Gat", "g"), frozenset({"Gate"}), findings)
    >>> findings.problems[0].message, findings.problems[0].hint
    ('unknown event type Gat', 'did you mean Gate?')
    """
    scope = scope_of(pattern)
    for variable in scope.values():
        for place, later in enumerate(variable.declarations):
            earlier = variable.declarations[:place]
            if any(is_trend or not is_same_elsewhere(each, later) for each in earlier):
                message = f"the variable {quote_name(later.event.variable)} is declared twice"
                findings.complain(message, later.event.span, "give each event a variable of its own")
    for node in walk(pattern):
        _check_node(node, types, findings, is_trend=is_trend)
    _check_positive(pattern, findings)
    return scope


def _check_node(node: object, types: frozenset[str] | None, findings: Findings, *, is_trend: bool) -> None:
    match node:
        case Event(type=name) if types is not None and name not in types:
            hint = findings.suggest(name, types)
            findings.complain(f"unknown event type {quote_name(name)}", node.span, hint)
        case Kleene(operand=operand):
            _check_kleene(node, findings)
            if not is_trend and not isinstance(operand, Event):
                hint = "repeat a single event instead, as in SEQ(A+ a, B b), or count trends: RETURN COUNT(*)"
                findings.complain("a quantifier on a group is not supported yet", node.span, hint)
        case Negation(operand=Negation()):
            hint = "two NOTs cancel out; drop both to require the event"
            findings.complain("NOT directly inside NOT", node.span, hint)
        case Operator(operands=()):
            findings.complain(f"{OPERATOR_WORDS[type(node)]} needs at least one operand", node.span)


def _check_kleene(kleene: Kleene, findings: Findings) -> None:
    least, most = kleene.least, kleene.most
    shown = f"the quantifier {{{least},{'' if most is None else most}}}"
    if least < 0:
        findings.complain(f"{shown} starts below 0", kleene.span)
    elif most is not None and most <= 0:
        findings.complain(f"{shown} allows no event at all", kleene.span, "leave the event out")
    elif most is not None and most < least:
        hint = f"write {{{most},{least}}}"
        findings.complain(f"{shown} allows no number of events", kleene.span, hint)


def _check_positive(pattern: Pattern, findings: Findings) -> None:
    """Report a pattern, or an operand of OR or SOME, or the inside of a NOT, that has no event to match."""
    empty = _without_positive_event(pattern)
    if empty is not None and not (isinstance(empty, Negation) and isinstance(empty.operand, Negation)):
        what = "the pattern" if empty is pattern else f"this branch of {_word_around(empty, pattern)}"
        hint = "a match binds at least one event; add one that is not under NOT"
        findings.complain(f"{what} has no positive event", empty.span, hint)
    for negation in _outer_negations(pattern):
        if not isinstance(negation.operand, Negation):
            _check_positive(negation.operand, findings)


def _word_around(part: Pattern, pattern: Pattern) -> str:
    is_in_some = any(part is operand for some in find(pattern, Some) for operand in some.operands)
    return "SOME" if is_in_some else "OR"


def _without_positive_event(pattern: Pattern) -> Pattern | None:
    """Return the part at fault when some way to match binds no event: the whole, or a branch."""
    match pattern:
        case Event():
            return None
        case Kleene(operand=operand):
            return pattern if _without_positive_event(operand) else None
        case Negation():
            return pattern
        case Operator(operands=operands):
            faults = [_without_positive_event(operand) for operand in operands]
            if isinstance(pattern, Disjunction | Some):
                return next((fault for fault in faults if fault is not None), None)
            return pattern if faults and None not in faults else None


def _outer_negations(pattern: Pattern) -> list[Negation]:
    match pattern:
        case Negation():
            return [pattern]
        case Operator():
            return [negation for operand in pattern.operands for negation in _outer_negations(operand)]
        case _:
            return []
