"""Write queries, patterns and expressions as canonical text."""

from collections import Counter
from decimal import Decimal

from weft import expressions
from weft.expressions import INTRINSIC, Attribute, Comparison, InList, IsNull, Like, Literal, Not, Predicate
from weft.language.builder import QueryBuilder, as_query
from weft.language.columns import aggregate_to_text, default_column_name
from weft.language.lexer import quote_name, quote_text
from weft.language.literals import format_date, format_duration, format_timestamp
from weft.pattern import nodes
from weft.pattern.nodes import CountWindow, Event, Kleene, Pattern, Query, ReturnColumn, Window
from weft.pattern.policies import Policy
from weft.tree import find

OPERATOR_WORDS: dict[type[nodes.Operator], str] = {
    nodes.Sequence: "SEQ",
    nodes.Conjunction: "AND",
    nodes.Disjunction: "OR",
    nodes.Some: "SOME",
}

# How tightly each form binds; a part is put in parentheses when it binds less than its place asks.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)


def to_text(given: Query | QueryBuilder) -> str:
    """Return the canonical text of a query or of its builder; parsing it gives the query back.

    Casts put in by the binder do not show, so a bound query reads like the one it was bound from.

    >>> from weft.language.parser import parse
    >>> print(to_text(parse("query q pattern SEQ(A a,!B b) where a.x>3 within 5 min")[0]))
    QUERY q
    PATTERN SEQ(A a, NOT B b)
    WHERE a.x > 3
    WITHIN 5 minutes
    """
    query = as_query(given)
    lines = [f"QUERY {quote_name(query.name)}", f"PATTERN {pattern_to_text(query.pattern)}"]
    if query.where:
        lines.append("WHERE " + "\n  AND ".join(_expression(part, _NOT) for part in query.where))
    windows = [] if query.window is None else [f"WITHIN {window_to_text(query.window)}"]
    if query.slide is not None:
        windows.append(f"SLIDE {format_duration(query.slide)}")
    if windows:
        lines.append(" ".join(windows))
    if query.partition_by:
        lines.append("PARTITION BY " + ", ".join(map(quote_name, query.partition_by)))
    if query.group_by:
        lines.append("GROUP BY " + ", ".join(map(quote_name, query.group_by)))
    if query.having:
        lines.append("HAVING " + "\n   AND ".join(_expression(part, _NOT) for part in query.having))
    lines += policy_lines(query.policy)
    if query.returns:
        columns = (
            _column(column, position, is_trend=query.is_trend)
            for position, column in enumerate(query.returns, 1)
        )
        lines.append("RETURN " + ", ".join(columns))
    return "\n".join(lines)


def policy_lines(policy: Policy) -> list[str]:
    """Return the clauses that say which matches count, a line each.

    >>> policy_lines(Policy("next", "past last", prefer_longest=True))
    ['STRATEGY NEXT', 'AFTER MATCH SKIP PAST LAST', 'PREFER LONGEST']
    """
    lines = [] if policy.strategy is None else [f"STRATEGY {policy.strategy.upper()}"]
    if policy.skip is not None:
        lines.append(f"AFTER MATCH SKIP {policy.skip.upper()}")
    if policy.prefer_longest:
        lines.append("PREFER LONGEST")
    if policy.suppression is not None:
        length, per = policy.suppression.length, ", ".join(map(_attribute, policy.suppression.per))
        lines.append(f"SUPPRESS {format_duration(length)}{per and f' PER {per}'}")
    return [*lines, "TIMEOUTS"] if policy.timeouts else lines


def _column(column: ReturnColumn, position: int, *, is_trend: bool) -> str:
    text = expression_to_text(column.expression)
    if column.name == default_column_name(column.expression, position, is_trend=is_trend):
        return text
    return f"{text} AS {quote_name(column.name)}"


def window_to_text(window: Window) -> str:
    """Return a window as WITHIN writes it.

    >>> window_to_text(CountWindow(500))
    '500 EVENTS'
    """
    if isinstance(window, CountWindow):
        return f"{window.length} EVENTS"
    return format_duration(window.length)


def pattern_to_text(pattern: Pattern) -> str:
    """Return the canonical text of a pattern.

    >>> pattern_to_text(nodes.Sequence((Event("A", "A"), Kleene(Event("B", "b"), 1, None))))
    'SEQ(A, B+ b[])'
    """
    counts = Counter(event.type for event in find(pattern, Event))
    once = frozenset(name for name, count in counts.items() if count == 1)
    return _pattern(pattern, once)


def _pattern(pattern: Pattern, once: frozenset[str]) -> str:
    match pattern:
        case Event():
            return _event(pattern, "", "", once)
        case Kleene(operand=Event() as event):
            return _event(event, _quantifier(pattern), "[]", once)
        case Kleene(operand=operand):
            return f"({_pattern(operand, once)}){_quantifier(pattern)}"
        case nodes.Negation(operand=operand):
            return f"NOT {_pattern(operand, once)}"
        case nodes.Operator():
            operands = ", ".join(_pattern(operand, once) for operand in pattern.operands)
            return f"{OPERATOR_WORDS[type(pattern)]}({operands})"


