"""What rules find in the events of a test, as values that can be compared."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyarrow import compute

from weft.api.detect import prepare
from weft.api.detection import Detection
from weft.api.options import Columns
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Query
from weft.runtime.budget import RAISING, Budget
from weft.testing.moments import microseconds_since_epoch
from weft.testing.rule_set import RuleColumns

# Of a few events, there is nothing to learn and little to gain; what is expected is told in all digits.
PLANNING = Planning(plan="share", exact=True)
BUDGET = Budget(partial_matches=200_000)  # a test of a rule that explodes ends soon


@dataclass(frozen=True, slots=True)
class BoundEvent:
    """An event of a match: its variable, type and id, and its time in microseconds."""

    variable: str
    type: str
    time: int
    id: str


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """The events of a match in order of time; of a timeout, also the variable that is missing."""

    events: tuple[BoundEvent, ...]
    missing: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the events, sorted."""
        return tuple(sorted(event.id for event in self.events))


@dataclass(frozen=True)
class TrendResults:
    """The results of a trend query: rows of values, and the types of their columns."""

    rows: tuple[Mapping[str, Any], ...]
    types: Mapping[str, pa.DataType]


@dataclass(frozen=True)
class RuleResults:
    """What some rules find: matches, timeouts and results of trends by rule, and why others were stopped."""

    matches: Mapping[str, tuple[RuleMatch, ...]]
    timeouts: Mapping[str, tuple[RuleMatch, ...]]
    trends: Mapping[str, TrendResults]
    stopped: Mapping[str, str]

    @cached_property
    def outlines(self) -> Mapping[str, Counter[object]]:
        """For each rule, all that it finds, in a form that is equal where it finds the same."""
        outlines: dict[str, Counter[object]] = {}
        for found in (self.matches, self.timeouts):
            for name, own in found.items():
                outlines.setdefault(name, Counter()).update(own)
        for name, results in self.trends.items():
            outlines[name] = Counter(map(_row_outline, results.rows))
        return outlines


def _row_outline(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a row as text, without the last digits of doubles, which depend on the order of a sum."""
    return tuple(f"{value:.9g}" if isinstance(value, float) else str(value) for value in row.values())


def detect_rules(events: Any, rules: Sequence[Query], columns: RuleColumns) -> RuleResults:
    """Return what rules find in events; `events` is whatever `weft.detect` takes of a batch."""
    detection = prepare(
        events,
        rules,
        time=columns.time,
        type=columns.type,
        id=columns.id,
        columns=Columns(order_by=columns.order_by),
        planning=PLANNING,
        budget=BUDGET,
        notices=False,  # a test may well expect nothing
    )
    stopped = {row["query"]: _reason(row["reason"]) for row in arrow_table(detection.stopped).to_pylist()}
    complete = [query for query in detection.queries if query.name not in stopped]
    matched = [query.name for query in complete if not query.is_trend]
    timed = [query.name for query in complete if query.policy.timeouts]
    return RuleResults(
        _by_rule(matched, detection.matches, None) if matched else {},
        _by_rule(timed, detection.timeouts, "missing") if timed else {},
        {query.name: _trends(detection, query.name) for query in complete if query.is_trend},
        stopped,
    )


def _reason(told: str) -> str:
    """Return why a rule was stopped, without the advice to raise a budget that tests do not have."""
    for limit in fields(Budget):
        told = told.replace(RAISING.format(limit.name), "")
    return told


def arrow_table(frame: Any) -> pa.Table:
    """Return the rows of a frame of any host as an Arrow table."""
    return frame.toArrow() if hasattr(type(frame), "toArrow") else pa.table(frame)


def _by_rule(names: Iterable[str], frame: Any, missing: str | None) -> dict[str, tuple[RuleMatch, ...]]:
    """Return the matches of some rules in a frame, of which a column may say what is missing."""
    found: dict[str, list[RuleMatch]] = {name: [] for name in names}
    table = arrow_table(frame)
    for row in table.filter(compute.is_in(table["query"], pa.array(found, pa.string()))).to_pylist():
        events = tuple(_bound(event) for event in row["events"])
        found[row["query"]].append(RuleMatch(events, None if missing is None else row[missing]))
    return {name: tuple(sorted(own, key=_place)) for name, own in found.items()}


def _place(match: RuleMatch) -> list[tuple[int, str, str]]:
    """Return what matches are sorted by, so that they are told in the same order each time."""
    return [(event.time, event.id, event.variable) for event in match.events]


def _bound(event: Mapping[str, Any]) -> BoundEvent:
    time = microseconds_since_epoch(event["ts"]) or 0
    return BoundEvent(event["variable"], event["type"], time, str(event["id"]))


def _trends(detection: Detection, name: str) -> TrendResults:
    table = arrow_table(detection.trends_of(name))
    types = {field.name: field.type for field in table.schema}
    return TrendResults(tuple(sorted(map(_exact, table.to_pylist()), key=_row_outline)), types)


def _exact(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values of a row, also of those that are too large for their columns."""
    beyond = {name: Decimal(digits) for name, digits in dict(row.get("beyond") or {}).items()}
    return {name: beyond.get(name, value) for name, value in row.items() if name not in ("query", "beyond")}
