"""Complex event processing for Spark: many patterns, one shared plan."""

from weft.errors import BudgetError, DataError, QueryError, WeftError
from weft.explain import explain
from weft.language.binder import bind
from weft.language.parser import parse
from weft.language.printer import to_text
from weft.pattern.nodes import Query
from weft.runtime.budget import Budget
from weft.session import Detection, detect, prepare

__all__ = [
    "Budget",
    "BudgetError",
    "DataError",
    "Detection",
    "Query",
    "QueryError",
    "WeftError",
    "bind",
    "detect",
    "explain",
    "parse",
    "prepare",
    "to_text",
]
