"""Events of the local host: rows in Arrow and what their columns mean."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import DataError
from weft.hosts.local.arrow_events import ArrowEvents
from weft.hosts.local.derived import DerivedType, derive_type
from weft.hosts.local.memory import spool_limit
from weft.hosts.local.schemas import column_kinds
from weft.hosts.local.spool import Spool
from weft.hosts.meaning import EventMeaning, EventRoles, refuse_duplicates


@dataclass(frozen=True, kw_only=True)
class LocalEvents(EventMeaning):
    """Rows in Arrow, and what their columns mean."""

    to_time: ClassVar = 'pandas.to_datetime, numbers with unit="s", "ms", "us" or "ns"'

    rows: ArrowEvents
    derived: Mapping[str, DerivedType] = field(default_factory=dict)

    @classmethod
    def open(cls, rows: ArrowEvents, roles: EventRoles) -> "LocalEvents":
        """Return the meaning of rows whose columns have the roles, as far as these are there and fit."""
        refuse_duplicates(rows.schema.names)
        bound = cls.bind(column_kinds(rows.schema), roles, rows=rows)
        bound = replace(bound, schema=replace(bound.schema, without_values=rows.without_values))
        derived = {name: derive_type(name, given, bound.schema) for name, given in roles.types.items()}
        return replace(bound, derived=derived)


def events_in_memory(given: Any) -> ArrowEvents:
    """Return the rows of an object with Arrow's PyCapsule interface; of many, the first ones go to a file.

    >>> events_in_memory(pa.table({"x": [1, 2]})).n_bytes
    16
    """
    if isinstance(given, pa.Table):
        return _events_of(given)
    names = getattr(given, "columns", None)  # of frames
    if names is not None:
        refuse_duplicates([name for name in names if isinstance(name, str)])
    if isinstance(given, pa.RecordBatch) or not hasattr(given, "__arrow_c_stream__"):
        return _events_of(pa.table(given))
    try:
        reader = pa.RecordBatchReader.from_stream(given)
    except (ValueError, TypeError, pa.ArrowException) as error:
        raise DataError(
            f"`events` cannot be taken as Arrow: {error}\n"
            "  hint: give a table whose columns hold values of one type each; pandas turns them into texts "
            "with .astype(str)"
        ) from None
    with Spool(spool_limit()) as spool:
        for batch in reader:
            spool.add(0, batch)
        return _events_of(spool.take(0) if spool.piles else reader.schema.empty_table())


def _events_of(given: pa.Table) -> ArrowEvents:
    table = _without_runs(given)

    def read(columns: Sequence[str], _: Collection[str]) -> Iterator[pa.RecordBatch]:
        yield from table.select(list(columns)).to_batches()

    return ArrowEvents(table.schema, int(table.nbytes), read)


def _without_runs(table: pa.Table) -> pa.Table:
    """Return the rows with each value for itself: runs of equal ones can hardly be computed with."""
    for place, column in enumerate(table.schema):
        if pa.types.is_run_end_encoded(column.type):
            table = table.set_column(place, column.name, pc.run_end_decode(table.column(place)))
    return table
