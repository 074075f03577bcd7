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
    from weft.language.builder import (
        QueryBuilder,
        and_,
        constant,
        count_trends,
        event,
        not_,
        or_,
        query,
        repeat,
        same,
        seq,
        some,
    )
    from weft.language.parser import parse
    from weft.language.printer import to_text
    from weft.optimizer.stored_plan import StoredPlan
    from weft.pattern.nodes import Query
    from weft.placement.network import Network
    from weft.runtime.budget import Budget
    from weft.schema import Schema
    from weft.statistics.file import load_statistics, save_statistics
    from weft.statistics.model import Statistics

__version__ = "0.1.0"

__all__ = [
    "Adaptation",
    "Budget",
    "BudgetError",
    "DataError",
    "Detection",
    "Network",
    "Query",
    "QueryBuilder",
    "QueryError",
    "Schema",
    "Statistics",
    "StoredPlan",
    "StreamDetection",
    "StreamMonitor",
    "WeftError",
    "__version__",
    "and_",
    "bind",
    "changes_in",
    "constant",
    "count_trends",
    "detect",
    "event",
    "explain",
    "late_in",
    "load_plan",
    "load_statistics",
    "matches_in",
    "not_",
    "or_",
    "parse",
    "prepare",
    "prepare_stream",
    "query",
    "repeat",
    "same",
    "save_plan",
    "save_statistics",
    "seq",
    "some",
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
    "QueryBuilder": "weft.language.builder",
    "QueryError": "weft.errors",
    "Schema": "weft.schema",
    "Statistics": "weft.statistics.model",
    "StoredPlan": "weft.optimizer.stored_plan",
    "StreamDetection": "weft.api.stream_detection",
    "StreamMonitor": "weft.hosts.spark.stream_metrics",
    "WeftError": "weft.errors",
    "and_": "weft.language.builder",
    "bind": "weft.language.binder",
    "changes_in": "weft.hosts.spark.stream",
    "constant": "weft.language.builder",
    "count_trends": "weft.language.builder",
    "detect": "weft.api.session",
    "event": "weft.language.builder",
    "explain": "weft.explain.plans",
    "late_in": "weft.hosts.spark.stream",
    "load_plan": "weft.api.planning",
    "load_statistics": "weft.statistics.file",
    "matches_in": "weft.hosts.spark.stream",
    "not_": "weft.language.builder",
    "or_": "weft.language.builder",
    "parse": "weft.language.parser",
    "prepare": "weft.api.session",
    "prepare_stream": "weft.api.session",
    "query": "weft.language.builder",
    "repeat": "weft.language.builder",
    "same": "weft.language.builder",
    "save_plan": "weft.api.planning",
    "save_statistics": "weft.statistics.file",
    "seq": "weft.language.builder",
    "some": "weft.language.builder",
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
