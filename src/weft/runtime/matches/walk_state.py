"""What walks have reached: a row for each key, which is a hash of the walk and its partition.

A key that has reached nothing has no row; one that can affect no match to come is given up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from weft.kernels.matches.walk import places_of, walk_in_order
from weft.runtime.columns.events import Array
from weft.runtime.state.segments import TIME_COLUMN

LOWEST = np.iinfo(np.int64).min
FOREVER = 1 << 62
HIGH, LOW, OWNER, REACHED, SWALLOWED = "high", "low", "owner", "reached", "swallowed"


@dataclass(frozen=True)
class Moments:
    """Times, and what orders equal ones: numbers, or texts where events have a text as tie-break."""

    times: Array
    ties: Array

    def take(self, rows: Array) -> "Moments":
        return Moments(self.times[rows], self.ties[rows])


def times_alone(times: Array) -> Moments:
    """Return times of which equal ones are the same moment."""
    return Moments(times, np.zeros(times.size, np.int64))


def moments_to(name: str, moments: Moments) -> dict[str, pa.Array]:
    """Return moments as the columns of a table."""
    ties, none = moments.ties, np.empty(0, object)
    is_text = ties.dtype == object
    return {
        f"{name}_time": pa.array(moments.times),
        f"{name}_tie": pa.array(np.zeros(ties.size, np.int64) if is_text else ties),
        f"{name}_text": pa.array(ties if is_text else _no_ties(ties.size, none), pa.string()),
    }


def moments_from(table: pa.Table, name: str) -> Moments:
    """Return moments from the columns of a table."""
    texts = table[f"{name}_text"].to_numpy().astype(object)
    ties = texts if (texts != "").any() else table[f"{name}_tie"].to_numpy()
    return Moments(table[f"{name}_time"].to_numpy(), ties)


@dataclass(frozen=True)
class WalkState:
    """Where walks are, sorted by key; a row matters `until` a time, and as long as its `owner` runs."""

    keys: Array  # two numbers of 64 bits each
    owners: Array
    reached: Moments
    until: Array
    swallowed: Array

    @property
    def n_rows(self) -> int:
        return int(self.until.size)

    def take(self, rows: Array) -> "WalkState":
        """Return some of the rows."""
        return WalkState(
            self.keys[rows],
            self.owners[rows],
            self.reached.take(rows),
            self.until[rows],
            self.swallowed[rows],
        )

    def has(self, keys: Array) -> Array:
        """Say which of the keys have reached anything."""
        return self._find(keys)[1]

    def _find(self, keys: Array) -> tuple[Array, Array]:
        """Return where keys are or belong, and whether they are there."""
        places = places_of(self.keys, keys)
        is_known = np.zeros(places.size, np.bool_)
        inside = np.flatnonzero(places < self.n_rows)
        is_known[inside] = (self.keys[places[inside]] == keys[inside]).all(axis=1)
        return places, is_known

    def known(self, keys: Array, owner: int) -> "WalkState":
        """Return what the keys of an owner have reached; nothing where they are new."""
        places, is_known = self._find(keys)
        rows = np.flatnonzero(is_known)
        times, until = np.full(places.size, LOWEST), np.full(places.size, LOWEST)
        swallowed, ties = np.zeros(places.size, np.int64), _no_ties(places.size, self.reached.ties)
        times[rows], ties[rows] = self.reached.times[places[rows]], self.reached.ties[places[rows]]
        until[rows], swallowed[rows] = self.until[places[rows]], self.swallowed[places[rows]]
        return WalkState(keys, owners_of(owner, keys), Moments(times, ties), until, swallowed)

    def updated(self, changed: "WalkState") -> "WalkState":
        """Return the state with some rows changed or added, each key once."""
        if not changed.n_rows:
            return self
        kept = np.flatnonzero(~changed.sorted().has(self.keys))
        return concatenate_states([self.take(kept), changed]).sorted()

    def sorted(self) -> "WalkState":
        """Return the state in the order of its keys."""
        return self.take(np.lexsort((self.keys[:, 1], self.keys[:, 0])))

    def since(self, oldest: int, owners: Sequence[int]) -> "WalkState":
        """Return what matters to owners at a time and later; the same object where that is all."""
        matters = (self.until >= oldest) & np.isin(self.owners, np.array(owners, np.int64))
        return self if matters.all() else self.take(np.flatnonzero(matters))

    def to_table(self) -> pa.Table:
        """Return the rows as they are stored."""
        return pa.table(
            {
                TIME_COLUMN: pa.array(self.until),
                HIGH: pa.array(self.keys[:, 0]),
                LOW: pa.array(self.keys[:, 1]),
                OWNER: pa.array(self.owners),
                **moments_to(REACHED, self.reached),
                SWALLOWED: pa.array(self.swallowed),
            }
        )


def owners_of(owner: int, keys: Array) -> Array:
    """Return the owner of keys for each of them."""
    return np.full(len(keys), owner, np.int64)


def no_state() -> WalkState:
    """Return the state in which nothing has been walked."""
    none = np.empty(0, np.int64)
    return WalkState(np.empty((0, 2), np.uint64), none, times_alone(none), none, none)


def state_from(tables: list[pa.Table]) -> WalkState:
    """Return the state that stored rows lead to; of one key the latest row holds."""
    state = concatenate_states([no_state(), *map(_read, tables)])
    order = np.arange(state.n_rows)[::-1]
    _, latest = np.unique(state.keys[order], axis=0, return_index=True)
    return state.take(order[latest])


def _read(table: pa.Table) -> WalkState:
    column = {name: table[name].to_numpy() for name in table.column_names}
    keys, reached = np.stack([column[HIGH], column[LOW]], axis=1), moments_from(table, REACHED)
    return WalkState(keys, column[OWNER], reached, column[TIME_COLUMN], column[SWALLOWED])


def concatenate_states(states: list[WalkState]) -> WalkState:
    """Return the rows of states, one after the other."""
    return WalkState(
        np.concatenate([state.keys for state in states]),
        np.concatenate([state.owners for state in states]),
        Moments(
            np.concatenate([state.reached.times for state in states]),
            concatenate_ties([state.reached.ties for state in states]),
        ),
        np.concatenate([state.until for state in states]),
        np.concatenate([state.swallowed for state in states]),
    )


def concatenate_ties(parts: list[Array]) -> Array:
    """Return ties one after the other; where some are texts, all are."""
    texts = [part for part in parts if part.dtype == object]
    if not texts:
        return np.concatenate(parts)
    return np.concatenate([part if part.dtype == object else _no_ties(part.size, texts[0]) for part in parts])


def _no_ties(n_rows: int, like: Array) -> Array:
    """Return so many of the least tie there is."""
    return np.full(n_rows, "", object) if like.dtype == object else np.zeros(n_rows, np.int64)


def tie_codes(parts: list[Array]) -> list[Array]:
    """Return ties as numbers in their order."""
    together = concatenate_ties(parts)
    if together.dtype == object:
        together = np.unique(together, return_inverse=True)[1].reshape(-1)
    return np.split(together, np.cumsum([part.size for part in parts])[:-1])


def number_keys(keys: Array) -> tuple[Array, Array]:
    """Return the distinct keys, sorted, and for each key its place among them."""
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    is_new = np.ones(order.size, np.bool_)
    is_new[1:] = (np.diff(keys[order], axis=0) != 0).any(axis=1)
    places = np.empty(order.size, np.int64)
    places[order] = np.cumsum(is_new) - 1
    return keys[order[is_new]], places


@dataclass(frozen=True)
class Passed:
    """What came of walking some rows: those kept, what each swallowed, and the state of keys that changed."""

    is_kept: Array
    swallowed: Array
    changed: WalkState


def walk_on(
    state: WalkState, owner: int, keys: Array, starts: Moments, ends: Moments, until: Array, *, counts: bool
) -> Passed:
    """Walk rows in the order given; a key whose row is kept has reached its end, which matters until a time.

    Where it `counts`, how many a key has swallowed is remembered until it keeps a row.
    """
    own, partitions = number_keys(keys)
    known = state.known(own, owner)
    before, opened, closed = tie_codes([known.reached.ties, starts.ties, ends.ties])
    swallowed = known.swallowed.copy()
    is_kept, counted, latest = walk_in_order(
        partitions,
        np.stack([starts.times, opened], axis=1),
        np.stack([ends.times, closed], axis=1),
        np.stack([known.reached.times, before], axis=1),
        swallowed,
    )
    moved = np.flatnonzero(latest >= 0)
    rows = latest[moved]
    ties = concatenate_ties([known.reached.ties, ends.ties])
    ties[moved] = ties[len(own) + rows]
    times, lasting = known.reached.times.copy(), known.until.copy()
    times[moved], lasting[moved] = ends.times[rows], until[rows]
    reached = Moments(times, ties[: len(own)])
    if not counts:
        swallowed = known.swallowed
    changed = np.flatnonzero((latest >= 0) | (swallowed != known.swallowed))
    after = replace(known, reached=reached, until=lasting, swallowed=swallowed)
    return Passed(is_kept, counted, after.take(changed))
