"""The envelope of a task: all that a worker needs to run the shards of a stage.

Little is imported here: Spark asks a stateful operator for its state in a process of its own, which needs no
more than this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from uuid import uuid4

from weft.runtime.budget import Budget, OnBudget
from weft.runtime.columns.layout import Layout
from weft.schema import Type

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.runtime.stages.shard_executor import Adapter
    from weft.runtime.stages.slices import TimeSlices

ColumnType = TypeVar("ColumnType")


@dataclass(frozen=True)
class MergedColumns(Generic[ColumnType]):
    """The columns of all queries: their types, and where each query's values are."""

    types: Mapping[str, ColumnType] = field(default_factory=dict)
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class ResultColumns:
    """The RETURN columns of queries for matches, and the columns of trend queries.

    Where some query asks for timeouts, there is a column for what is missing.
    """

    returned: MergedColumns[Type] = MergedColumns()
    trends: "MergedColumns[pa.DataType]" = MergedColumns()
    has_timeouts: bool = False


class AdapterSource(Protocol):
    """What makes the adapter of a group, in the process that runs it."""

    def adapter(self) -> "Adapter":
        """Return what changes the plan while it runs."""


@dataclass(frozen=True)
class GroupTask:
    """What the shards of a query group run: a plan, or templates of trend queries; these travel as JSON."""

    plan: str
    layout: Layout
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    is_owner: bool = False  # whether the packs say who accounts for a row
    adapted: AdapterSource | None = None


@dataclass(frozen=True)
class SitesTask:
    """What all sites run, as JSON; where a batch is cut into slices of time, these."""

    program: str
    layout: Layout
    slices: "TimeSlices | None" = None

    @property
    def name(self) -> str:
        """A name that tells the program from any other."""
        return f"placement {blake2b(self.program.encode(), digest_size=12).hexdigest()}"


@dataclass(frozen=True)
class StageTask:
    """The envelope: groups of queries by shard, or the program of sites, and the columns of outcomes."""

    id_type: "pa.DataType"
    budget: Budget
    groups: tuple[GroupTask, ...] = ()
    group_of: Mapping[str, int] = field(default_factory=dict)  # shard -> group
    sites: SitesTask | None = None
    columns: ResultColumns = ResultColumns()
    run: str = field(default_factory=lambda: uuid4().hex)  # a name that no other run has
    assignment: str = ""
    delay: int | None = None
    is_batch: bool = False
    analyze: bool = False  # whether reports say what was done in detail
    on_budget: OnBudget = "stop"
