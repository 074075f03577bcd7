"""Check that what a query says of which matches count has a meaning for its pattern."""

from collections.abc import Iterator
from dataclasses import replace

from weft.expressions import Expression, Suppressed
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.language.literals import format_duration
from weft.language.locate import whole_clause_span
from weft.language.printer import OPERATOR_WORDS, pattern_to_text
from weft.language.scope import Scope
from weft.pattern.nodes import (
    Conjunction,
    CountWindow,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Operator,
    Pattern,
    Query,
    ReturnColumn,
    Sequence,
    Some,
)
from weft.pattern.policies import Policy, Suppression
from weft.tree import find

_ADD_WINDOW = "add for example WITHIN 10 minutes"
_ASK_FOR_SEQ = "write for example SEQ(A a, B b)"


def check_policy(query: Query, scope: Scope, source: str, findings: Findings) -> None:
    """Report clauses that say nothing of the query's matches, or nothing that could be told.

    >>> findings = Findings()
    >>> check_policy(Query("q", Event("A", "a"), policy=Policy(prefer_longest=True)), {}, "", findings)
    >>> findings.problems[0].message
    'PREFER LONGEST orders the matches for AFTER MATCH SKIP, but this query skips none'
    """
    policy = query.policy
    if query.is_trend:
        _refuse_in_trend(query, source, findings)
        return
    if policy.prefer_longest and policy.skip in (None, "none"):
        message = "PREFER LONGEST orders the matches for AFTER MATCH SKIP, but this query skips none"
        hint = "add AFTER MATCH SKIP TO NEXT or AFTER MATCH SKIP PAST LAST, or leave it out"
        findings.complain(message, whole_clause_span(source, query, "PREFER"), hint)
    if policy.suppression is not None:
        _check_suppression(policy.suppression, query.pattern, scope, findings)
    if policy.timeouts and (fault := _fault_of_timeouts(query)):
        message, hint = fault
        findings.complain(message, whole_clause_span(source, query, "TIMEOUTS"), hint)


def _refuse_in_trend(query: Query, source: str, findings: Findings) -> None:
    if query.policy.suppression is not None:
        _check_suppressed_results(query.policy.suppression, query, findings)
    for clause, text in _clauses(replace(query.policy, suppression=None)):
        message = f"{text} speaks of single matches, which a trend query never builds"
        hint = "leave it out; or leave out COUNT(*), SLIDE and GROUP BY, and aggregate the matches"
        findings.complain(message, whole_clause_span(source, query, clause), hint)


def _clauses(policy: Policy) -> Iterator[tuple[str, str]]:
    """Yield the keyword of each clause that is given, and the words that it goes by."""
    given = (
        (policy.strategy is not None, "STRATEGY", "STRATEGY"),
        (policy.skip is not None, "AFTER", "AFTER MATCH SKIP"),
        (policy.prefer_longest, "PREFER", "PREFER LONGEST"),
        (policy.timeouts, "TIMEOUTS", "TIMEOUTS"),
    )
    return ((keyword, words) for is_given, keyword, words in given if is_given)


# SUPPRESS.


def _check_suppressed_results(suppression: Suppression, query: Query, findings: Findings) -> None:
    """Report SUPPRESS of a trend query that has no windows, or a quiet time for what is no group."""
    _check_length(suppression, findings)
    if query.window is None:
        message = "SUPPRESS compares where windows end, but without WITHIN there is one for all time"
        findings.complain(message, suppression.span, _ADD_WINDOW)
    for attribute in suppression.per:
        if attribute.name not in query.group_by:
            name = quote_name(attribute.name)
            message = f"SUPPRESS PER takes attributes of GROUP BY, but {name} is none of these"
            findings.complain(message, attribute.span, f"write GROUP BY {name}, or leave it out here")


def _check_length(suppression: Suppression, findings: Findings) -> None:
    if suppression.length <= 0:
        message = f"SUPPRESS needs a length above 0, found {format_duration(suppression.length)}"
        findings.complain(message, suppression.span, "write for example SUPPRESS 1 hour")


