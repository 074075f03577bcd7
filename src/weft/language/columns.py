"""Name the columns of RETURN, and check their names."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from weft.errors import Problem
from weft.expressions import Aggregate, Attribute, Cast, CountTrends, Expression
from weft.language.lexer import quote_name
from weft.pattern.nodes import Query, ReturnColumn

RESERVED_COLUMNS = ("query", "match_id", "start", "end", "events")
RESERVED_TREND_COLUMNS = ("query", "window_start", "window_end", "beyond")


def default_column_name(expression: Expression, position: int, *, is_trend: bool = False) -> str:
    """Return the name of a RETURN column written without AS; positions count from 1.

    >>> default_column_name(Attribute("gate", "person"), 1)
    'gate_person'
    >>> default_column_name(Aggregate("sum", "t", "price"), 2, is_trend=True)
    'SUM(t.price)'
    """
    while isinstance(expression, Cast):
        expression = expression.operand
    if isinstance(expression, Attribute) and expression.place == "each":
        return expression.name if is_trend else f"{expression.variable}_{expression.name}"
    if is_trend and isinstance(expression, Aggregate | CountTrends):
        return aggregate_to_text(expression)
    return f"column{position}"


def name_columns(query: Query) -> Query:
    """Return a query in which the columns written without AS have their default names.

    >>> from weft.pattern.nodes import Event
    >>> query = Query("q", Event("Gate", "g"), returns=(ReturnColumn("", Attribute("g", "person")),))
    >>> [column.name for column in name_columns(query).returns]
    ['g_person']
    """
    names = (
        column.name or default_column_name(column.expression, position, is_trend=query.is_trend)
        for position, column in enumerate(query.returns, 1)
    )
    named = (replace(column, name=name) for column, name in zip(query.returns, names, strict=True))
    return replace(query, returns=tuple(named))


def aggregate_to_text(aggregate: Aggregate | CountTrends) -> str:
    """Return the canonical text of an aggregate.

    >>> aggregate_to_text(CountTrends())
    'COUNT(*)'
    """
    if isinstance(aggregate, CountTrends):
        return "COUNT(*)"
    attribute = "" if aggregate.name is None else "." + quote_name(aggregate.name, after_dot=True)
    function = "COUNT(DISTINCT " if aggregate.function == "distinct" else f"{aggregate.function.upper()}("
    return f"{function}{quote_name(aggregate.variable)}{attribute})"


def check_column_names(columns: Iterable[ReturnColumn], *, is_trend: bool = False) -> Iterator[Problem]:
    """Yield the problems of column names: reserved ones, and ones used twice, whatever their case.

    >>> from weft.schema import LONG
    >>> from weft.expressions import Literal
    >>> [problem.message for problem in check_column_names([ReturnColumn("Start", Literal(1, LONG))])]
    ['the column name Start is reserved: every match has a column start']
    """
    reserved = RESERVED_TREND_COLUMNS if is_trend else RESERVED_COLUMNS
    owner = "every result of a trend query" if is_trend else "every match"
    seen: set[str] = set()
    for column in columns:
        folded = column.name.casefold()
        if folded in reserved:
            message = f"the column name {column.name} is reserved: {owner} has a column {folded}"
            yield Problem(message, column.span, f"choose another name, such as AS {folded}_value")
        elif folded in seen:
            message = f"two columns are named {column.name}"
            yield Problem(message, column.span, "name one of them otherwise with AS")
        seen.add(folded)
