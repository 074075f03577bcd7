"""Find time conditions that the order of the pattern makes impossible."""

from collections import deque
from collections.abc import Iterator

from weft.expressions import Attribute, Comparison, Predicate
from weft.language.findings import Findings
from weft.language.printer import expression_to_text
from weft.language.scope import Scope
from weft.pattern.nodes import Conjunction, Event, Kleene, Pattern, Sequence

# An edge (a, b, strict) says that a's time is less than b's (strict) or at most b's.
Edge = tuple[str, str, bool]
Successors = dict[str, list[tuple[str, bool]]]


def check_order(
    pattern: Pattern,
    where: tuple[Predicate, ...],
    scope: Scope,
    time: str,
    *,
    tie_break: bool,
    findings: Findings,
) -> None:
    """Report each condition on event times that can never hold, given the pattern and those before it.

    Only variables that every match binds count, and of a list any one element stands for all, so
    what is reported truly never matches. With a tie-break, events in sequence may have equal times.

    >>> from weft.language.scope import variables_in
    >>> findings = Findings()
    >>> pattern = Sequence((Event("A", "a"), Event("B", "b")))
    >>> scope = {v.event.variable: v for v in variables_in(pattern)}
    >>> where = (Comparison("<", Attribute("b", "ts"), Attribute("a", "ts")),)
    >>> check_order(pattern, where, scope, "ts", tie_break=False, findings=findings)
    >>> findings.problems[0].message
    'b.ts < a.ts can never hold: the pattern puts a before b'
    """
    conditions = [
        (predicate, edges)
        for predicate in where
        if type(predicate) is Comparison and (edges := _time_edges(predicate, scope, time))
    ]
    if not conditions:
        return
    successors: Successors = {}
    pattern_order = set(_pattern_order(pattern, scope))
    for before, after in pattern_order:
        successors.setdefault(before, []).append((after, not tie_break))
    for predicate, edges in conditions:
        if any(_closes_cycle(edge, successors) for edge in edges):
            start, end, _ = edges[0]
            reason = "the conditions before it and the order of the pattern exclude it"
            for before, after in ((end, start), (start, end)):
                if (before, after) in pattern_order:
                    reason = f"the pattern puts {before} before {after}"
            if start == end:
                reason = "an event is not before itself"
            findings.complain(
                f"{expression_to_text(predicate)} can never hold: {reason}", predicate.span, None
            )
            continue
        for before, after, strict in edges:
            successors.setdefault(before, []).append((after, strict))


def _time_edges(comparison: Comparison, scope: Scope, time: str) -> list[Edge]:
    left, right = comparison.left, comparison.right
    for side in (left, right):
        if not isinstance(side, Attribute) or side.name != time or side.place != "each":
            return []
        if side.variable not in scope or not scope[side.variable].always:
            return []
    assert isinstance(left, Attribute)
    assert isinstance(right, Attribute)
    one, other = left.variable, right.variable
    if one == other and scope[one].is_list:
        return []
    match comparison.operator:
        case "<" | "<=":
            return [(one, other, comparison.operator == "<")]
        case ">" | ">=":
            return [(other, one, comparison.operator == ">")]
        case "=":
            return [(one, other, False), (other, one, False)]
        case _:
            return []


def _closes_cycle(edge: Edge, successors: Successors) -> bool:
    """Return whether an edge closes a cycle that has a strict step."""
    start, end, strict = edge
    seen = {(end, strict)}
    waiting = deque(seen)
    while waiting:
        node, so_far = waiting.popleft()
        if node == start and so_far:
            return True
        for following, step in successors.get(node, ()):
            state = (following, so_far or step)
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return False


def _pattern_order(pattern: Pattern, scope: Scope) -> Iterator[tuple[str, str]]:
    """Yield the pairs of variables, bound in every match, that the pattern orders."""
    match pattern:
        case Sequence(operands=operands):
            groups = [_bound_variables(operand, scope) for operand in operands]
            earlier: list[str] = []
            for group in groups:
                yield from ((before, after) for before in earlier for after in group)
                earlier += group
            for operand in operands:
                yield from _pattern_order(operand, scope)
        case Conjunction(operands=operands):
            for operand in operands:
                yield from _pattern_order(operand, scope)


def _bound_variables(pattern: Pattern, scope: Scope) -> list[str]:
    match pattern:
        case Event(variable=variable):
            return [variable] if variable in scope and scope[variable].always else []
        case Kleene(operand=operand):
            return _bound_variables(operand, scope)
        case Sequence(operands=operands) | Conjunction(operands=operands):
            return [found for operand in operands for found in _bound_variables(operand, scope)]
        case _:
            return []
