"""Cases and short notations as Arrow tables, with detections on them that need no Spark."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from tests.helpers.engine import arrow_events
from tests.helpers.strategies import Case

import weft
from weft.api.detection import Detection
from weft.api.options import Columns
from weft.hosts.local.content import content_hashes
from weft.hosts.local.events import LocalEvents, events_in_memory
from weft.hosts.meaning import EventRoles

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


def local_events(given: Any, *, time: str = "ts", **roles: Any) -> LocalEvents:
    """Open rows in Arrow whose columns have the given roles."""
    return LocalEvents.open(events_in_memory(given), EventRoles(time=time, **roles))


def table_of_case(case: Case) -> pa.Table:
    """Return the events of a case as a table that has their types as letters too."""
    table, _ = arrow_events(case)
    letters = ["".join(sorted(event.types)) for event in case.events]
    return table.append_column("letters", pa.array(letters)).drop_columns(["__time", "__row", "__flags"])


def detection_of_case(
    case: Case, table: pa.Table | None = None, *, id: str | None = "__id", **options: object
) -> Detection:
    """Prepare a case; where events have several types, these are conditions on a column of letters."""
    types = {} if has_single_types(case) else {name: f"letters LIKE '%{name}%'" for name in "ABCDE"}
    return weft.prepare(
        table_of_case(case) if table is None else table,
        case.text,
        time="ts",
        type=None if types else "__type",
        id=id,
        columns=Columns(order_by=case.order_by, types=types),
        **options,  # type: ignore[arg-type]
    )


def among_unusable_rows(table: pa.Table, dice: random.Random) -> tuple[pa.Table, list[str]]:
    """Put copies of events that lack a time, a type or an id between them; return the reasons in order."""
    places = {"ts": "ts is not a time", "__type": "__type is NULL", "__id": "__id is NULL"}
    pieces, reasons = [], []
    for row in range(table.num_rows):
        while dice.random() < 0.4:
            name, copy = dice.choice(list(places)), table.slice(dice.randrange(table.num_rows), 1)
            place = table.schema.get_field_index(name)
            pieces.append(copy.set_column(place, name, pa.nulls(1, table.schema.field(name).type)))
            reasons.append(places[name])
        pieces.append(table.slice(row, 1))
    return pa.concat_tables(pieces), reasons


def without_ids(case: Case) -> Case:
    """Return a case in which every row is an event of its own, and its row is its identity."""
    return replace(case, events=tuple(replace(event, id=None) for event in case.events), id=None)


def content_ids(table: pa.Table) -> list[str]:
    """Return what identifies each row where there are no ids: its content, and a number if that repeats."""
    seen: Counter[str] = Counter()
    ids = []
    for content in content_hashes(table).view(np.uint64).tolist():
        own = f"{content:016x}"
        ids.append(f"{own}-{seen[own]}" if seen[own] else own)
        seen[own] += 1
    return ids


def has_single_types(case: Case) -> bool:
    """Say whether every event has one type."""
    return all(len(event.types) == 1 for event in case.events)
