"""Name the columns of RETURN, and check their names."""

from collections.abc import Iterable, Iterator

from weft.errors import Problem
from weft.expressions import Attribute, Cast, Expression
from weft.pattern.nodes import ReturnColumn

RESERVED_COLUMNS = ("query", "match_id", "start", "end", "events")


def default_column_name(expression: Expression, position: int) -> str:
    """Return the name of a RETURN column written without AS; positions count from 1.

    >>> default_column_name(Attribute("gate", "person"), 1)
    'gate_person'
    """
    while isinstance(expression, Cast):
        expression = expression.operand
    if isinstance(expression, Attribute) and expression.place == "each":
        return f"{expression.variable}_{expression.name}"
    return f"column{position}"


def check_column_names(columns: Iterable[ReturnColumn]) -> Iterator[Problem]:
    """Yield the problems of column names: reserved ones, and ones used twice, whatever their case.

    >>> from weft.schema import LONG
    >>> from weft.expressions import Literal
    >>> [problem.message for problem in check_column_names([ReturnColumn("Start", Literal(1, LONG))])]
    ['the column name Start is reserved: every match has a column start']
    """
    seen: set[str] = set()
    for column in columns:
        folded = column.name.casefold()
        if folded in RESERVED_COLUMNS:
            message = f"the column name {column.name} is reserved: every match has a column {folded}"
            yield Problem(message, column.span, f"choose another name, such as AS {folded}_value")
        elif folded in seen:
            message = f"two RETURN columns are named {column.name}"
            yield Problem(message, column.span, "name one of them otherwise with AS")
        seen.add(folded)
