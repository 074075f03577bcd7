"""Complex event processing for Spark: many patterns, one shared plan."""

from weft.errors import BudgetError, DataError, QueryError, WeftError
from weft.explain import explain
from weft.language.binder import bind
from weft.language.parser import parse
from weft.language.printer import to_text
from weft.optimizer.choice import Choice as StoredPlan
from weft.pattern.nodes import Query
from weft.planning import load_plan, save_plan
from weft.runtime.budget import Budget
from weft.session import Detection, StreamDetection, detect, prepare, prepare_stream
from weft.spark.stream_metrics import StreamMonitor
from weft.statistics.model import Statistics
from weft.statistics_file import load_statistics, save_statistics

__all__ = [
    "Budget",
    "BudgetError",
    "DataError",
    "Detection",
    "Query",
    "QueryError",
    "Statistics",
    "StoredPlan",
    "StreamDetection",
    "StreamMonitor",
    "WeftError",
    "bind",
    "detect",
    "explain",
    "load_plan",
    "load_statistics",
    "parse",
    "prepare",
    "prepare_stream",
    "save_plan",
    "save_statistics",
    "to_text",
]