def _check_suppression(suppression: Suppression, pattern: Pattern, scope: Scope, findings: Findings) -> None:
    _check_length(suppression, findings)
    for attribute in suppression.per:
        variable = scope.get(attribute.variable)
        if variable is None:  # as reported where its attribute is bound
            continue
        if variable.negations:
            fault = "is negated, so no match binds it"
        elif variable.is_list:
            fault = "is a list"
        elif not _always_binds(pattern, attribute.variable):
            fault = "is not in every match"
        else:
            continue
        message = f"SUPPRESS PER takes one value of each match, but {quote_name(attribute.variable)} {fault}"
        hint = "name an attribute of a single event that every match binds"
        findings.complain(message, attribute.span, hint)


def _always_binds(pattern: Pattern, variable: str) -> bool:
    """Return whether every match binds a single event to a variable."""
    match pattern:
        case Event():
            return pattern.variable == variable
        case Sequence(operands=operands) | Conjunction(operands=operands):
            return any(_always_binds(operand, variable) for operand in operands)
        case Disjunction(operands=operands):
            return all(_always_binds(operand, variable) for operand in operands)
        case Some(operands=(only,)):
            return _always_binds(only, variable)
        case _:
            return False


def check_suppressed_column(column: ReturnColumn, policy: Policy, findings: Findings) -> None:
    """Report SUPPRESSED() within a larger expression, or where nothing is suppressed."""
    for count in find(column.expression, Suppressed):
        if count is not column.expression:
            hint = "write RETURN SUPPRESSED() AS n, and calculate with the result"
            findings.complain("SUPPRESSED() is a RETURN column by itself", count.span, hint)
        elif policy.suppression is None:
            message = "SUPPRESSED() counts what SUPPRESS leaves out, but this query has no SUPPRESS"
            findings.complain(message, count.span, "add for example SUPPRESS 1 hour")


def refuse_suppressed(predicate: Expression, findings: Findings) -> None:
    """Report SUPPRESSED() in a predicate, which is asked before anything is suppressed."""
    for count in find(predicate, Suppressed):
        hint = "write RETURN SUPPRESSED() AS n, and filter the result"
        findings.complain("SUPPRESSED() is a RETURN column by itself", count.span, hint)


# TIMEOUTS.


def _fault_of_timeouts(query: Query) -> tuple[str, str] | None:
    """Return why no time-out of a query could be told, and what to do about it."""
    if query.window is None:
        return "TIMEOUTS needs WITHIN: without it an event may always go on to a match", _ADD_WINDOW
    if isinstance(query.window, CountWindow):
        message = "a time-out is known when a time has passed, but WITHIN gives a number of events"
        return message, "give WITHIN a duration, for example WITHIN 10 minutes"
    if not isinstance(query.pattern, Sequence):
        return f"TIMEOUTS needs a pattern that is a SEQ, found {_shown(query.pattern)}", _ASK_FOR_SEQ
    steps = list(_positive_steps(query.pattern))
    if len(steps) < 2:
        return (
            "TIMEOUTS needs a SEQ of two events at least: one alone waits for no other",
            _ASK_FOR_SEQ,
        )
    if not isinstance(steps[0], Event):
        return f"TIMEOUTS begins with a single event, found {_shown(steps[0])}", _ASK_FOR_SEQ
    for step in steps:
        if not isinstance(step, Event) and not (isinstance(step, Kleene) and isinstance(step.operand, Event)):
            message = f"TIMEOUTS needs a SEQ of events and lists of events, found {_shown(step)} in it"
            return message, "write a query for each way to match"
    return None


def _positive_steps(pattern: Sequence) -> Iterator[Pattern]:
    """Yield what follows each other in a SEQ, those of a SEQ in it included, without what is negated."""
    for operand in pattern.operands:
        if isinstance(operand, Sequence):
            yield from _positive_steps(operand)
        elif not isinstance(operand, Negation):
            yield operand


def _shown(pattern: Pattern) -> str:
    """Return a pattern in few words: an operator by its name alone."""
    return OPERATOR_WORDS[type(pattern)] if isinstance(pattern, Operator) else pattern_to_text(pattern)
