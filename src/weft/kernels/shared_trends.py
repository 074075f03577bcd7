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

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown
from weft.kernels.benefit import best_merged
from weft.kernels.naturals import add_multiple, add_product, add_scaled, assign, assign_word, subtract
from weft.kernels.trends import Pool, add_row, clear_row, copy_row, first_window, lower_row, more_rows

MOST_EVENTS = 256  # of a burst; longer ones are cut, so that factors stay short
CLOSED = np.int64(-(1 << 62))  # an instance that has no window at present
DYNAMIC, STATIC = 0, 1
BURSTS, GRAPHLETS, SHARED, GRAPHLET_SNAPSHOTS, EVENT_SNAPSHOTS, SPLITS, MERGES, OTHERS = range(8)
N_COUNTERS = 8


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
    lane_columns: Array
    lane_positions: Array
    extreme_columns: Array
    extreme_positions: Array
    kleene: Array
    classes: Array


class SharedEvents(NamedTuple):
    """The events of a set of queries, by partition and in it by rank.

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
    snapshot and what it was when the graphlet began. `scratch` is the first of the spare rows.
    """

    pool: Pool
    members_of: Array
    firsts: Array
    rows: Array
    windows: Array
    active: Array
    n_active: Array
    counters: Array
    scratch: int


class SharedResults(NamedTuple):
    """Results as `trends.Results`, with the member of each."""

    members: Array
    partitions: Array
    windows: Array
    offsets: Array
    limbs: Array
    best: Array
    has: Array
    counters: Array


@njit(cache=True, nogil=True)
def sum_shared_trends(
    members: Members, events: SharedEvents, pane: int, n_limbs: int, mode: int
) -> SharedResults:
    """Aggregate the trends of every member, partition and window; with pane 0 a partition is one window."""
    work = _machinery(members, events, n_limbs)
    width, n_extremes = work.pool.width, work.pool.best.shape[1]
    owners, partitions, windows = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64, np.int64)
    offsets, content = np.zeros(64 * width + 1, np.int64), np.empty(1024, np.uint32)
    best, has = np.empty((64, n_extremes), np.int64), np.empty((64, n_extremes), np.bool_)
    n_results = 0
    for partition in range(events.starts.size - 1):
        begin, stop = events.starts[partition], events.starts[partition + 1]
        merged_before = np.uint64(0)
        while begin <= stop:
            is_over = begin == stop
            # Windows that are over before the next event, or all of them at the end, give their results.
            kept = 0
            for place in range(work.n_active[0]):
                instance = work.active[place]
                member = work.members_of[instance]
                window = work.windows[instance]
                end = window * members.slides[member] + members.lengths[member]
                if not is_over and (members.slides[member] == 0 or events.times[begin] < end):
                    work.active[kept] = instance
                    kept += 1
                    continue
                work.windows[instance] = CLOSED
                result = work.scratch
                clear_row(work.pool, result)
                for place_of_end in range(members.end_starts[member], members.end_starts[member + 1]):
                    source = work.rows[instance] + members.end_sources[place_of_end]
                    add_row(work.pool, result, source, members.end_ways[place_of_end])
                if work.pool.lengths[result * width] == 0:
                    continue
                if n_results == owners.size:
                    owners, partitions, windows = grown(owners), grown(partitions), grown(windows)
                    best, has = more_rows(best), more_rows(has)
                    more = np.zeros(2 * n_results * width + 1, np.int64)
                    more[: offsets.size] = offsets
                    offsets = more
                owners[n_results], partitions[n_results], windows[n_results] = member, partition, window
                for lane in range(width):
                    number = n_results * width + lane
                    used = work.pool.lengths[result * width + lane]
                    while offsets[number] + used > content.size:
                        content = grown(content)
                    for limb in range(used):
                        content[offsets[number] + limb] = work.pool.limbs[result * width + lane, limb]
                    offsets[number + 1] = offsets[number] + used
                for extreme in range(n_extremes):
                    best[n_results, extreme] = work.pool.best[result, extreme]
                    has[n_results, extreme] = work.pool.has[result, extreme]
                n_results += 1
            work.n_active[0] = kept
            if is_over:
                break
            end_of_burst = _burst(events, begin, stop, pane)
            if end_of_burst > begin:
                merged_before = _run_burst(members, events, work, begin, end_of_burst, mode, merged_before)
                begin = end_of_burst
            else:
                end = begin + 1
                while end < stop and events.ranks[end] == events.ranks[begin]:
                    end += 1
                work.counters[OTHERS] += end - begin
                _run_group(members, events, work, begin, end)
                begin = end
    return SharedResults(
        owners[:n_results],
        partitions[:n_results],
        windows[:n_results],
        offsets[: n_results * width + 1],
        content[: offsets[n_results * width]],
        best[:n_results],
        has[:n_results],
        work.counters,
    )


