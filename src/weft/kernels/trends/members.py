"""Many trend queries as arrays, and their rows in each window that is open."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.trends.naturals import add_scaled, assign_word
from weft.kernels.trends.rows import Pool, clear_row, first_window, lower_row, new_pool

CLOSED = np.int64(-(1 << 62))  # an instance that has no window at present
BURSTS, GRAPHLETS, SHARED, GRAPHLET_SNAPSHOTS, EVENT_SNAPSHOTS, SPLITS, MERGES, OTHERS, NUMBERS, BYTES = (
    range(10)
)
N_COUNTERS = 10


class Members(NamedTuple):
    """The automata of a set of queries as arrays, one after the other; numbers inside are its own.

    Member m belongs to the query of takes[queries[m]]. For Kleene type E, kleene[E, m] is the position at
    which m repeats it (-1: it does not), and classes[E, m] numbers the members that take the same events.
    Of the windows, only those from first_windows[m] to last_windows[m] are looked at.
    """

    queries: Array
    lengths: Array
    slides: Array
    first_windows: Array
    last_windows: Array
    position_starts: Array
    items: Array
    feed_starts: Array
    feed_sources: Array
    feed_ways: Array
    source_starts: Array
    owners: Array
    negated: Array
    end_starts: Array
    end_sources: Array
    end_ways: Array
    undone_by: Array
    lane_columns: Array
    lane_positions: Array
    extreme_columns: Array
    extreme_positions: Array
    kleene: Array
    classes: Array


class SharedEvents(NamedTuple):
    """The events that a set of queries takes or negates, by partition and in it by rank.

    Bit i of takes[q] says that an event is one of item i of query q. Values are naturals of a fixed number of
    limbs, a column for each sum that somebody asks for; extremes are int64.

    `kinds` is the Kleene type of an event that all queries take only in its repetition, else -1; bit c of
    `matched` says that the members of class c take it.
    """

    times: Array
    ranks: Array
    takes: Array
    starts: Array
    kinds: Array
    matched: Array
    values: Array
    value_lengths: Array
    extremes: Array
    extreme_valid: Array


class Machinery(NamedTuple):
    """What the functions here hand to each other: the pool, its rows, and which windows are open.

    An instance is a member in one window. Rows of instance i begin at rows[i]: its sources, then the
    snapshot and what it was when the graphlet began. At undone_at[i] its trends were undone. `scratch` is
    the first of the spare rows; the numbers of the map of a graphlet begin at `factor`.
    """

    pool: Pool
    members_of: Array
    firsts: Array
    rows: Array
    windows: Array
    undone_at: Array
    active: Array
    n_active: Array
    counters: Array
    scratch: int
    factor: int


@njit(cache=True, nogil=True)
def machinery(members: Members, events: SharedEvents, most: int) -> Machinery:
    """Return rows for all members in all windows that can be open at one time, none of which is yet.

    Numbers are exact up to so many limbs.
    """
    n_members = members.queries.size
    width, n_extremes = 1 + members.lane_columns.shape[1], members.extreme_columns.shape[1]
    slots = np.ones(n_members, np.int64)
    for member in range(n_members):
        if members.slides[member]:
            slots[member] = (members.lengths[member] - 1) // members.slides[member] + 1
    firsts = np.zeros(n_members + 1, np.int64)
    firsts[1:] = np.cumsum(slots)
    n_instances = firsts[n_members]
    members_of, rows = np.empty(n_instances, np.int64), np.empty(n_instances, np.int64)
    n_rows = 0
    for member in range(n_members):
        n_sources = members.source_starts[member + 1] - members.source_starts[member]
        for instance in range(firsts[member], firsts[member + 1]):
            members_of[instance], rows[instance] = member, n_rows
            n_rows += n_sources + 2
    n_positions = np.max(members.position_starts[1:] - members.position_starts[:-1])
    scratch = n_rows
    # Spare rows: a result, for every position what feeds it and what is new, and the map of a graphlet,
    # whose numbers are a factor and one for each column of values.
    n_columns = max(events.values.shape[0] + 2, width)
    n_rows += 1 + 2 * n_positions + n_columns // width + 3
    pool = new_pool(n_rows, width, most, n_extremes)
    return Machinery(
        pool,
        members_of,
        firsts,
        rows,
        np.full(n_instances, CLOSED, np.int64),
        np.full(n_instances, CLOSED, np.int64),
        np.empty(n_instances, np.int64),
        np.zeros(1, np.int64),
        np.zeros(N_COUNTERS, np.int64),
        scratch,
        (scratch + 3 + 2 * n_positions) * width,
    )


@njit(cache=True, nogil=True)
def open_instance(members: Members, work: Machinery, member: int, window: int) -> int:
    """Return the instance of a member in a window, made ready if it is new."""
    n_slots = work.firsts[member + 1] - work.firsts[member]
    instance = work.firsts[member] + window % n_slots
    if work.windows[instance] != window:
        work.windows[instance] = window
        work.undone_at[instance] = CLOSED
        work.active[work.n_active[0]] = instance
        work.n_active[0] += 1
        first = members.source_starts[member]
        for source in range(members.source_starts[member + 1] - first):
            row = work.rows[instance] + source
            clear_row(work.pool, row)
            if members.owners[first + source] < 0:
                assign_word(work.pool.numbers, row * work.pool.width, 1)
    return int(instance)


@njit(cache=True, nogil=True)
def windows_at(members: Members, member: int, time: int) -> tuple[int, int]:
    """Return the first window of a member that holds a time, and the one after the last."""
    slide = members.slides[member]
    if slide == 0:
        return 0, 1
    low = max(first_window(time, members.lengths[member], slide), members.first_windows[member])
    return low, max(low, min(time // slide, members.last_windows[member]) + 1)


@njit(cache=True, nogil=True)
def add_event(
    members: Members,
    events: SharedEvents,
    pool: Pool,
    target: int,
    extended: int,
    member: int,
    event: int,
    position: int,
) -> None:
    """Add what an event itself contributes where it extends the trends of a row."""
    place = np.uint64(1) << np.uint64(position)
    for lane in range(pool.width - 1):
        column = members.lane_columns[member, lane]
        if column >= 0 and members.lane_positions[member, lane] & place:
            value, length = events.values[column, event], events.value_lengths[column, event]
            number = target * pool.width + 1 + lane
            add_scaled(pool.numbers, number, extended * pool.width, value, length)
    for extreme in range(pool.best.shape[1]):
        column = members.extreme_columns[member, extreme]
        is_own = column >= 0 and members.extreme_positions[member, extreme] & place
        if is_own and events.extreme_valid[column, event]:
            lower_row(pool, target, extreme, events.extremes[column, event])
