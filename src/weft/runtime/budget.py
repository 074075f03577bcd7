"""How much a query may cost before it is stopped, by itself or with an error."""

import logging
from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from weft.codec import stored
from weft.errors import FEWER_MATCHES, SMALLER_SEARCH, BudgetError, WeftError
from weft.plan.nodes import Node

SPLIT_ROWS = 2_000_000  # a step that builds more than this from many events is redone in halves
RAISING = ", or raise the budget (budget=weft.Budget({}=...))"  # the command line says it in its own words
LOGGER = logging.getLogger("weft")

OnBudget = Literal["stop", "error"]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits on one node of the plan in one shard; a query that exceeds one is stopped there.

    `partial_matches` bounds the rows built at one moment of event time, `held` the rows kept for events
    to come, `candidates` the pairs examined in all.
    """

    partial_matches: int = 1_000_000
    held: int = 10_000_000
    candidates: int = 100_000_000_000

    def __post_init__(self) -> None:
        if min(self.partial_matches, self.held, self.candidates) < 1:
            raise WeftError(f"every limit of a budget must be at least 1: {self}")


class StepTooLargeError(Exception):
    """A step built too much at once; the same events in smaller steps may fit."""


@stored
class NodeMetrics:
    """What a node did: the rows it gave, the candidates it examined, and the time that took."""

    rows: int = 0
    candidates: int = 0
    nanoseconds: int = 0

    def __add__(self, other: "NodeMetrics") -> "NodeMetrics":
        return NodeMetrics(
            self.rows + other.rows,
            self.candidates + other.candidates,
            self.nanoseconds + other.nanoseconds,
        )


@dataclass
class Meter:
    """Counts what the nodes of a plan do, and stops the one that exceeds its budget.

    `built` and `examined` are the rows and candidates of the kernels, in steps that were redone too;
    `rows` are those that every node gave to its readers.
    """

    budget: Budget
    readers: dict[Node, frozenset[str]]
    divisible: bool = False
    built: Counter[Node] = field(default_factory=Counter)
    examined: Counter[Node] = field(default_factory=Counter)
    rows: Counter[Node] = field(default_factory=Counter)
    nanoseconds: Counter[Node] = field(default_factory=Counter)

    @property
    def limit(self) -> int:
        """Rows that one kernel call may build."""
        most = self.budget.partial_matches
        return min(SPLIT_ROWS, most) if self.divisible else most

    def remaining(self, node: Node) -> int:
        """Candidates that a node may still examine."""
        return self.budget.candidates - self.examined[node]

    def count(self, node: Node, *, examined: int, built: int) -> None:
        self.examined[node] += examined
        self.built[node] += built

    def metrics_of(self, node: Node) -> NodeMetrics:
        """Return what a node did so far."""
        return NodeMetrics(self.rows[node], self.examined[node], self.nanoseconds[node])

    def overflow(self, node: Node, group: str) -> Exception:
        """Return the exception for a node that built more rows than the limit."""
        if self.divisible:
            return StepTooLargeError()
        return self._error(node, "partial_matches", "partial matches", group)

    def check_held(self, node: Node, n_rows: int) -> None:
        """Raise when a node keeps more rows than the budget allows."""
        if n_rows > self.budget.held:
            group = "events to come within the window"
            raise self._error(node, "held", "partial matches held", group)

    def exhaustion(self, node: Node, group: str) -> Exception:
        """Return the exception for a node that examined more candidates than the budget."""
        return self._error(node, "candidates", "candidates examined", group)

    def _error(self, node: Node, limit: str, what: str, group: str) -> BudgetError:
        return BudgetError(
            f"more than {getattr(self.budget, limit):,} {what} for {group}\n"
            f"  hint: {FEWER_MATCHES}; or bound the list ({{n,m}}), {SMALLER_SEARCH}{RAISING.format(limit)}",
            self.readers.get(node, frozenset()),
        )


class Stopped(dict[str, str]):
    """The queries that were stopped while the others went on, and why."""

    def add(self, error: BudgetError) -> None:
        """Take note of the queries that exceeded their budget; the log of the worker has it, too."""
        self.update(dict.fromkeys(error.queries, str(error)))
        LOGGER.warning("stopped, the others go on: %s", error)
