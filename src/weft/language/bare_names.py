"""Names written without a variable: whose attribute each should be, or the text it stands for."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from weft.errors import Problem
from weft.expressions import Aggregate, Attribute, Comparison, Expression, Literal
from weft.language.findings import Findings
from weft.language.lexer import quote_name, quote_text
from weft.language.printer import expression_to_text
from weft.schema import BOOLEAN, STRING, Schema
from weft.tree import transform_up


def missing_variable(mention: Attribute | Aggregate, variables: Collection[str]) -> Problem:
    """Return the problem of an attribute that is written without a variable.

    >>> missing_variable(Attribute("", "price"), {"a", "b"}).hint
    'say whose attribute it is: a.price'
    """
    name = mention.name or ""
    shown = quote_name(name)
    if name in variables:
        example = expression_to_text(replace(mention, variable=name, name="x"))
        return Problem(f"{shown} is a variable, not a value", mention.span, f"name an attribute: {example}")
    example = quote_name(min(variables, default="v"))
    hint = f"say whose attribute it is: {example}.{quote_name(name, after_dot=True)}"
    return Problem(f"the attribute {shown} has no variable", mention.span, hint)


def read_names_as_texts(
    expression: Expression, schema: Schema | None, variables: Collection[str], findings: Findings
) -> Expression:
    """Return an expression in which each name compared with a string attribute is a text.

    The parser leaves a name without a variable only as one side of `=` or `!=`, an attribute being
    the other. A name that is an attribute itself lacks its variable, rather than its quotes.

    >>> pool = Comparison("=", Attribute("r", "type"), Attribute("", "Pool"))
    >>> read_names_as_texts(pool, None, {"r"}, Findings()).right
    Literal(value='Pool', type=Type(kind='string', scale=0))
    """

    def read(node: Any) -> Any:
        if type(node) is not Comparison:
            return node
        for side, name, other in (("left", node.left, node.right), ("right", node.right, node.left)):
            if type(name) is Attribute and not name.variable:
                if _is_text(name, other, schema):
                    text: dict[str, Any] = {side: Literal(name.name, STRING, name.span)}
                    return replace(node, **text)
                problem = missing_variable(name, variables)
                hint = f"{problem.hint}; a text is written in quotes: {quote_text(name.name)}"
                findings.note(replace(problem, hint=hint))
                return Literal(value=True, type=BOOLEAN, span=node.span)
        return node

    return transform_up(expression, read)


def _is_text(name: Attribute, other: Expression, schema: Schema | None) -> bool:
    """Return whether a name beside an attribute stands for a text, not for an attribute itself."""
    if schema is None:
        return True
    beside = schema.type_of(other.name) if isinstance(other, Attribute) else None
    return beside in (STRING, None) and schema.type_of(name.name) is None
