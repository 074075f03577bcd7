"""The report of a step: what a shard did, for people to watch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.codec import from_json, storable, stored, to_json
from weft.runtime.stages.shard_executor import Activity, PlanChange
from weft.runtime.trends.shared import Counters

REPORT = "report"


@stored
class Transfer:
    """What one site sent another of a projection: rows and bytes, and those that were predicted, if any."""

    projection: str
    source: str
    target: str
    rows: int
    bytes: int
    predicted_rows: float | None = None
    predicted_bytes: float | None = None
    channel: int | None = None


@storable
@dataclass
class Report:
    """What a step did."""

    step: int = 0
    seconds: float = 0.0
    adapting: float = 0.0  # of these seconds, with the statistics of the moment and new plans
    events: int = 0
    late: int = 0
    rejected: int = 0
    duplicates: int = 0
    repeated: int = 0  # events run again because this process had not seen them
    buffered: int = 0
    state_bytes: int = 0
    matches: Mapping[str, int] = field(default_factory=dict)
    timeouts: Mapping[str, int] = field(default_factory=dict)
    partial_matches: Mapping[str, int] = field(default_factory=dict)
    query_bytes: Mapping[str, int] = field(default_factory=dict)
    started: Sequence[str] = ()
    ended: Sequence[str] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)
    changes: Sequence[PlanChange] = ()
    sent: Sequence[Transfer] = ()  # to other sites
    sharing: Counters | None = None  # of trend queries
    activity: Activity | None = None  # where it was asked for

    def to_json(self) -> str:
        """Return the report as text.

        >>> Report.from_json(Report(step=3, sent=(Transfer("A", "x", "y", 1, 9),)).to_json()).sent[0].bytes
        9
        """
        return to_json(REPORT, self)

    @staticmethod
    def from_json(text: str) -> "Report":
        """Return the report written by `to_json`."""
        report: Report = from_json(REPORT, text)
        return report
