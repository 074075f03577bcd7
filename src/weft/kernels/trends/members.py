"""Many trend queries as arrays, and their rows in each window that is open."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.trends.naturals import add_scaled, assign_word
from weft.kernels.trends.panes import pane_at, pane_end
from weft.kernels.trends.rows import Pool, clear_row, first_window, lower_row, new_pool

CLOSED = np.int64(-(1 << 62))  # an instance that has no window at present
END = (1 << 63) - 1  # the time after all events
BURSTS, GRAPHLETS, SHARED, GRAPHLET_SNAPSHOTS, EVENT_SNAPSHOTS, SPLITS, MERGES, OTHERS, NUMBERS, BYTES = (
    range(10)
)
N_COUNTERS = 10


class Members(NamedTuple):
    """The automata of a set of queries as arrays, one after the other; numbers inside are its own.

    Member m belongs to the query of takes[queries[m]]. For Kleene type E, kleene[E, m] is the position at
    which m repeats it (-1: it does not), and classes[E, m] numbers the members that take the same events.
    Of the windows, only those from first_windows[m] to last_windows[m] are looked at.

    Where maps[m] is set, what is sought is not the trends of windows, but what each pane does to trends: all
    windows are panes then.
    """

    queries: Array
    lengths: Array
    slides: Array
    first_windows: Array
    last_windows: Array
    maps: Array
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
    snapshot and what it was when the graphlet began. At undone_at[i] its trends were undone. A member of
    which maps are sought has as many instances in a pane as it has sources, one after the other: what becomes
    of one trend in each of them; other members have one. `columns` says how many. `scratch` is the first of
    the spare rows; the numbers of the map of a graphlet begin at `factor`.
    """

    pool: Pool
    members_of: Array
    columns: Array
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
    columns = np.ones(n_members, np.int64)
    for member in range(n_members):
        if members.maps[member]:
            columns[member] = members.source_starts[member + 1] - members.source_starts[member]
            slots[member] = columns[member]
        elif members.slides[member]:
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
        columns,
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
def instance_at(work: Machinery, member: int, window: int) -> int:
    """Return the first of the instances that a member has in a window, if it is open."""
    columns = work.columns[member]
    n_slots = (work.firsts[member + 1] - work.firsts[member]) // columns
    return int(work.firsts[member] + window % n_slots * columns)


@njit(cache=True, nogil=True)
def open_window(members: Members, work: Machinery, member: int, window: int) -> int:
    """Return the first of the instances that a member has in a window, made ready if they are new."""
    instance = instance_at(work, member, window)
    if work.windows[instance] == window:
        return instance
    work.active[work.n_active[0]] = instance
    work.n_active[0] += 1
    first = members.source_starts[member]
    for column in range(work.columns[member]):
        work.windows[instance + column] = window
        work.undone_at[instance + column] = CLOSED
        for source in range(members.source_starts[member + 1] - first):
            row = work.rows[instance + column] + source
            clear_row(work.pool, row)
            if source == column if members.maps[member] else members.owners[first + source] < 0:
                assign_word(work.pool.numbers, row * work.pool.width, 1)
    return instance


@njit(cache=True, nogil=True)
def windows_at(members: Members, member: int, time: int) -> tuple[int, int]:
    """Return the first window of a member that holds a time, and the one after the last."""
    length, slide = members.lengths[member], members.slides[member]
    if slide == 0:
        return 0, 1
    if members.maps[member]:
        first = last = pane_at(time, length, slide)
    else:
        first, last = first_window(time, length, slide), time // slide
    low = max(first, members.first_windows[member])
    return low, max(low, min(last, members.last_windows[member]) + 1)


@njit(cache=True, nogil=True)
def window_end(members: Members, member: int, window: int) -> int:
    """Return the time at which a window of a member is over."""
    length, slide = members.lengths[member], members.slides[member]
    return pane_end(window, length, slide) if members.maps[member] else window * slide + length


@njit(cache=True, nogil=True)
def next_cut(members: Members, time: int) -> int:
    """Return the first time after another at which a window of some member begins or ends."""
    cut = END
    for member in range(members.queries.size):
        length, slide = members.lengths[member], members.slides[member]
        if slide:
            cut = min(cut, pane_end(pane_at(time, length, slide), length, slide))
    return cut


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
