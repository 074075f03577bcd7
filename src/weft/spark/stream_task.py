"""What travels to the stateful operator of a stream, and the names of its columns.

Little is imported here: Spark asks the operator for its state in a process of its own, which needs
no more than this.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.runtime.budget import Budget
from weft.runtime.layout import Layout
from weft.schema import Type

SHARD, PACK = "weft_shard", "weft_pack"
KIND = "kind"
MATCH, LATE, REPORT = "match", "late", "report"


@dataclass(frozen=True)
class PartTask:
    """What the shards of a part do; the plan travels as JSON."""

    plan: str
    layout: Layout
    fingerprints: Mapping[str, str]
    is_owner: bool  # whether the packs say who accounts for a row


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
