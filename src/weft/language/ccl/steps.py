"""The pattern of a CCL statement as it is written: steps joined by `,`, `&` and `|`, or kept out by `!`."""

from typing import Any, NamedTuple, TypeAlias

from weft.errors import Span


class Named(NamedTuple):
    """An event of the pattern."""

    alias: str
    span: Span


class Combined(NamedTuple):
    """Steps joined by one operator: `,`, `&` or `|`."""

    operator: str
    operands: list[Any]  # of Step
    span: Span


class Absent(NamedTuple):
    """A step that must not happen."""

    operand: Any  # a Step
    span: Span


Step: TypeAlias = Named | Combined | Absent
