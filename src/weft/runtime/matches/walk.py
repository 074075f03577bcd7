"""Walk the matches of a query in order: AFTER MATCH SKIP, PREFER LONGEST and SUPPRESS.

The rows of a step precede those of later steps; within a step they are sorted. A walk by completion takes
first what ends first, then what begins first, then what has more events; one that prefers the longest takes
first what begins first, then what ends last. What is still equal is taken in the order of match ids.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.kernels.matches.identity import hash_bindings, hash_numbers
from weft.plan.nodes import MatchWalk, Output
from weft.plan.order import closed_order
from weft.runtime.columns.evaluate import Scope, evaluate
from weft.runtime.columns.events import Array, Column, Events, StringPool, comparable, hash_values
from weft.runtime.columns.merge import TIE
from weft.runtime.matches.emit import SECOND_SEED, match_ids
from weft.runtime.matches.execute import Found
from weft.runtime.matches.table import ABSENT, as_lists, first_rows
from weft.runtime.matches.walk_state import (
    FOREVER,
    LOWEST,
    Moments,
    WalkState,
    concatenate_ties,
    no_state,
    number_keys,
    owners_of,
    tie_codes,
    times_alone,
    walk_on,
)

NULL_HASH = np.uint64(0x9E3779B97F4A7C15)
HIGHEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Walked:
    """Matches as the walk of their `owner` sees them.

    `skip_keys` and `quiet_keys` tell the partitions of AFTER MATCH SKIP and of SUPPRESS, or with TO NEXT the
    first events; `names` gives the match ids of some rows, and is asked for those alone that are alike in all
    else.
    """

    owner: int
    skip_keys: Array
    quiet_keys: Array
    first: Moments
    last: Moments
    n_events: Array
    names: Callable[[Array], Array]

    @property
    def n_rows(self) -> int:
        return int(self.n_events.size)

    def take(self, rows: Array) -> "Walked":
        """Return some of the rows."""
        return Walked(
            self.owner,
            self.skip_keys[rows],
            self.quiet_keys[rows],
            self.first.take(rows),
            self.last.take(rows),
            self.n_events[rows],
            lambda chosen: self.names(rows[chosen]),
        )

    def order(self, keys: Array, *, prefer_longest: bool) -> Array:
        """Return the rows in the order of a walk; those of one key come together."""
        partitions = number_keys(keys)[1]
        first, last = tie_codes([self.first.ties, self.last.ties])
        by_first, by_last = [first, self.first.times], [last, self.last.times]
        if prefer_longest:
            ranks = [~self.n_events, *(~rank for rank in by_last), *by_first, partitions]
        else:
            ranks = [~self.n_events, *by_first, *by_last, partitions]
        order = np.lexsort(ranks)
        is_same = np.ones(max(order.size - 1, 0), np.bool_)
        for rank in ranks:
            is_same &= np.diff(rank[order]) == 0
        tied = np.flatnonzero(np.append(is_same, False) | np.append(False, is_same))
        if not is_same.any():
            return order
        groups = np.cumsum(np.append(True, ~is_same))[tied]
        rows = order[tied]
        order[tied] = rows[np.lexsort((self.names(rows), groups))]
        return order


def concatenate_walked(parts: Sequence[Walked]) -> Walked:
    """Return the rows of several parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.cumsum([0, *(part.n_rows for part in parts)])

    def names(rows: Array) -> Array:
        texts = np.empty(rows.size, "U32")
        for start, stop, part in zip(starts[:-1], starts[1:], parts, strict=True):
            own = np.flatnonzero((rows >= start) & (rows < stop))
            texts[own] = part.names(rows[own] - start)
        return texts

    def moments(own: Sequence[Moments]) -> Moments:
        return Moments(
            np.concatenate([one.times for one in own]), concatenate_ties([one.ties for one in own])
        )

    return Walked(
        parts[0].owner,
        np.concatenate([part.skip_keys for part in parts]),
        np.concatenate([part.quiet_keys for part in parts]),
        moments([part.first for part in parts]),
        moments([part.last for part in parts]),
        np.concatenate([part.n_events for part in parts]),
        names,
    )


