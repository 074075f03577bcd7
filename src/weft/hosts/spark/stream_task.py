"""What travels to the stateful operator of a stream, and the names of its columns.

Little is imported here: Spark asks the operator for its state in a process of its own, which needs
no more than this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.schema import Schema, Type

if TYPE_CHECKING:
    import pyarrow as pa

    from weft.adaptation.settings import Adaptation
    from weft.pattern.nodes import Query
    from weft.plan.trend_sets import Sharing
    from weft.statistics.model import Statistics

SHARD, PACK, NEWS = "weft_shard", "weft_pack", "weft_news"  # NEWS: the report of a step, with its first pack
STEPPED = f"{SHARD} string, {NEWS} string, {PACK} binary"  # what comes out of the operator
KIND, TREND = "kind", "trend"  # columns of outcomes
MATCH, LATE, REPORT = "match", "late", "report"  # kinds of outcomes besides trends


@dataclass(frozen=True)
class PartTask:
    """What the shards of a part do: follow a plan, or templates of trend queries; these travel as JSON."""

    plan: str
    layout: Layout
    fingerprints: Mapping[str, str]
    is_owner: bool  # whether the packs say who accounts for a row
    sharing: "Sharing | None" = None  # of templates; None: there is a plan
    adapted: "AdaptedPart | None" = None


@dataclass(frozen=True)
class AdaptedPart:
    """What it takes to plan the queries of a part anew; the choice behind its plan travels as JSON."""

    queries: tuple["Query", ...]
    schema: Schema
    choice: str
    statistics: "Statistics"
    adaptation: "Adaptation"


@dataclass(frozen=True)
class StreamTask:
    """All that the operator needs."""

    run: str  # a name that no other stream has
    parts: tuple[PartTask, ...]
    part_of: Mapping[str, int]  # shard -> part
    id_is_text: bool
    returned: Mapping[str, Type]
    return_names: Mapping[str, tuple[str, ...]]
    budget: Budget
    delay: int
    n_shards: int
    trend_columns: "Mapping[str, pa.DataType]" = field(default_factory=dict)  # of all trend queries
    trend_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # query -> its columns
