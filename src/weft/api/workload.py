"""A workload: queries bound to events, and how they are to be detected."""

from dataclasses import dataclass
from typing import Any

from weft.api.options import Sites, Streaming
from weft.hosts.host import Host
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Query
from weft.runtime.budget import Budget, OnBudget
from weft.statistics.model import Statistics


@dataclass(frozen=True)
class Workload:
    """Queries bound to events that are there or still to come, and the options of their detection."""

    host: Host[Any]
    queries: tuple[Query, ...]
    planning: Planning
    budget: Budget
    partitions: int | None
    statistics: Statistics | None  # those given
    streaming: Streaming
    sites: Sites | None
    on_budget: OnBudget
    warns: bool = True  # whether notices are warnings too