@njit(cache=True, nogil=True)
def _machinery(members: Members, events: SharedEvents, n_limbs: int) -> Machinery:
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
    pool = Pool(
        np.empty((n_rows * width, n_limbs), np.uint32),
        np.zeros(n_rows * width, np.int64),
        np.empty((n_rows, n_extremes), np.int64),
        np.zeros((n_rows, n_extremes), np.bool_),
        width,
    )
    return Machinery(
        pool,
        members_of,
        firsts,
        rows,
        np.full(n_instances, CLOSED, np.int64),
        np.empty(n_instances, np.int64),
        np.zeros(1, np.int64),
        np.zeros(N_COUNTERS, np.int64),
        scratch,
    )


@njit(cache=True, nogil=True)
def _open(members: Members, work: Machinery, member: int, window: int) -> int:
    """Return the instance of a member in a window, made ready if it is new."""
    n_slots = work.firsts[member + 1] - work.firsts[member]
    instance = work.firsts[member] + window % n_slots
    if work.windows[instance] != window:
        work.windows[instance] = window
        work.active[work.n_active[0]] = instance
        work.n_active[0] += 1
        first = members.source_starts[member]
        for source in range(members.source_starts[member + 1] - first):
            row = work.rows[instance] + source
            clear_row(work.pool, row)
            if members.owners[first + source] < 0:
                assign_word(work.pool.limbs, work.pool.lengths, row * work.pool.width, 1)
    return instance


