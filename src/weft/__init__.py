"""Complex event processing for Spark: many patterns, one shared plan.

What is exported is imported when it is first asked for: a worker process, which needs the runtime
alone, starts in half the time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.adaptation.settings import Adaptation
    from weft.api.planning import load_plan, save_plan
    from weft.api.session import Detection, StreamDetection, detect, prepare, prepare_stream
    from weft.errors import BudgetError, DataError, QueryError, WeftError
    from weft.explain.plans import explain
    from weft.hosts.spark.placed_stream import transfers_in
    from weft.hosts.spark.stream import changes_in, late_in, matches_in, trends_in
    from weft.hosts.spark.stream_metrics import StreamMonitor
    from weft.language.binder import bind
    from weft.language.parser import parse
    from weft.language.printer import to_text
    from weft.optimizer.stored_plan import StoredPlan
    from weft.pattern.nodes import Query
    from weft.placement.network import Network
    from weft.runtime.budget import Budget
    from weft.statistics.file import load_statistics, save_statistics
    from weft.statistics.model import Statistics

__all__ = [
    "Adaptation",
    "Budget",
    "BudgetError",
    "DataError",
    "Detection",
    "Network",
    "Query",
    "QueryError",
    "Statistics",
    "StoredPlan",
    "StreamDetection",
    "StreamMonitor",
    "WeftError",
    "bind",
    "changes_in",
    "detect",
    "explain",
    "late_in",
    "load_plan",
    "load_statistics",
    "matches_in",
    "parse",
    "prepare",
    "prepare_stream",
    "save_plan",
    "save_statistics",
    "to_text",
    "transfers_in",
    "trends_in",
]

_HOMES = {
    "Adaptation": "weft.adaptation.settings",
    "Budget": "weft.runtime.budget",
    "BudgetError": "weft.errors",
    "DataError": "weft.errors",
    "Detection": "weft.api.detection",
    "Network": "weft.placement.network",
    "Query": "weft.pattern.nodes",
    "QueryError": "weft.errors",
    "Statistics": "weft.statistics.model",
    "StoredPlan": "weft.optimizer.stored_plan",
    "StreamDetection": "weft.api.stream_detection",
    "StreamMonitor": "weft.hosts.spark.stream_metrics",
    "WeftError": "weft.errors",
    "bind": "weft.language.binder",
    "changes_in": "weft.hosts.spark.stream",
    "detect": "weft.api.session",
    "explain": "weft.explain.plans",
    "late_in": "weft.hosts.spark.stream",
    "load_plan": "weft.api.planning",
    "load_statistics": "weft.statistics.file",
    "matches_in": "weft.hosts.spark.stream",
    "parse": "weft.language.parser",
    "prepare": "weft.api.session",
    "prepare_stream": "weft.api.session",
    "save_plan": "weft.api.planning",
    "save_statistics": "weft.statistics.file",
    "to_text": "weft.language.printer",
    "transfers_in": "weft.hosts.spark.placed_stream",
    "trends_in": "weft.hosts.spark.stream",
}


def __getattr__(name: str) -> object:
    """Import an exported name."""
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
