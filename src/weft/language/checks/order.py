"""Find time conditions that the order of the pattern makes impossible."""

from collections import deque
from collections.abc import Collection, Iterator
from itertools import product

from weft.expressions import Attribute, Comparison, Expression, Predicate
from weft.language.findings import Findings
from weft.language.printer import expression_to_text
from weft.language.scope import Scope
from weft.pattern.nodes import Conjunction, Event, Pattern, Sequence
from weft.tree import find

# An edge (a, b, strict) says that a's time is less than b's (strict) or at most b's.
Edge = tuple[str, str, bool]
Successors = dict[str, list[tuple[str, bool]]]

OTHER_TIME = "turn it around, or say which column is the time of the events: --time"
OTHER_ORDER = "leave it out, turn it around, or change the order in the pattern"


def check_order(
    pattern: Pattern,
    where: tuple[Predicate, ...],
    scope: Scope,
    times: Collection[str],
    *,
    tie_break: bool,
    is_guess: bool = False,
    findings: Findings,
) -> None:
    """Report each condition on event times that can never hold, given the pattern and those before it.

    Only variables that every match binds count, and of a list any one element stands for all, so
    what is reported truly never matches. With a tie-break, events in sequence may have equal times. `times`
    are the names of the event time, which without a schema are a guess.

    >>> from weft.language.scope import variables_in
    >>> findings = Findings()
    >>> pattern = Sequence((Event("A", "a"), Event("B", "b")))
    >>> scope = {v.event.variable: v for v in variables_in(pattern)}
    >>> where = (Comparison("<", Attribute("b", "ts"), Attribute("a", "ts")),)
    >>> check_order(pattern, where, scope, {"ts"}, tie_break=False, findings=findings)
    >>> findings.problems[0].message
    'b.ts < a.ts can never hold: the pattern puts a before b'
    """
    conditions = [
        (predicate, edges)
        for predicate in where
        if type(predicate) is Comparison and (edges := _time_edges(predicate, scope, times))
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
            message = f"{expression_to_text(predicate)} can never hold: {reason}"
            findings.complain(message, predicate.span, OTHER_TIME if is_guess else OTHER_ORDER)
            continue
        for before, after, strict in edges:
            successors.setdefault(before, []).append((after, strict))


def _time_edges(comparison: Comparison, scope: Scope, times: Collection[str]) -> list[Edge]:
    left, right = (_timed_variable(side, scope, times) for side in (comparison.left, comparison.right))
    if left is None or right is None or (left == right and scope[left].is_list):
        return []
    match comparison.operator:
        case "<" | "<=":
            return [(left, right, comparison.operator == "<")]
        case ">" | ">=":
            return [(right, left, comparison.operator == ">")]
        case "=":
            return [(left, right, False), (right, left, False)]
        case _:
            return []


def _timed_variable(side: Expression, scope: Scope, times: Collection[str]) -> str | None:
    """Return the variable whose time an expression is, if every match binds it."""
    if not isinstance(side, Attribute) or side.name not in times or side.place != "each":
        return None
    return side.variable if side.variable in scope and scope[side.variable].always else None


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
    if not isinstance(pattern, Sequence | Conjunction):
        return
    earlier: list[str] = []
    for operand in pattern.operands:
        variables = _bound_variables(operand, scope)
        if isinstance(pattern, Sequence):
            yield from product(earlier, variables)
        earlier += variables
        yield from _pattern_order(operand, scope)


def _bound_variables(pattern: Pattern, scope: Scope) -> list[str]:
    """Return the variables in a part of a pattern that every match binds."""
    names = (event.variable for event in find(pattern, Event))
    return [name for name in names if name in scope and scope[name].always]
