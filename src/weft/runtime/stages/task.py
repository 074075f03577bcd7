"""The envelope of a task: all that a worker needs to run the shards of a stage.

Little is imported here: Spark asks a stateful operator for its state in a process of its own, which needs no
more than this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.schema import Type

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.plan.trend_sets import Sharing
    from weft.runtime.stages.shard_executor import Adapter
    from weft.runtime.stages.slices import TimeSlices


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
    sharing: "Sharing | None" = None  # of templates; None: there is a plan
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

    run: str  # a name that no other run has
    id_is_text: bool
    budget: Budget
    groups: tuple[GroupTask, ...] = ()
    group_of: Mapping[str, int] = field(default_factory=dict)  # shard -> group
    sites: SitesTask | None = None
    returned: Mapping[str, Type] = field(default_factory=dict)
    return_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    trends: "Mapping[str, pa.DataType]" = field(default_factory=dict)
    trend_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    assignment: str = ""
    delay: int | None = None
    is_batch: bool = False
    analyze: bool = False  # whether reports say what was done in detail
    has_reports: bool = True
