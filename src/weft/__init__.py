"""Complex event processing for Spark: many patterns, one shared plan.

What is exported is imported when it is first asked for: a worker process, which needs the runtime
alone, starts in half the time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.adaptation.settings import Adaptation
    from weft.api.detect import detect, prepare
    from weft.api.detection import Detection
    from weft.api.options import Columns, Sites, Streaming
    from weft.api.planning import load_plan, save_plan
    from weft.errors import BudgetError, DataError, QueryError, WeftError
    from weft.explanation.plans import explain
    from weft.hosts.spark.analyze import Analysis
    from weft.hosts.spark.monitor import StreamMonitor
    from weft.hosts.spark.outcomes import Outcomes
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
    from weft.optimizer.planning import Planning
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
    "Analysis",
    "Budget",
    "BudgetError",
    "Columns",
    "DataError",
    "Detection",
    "Network",
    "Outcomes",
    "Planning",
    "Query",
    "QueryBuilder",
    "QueryError",
    "Schema",
    "Sites",
    "Statistics",
    "StoredPlan",
    "StreamMonitor",
    "Streaming",
    "WeftError",
    "__version__",
    "and_",
    "bind",
    "constant",
    "count_trends",
    "detect",
    "event",
    "explain",
    "load_plan",
    "load_statistics",
    "not_",
    "or_",
    "parse",
    "prepare",
    "query",
    "repeat",
    "same",
    "save_plan",
    "save_statistics",
    "seq",
    "some",
    "to_text",
]

_HOMES = {
    "Adaptation": "weft.adaptation.settings",
    "Analysis": "weft.hosts.spark.analyze",
    "Budget": "weft.runtime.budget",
    "BudgetError": "weft.errors",
    "Columns": "weft.api.options",
    "DataError": "weft.errors",
    "Detection": "weft.api.detection",
    "Network": "weft.placement.network",
    "Outcomes": "weft.hosts.spark.outcomes",
    "Planning": "weft.optimizer.planning",
    "Query": "weft.pattern.nodes",
    "QueryBuilder": "weft.language.builder",
    "QueryError": "weft.errors",
    "Schema": "weft.schema",
    "Sites": "weft.api.options",
    "Statistics": "weft.statistics.model",
    "StoredPlan": "weft.optimizer.stored_plan",
    "StreamMonitor": "weft.hosts.spark.monitor",
    "Streaming": "weft.api.options",
    "WeftError": "weft.errors",
    "and_": "weft.language.builder",
    "bind": "weft.language.binder",
    "constant": "weft.language.builder",
    "count_trends": "weft.language.builder",
    "detect": "weft.api.detect",
    "event": "weft.language.builder",
    "explain": "weft.explanation.plans",
    "load_plan": "weft.api.planning",
    "load_statistics": "weft.statistics.file",
    "not_": "weft.language.builder",
    "or_": "weft.language.builder",
    "parse": "weft.language.parser",
    "prepare": "weft.api.detect",
    "query": "weft.language.builder",
    "repeat": "weft.language.builder",
    "same": "weft.language.builder",
    "save_plan": "weft.api.planning",
    "save_statistics": "weft.statistics.file",
    "seq": "weft.language.builder",
    "some": "weft.language.builder",
    "to_text": "weft.language.printer",
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