@dataclass
class Walker:
    """Walks the matches of all queries of a shard; `changed` is what its state gained since it was stored."""

    state: WalkState
    changed: list[WalkState]

    def choose(self, walk: MatchWalk, ahead: Walked | None, rows: Walked | None) -> tuple[Array, Array]:
        """Return the rows that count, and how many the quiet time before each swallowed.

        In a walk that is twofold, rows come twice: `ahead`, in the order of their first events, and again in
        that of their last ones.
        """
        if ahead is not None:
            kept = ahead.take(self._skip(walk, ahead))
            self._change(_as_chosen(kept))
        if rows is None:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if walk.is_twofold:
            chosen = np.flatnonzero(self.state.has(_name_keys(rows)))
        elif walk.skip != "none":
            chosen = self._skip(walk, rows)
        else:
            chosen = np.arange(rows.n_rows)
        if walk.quiet is None:
            return chosen, np.zeros(chosen.size, np.int64)
        kept_rows, swallowed = self._suppress(walk, walk.quiet, rows.take(chosen))
        return chosen[kept_rows], swallowed

    def _skip(self, walk: MatchWalk, rows: Walked) -> Array:
        """Return the rows that AFTER MATCH SKIP keeps."""
        order = rows.order(rows.skip_keys, prefer_longest=walk.prefer_longest)
        walked = rows.take(order)
        if walk.skip == "past last":
            ends, until = walked.last, walked.last.times
        else:  # one match for each first event
            ends, until = times_alone(np.full(order.size, HIGHEST)), walked.first.times
        passed = walk_on(self.state, rows.owner, walked.skip_keys, walked.first, ends, until, counts=False)
        self._change(passed.changed)
        return np.asarray(np.sort(order[passed.is_kept]))

    def _suppress(self, walk: MatchWalk, quiet: int, rows: Walked) -> tuple[Array, Array]:
        """Return the rows that SUPPRESS keeps, and what each swallowed."""
        order = rows.order(rows.quiet_keys, prefer_longest=False)
        walked = rows.take(order)
        times = walked.last.times
        starts, ends = times_alone(times - quiet), times_alone(times - 1)
        until = np.full(times.size, FOREVER) if walk.counts else times + quiet
        passed = walk_on(self.state, rows.owner, walked.quiet_keys, starts, ends, until, counts=walk.counts)
        self._change(passed.changed)
        kept, swallowed = order[passed.is_kept], passed.swallowed[passed.is_kept]
        by_row = np.argsort(kept)
        return kept[by_row], swallowed[by_row]

    def _change(self, changed: WalkState) -> None:
        self.state = self.state.updated(changed)
        self.changed.append(changed)

    def walk_found(self, found: Iterable[Found], since: Mapping[str, int] | None = None) -> list[Found]:
        """Return the matches of a step that count; those of queries without a walk are as they were.

        A query that came with a step, `since`, begins a walk of its own.
        """
        given = list(found)
        results = [one for one in given if one.output.walk is None or one.is_timeout]
        by_query: dict[str, list[Found]] = {}
        for one in given:
            if one.output.walk is not None and not one.is_timeout:
                by_query.setdefault(one.query, []).append(one)
        for query, own in by_query.items():
            results += self._walk_query(own, (since or {}).get(query, 0))
        return results

    def _walk_query(self, found: Sequence[Found], since: int) -> list[Found]:
        walk = found[0].output.walk
        if walk is None:
            return list(found)
        ahead, due = ([one for one in found if one.is_ahead == flag] for flag in (True, False))
        chosen, swallowed = self.choose(walk, _walked_of(walk, ahead, since), _walked_of(walk, due, since))
        kept, start = [], 0
        for one in due:
            own = slice(*np.searchsorted(chosen, [start, start + one.n_rows]).tolist())
            if own.stop > own.start:
                kept.append(replace(one.take(chosen[own] - start), swallowed=swallowed[own]))
            start += one.n_rows
        return kept

    def skipped(
        self, output: Output, events: Events, rows: Array, since: Mapping[str, int] | None = None
    ) -> Array:
        """Return the time before which what begins is skipped in the partitions of rows, as past the last."""
        if output.walk is None:
            return np.full(rows.size, LOWEST)
        owner = owner_of(output.query, (since or {}).get(output.query, 0))
        keys = hash_columns(f"skip {owner}", _key_hashes(output.walk, events, rows), rows.size)
        return self.state.known(keys, owner).reached.times


def walk_steps(found: Iterable[Found], walker: Walker) -> Iterator[Found]:
    """Yield the matches of a batch that count, those of one step of a plan after those of another."""
    for _, step in groupby(
        found, key=lambda one: id(one.events)
    ):  # a step's matches have their events in common
        yield from walker.walk_found(step)


def new_walker() -> Walker:
    """Return a walker that has seen nothing."""
    return Walker(no_state(), [])


def _as_chosen(rows: Walked) -> WalkState:
    """Return the state that remembers rows by their names, until they come again."""
    n_rows = rows.n_rows
    reached = times_alone(np.full(n_rows, LOWEST))
    keys = _name_keys(rows)
    return WalkState(keys, owners_of(rows.owner, keys), reached, rows.last.times, np.zeros(n_rows, np.int64))


def _name_keys(rows: Walked) -> Array:
    """Return keys that tell rows by their names, those of one walk from those of another."""
    names = pa.array(rows.names(np.arange(rows.n_rows)), pa.string())
    halves = [hash_values(pc.utf8_slice_codeunits(names, start, start + 16)) for start in (0, 16)]
    return hash_columns(f"chosen {rows.owner}", halves, rows.n_rows)