def _event(event: Event, quantifier: str, brackets: str, once: frozenset[str]) -> str:
    name = quote_name(event.type)
    if event.variable == event.type and event.type in once:
        return name + quantifier
    return f"{name}{quantifier} {quote_name(event.variable)}{brackets}"


def _quantifier(kleene: Kleene) -> str:
    match kleene.least, kleene.most:
        case 1, None:
            return "+"
        case 0, None:
            return "*"
        case 0, 1:
            return "?"
        case least, None:
            return f"{{{least},}}"
        case least, most:
            return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def expression_to_text(expression: Predicate) -> str:
    """Return the canonical text of an expression or of an equivalence.

    >>> from weft.schema import LONG
    >>> expression_to_text(
    ...     Comparison("<", Attribute("a", "x"), expressions.Negate(Attribute("b", "odd name")))
    ... )
    'a.x < -b."odd name"'
    """
    return _expression(expression, _OR)


def _expression(expression: Predicate, place: int) -> str:
    text, binding = _render(expression)
    return f"({text})" if binding < place else text


def _render(expression: Predicate) -> tuple[str, int]:
    match expression:
        case expressions.Cast(operand=operand):
            return _render(operand)
        case Literal():
            return _literal(expression)
        case Attribute():
            return _attribute(expression), _ATOM
        case expressions.Aggregate() | expressions.CountTrends():
            return aggregate_to_text(expression), _ATOM
        case expressions.Suppressed():
            return "SUPPRESSED()", _ATOM
        case expressions.Absolute(operand=operand):
            return f"ABS({_expression(operand, _OR)})", _ATOM
        case expressions.Equivalence(attributes=attributes):
            return f"[{', '.join(map(quote_name, attributes))}]", _ATOM
        case expressions.Negate(operand=operand):
            return f"-{_expression(operand, _ATOM)}", _UNARY
        case expressions.Arithmetic(operator=operator, left=left, right=right):
            own = _SUM if operator in "+-" else _PRODUCT
            return f"{_expression(left, own)} {operator} {_expression(right, own + 1)}", own
        case expressions.Or(operands=operands):
            return " OR ".join(_expression(operand, _AND) for operand in operands), _OR
        case expressions.And(operands=operands):
            return " AND ".join(_expression(operand, _NOT) for operand in operands), _AND
        case _:
            return _render_predicate(expression)


def _render_predicate(expression: Comparison | Not | IsNull | InList | Like) -> tuple[str, int]:
    match expression:
        case Comparison(operator=operator, left=left, right=right):
            return f"{_expression(left, _SUM)} {operator} {_expression(right, _SUM)}", _COMPARISON
        case Not(operand=IsNull() | InList() | Like() as inside):
            return f"{_expression(inside.operand, _SUM)} {_test_text(inside, 'NOT ')}", _COMPARISON
        case Not(operand=operand):
            return f"NOT {_expression(operand, _NOT)}", _NOT
        case _:
            return f"{_expression(expression.operand, _SUM)} {_test_text(expression, '')}", _COMPARISON


def _test_text(test: IsNull | InList | Like, negation: str) -> str:
    match test:
        case IsNull():
            return f"IS {negation}NULL"
        case InList(values=values):
            return f"{negation}IN ({', '.join(_literal(value)[0] for value in values)})"
        case Like(pattern=pattern):
            return f"{negation}LIKE {quote_text(pattern)}"


def _attribute(attribute: Attribute) -> str:
    if not attribute.variable:  # a name that binding reads as a text
        return quote_name(attribute.name)
    variable = quote_name(attribute.variable)
    name = attribute.name[1:] if attribute.name in INTRINSIC else attribute.name
    owner = {
        "each": variable,
        "current": f"{variable}[i]",
        "previous": f"{variable}[i-1]",
        "first": f"FIRST({variable})",
        "last": f"LAST({variable})",
    }[attribute.place]
    return f"{owner}.{quote_name(name, after_dot=True)}"


def _literal(literal: Literal) -> tuple[str, int]:
    value = literal.value
    match literal.type.kind:
        case _ if value is None:
            return "NULL", _ATOM
        case "boolean":
            return ("TRUE" if value else "FALSE"), _ATOM
        case "string":
            return quote_text(str(value)), _ATOM
        case "timestamp":
            return f"TIMESTAMP {quote_text(format_timestamp(int(value)))}", _ATOM
        case "date":
            return f"DATE {quote_text(format_date(int(value)))}", _ATOM
        case "duration":
            text = format_duration(int(value))
        case "decimal":
            text = _plain_decimal(Decimal(value))
        case _:
            text = repr(value)
    return text, (_UNARY if text.startswith("-") else _ATOM)


def _plain_decimal(value: Decimal) -> str:
    """Write a decimal without the zeros that only its scale asks for."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
