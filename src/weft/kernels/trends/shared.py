"""Aggregates over the trends of many queries at once, bursts as shared graphlets, other events one by one."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, Word
from weft.kernels.trends.graphlets import burst, run_burst
from weft.kernels.trends.members import (
    BYTES,
    CLOSED,
    END,
    NUMBERS,
    OTHERS,
    Machinery,
    Members,
    SharedEvents,
    add_event,
    machinery,
    open_window,
    window_end,
    windows_at,
)
from weft.kernels.trends.results import Room, with_result
from weft.kernels.trends.rows import add_row, clear_row, is_empty


@njit(cache=True, nogil=True)
def sum_shared_trends(
    members: Members, events: SharedEvents, most: int, mode: int, room: Room
) -> tuple[Array, Array]:
    """Aggregate the trends of every member, partition and window; with slide 0, a partition is one window.

    Results go to the room; their limbs are returned, and the counters. Of a pane, the result is a map: for
    each source, what becomes of a trend there, source by source.
    """
    work = machinery(members, events, most)
    limbs = np.empty(1024, np.uint32)
    for partition in range(events.starts.size - 1):
        begin, stop = events.starts[partition], events.starts[partition + 1]
        merged = np.uint64(0)
        while begin < stop:
            limbs = _close_windows(members, work, limbs, room, partition, events.times[begin])
            end = burst(members, events, begin, stop)
            if end > begin:
                merged = run_burst(members, events, work, begin, end, mode, merged)
            else:
                end = begin + 1
                while end < stop and events.ranks[end] == events.ranks[begin]:
                    end += 1
                work.counters[OTHERS] += end - begin
                _run_group(members, events, work, begin, end)
            begin = end
        limbs = _close_windows(members, work, limbs, room, partition, END)
    numbers = work.pool.numbers
    work.counters[NUMBERS] = numbers.lengths.size
    work.counters[BYTES] = 4 * numbers.limbs.size + 24 * numbers.lengths.size
    return limbs, work.counters


@njit(cache=True, nogil=True)
def _close_windows(
    members: Members, work: Machinery, limbs: Array, room: Room, partition: int, time: int
) -> Array:
    """Add the results of the windows that are over at a time; at the END all are."""
    kept = 0
    for place in range(work.n_active[0]):
        instance = work.active[place]
        member = work.members_of[instance]
        window, slide = work.windows[instance], members.slides[member]
        if time != END and (slide == 0 or time < window_end(members, member, window)):
            work.active[kept] = instance
            kept += 1
            continue
        work.windows[instance] = CLOSED
        if members.maps[member]:
            for column in range(instance, instance + work.columns[member]):
                for row in range(work.rows[column], work.rows[column] + work.columns[member]):
                    limbs = with_result(limbs, room, work.pool, row, member, partition, window)
            continue
        result = work.scratch
        clear_row(work.pool, result)
        for end in range(members.end_starts[member], members.end_starts[member + 1]):
            source = work.rows[instance] + members.end_sources[end]
            add_row(work.pool, result, source, members.end_ways[end])
        if not is_empty(work.pool, result):
            limbs = with_result(limbs, room, work.pool, result, member, partition, window)
    work.n_active[0] = kept
    return limbs


@njit(cache=True, nogil=True)
def _run_group(members: Members, events: SharedEvents, work: Machinery, begin: int, end: int) -> None:
    """Add events of one rank, query by query and window by window."""
    for member in range(members.queries.size):
        query = members.queries[member]
        seen = np.uint64(0)
        for event in range(begin, end):
            seen |= events.takes[query, event]
        if seen == 0:
            continue
        low, high = windows_at(members, member, events.times[begin])
        for window in range(low, high):
            first = open_window(members, work, member, window)
            for instance in range(first, first + work.columns[member]):
                _run_instance(members, events, work, instance, begin, end, seen)


@njit(cache=True, nogil=True)
def _run_instance(
    members: Members, events: SharedEvents, work: Machinery, instance: int, begin: int, end: int, seen: Word
) -> None:
    pool, member = work.pool, work.members_of[instance]
    query = members.queries[member]
    first_position, first_source = members.position_starts[member], members.source_starts[member]
    n_positions = members.position_starts[member + 1] - first_position
    own = work.rows[instance]
    bases, news = work.scratch + 1, work.scratch + 1 + n_positions
    for position in range(n_positions):
        item = np.uint64(members.items[first_position + position])
        clear_row(pool, news + position)
        if not seen >> item & np.uint64(1):
            continue
        clear_row(pool, bases + position)
        place = first_position + position
        for feed in range(members.feed_starts[place], members.feed_starts[place + 1]):
            source = members.feed_sources[feed]
            is_start = members.owners[first_source + source] < 0
            if not is_start or events.times[begin] != work.undone_at[instance]:
                add_row(pool, bases + position, own + source, members.feed_ways[feed])
        if is_empty(pool, bases + position):
            continue
        for event in range(begin, end):
            if events.takes[query, event] >> item & np.uint64(1):
                add_row(pool, news + position, bases + position, 1)
                add_event(members, events, pool, news + position, bases + position, member, event, position)
    for source in range(members.source_starts[member + 1] - first_source):
        owner = members.owners[first_source + source]
        if members.negated[first_source + source] & seen:
            clear_row(pool, own + source)
        if owner >= 0:
            add_row(pool, own + source, news + owner, 1)
            if members.undone_by[member] & seen:
                clear_row(pool, own + source)
    if members.undone_by[member] & seen:
        work.undone_at[instance] = events.times[begin]
