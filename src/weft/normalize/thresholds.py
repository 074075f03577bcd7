"""Turn what RETURN and HAVING say of aggregates into expressions on columns that the machine computes."""

from dataclasses import dataclass, field, replace
from typing import Any

from weft.expressions import OF_SINGLE_EVENTS, Aggregate, Attribute, CountTrends, Expression, type_of
from weft.normalize.split_alternatives import positive_variables
from weft.normalize.trend_conditions import refusal
from weft.pattern.nodes import Event, Query, ReturnColumn
from weft.plan.template import EVENT, TrendColumn
from weft.schema import Type
from weft.tree import find, transform_up

_HINT = "return COUNT(*), aggregates, and attributes of GROUP BY"


@dataclass
class Inputs:
    """The aggregates and attributes of the group that the expressions of a query mention, each once.

    An expression has in their places the attributes `$0."0"`, `$0."1"`, ... of the result at hand.
    """

    query: Query
    all: dict[TrendColumn, Attribute] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[TrendColumn, ...]:
        return tuple(replace(column, column=own.name) for column, own in self.all.items())

    def column_of(self, written: ReturnColumn) -> TrendColumn:
        """Return the column of the result that RETURN asks for."""
        plain = self._plain(written.expression)
        if plain is not None:
            return replace(plain, column=written.name)
        expression = self.expression(written.expression)
        return TrendColumn(written.name, None, None, None, _type_of(expression), expression)

    def expression(self, written: Expression) -> Expression:
        """Return an expression on the columns of a result."""
        if not any(any(find(written, kind)) for kind in (Aggregate, CountTrends, Attribute)):
            raise refusal(self.query, "an expression of results without any aggregate", written.span, _HINT)

        def read(node: Any) -> Any:
            if not isinstance(node, Aggregate | CountTrends | Attribute):
                return node
            column = self._plain(node)
            if column is not None:
                kind = column.type if isinstance(node, Attribute) else _type_of(node)
                return self.all.setdefault(column, Attribute(EVENT, str(len(self.all)), "each", kind))
            assert isinstance(node, Attribute)
            message = f"the attribute {node.name} is not in GROUP BY"
            raise refusal(self.query, message, node.span, _HINT)

        return transform_up(written, read)

    def _plain(self, expression: Expression) -> TrendColumn | None:
        """Return an aggregate or an attribute of the group as a column without a name."""
        match expression:
            case CountTrends():
                return TrendColumn("", "count", None, None, None)
            case Aggregate(function=function, variable=variable, name=name, argument_type=argument_type):
                if function in OF_SINGLE_EVENTS and not isinstance(self.query.pattern, Event):
                    message = f"{function.upper()} needs a pattern that is a single event"
                    raise refusal(self.query, message, expression.span, _HINT)
                if variable in positive_variables(self.query.pattern):
                    return TrendColumn("", function, variable, name, argument_type)
                message = f"{function.upper()} of {variable}, which no trend binds"
                hint = "take the aggregate of an event that is not negated"
                raise refusal(self.query, message, expression.span, hint)
            case Attribute(name=name, type=kind, place="each") if name in self.query.group_by:
                return TrendColumn("", None, None, name, kind)
        return None


def written_again(expression: Expression, inputs: tuple[TrendColumn, ...]) -> Expression:
    """Return an expression with the aggregates that it is made of, to be shown.

    >>> from weft.schema import LONG
    >>> trends = TrendColumn("0", "count", None, None, None)
    >>> written_again(Attribute(EVENT, "0", "each", LONG), (trends,))
    CountTrends()
    """
    named = {column.column: column for column in inputs}

    def write(node: Any) -> Any:
        if not isinstance(node, Attribute) or node.name not in named:
            return node
        column = named[node.name]
        if column.function is None:
            return Attribute("", column.name or "", "each", column.type)
        if column.variable is None:
            return CountTrends()
        return Aggregate(column.function, column.variable, column.name, column.type)

    return transform_up(expression, write)


def _type_of(expression: Expression) -> Type | None:
    try:
        return type_of(expression)
    except ValueError:  # without a schema
        return None
