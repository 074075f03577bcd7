"""Complex event processing for Spark: many patterns, one shared plan.

What is exported is imported when it is first asked for: a worker process, which needs the runtime
alone, starts in half the time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.adaptation.settings import Adaptation as Adaptation
    from weft.api.detect import detect as detect
    from weft.api.detect import prepare as prepare
    from weft.api.detection import Detection as Detection
    from weft.api.options import Columns as Columns
    from weft.api.options import Sites as Sites
    from weft.api.options import Streaming as Streaming
    from weft.api.planning import load_plan as load_plan
    from weft.api.planning import save_plan as save_plan
    from weft.diagnosis.why import Why as Why
    from weft.errors import BudgetError as BudgetError
    from weft.errors import DataError as DataError
    from weft.errors import QueryError as QueryError
    from weft.errors import WeftError as WeftError
    from weft.explanation.analysis import Analysis as Analysis
    from weft.explanation.analysis import CountedOutcomes as CountedOutcomes
    from weft.explanation.plans import explain as explain
    from weft.hosts.local.result_table import ResultTable as ResultTable
    from weft.hosts.spark.failures import plain_failures as plain_failures
    from weft.hosts.spark.monitor import StreamMonitor as StreamMonitor
    from weft.hosts.spark.outcomes import Outcomes as Outcomes
    from weft.language.binder import bind as bind
    from weft.language.builder import QueryBuilder as QueryBuilder
    from weft.language.builder import and_ as and_
    from weft.language.builder import count_trends as count_trends
    from weft.language.builder import event as event
    from weft.language.builder import not_ as not_
    from weft.language.builder import or_ as or_
    from weft.language.builder import query as query
    from weft.language.builder import repeat as repeat
    from weft.language.builder import same as same
    from weft.language.builder import seq as seq
    from weft.language.builder import some as some
    from weft.language.builder import suppressed as suppressed
    from weft.language.parser import parse as parse
    from weft.language.printer import to_text as to_text
    from weft.language.terms import constant as constant
    from weft.notices import Notice as Notice
    from weft.notices import NoticeWarning as NoticeWarning
    from weft.optimizer.planning import Planning as Planning
    from weft.optimizer.search import Search as Search
    from weft.optimizer.stored_plan import StoredPlan as StoredPlan
    from weft.pattern.nodes import Query as Query
    from weft.placement.network import Network as Network
    from weft.runtime.budget import Budget as Budget
    from weft.schema import Schema as Schema
    from weft.statistics.file import load_statistics as load_statistics
    from weft.statistics.file import save_statistics as save_statistics
    from weft.statistics.model import Statistics as Statistics

__version__ = "0.1.0"

_EXPORTS = {
    "adaptation.settings": "Adaptation",
    "api.detect": "detect prepare",
    "api.detection": "Detection",
    "api.options": "Columns Sites Streaming",
    "api.planning": "load_plan save_plan",
    "diagnosis.why": "Why",
    "errors": "BudgetError DataError QueryError WeftError",
    "explanation.plans": "explain",
    "explanation.analysis": "Analysis CountedOutcomes",
    "hosts.local.result_table": "ResultTable",
    "hosts.spark.failures": "plain_failures",
    "hosts.spark.monitor": "StreamMonitor",
    "hosts.spark.outcomes": "Outcomes",
    "language.binder": "bind",
    "language.builder": "QueryBuilder and_ count_trends event not_ or_ query repeat same seq some suppressed",
    "language.parser": "parse",
    "language.printer": "to_text",
    "language.terms": "constant",
    "notices": "Notice NoticeWarning",
    "optimizer.planning": "Planning",
    "optimizer.stored_plan": "StoredPlan",
    "optimizer.search": "Search",
    "pattern.nodes": "Query",
    "placement.network": "Network",
    "runtime.budget": "Budget",
    "schema": "Schema",
    "statistics.file": "load_statistics save_statistics",
    "statistics.model": "Statistics",
}
_HOMES = {name: module for module, names in _EXPORTS.items() for name in names.split()}

__all__ = sorted([*_HOMES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """Import an exported name."""
    if name == "testing":
        return import_module("weft.testing")
    if name not in _HOMES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    exported: object = getattr(import_module(f"weft.{_HOMES[name]}"), name)
    globals()[name] = exported
    return exported


def __dir__() -> list[str]:
    return __all__
