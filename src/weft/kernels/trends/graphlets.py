"""Aggregates over the trends of many queries at once: HAMLET's shared graphlets.

Implements sections 3.3 and 4 of "To Share, or not to Share: Online Event Trend Aggregation Over Bursty
Event Streams" (Poppe et al., SIGMOD 2021). A burst is a run of events of one Kleene type E with no other
event of the queries between them. What the burst does to the trends of a query is the same for all
queries and all windows that take the same events: every event at most doubles the trends it can extend.
So a graphlet is not a graph here but one map, x -> factor * x, with sums that grow along with it, worked
out once per burst and applied to the snapshot x of each query and window.

Where queries of one graphlet take different events (predicates), an event that not all take is a snapshot
at event level: the map so far is applied to all, and a new one begins. The paper's expressions over several
snapshots are thereby always expressions over one. What differs from the paper besides: the graphlet has
a closed form, so a burst costs its length plus the number of queries and windows, not the product, and not
the square; and queries that take the same events always share, only classes of such queries are decided
upon. Events outside of bursts are added query by query.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Word
from weft.kernels.trends.benefit import best_merged
from weft.kernels.trends.members import (
    BURSTS,
    EVENT_SNAPSHOTS,
    GRAPHLET_SNAPSHOTS,
    GRAPHLETS,
    MERGES,
    SHARED,
    SPLITS,
    Machinery,
    Members,
    SharedEvents,
    add_event,
    instance_at,
    next_cut,
    open_window,
    windows_at,
)
from weft.kernels.trends.naturals import (
    add_multiple,
    add_product,
    add_scaled,
    assign,
    assign_word,
    clear,
    subtract,
)
from weft.kernels.trends.rows import Pool, add_row, clear_row, copy_row, is_empty, lower_row

MOST_EVENTS = 256  # of a burst; longer ones are cut, so that factors stay short
DYNAMIC, STATIC = 0, 1


@njit(cache=True, nogil=True)
def burst(members: Members, events: SharedEvents, begin: int, stop: int) -> int:
    """Return where the burst that begins with an event ends: before it, if there is none.

    No window begins or ends within a burst. After an event of the same time, but of a lower rank, it ends
    with that time: what undoes trends does so for the whole of its time.
    """
    kind = events.kinds[begin]
    if kind < 0:
        return begin
    end = begin
    is_tied = begin > 0 and events.times[begin - 1] == events.times[begin]
    cut = next_cut(members, events.times[begin])
    while end < stop and end - begin < MOST_EVENTS:
        if is_tied and events.times[end] != events.times[begin]:
            break
        if events.times[end] >= cut:
            break
        group_end = end
        while group_end < stop and events.ranks[group_end] == events.ranks[end]:
            if events.kinds[group_end] != kind:
                return end
            group_end += 1
        end = group_end
    return end


@njit(cache=True, nogil=True)
def run_burst(
    members: Members,
    events: SharedEvents,
    work: Machinery,
    begin: int,
    end: int,
    mode: int,
    merged_before: Word,
) -> Word:
    """Divide the classes of a burst into graphlets and run each; return the classes that were merged first.

    Those that do not share with these may share with each other.
    """
    kind = events.kinds[begin]
    seen = np.uint64(0)
    for event in range(begin, end):
        seen |= events.matched[event]
    weights = np.zeros(64, np.int64)
    for member in range(members.queries.size):
        own_class = members.classes[kind, member]
        if own_class >= 0 and seen >> np.uint64(own_class) & np.uint64(1):
            low, high = windows_at(members, member, events.times[begin])
            weights[own_class] += (high - low) * work.columns[member]
    first = np.uint64(0)
    left: Word = seen
    while left:
        merged = left if mode == STATIC else best_merged(events.matched, begin, end, left, weights)
        first = merged if left == seen else first
        if merged == 0:
            merged = left & (~left + np.uint64(1))
        _run_graphlet(members, events, work, begin, end, kind, merged)
        left &= ~merged
    work.counters[BURSTS] += 1
    if merged_before & seen & ~first:
        work.counters[SPLITS] += 1
    elif first & ~merged_before and first & (first - np.uint64(1)):
        work.counters[MERGES] += 1
    return first


@njit(cache=True, nogil=True)
def _run_graphlet(
    members: Members, events: SharedEvents, work: Machinery, begin: int, end: int, kind: int, mask: Word
) -> None:
    """Run a burst for the members of some classes together."""
    pool = work.pool
    width = pool.width
    time = events.times[begin]
    work.counters[GRAPHLETS] += 1
    chosen = np.empty(work.rows.size, np.int64)
    n_chosen = 0
    for member in range(members.queries.size):
        own_class = members.classes[kind, member]
        if own_class < 0 or not mask >> np.uint64(own_class) & np.uint64(1):
            continue
        position = members.position_starts[member] + members.kleene[kind, member]
        first_source = members.source_starts[member]
        begins_here = False
        for feed in range(members.feed_starts[position], members.feed_starts[position + 1]):
            begins_here |= members.owners[first_source + members.feed_sources[feed]] < 0
        low, high = windows_at(members, member, time)
        for window in range(low, high):
            is_open = work.windows[instance_at(work, member, window)] == window
            if not is_open and not begins_here and not members.maps[member]:
                continue
            first = open_window(members, work, member, window)
            for instance in range(first, first + work.columns[member]):
                snapshot = _snapshot(members, work, instance)
                clear_row(pool, snapshot)
                for feed in range(members.feed_starts[position], members.feed_starts[position + 1]):
                    source = members.feed_sources[feed]
                    is_start = members.owners[first_source + source] < 0
                    if not is_start or time != work.undone_at[instance]:
                        add_row(pool, snapshot, work.rows[instance] + source, members.feed_ways[feed])
                if not is_empty(pool, snapshot):
                    chosen[n_chosen] = instance
                    n_chosen += 1
    if n_chosen == 0:
        return
    work.counters[GRAPHLET_SNAPSHOTS] += 1
    if n_chosen > 1:
        work.counters[SHARED] += 1
    factor = work.factor
    _begin_map(events, pool, factor)
    n_mapped, first_mapped, is_whole = 0, begin, True
    group = begin
    while group < end:
        group_end = group
        some, every = np.uint64(0), mask
        while group_end < end and events.ranks[group_end] == events.ranks[group]:
            some |= events.matched[group_end]
            every &= events.matched[group_end]
            group_end += 1
        if some & mask == 0:
            group = group_end
            continue
        if every == mask:
            _extend_map(events, pool, factor, group, group_end)
            n_mapped += 1
        else:
            work.counters[EVENT_SNAPSHOTS] += 1
            if is_whole:
                for place in range(n_chosen):
                    snapshot = _snapshot(members, work, chosen[place])
                    copy_row(pool, snapshot + 1, snapshot)
                is_whole = False
            if n_mapped:
                for place in range(n_chosen):
                    _apply_map(members, events, work, chosen[place], kind, factor, first_mapped, group)
                _begin_map(events, pool, factor)
            n_mapped, first_mapped = 0, group_end
            for place in range(n_chosen):
                _apply_group(members, events, work, chosen[place], kind, group, group_end)
        group = group_end
    if is_whole:  # of the map, what is new is all but the identity
        assign_word(pool.numbers, work.scratch * width, 1)
        subtract(pool.numbers, factor, work.scratch * width)
    for place in range(n_chosen):
        instance = chosen[place]
        if is_whole:
            _add_mapped(members, events, work, instance, kind, factor, begin, end)
            continue
        if n_mapped:
            _apply_map(members, events, work, instance, kind, factor, first_mapped, end)
        _end_graphlet(members, work, instance, kind)


@njit(cache=True, nogil=True)
def _snapshot(members: Members, work: Machinery, instance: int) -> int:
    """Return the row of the snapshot of an instance; what it was at first is the row after it."""
    member = work.members_of[instance]
    return int(work.rows[instance] + members.source_starts[member + 1] - members.source_starts[member])


@njit(cache=True, nogil=True)
def _add_mapped(
    members: Members,
    events: SharedEvents,
    work: Machinery,
    instance: int,
    kind: int,
    factor: int,
    begin: int,
    end: int,
) -> None:
    """Add what a whole graphlet makes of a snapshot to the sources of its position, in one go.

    `factor` is that of the map less one: the trends that are new.
    """
    pool, member = work.pool, work.members_of[instance]
    row = _snapshot(members, work, instance)
    snapshot = row * pool.width
    position = members.kleene[kind, member]
    place = np.uint64(1) << np.uint64(position)
    for extreme in range(pool.best.shape[1]):
        _lower_by_events(members, events, work, member, row, extreme, kind, begin, end)
    first = members.source_starts[member]
    for source in range(members.source_starts[member + 1] - first):
        if members.owners[first + source] != position:
            continue
        target = (work.rows[instance] + source) * pool.width
        add_product(pool.numbers, target, snapshot, factor)
        for lane in range(pool.width - 1):
            column = members.lane_columns[member, lane]
            if column < 0:
                continue
            add_product(pool.numbers, target + 1 + lane, snapshot + 1 + lane, factor)
            if members.lane_positions[member, lane] & place:
                add_product(pool.numbers, target + 1 + lane, snapshot, factor + 1 + column)
        for extreme in range(pool.best.shape[1]):
            if pool.has[row, extreme]:
                lower_row(pool, work.rows[instance] + source, extreme, pool.best[row, extreme])


@njit(cache=True, nogil=True)
def _lower_by_events(
    members: Members,
    events: SharedEvents,
    work: Machinery,
    member: int,
    row: int,
    extreme: int,
    kind: int,
    begin: int,
    end: int,
) -> None:
    """Tell a row of the values of the events of a burst that a member takes."""
    column = members.extreme_columns[member, extreme]
    place = np.uint64(1) << np.uint64(members.kleene[kind, member])
    if column < 0 or not members.extreme_positions[member, extreme] & place:
        return
    own_class = np.uint64(members.classes[kind, member])
    for event in range(begin, end):
        if events.extreme_valid[column, event] and events.matched[event] >> own_class & np.uint64(1):
            lower_row(work.pool, row, extreme, events.extremes[column, event])


@njit(cache=True, nogil=True)
def _begin_map(events: SharedEvents, pool: Pool, factor: int) -> None:
    """Make the map leave everything as it is: a factor of one, and nothing for each column."""
    assign_word(pool.numbers, factor, 1)
    for column in range(events.values.shape[0]):
        clear(pool.numbers, factor + 1 + column)


@njit(cache=True, nogil=True)
def _extend_map(events: SharedEvents, pool: Pool, factor: int, begin: int, end: int) -> None:
    """Follow the map by a group of events of one rank, each of which extends all trends there are."""
    size = end - begin
    for column in range(events.values.shape[0]):
        number = factor + 1 + column
        add_multiple(pool.numbers, number, number, size)
        for event in range(begin, end):
            value, length = events.values[column, event], events.value_lengths[column, event]
            add_scaled(pool.numbers, number, factor, value, length)
    add_multiple(pool.numbers, factor, factor, size)


@njit(cache=True, nogil=True)
def _apply_map(
    members: Members,
    events: SharedEvents,
    work: Machinery,
    instance: int,
    kind: int,
    factor: int,
    begin: int,
    end: int,
) -> None:
    """Apply the map to the snapshot of an instance; `begin` and `end` are the events it stands for."""
    pool, member = work.pool, work.members_of[instance]
    snapshot = _snapshot(members, work, instance) * pool.width
    spare = work.scratch * pool.width
    place = np.uint64(1) << np.uint64(members.kleene[kind, member])
    for lane in range(pool.width - 1):
        column = members.lane_columns[member, lane]
        if column < 0:
            continue
        clear(pool.numbers, spare)
        add_product(pool.numbers, spare, snapshot + 1 + lane, factor)
        if members.lane_positions[member, lane] & place:
            add_product(pool.numbers, spare, snapshot, factor + 1 + column)
        assign(pool.numbers, snapshot + 1 + lane, spare)
    clear(pool.numbers, spare)
    add_product(pool.numbers, spare, snapshot, factor)
    assign(pool.numbers, snapshot, spare)
    for extreme in range(pool.best.shape[1]):
        _lower_by_events(members, events, work, member, snapshot // pool.width, extreme, kind, begin, end)


@njit(cache=True, nogil=True)
def _apply_group(
    members: Members, events: SharedEvents, work: Machinery, instance: int, kind: int, begin: int, end: int
) -> None:
    """Extend the snapshot of an instance by those events of a group that its member takes."""
    pool, member = work.pool, work.members_of[instance]
    own_class = np.uint64(members.classes[kind, member])
    row = _snapshot(members, work, instance)
    new = work.scratch + 1
    clear_row(pool, new)
    for event in range(begin, end):
        if events.matched[event] >> own_class & np.uint64(1):
            add_row(pool, new, row, 1)
            add_event(members, events, pool, new, row, member, event, members.kleene[kind, member])
    add_row(pool, row, new, 1)


@njit(cache=True, nogil=True)
def _end_graphlet(members: Members, work: Machinery, instance: int, kind: int) -> None:
    """Add the trends that end in a graphlet to the sources of its position."""
    pool, member = work.pool, work.members_of[instance]
    first = members.source_starts[member]
    snapshot = _snapshot(members, work, instance)
    for lane in range(pool.width):
        number = snapshot * pool.width + lane
        subtract(pool.numbers, number, number + pool.width)
    for source in range(members.source_starts[member + 1] - first):
        if members.owners[first + source] == members.kleene[kind, member]:
            add_row(pool, work.rows[instance] + source, snapshot, 1)
