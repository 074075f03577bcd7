"""What travels to the stateful operators of a placed stream, and the names of their columns.

Little is imported here: Spark asks each operator for its state in a process of its own, which needs no more.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.schema import Type

ROLE = "weft_role"  # of a pack on its way from level to level
DISTINCT = "distinct "  # the role of matches that may come several times; with the query, where they meet


@dataclass(frozen=True)
class PlacedTask:
    """All that an operator needs; the program travels as JSON, and `name` tells it from any other."""

    run: str  # a name that no other stream has
    program: str
    name: str
    layout: Layout
    id_is_text: bool
    returned: Mapping[str, Type]
    return_names: Mapping[str, tuple[str, ...]]
    budget: Budget


def report_name(site: str, level: int) -> str:
    """Return the name under which a site reports what it did at a level."""
    return f"{site} level {level}"