def _walked_of(walk: MatchWalk, found: Sequence[Found], since: int) -> Walked | None:
    return concatenate_walked([walked_of(walk, one, since) for one in found]) if found else None


def walked_of(walk: MatchWalk, found: Found, since: int = 0) -> Walked:
    """Return matches as their walk sees them."""
    events, table = found.events, found.table
    branch = found.output.branches[found.branch]
    first = first_events(found)
    keys = _key_hashes(walk, events, first)
    scope = Scope(events, table)
    per = [hash_of_values(evaluate(part, scope), events.strings) for part in branch.per]
    owner = owner_of(found.query, since)
    event = [hash_numbers(events.times[first]), events.id_hashes[first]]
    lengths = [as_lists(column).lengths for column in table.columns]
    return Walked(
        owner,
        hash_columns(f"skip {owner}", event if walk.skip == "to next" else keys, table.n_rows),
        hash_columns(f"suppress {owner}", per or keys, table.n_rows),
        _moments(events, table.first),
        _moments(events, table.last),
        np.sum(lengths, axis=0),
        lambda rows: match_ids(found.take(rows)).to_numpy(zero_copy_only=False).astype("U32"),
    )


def _key_hashes(walk: MatchWalk, events: Events, rows: Array) -> list[Array]:
    return [hash_of_values(events.columns[name].take(rows), events.strings) for name in walk.keys]


def owner_of(query: str, since: int) -> int:
    """Return a number for the walk of a query that came with a step."""
    return int(hash_values(pa.array([f"{query} {since}"]))[0].view(np.int64))


def first_events(found: Found) -> Array:
    """Return the first event of each match; of several at the same time, the one with the smallest id."""
    events, table = found.events, found.table
    order = closed_order(found.output.branches[found.branch].node)
    later = {column for _, column in order}
    leading = [column for number, column in enumerate(table.columns) if number not in later]
    if len(leading) < 2:
        return table.first
    rows = np.stack([first_rows(column) for column in leading])
    rows = np.where(rows == ABSENT, table.first, rows)
    is_first = events.ranks[rows] == events.ranks[table.first]
    tied = np.flatnonzero(is_first.sum(axis=0) > 1)
    if not tied.size:
        return table.first
    own, places = np.unique(rows[:, tied], return_inverse=True)
    ranks = pc.rank(events.ids.take(pa.array(own)), tiebreaker="dense").to_numpy().astype(np.int64)
    ranked = np.where(is_first[:, tied], ranks[places.reshape(-1, tied.size)], HIGHEST)
    first = table.first.copy()
    first[tied] = rows[np.argmin(ranked, axis=0), tied]
    return first


def _moments(events: Events, rows: Array) -> Moments:
    """Return the times of events with what orders equal ones, as it is the same in every step."""
    times, column = events.times[rows], events.columns.get(TIE)
    if events.ties is None:
        return times_alone(times)
    if column is None:
        return Moments(times, events.ties[rows])
    values = column.take(rows)
    if column.type.kind == "string":
        texts = events.strings.texts
        ties = np.full(rows.size, "", object)  # NULL comes first
        known = np.flatnonzero(values.validity)
        ties[known] = " " + texts[values.values[known]]
        return Moments(times, ties)
    return Moments(times, np.where(values.validity, comparable(values, events.strings), LOWEST))


def hash_of_values(column: Column, strings: StringPool) -> Array:
    """Hash values to 64 bits, the same in every process; equal ones have one hash, and so has NULL."""
    if column.type.kind == "string":
        codes, places = np.unique(column.values, return_inverse=True)
        known = codes[codes < len(strings.values)]
        hashes = np.zeros(codes.size, np.uint64)
        hashes[: known.size] = hash_values(strings.values.take(pa.array(known)))
        hashes = hashes[places.reshape(-1)]
    else:
        hashes = np.asarray(hash_numbers(comparable(column, strings)))
    return np.where(column.validity, hashes, NULL_HASH)


def hash_columns(text: str, columns: Sequence[Array], n_rows: int) -> Array:
    """Hash the rows of columns to two numbers of 64 bits, other ones for another text."""
    seed = int(hash_values(pa.array([text]))[0]) >> 1  # fits int64
    n_columns = len(columns)
    values = np.stack(columns, axis=1).reshape(-1) if columns else np.empty(0, np.uint64)
    return np.asarray(
        hash_bindings(
            np.arange(n_rows + 1) * n_columns,
            np.arange(n_columns, dtype=np.uint64),
            np.tile(np.arange(n_columns, dtype=np.int32), n_rows),
            values,
            np.arange(values.size),
            np.array([seed, seed ^ SECOND_SEED]),
        )
    )
