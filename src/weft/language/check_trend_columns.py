"""Check what a trend query returns: attributes of the group, and aggregates."""

from weft.expressions import Aggregate, Attribute, CountTrends
from weft.language.columns import RESERVED_TREND_COLUMNS
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.language.locate import key_span
from weft.language.printer import expression_to_text
from weft.pattern.nodes import Query, ReturnColumn


def check_trend_column(column: ReturnColumn, group_by: tuple[str, ...], findings: Findings) -> None:
    """Report a column that is neither an attribute of the group nor one aggregate."""
    expression = column.expression
    if isinstance(expression, Aggregate | CountTrends):
        return
    text = expression_to_text(expression)
    if isinstance(expression, Attribute) and expression.place == "each":
        if expression.name not in group_by:
            name = quote_name(expression.name)
            hint = f"write GROUP BY {name}, or aggregate it, as in MAX({text})"
            findings.complain(f"{text} is shown, but not in GROUP BY", expression.span, hint)
        return
    message = f"a column of a trend query is an attribute of the group or one aggregate, found {text}"
    hint = "return the aggregates themselves, and calculate with the result"
    findings.complain(message, expression.span, hint)


def check_trend_result(query: Query, source: str, findings: Findings) -> None:
    """Report a result without aggregates, and names that the columns of the group take from others."""
    if not any(isinstance(column.expression, Aggregate | CountTrends) for column in query.returns):
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
            findings.complain(message, key_span(source, query, "GROUP", name), hint)
        elif folded in taken:
            message = f"the column name {taken[folded].name} is taken: GROUP BY {attribute} has a column too"
            findings.complain(message, taken[folded].span, "name the column otherwise with AS")
        else:
            taken[folded] = ReturnColumn(name, CountTrends(), key_span(source, query, "GROUP", name))