@njit(cache=True, nogil=True)
def _windows_at(members: Members, member: int, time: int) -> tuple[int, int]:
    """Return the first window of a member that holds a time, and the one after the last."""
    slide = members.slides[member]
    if slide == 0:
        return 0, 1
    low = max(first_window(time, members.lengths[member], slide), members.first_windows[member])
    return low, max(low, min(time // slide, members.last_windows[member]) + 1)


@njit(cache=True, nogil=True)
def _burst(events: SharedEvents, begin: int, stop: int, pane: int) -> int:
    """Return where the burst that begins with an event ends: before it, if there is none."""
    kind = events.kinds[begin]
    if kind < 0:
        return begin
    end = begin
    while end < stop and end - begin < MOST_EVENTS:
        if pane and events.times[end] // pane != events.times[begin] // pane:
            break
        group_end = end
        while group_end < stop and events.ranks[group_end] == events.ranks[end]:
            if events.kinds[group_end] != kind:
                return end
            group_end += 1
        end = group_end
    return end


@njit(cache=True, nogil=True)
def _run_burst(
    members: Members,
    events: SharedEvents,
    work: Machinery,
    begin: int,
    end: int,
    mode: int,
    merged_before: int,
) -> int:
    """Divide the classes of a burst into graphlets and run each; return the classes that were merged."""
    kind = events.kinds[begin]
    seen = np.uint64(0)
    for event in range(begin, end):
        seen |= events.matched[event]
    weights = np.zeros(64, np.int64)
    for member in range(members.queries.size):
        one = members.classes[kind, member]
        if one >= 0 and seen >> np.uint64(one) & np.uint64(1):
            low, high = _windows_at(members, member, events.times[begin])
            weights[one] += high - low
    merged = seen if mode == STATIC else best_merged(events.matched, begin, end, seen, weights)
    work.counters[BURSTS] += 1
    if merged_before & seen & ~merged:
        work.counters[SPLITS] += 1
    elif merged & ~merged_before and merged & (merged - np.uint64(1)):
        work.counters[MERGES] += 1
    left = seen & ~merged
    if merged:
        _run_graphlet(members, events, work, begin, end, kind, merged)
    while left:
        lowest = left & (~left + np.uint64(1))
        _run_graphlet(members, events, work, begin, end, kind, lowest)
        left &= ~lowest
    return merged


@njit(cache=True, nogil=True)
def _run_graphlet(
    members: Members, events: SharedEvents, work: Machinery, begin: int, end: int, kind: int, mask: int
) -> None:
    """Run a burst for the members of some classes together."""
    pool = work.pool
    width = pool.width
    time = events.times[begin]
    work.counters[GRAPHLETS] += 1
    chosen = np.empty(work.rows.size, np.int64)
    n_chosen = 0
    for member in range(members.queries.size):
        one = members.classes[kind, member]
        if one < 0 or not mask >> np.uint64(one) & np.uint64(1):
            continue
        position = members.position_starts[member] + members.kleene[kind, member]
        first_source = members.source_starts[member]
        begins_here = False
        for feed in range(members.feed_starts[position], members.feed_starts[position + 1]):
            begins_here |= members.owners[first_source + members.feed_sources[feed]] < 0
        low, high = _windows_at(members, member, time)
        n_slots = work.firsts[member + 1] - work.firsts[member]
        for window in range(low, high):
            instance = work.firsts[member] + window % n_slots
            if work.windows[instance] != window:
                if not begins_here:
                    continue
                instance = _open(members, work, member, window)
            snapshot = work.rows[instance] + members.source_starts[member + 1] - first_source
            clear_row(pool, snapshot)
            for feed in range(members.feed_starts[position], members.feed_starts[position + 1]):
                source = work.rows[instance] + members.feed_sources[feed]
                add_row(pool, snapshot, source, members.feed_ways[feed])
            if pool.lengths[snapshot * width]:
                chosen[n_chosen] = instance
                n_chosen += 1
    if n_chosen == 0:
        return
    work.counters[GRAPHLET_SNAPSHOTS] += 1
    if n_chosen > 1:
        work.counters[SHARED] += 1
    factor = (work.scratch + 3 + 2 * _most_positions(members)) * width
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
        assign_word(pool.limbs, pool.lengths, work.scratch * width, 1)
        subtract(pool.limbs, pool.lengths, factor, work.scratch * width)
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
        add_product(pool.limbs, pool.lengths, target, snapshot, factor)
        for lane in range(pool.width - 1):
            column = members.lane_columns[member, lane]
            if column < 0:
                continue
            add_product(pool.limbs, pool.lengths, target + 1 + lane, snapshot + 1 + lane, factor)
            if members.lane_positions[member, lane] & place:
                add_product(pool.limbs, pool.lengths, target + 1 + lane, snapshot, factor + 1 + column)
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
    one = np.uint64(members.classes[kind, member])
    for event in range(begin, end):
        if events.extreme_valid[column, event] and events.matched[event] >> one & np.uint64(1):
            lower_row(work.pool, row, extreme, events.extremes[column, event])


@njit(cache=True, nogil=True)
def _most_positions(members: Members) -> int:
    most = 0
    for member in range(members.queries.size):
        most = max(most, members.position_starts[member + 1] - members.position_starts[member])
    return most


@njit(cache=True, nogil=True)
def _begin_map(events: SharedEvents, pool: Pool, factor: int) -> None:
    """Make the map leave everything as it is: a factor of one, and nothing for each column."""
    assign_word(pool.limbs, pool.lengths, factor, 1)
    for column in range(events.values.shape[0]):
        pool.lengths[factor + 1 + column] = 0


@njit(cache=True, nogil=True)
def _extend_map(events: SharedEvents, pool: Pool, factor: int, begin: int, end: int) -> None:
    """Follow the map by a group of events of one rank, each of which extends all trends there are."""
    size = end - begin
    for column in range(events.values.shape[0]):
        number = factor + 1 + column
        add_multiple(pool.limbs, pool.lengths, number, number, size)
        for event in range(begin, end):
            value, length = events.values[column, event], events.value_lengths[column, event]
            add_scaled(pool.limbs, pool.lengths, number, factor, value, length)
    add_multiple(pool.limbs, pool.lengths, factor, factor, size)


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
        pool.lengths[spare] = 0
        add_product(pool.limbs, pool.lengths, spare, snapshot + 1 + lane, factor)
        if members.lane_positions[member, lane] & place:
            add_product(pool.limbs, pool.lengths, spare, snapshot, factor + 1 + column)
        assign(pool.limbs, pool.lengths, snapshot + 1 + lane, spare)
    pool.lengths[spare] = 0
    add_product(pool.limbs, pool.lengths, spare, snapshot, factor)
    assign(pool.limbs, pool.lengths, snapshot, spare)
    for extreme in range(pool.best.shape[1]):
        _lower_by_events(
            members, events, work, member, snapshot // pool.width, extreme, kind, begin, end
        )


@njit(cache=True, nogil=True)
def _apply_group(
    members: Members, events: SharedEvents, work: Machinery, instance: int, kind: int, begin: int, end: int
) -> None:
    """Extend the snapshot of an instance by those events of a group that its member takes."""
    pool, member = work.pool, work.members_of[instance]
    one = np.uint64(members.classes[kind, member])
    row = _snapshot(members, work, instance)
    new = work.scratch + 1
    clear_row(pool, new)
    for event in range(begin, end):
        if events.matched[event] >> one & np.uint64(1):
            add_row(pool, new, row, 1)
            _add_event(members, events, pool, new, row, member, event, members.kleene[kind, member])
    add_row(pool, row, new, 1)


@njit(cache=True, nogil=True)
def _add_event(
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
            add_scaled(pool.limbs, pool.lengths, number, extended * pool.width, value, length)
    for extreme in range(pool.best.shape[1]):
        column = members.extreme_columns[member, extreme]
        if column >= 0 and members.extreme_positions[member, extreme] & place:
            if events.extreme_valid[column, event]:
                lower_row(pool, target, extreme, events.extremes[column, event])


@njit(cache=True, nogil=True)
def _end_graphlet(members: Members, work: Machinery, instance: int, kind: int) -> None:
    """Add the trends that end in a graphlet to the sources of its position."""
    pool, member = work.pool, work.members_of[instance]
    first = members.source_starts[member]
    snapshot = _snapshot(members, work, instance)
    for lane in range(pool.width):
        number = snapshot * pool.width + lane
        subtract(pool.limbs, pool.lengths, number, number + pool.width)
    for source in range(members.source_starts[member + 1] - first):
        if members.owners[first + source] == members.kleene[kind, member]:
            add_row(pool, work.rows[instance] + source, snapshot, 1)


@njit(cache=True, nogil=True)
def _run_group(members: Members, events: SharedEvents, work: Machinery, begin: int, end: int) -> None:
    """Add events of one rank, query by query and window by window."""
    pool = work.pool
    for member in range(members.queries.size):
        query = members.queries[member]
        seen = np.uint64(0)
        for event in range(begin, end):
            seen |= events.takes[query, event]
        if seen == 0:
            continue
        low, high = _windows_at(members, member, events.times[begin])
        for window in range(low, high):
            instance = _open(members, work, member, window)
            _run_instance(members, events, work, instance, begin, end, seen)


@njit(cache=True, nogil=True)
def _run_instance(
    members: Members, events: SharedEvents, work: Machinery, instance: int, begin: int, end: int, seen: int
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
            source = own + members.feed_sources[feed]
            add_row(pool, bases + position, source, members.feed_ways[feed])
        if pool.lengths[(bases + position) * pool.width] == 0:
            continue
        for event in range(begin, end):
            if events.takes[query, event] >> item & np.uint64(1):
                add_row(pool, news + position, bases + position, 1)
                _add_event(
                    members, events, pool, news + position, bases + position, member, event, position
                )
    for source in range(members.source_starts[member + 1] - first_source):
        owner = members.owners[first_source + source]
        if members.negated[first_source + source] & seen:
            clear_row(pool, own + source)
        if owner >= 0:
            add_row(pool, own + source, news + owner, 1)
