"""Cases and short notations as Arrow tables, with detections on them that need no Spark."""

from collections.abc import Sequence

import pyarrow as pa
from tests.helpers.engine import arrow_events
from tests.helpers.strategies import Case

import weft
from weft.api.detection import Detection
from weft.api.options import Columns

SECOND = 1_000_000


def table_of(rows: Sequence[Sequence[object]], names: str = "ts type id k x") -> pa.Table:
    """Return events as a table; times are seconds, and what a row does not have is NULL."""
    columns = names.split()
    values = {
        name: [row[place] if place < len(row) else None for row in rows] for place, name in enumerate(columns)
    }
    times = pa.array([round(float(str(second)) * SECOND) for second in values.pop("ts")], pa.int64())
    kinds = {name: None if name == "type" else pa.int64() for name in values}
    table = pa.table({name: pa.array(own, kinds[name]) for name, own in values.items()})
    return table.add_column(0, "ts", times.cast(pa.timestamp("us", "UTC")))


def detection_on(rows: Sequence[Sequence[object]], text: str, **options: object) -> Detection:
    """Prepare queries on events as `table_of` takes them."""
    return weft.prepare(table_of(rows), text, time="ts", type="type", id="id", **options)  # type: ignore[arg-type]


def detection_of_case(case: Case, **options: object) -> Detection:
    """Prepare a case; where events have several types, these are conditions on a column of letters."""
    table, _ = arrow_events(case)
    letters = ["".join(sorted(event.types)) for event in case.events]
    overlap = any(len(own) > 1 for own in letters)
    types = {name: f"letters LIKE '%{name}%'" for name in "ABCDE"} if overlap else {}
    return weft.prepare(
        table.append_column("letters", pa.array(letters)).drop_columns(["__time", "__row", "__flags"]),
        case.text,
        time="ts",
        type=None if overlap else "__type",
        id="__id",
        columns=Columns(order_by=case.order_by, types=types),
        **options,  # type: ignore[arg-type]
    )


def has_single_types(case: Case) -> bool:
    """Say whether every event has one type."""
    return all(len(event.types) == 1 for event in case.events)
