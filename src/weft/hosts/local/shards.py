"""Rows on their way to shards: which piles they go to, and which piles run together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.hosts.local.columns import plain
from weft.kernels.arrays import mix_hashes, ordered_bits
from weft.runtime.columns.events import Array, hash_values
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.slices import TimeSlices

PILES = 64  # into which much data is divided; those that are small run together
MOST_PILES = 4_096  # into which still more is divided
MANY_ROWS = 200_000  # of which a shard has at least so many, unless that is more than memory allows


@dataclass(frozen=True)
class Dealing:
    """How rows are dealt to `n_piles`: by slices of time, by a hash of columns, or all to one.

    A row that has no value in one of the columns `required` goes nowhere.
    """

    n_piles: int
    layout: Layout
    keys: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    slices: TimeSlices | None = None

    def deal(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of each pile."""
        rows = with_values(rows, self.required)
        if self.n_piles == 1 or not rows.num_rows:
            yield 0, rows
            return
        if self.slices is None:
            places, copies = hash_columns(rows, self.keys) % self.n_piles, None
        else:
            copies, places = self._slices_of(rows.column(self.layout.time).to_numpy(), self.slices)
        yield from deal_rows(rows, places, copies)

    def _slices_of(self, times: Array, slices: TimeSlices) -> tuple[Array | None, Array]:
        """Return rows, and for each a slice that has to see it: its own, and that of a neighbor."""
        first, last = slices.shard_of(times - slices.reach), slices.shard_of(times + slices.lead)
        again = np.flatnonzero(first != last)
        if not again.size:
            return None, last
        return np.concatenate([np.arange(times.size), again]), np.concatenate([last, first[again]])


def deal_rows(
    rows: pa.RecordBatch, places: Array, copies: Array | None
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of each place; `copies` are the rows that have the places, if not all in order.

    >>> rows = pa.record_batch({"x": [1, 2, 3]})
    >>> [(place, own["x"].to_pylist()) for place, own in deal_rows(rows, np.array([1, 0, 1]), None)]
    [(0, [2]), (1, [1, 3])]
    """
    if copies is None and (places == places[0]).all():
        yield int(places[0]), rows
        return
    if places.max() <= np.iinfo(np.int16).max:
        places = places.astype(np.int16)  # which NumPy sorts by radix
    order = np.argsort(places, kind="stable")
    ordered, places = rows.take(pa.array(order if copies is None else copies[order])), places[order]
    bounds = np.append(np.flatnonzero(np.diff(places, prepend=-1)), places.size)
    for start, stop in pairwise(bounds.tolist()):
        yield int(places[start]), ordered.slice(start, stop - start)


def with_values(rows: pa.RecordBatch, names: Sequence[str]) -> pa.RecordBatch:
    """Return the rows that have a value in every one of some columns."""
    for name in names:
        if rows.column(name).null_count:
            rows = rows.filter(rows.column(name).is_valid())
    return rows


def hash_columns(rows: pa.RecordBatch, names: Sequence[str]) -> Array:
    """Return a number of each row, the same where all of some columns have equal values."""
    hashes = []
    for name in names:
        column = plain(rows.column(name))
        if pa.types.is_floating(column.type):
            hashes.append(ordered_bits(column.to_numpy(zero_copy_only=False)))
        elif pa.types.is_string(column.type):
            encoded = pc.dictionary_encode(column)
            hashes.append(hash_values(encoded.dictionary).view(np.int64)[encoded.indices.to_numpy()])
        else:
            hashes.append(hash_values(column).view(np.int64))
    return np.asarray(mix_hashes(np.array(hashes)))


def run_together(
    sizes: Mapping[int, tuple[int, int]], slices: TimeSlices | None, *, most_bytes: int, n_threads: int
) -> list[list[int]]:
    """Return which piles run together, given the rows and bytes of each: neighbors in time never do.

    >>> sizes = {0: (900_000, 10), 1: (50_000, 10), 2: (50_000, 10), 3: (20_000, 10)}
    >>> run_together(sizes, None, most_bytes=1_000, n_threads=2)
    [[0], [1, 2, 3]]
    """
    places = np.array(sorted(sizes), np.int64)
    kinds = [places] if slices is None else slices.groups(places)
    n_rows = sum(rows for rows, _ in sizes.values())
    most_rows = max(MANY_ROWS, -(-n_rows // (2 * n_threads)))
    together: list[list[int]] = []
    for kind in kinds:
        rows, size = 0, 0
        own: list[int] = []
        for place in kind.tolist():
            more_rows, more_bytes = sizes[place]
            if own and (rows + more_rows > most_rows or size + more_bytes > most_bytes):
                together.append(own)
                own, rows, size = [], 0, 0
            own.append(place)
            rows, size = rows + more_rows, size + more_bytes
        together += [own] if own else []
    return together
