"""The events of items, to be looked up by equal values within pieces of time."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.kernels.arrays import as_input, mix_hashes
from weft.kernels.partners import find_partners
from weft.runtime.columns.events import Array, Events, comparable
from weft.statistics.model import ItemKey
from weft.statistics.sampling import rows_of_item

Columns = Mapping[int, Array]  # the rows of each item of some partial matches, by its place in a form


class Equality(NamedTuple):
    """An attribute of an item that is equal to another one of the item at a place."""

    name: str
    place: int
    other: str


class PartnerRule(NamedTuple):
    """What is asked of the events of an item: their order, a window in microseconds, and equal values.

    `before` and `after` are the masks of the items before and after it. A window below 0 is none.
    """

    item: ItemKey
    before: int
    after: int
    window: int
    equalities: Sequence[Equality] = ()


class Partners(NamedTuple):
    """Events, and the stretch of them that fits each of some partial matches."""

    rows: Array
    starts: Array
    lengths: Array


class _Pieces(NamedTuple):
    """Events in pieces of equal values, in the order of their hashes, and where the pieces begin and end."""

    rows: Array
    hashes: Array
    edges: Array


class EventIndex:
    """Events by item, and by item and values; what was once looked up is kept."""

    def __init__(self, events: Events) -> None:
        self.events = events
        self._rows: dict[ItemKey, Array] = {}
        self._pieces: dict[tuple[ItemKey, tuple[str, ...]], _Pieces] = {}

    def rows_of(self, item: ItemKey) -> Array:
        """Return the events of an item."""
        if item not in self._rows:
            rows = self.events.rows_of_type(item.type).astype(np.int64, copy=False)
            self._rows[item] = rows_of_item(item, rows, self.events)
        return self._rows[item]

    def partners(self, columns: Columns, rule: PartnerRule) -> Partners:
        """Return the events that are in order, within the window and equal as the rule says."""
        stacked = np.stack(list(columns.values()))
        nothing = np.full(stacked.shape[1], -1)
        before = [column for place, column in columns.items() if rule.before >> place & 1]
        after = [column for place, column in columns.items() if rule.after >> place & 1]
        last_before = np.max(before, axis=0) if before else nothing
        first_after = np.min(after, axis=0) if after else nothing
        limits = np.stack([stacked.min(axis=0), stacked.max(axis=0), last_before, first_after])
        found = self._pieces_of(rule.item, tuple(equality.name for equality in rule.equalities))
        edges = self._edges(columns, rule.equalities, found, stacked.shape[1])
        times, ranks = as_input(self.events.times), as_input(self.events.ranks)
        ends = find_partners(times, ranks, found.rows, edges, limits, rule.window)
        return Partners(found.rows, ends[0], np.maximum(ends[1] - ends[0], 0))

    def _pieces_of(self, item: ItemKey, names: tuple[str, ...]) -> _Pieces:
        """Return the events of an item that have all of some values, equal ones together."""
        if (item, names) not in self._pieces:
            rows = self.rows_of(item)
            hashes = np.zeros(rows.size, np.int64)
            if names:
                hashes, is_known = self._hashes([(name, rows) for name in names])
                rows, hashes = rows[is_known], hashes[is_known]
                order = np.argsort(hashes, kind="stable")
                rows, hashes = rows[order], hashes[order]
            known, starts = np.unique(hashes, return_index=True)
            self._pieces[item, names] = _Pieces(rows, known, np.append(starts, rows.size))
        return self._pieces[item, names]

    def _edges(self, columns: Columns, equalities: Sequence[Equality], found: _Pieces, n_rows: int) -> Array:
        """Return where the piece for each partial match begins and ends."""
        if not equalities:
            return np.stack([np.zeros(n_rows, np.int64), np.full(n_rows, found.rows.size)])
        hashes, is_known = self._hashes([(other, columns[place]) for _, place, other in equalities])
        places = np.searchsorted(found.hashes, hashes)
        is_known &= places < found.hashes.size
        is_known[is_known] = found.hashes[places[is_known]] == hashes[is_known]
        places[~is_known] = 0
        last = found.hashes.size
        edges = np.stack([found.edges[places], found.edges[np.minimum(places + 1, last)]])
        return np.where(is_known, edges, 0)

    def _hashes(self, wanted: Sequence[tuple[str, Array]]) -> tuple[Array, Array]:
        """Return a hash of the values of some attributes of some events, and where all of them are known."""
        columns = [self.events.columns[name].take(rows) for name, rows in wanted]
        values = np.stack([comparable(column, self.events.strings) for column in columns])
        return mix_hashes(values), np.logical_and.reduce([column.validity for column in columns])
