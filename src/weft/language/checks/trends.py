"""Refuse what cannot be aggregated without building the trends, with the reason and the alternative."""

from collections.abc import Iterator
from itertools import combinations

from weft.expressions import (
    OF_SINGLE_EVENTS,
    Aggregate,
    Attribute,
    Cast,
    Comparison,
    CountTrends,
    Expression,
    Suppressed,
)
from weft.language.checks.adjacency import may_be_empty, predecessors
from weft.language.columns import RESERVED_TREND_COLUMNS, aggregate_to_text
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.language.literals import format_duration
from weft.language.locate import clause_span
from weft.language.printer import expression_to_text
from weft.language.scope import Scope, mentions
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, Event, Negation, Pattern, Query, ReturnColumn, Sequence, Some
from weft.tree import find

MOST_WINDOWS = 10_000  # that one event may lie in: each keeps numbers of its own
_ALTERNATIVE = "leave out COUNT(*), SLIDE and GROUP BY, and aggregate the matches"


def check_trend_windows(query: Query, source: str, findings: Findings) -> None:
    """Report windows that are no spans of time, and a SLIDE that is none."""
    if isinstance(query.window, nodes.CountWindow):
        hint = "write a time, as in WITHIN 10 minutes"
        findings.complain("the windows of a trend query are times, not events", query.window.span, hint)
    if query.slide is None:
        return
    span = clause_span(source, query, "SLIDE")
    if query.slide <= 0:
        message = f"SLIDE needs a length above 0, found {format_duration(query.slide)}"
        findings.complain(message, span, "write for example SLIDE 1 minute")
    elif isinstance(query.window, nodes.TimeWindow) and query.window.length > MOST_WINDOWS * query.slide:
        count = -(-query.window.length // query.slide)
        message = (
            f"with this SLIDE every event lies in {count:,} windows, at most {MOST_WINDOWS:,} are allowed"
        )
        hint = f"write SLIDE {format_duration(-(-query.window.length // MOST_WINDOWS))} or more"
        findings.complain(message, span, hint)
    if query.window is None:
        findings.complain("SLIDE needs WITHIN", span, "add for example WITHIN 10 minutes")


# Patterns.


def check_trend_pattern(pattern: Pattern, findings: Findings, *, types_overlap: bool = False) -> None:
    """Report the parts of a pattern whose trends cannot be counted online.

    >>> findings = Findings()
    >>> a, b = Event("A", "a"), Event("B", "b")
    >>> check_trend_pattern(Sequence((a, Negation(Sequence((b,))))), findings)
    >>> findings.problems[0].message
    'NOT in a trend query takes a single event'
    """
    for some in find(pattern, Some):
        message = "SOME in a trend query would count every combination of its operands as a trend of its own"
        findings.complain(message, some.span, f"write the combinations as operands of OR, or {_ALTERNATIVE}")
    for alternative in () if any(find(pattern, Some)) else _alternatives(pattern):
        if isinstance(alternative, Conjunction):
            _check_conjunction(alternative, findings, types_overlap=types_overlap)
        else:
            _check_part(alternative, findings, preceded=True, followed=True)


def _alternatives(pattern: Pattern) -> Iterator[Pattern]:
    if isinstance(pattern, nodes.Disjunction):
        for operand in pattern.operands:
            yield from _alternatives(operand)
    else:
        yield pattern


def _check_conjunction(pattern: Conjunction, findings: Findings, *, types_overlap: bool) -> None:
    if types_overlap:
        message = "AND in a trend query needs events of one type each, but derived types may overlap"
        findings.complain(message, pattern.span, f"write SEQ, or {_ALTERNATIVE}")
    types = [frozenset(event.type for event in find(operand, Event)) for operand in pattern.operands]
    for (earlier, _), (later, operand) in combinations(zip(types, pattern.operands, strict=True), 2):
        if common := earlier & later:
            message = f"operands of AND in a trend query have the type {quote_name(min(common))} in common"
            findings.complain(message, operand.span, f"write SEQ, or {_ALTERNATIVE}")
    for operand in pattern.operands:
        if isinstance(operand, Negation):
            _check_negated(operand, findings)
        else:
            _check_part(operand, findings, preceded=True, followed=True)


def _check_negated(negation: Negation, findings: Findings) -> None:
    if not isinstance(negation.operand, Event):
        hint = f"write a NOT for each event, or {_ALTERNATIVE}"
        findings.complain("NOT in a trend query takes a single event", negation.span, hint)


def _check_part(pattern: Pattern, findings: Findings, *, preceded: bool, followed: bool) -> None:
    """Check a part of a pattern without AND at the top.

    `preceded` and `followed` say that a negation at that end has a bound: an event of the same repeated
    group, or outside of repeated groups the window.
    """
    match pattern:
        case nodes.Kleene(operand=operand):
            _check_part(operand, findings, preceded=False, followed=False)
        case nodes.Disjunction(operands=operands):
            for operand in operands:
                _check_part(operand, findings, preceded=preceded, followed=followed)
        case Sequence():
            _check_sequence(pattern, findings, preceded=preceded, followed=followed)
        case Conjunction():
            message = "AND in a trend query stands at the top of the pattern, or in an OR at the top"
            hint = f"write each order by itself, OR(SEQ(...), SEQ(...)), or {_ALTERNATIVE}"
            findings.complain(message, pattern.span, hint)
        case Negation():
            message = "NOT in a trend query is an operand of SEQ, or of AND at the top"
            findings.complain(message, pattern.span, "write for example SEQ(A a, NOT B b, C c)")


def _check_sequence(pattern: Sequence, findings: Findings, *, preceded: bool, followed: bool) -> None:
    if all(isinstance(operand, Negation) for operand in pattern.operands):
        hint = "write the negations into the SEQ around it"
        findings.complain("a SEQ of a trend query has at least one positive event", pattern.span, hint)
        return
    bound = [not may_be_empty(operand) for operand in pattern.operands]
    for place, operand in enumerate(pattern.operands):
        before = preceded or any(bound[:place])
        after = followed or any(bound[place + 1 :])
        if not isinstance(operand, Negation):
            _check_part(operand, findings, preceded=before, followed=after)
            continue
        _check_negated(operand, findings)
        if isinstance(operand.operand, Event) and not (before and after):
            message = "in a repeated group, NOT stands between two events that are always there"
            hint = "write it between them, or outside of the group"
            findings.complain(message, operand.span, hint)


# Predicates.


def check_trend_predicate(predicate: Expression, pattern: Pattern, scope: Scope, findings: Findings) -> None:
    """Report a conjunct that speaks of more than one event, or of two that are not always adjacent."""
    mentioned = mentions(predicate)
    problem = (
        _problem_of_mentions(mentioned)
        or _problem_of_one(predicate, mentioned)
        or _problem_of_two(predicate, mentioned, pattern, scope)
    )
    if problem is not None:
        message, hint = problem
        findings.complain(message, predicate.span, hint)


def _problem_of_mentions(mentioned: list[Attribute | Aggregate]) -> tuple[str, str] | None:
    if not mentioned:
        return "a predicate of a trend query mentions a variable", "leave it out if it is always true"
    for mention in mentioned:
        if isinstance(mention, Aggregate) or mention.place in ("first", "last"):
            text = expression_to_text(mention)
            return f"{text} speaks of a whole list, which a trend query never builds", _ALTERNATIVE
    return None


def _problem_of_one(predicate: Expression, mentioned: list[Attribute | Aggregate]) -> tuple[str, str] | None:
    """Return what is wrong with a predicate on one variable: how it compares neighbors in a list."""
    attributes = [mention for mention in mentioned if isinstance(mention, Attribute)]
    paired = {mention.variable for mention in attributes if mention.place == "previous"}
    if len({mention.variable for mention in attributes}) > 1 or not paired:
        return None
    if isinstance(predicate, Comparison):
        left = {node.place for node in find(predicate.left, Attribute)}
        right = {node.place for node in find(predicate.right, Attribute)}
        if (left, right) in (({"previous"}, {"current"}), ({"current"}, {"previous"})):
            return None
    name = quote_name(paired.pop())
    message = f"a trend query compares a value of {name}[i] alone with one of {name}[i-1] alone"
    return message, f"write for example {name}[i].x > {name}[i-1].x + 5, or {_ALTERNATIVE}"


def _problem_of_two(
    predicate: Expression, mentioned: list[Attribute | Aggregate], pattern: Pattern, scope: Scope
) -> tuple[str, str] | None:
    """Return why events of two variables cannot be compared: they are not always neighbors."""
    names = list(dict.fromkeys(mention.variable for mention in mentioned))
    if len(names) == 1:
        return None
    shown = [quote_name(name) for name in names]
    listed = ", ".join(shown[:-1]) + " and " + shown[-1]
    hint = _hint_of_key(predicate) + _ALTERNATIVE
    if len(names) > 2:
        return f"a predicate of a trend query mentions one or two variables, found {listed}", hint
    variables = [scope[name] for name in names]
    for name, variable in zip(shown, variables, strict=True):
        if variable.negations:
            return f"a trend query compares the negated {name} with no other variable", hint
        if variable.is_list or variable.groups:
            return f"a trend query compares the repeated {name} with no other variable", hint
    if not _compares_one_with_other(predicate):
        message = f"a trend query compares a value of {shown[0]} alone with one of {shown[1]} alone"
        return message, f"write one comparison, with {shown[0]} on one side and {shown[1]} on the other"
    before = predecessors(pattern)
    if any(before.get(name) == frozenset({other}) for name, other in (names, reversed(names))):
        return None
    return f"{listed} are compared, but one does not always come directly before the other", hint


def _compares_one_with_other(predicate: Expression) -> bool:
    if not isinstance(predicate, Comparison):
        return False
    sides = [{mention.variable for mention in mentions(side)} for side in (predicate.left, predicate.right)]
    return all(len(side) == 1 for side in sides)


def _hint_of_key(predicate: Expression) -> str:
    """Return the beginning of a hint for `a.x = b.x`, which may stand for `[x]`."""
    if not isinstance(predicate, Comparison) or predicate.operator != "=":
        return ""
    sides = [side.operand if isinstance(side, Cast) else side for side in (predicate.left, predicate.right)]
    names = {side.name if isinstance(side, Attribute) else None for side in sides}
    name = names.pop()
    return "" if names or name is None else f"if all events agree on it, write [{quote_name(name)}]; or "


def check_trend_expression(
    expression: Expression, group_by: tuple[str, ...], clause: str, findings: Findings
) -> None:
    """Report what is made of anything but aggregates and attributes of the group, in RETURN or HAVING."""
    text = expression_to_text(expression)
    what = "a column of a trend query" if clause == "RETURN" else "a condition in HAVING"
    message = f"{what} is made of aggregates and attributes of GROUP BY, found {text}"
    if any(find(expression, Suppressed)) or not (mentions(expression) or any(find(expression, CountTrends))):
        findings.complain(message, expression.span, "write for example COUNT(*)")
    for mention in find(expression, Attribute):
        shown = expression_to_text(mention)
        attribute = quote_name(mention.name, after_dot=True)
        example = f"MAX({quote_name(mention.variable)}.{attribute})"
        if mention.place != "each":
            findings.complain(message, mention.span, f"take an aggregate, as in {example}")
        elif mention.name not in group_by:
            verb = "is shown" if clause == "RETURN" else "stands in HAVING"
            hint = f"write GROUP BY {quote_name(mention.name)}, or aggregate it, as in {example}"
            findings.complain(f"{shown} {verb}, but not in GROUP BY", mention.span, hint)


def check_single_events(expression: Expression, query: Query, findings: Findings) -> None:
    """Report aggregates that only trend queries of a single event have, where they stand elsewhere."""
    for aggregate in find(expression, Aggregate):
        if aggregate.function not in OF_SINGLE_EVENTS or isinstance(query.pattern, Event):
            continue
        message = f"{aggregate_to_text(aggregate)} needs a pattern that is a single event"
        hint = "trends are counted, not built: of longer ones it is not known which events are in them"
        findings.complain(message, aggregate.span, hint)


def check_trend_result(query: Query, source: str, findings: Findings) -> None:
    """Report a result without aggregates, and names that the columns of the group take from others."""
    asked = (*(column.expression for column in query.returns), *query.having)
    if not any(any(find(part, Aggregate)) or any(find(part, CountTrends)) for part in asked):
        span = query.returns[0].span if query.returns else query.span
        hint = "SLIDE and GROUP BY make this a trend query; add for example RETURN COUNT(*)"
        findings.complain("a trend query returns at least one aggregate", span, hint)
    shown = {column.expression.name for column in query.returns if isinstance(column.expression, Attribute)}
    taken = {column.name.casefold(): column for column in query.returns}
    for name in query.group_by:
        folded = name.casefold()
        if name in shown:
            continue
        attribute = quote_name(name)
        if folded in RESERVED_TREND_COLUMNS:
            message = f"GROUP BY {attribute} needs another column name: every result has a column {folded}"
            shown_as = f"v.{quote_name(name, after_dot=True)} AS {folded}_value"
            hint = f"return it under another name, as in {shown_as}"
            findings.complain(message, clause_span(source, query, "GROUP", name), hint)
        elif folded in taken:
            message = f"the column name {taken[folded].name} is taken: GROUP BY {attribute} has a column too"
            findings.complain(message, taken[folded].span, "name the column otherwise with AS")
        else:
            taken[folded] = ReturnColumn(name, CountTrends(), clause_span(source, query, "GROUP", name))
