"""Rows as packs on their way to shards: one binary value holds all the rows that a task has for a shard."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.runtime.columns.events import Array
from weft.runtime.columns.layout import FLAGS_PER_COLUMN
from weft.runtime.stages.messages import RAW, REJECTED, Message
from weft.runtime.state.segments import one_array, table_to_bytes

PACK_ROWS = 1_000_000  # rows that a task collects before it packs them
OWNER = "weft_owner"  # whether this pack, of all that hold a row, accounts for it


@dataclass(frozen=True)
class Route:
    """Where the rows of one part go: those of its types, or all, by a number to one of its shards.

    `place` is the column of that number, NULL for rows that no shard wants; without one all go to
    the only shard.
    """

    shards: tuple[str, ...]
    columns: tuple[str, ...]
    types: frozenset[str] | None
    derived: tuple[int, ...] = ()
    place: str | None = None


@dataclass(frozen=True)
class PackTask:
    """What a worker does with the rows of a task: deal them to shards, and pack.

    A row that has no value in one of the columns `required` is no event. How many there were is said
    in a pack of the first shard.
    """

    routes: tuple[Route, ...]
    type: str | None
    flags: tuple[str, ...]
    required: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return messages: a shard's name, their role, and a pack."""
        collected: list[pa.RecordBatch] = []
        n_rows = 0
        for batch in batches:
            if batch.num_rows:
                collected.append(batch)
                n_rows += batch.num_rows
            if n_rows >= PACK_ROWS:
                yield from self._pack_rows(pa.Table.from_batches(collected))
                collected, n_rows = [], 0
        if collected:
            yield from self._pack_rows(pa.Table.from_batches(collected))

    def _pack_rows(self, table: pa.Table) -> Iterator[pa.RecordBatch]:
        table, n_rejected = self._events(table)
        if self.type is not None:  # names repeat: a code is shorter
            place = table.column_names.index(self.type)
            table = table.set_column(place, self.type, one_array(table[self.type]).dictionary_encode())
        is_owned = np.zeros(table.num_rows, np.bool_)
        for route in self.routes:
            places = None if route.place is None else table[route.place].fill_null(-1).to_numpy()
            rows = self._select_rows(table, route)
            if places is not None:  # those without a key go nowhere
                rows = np.flatnonzero(places >= 0) if rows is None else rows[places[rows] >= 0]
            part = table.select(route.columns)
            if len(self.routes) > 1:
                part = part.append_column(OWNER, pa.array(~is_owned))
                is_owned[rows if rows is not None else slice(None)] = True
            for shard, share in _deal_rows(part, rows, places, route):
                if n_rejected:
                    yield _pack(shard, share.replace_schema_metadata({REJECTED: str(n_rejected)}))
                    n_rejected = 0
                elif share.num_rows:
                    yield _pack(shard, share)

    def _select_rows(self, table: pa.Table, route: Route) -> Array | None:
        """Return the rows that a route wants; None: all of them."""
        if route.types is None:
            return None
        selected = np.zeros(table.num_rows, np.bool_)
        if self.type is not None:
            types = table[self.type].chunk(0)
            is_wanted = np.array([name in route.types for name in types.dictionary.to_pylist()], np.bool_)
            if is_wanted.all() and not route.derived:
                return None
            selected |= is_wanted[types.indices.to_numpy()]
        for number in route.derived:
            bits = table[self.flags[number // FLAGS_PER_COLUMN]].to_numpy()
            selected |= (bits >> (number % FLAGS_PER_COLUMN)) & 1 == 1
        return np.flatnonzero(selected)

    def _events(self, table: pa.Table) -> tuple[pa.Table, int]:
        """Return the rows that are events, and the number of the others."""
        lacking = [name for name in self.required if table[name].null_count]
        if not lacking:
            return table, 0
        is_event = np.ones(table.num_rows, np.bool_)
        for name in lacking:
            is_event &= np.asarray(table[name].is_valid())
        return table.filter(pa.array(is_event)), int(table.num_rows - is_event.sum())


def _pack(shard: str, rows: pa.Table) -> pa.RecordBatch:
    # Spark compresses what it shuffles.
    return Message(shard, RAW, table_to_bytes(rows, is_compressed=False)).row


def _deal_rows(
    part: pa.Table, rows: Array | None, places: Array | None, route: Route
) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of each shard."""
    if places is None or rows is None:
        yield route.shards[0], part if rows is None else part.take(pa.array(rows))
        return
    order = rows[np.argsort(places[rows], kind="stable")]
    ordered = part.take(pa.array(order))
    bounds = np.searchsorted(places[order], np.arange(len(route.shards) + 1))
    for number, shard in enumerate(route.shards):
        yield shard, ordered.slice(bounds[number], bounds[number + 1] - bounds[number])
