"""Aggregates over the trends of one query, window by window, without building the trends.

A row is what is known of some trends: how many there are, the sums (lanes) and the smallest values
(extremes) of their events. Rows live in a pool of natural numbers, `1 + lanes` numbers to a row. An event
extends the trends of the sources that feed its position; events of one rank do not see each other.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown
from weft.kernels.naturals import add_multiple, add_scaled, assign, assign_word

SUM, SCAN, ORDERED = 0, 1, 2  # how a source is read: as a sum, event by event, or through an index
EVERY_WINDOW = (-(1 << 62), 1 << 62)  # the first and the last window to look at


class Machine(NamedTuple):
    """An automaton as arrays; sets of items and of positions are bits of a word.

    Position p takes item items[p] and is fed by feed_sources[feed_starts[p]:feed_starts[p + 1]]. Source s
    holds trends that end at owners[s] (-1: the empty trend) and loses them to the items in negated[s].
    A scanned source has the steps step_starts[s]:step_starts[s + 1], each a mask of allowed signs: bit 0
    of it allows less, bit 1 equal, bit 2 greater. An ordered source has one step.
    """

    items: Array
    feed_starts: Array
    feed_sources: Array
    feed_ways: Array
    owners: Array
    negated: Array
    kinds: Array
    step_starts: Array
    step_masks: Array
    end_sources: Array
    end_ways: Array


class Taken(NamedTuple):
    """The events that a query takes or negates, by partition and in it by rank.

    Bit i of `takes` says that an event is one of item i. `lefts` and `rights` are the two sides of each
    step, for every event. A lane adds the values of its column for events at the positions of a mask; the
    values are naturals of a fixed number of limbs. `extremes` likewise, as int64.
    """

    times: Array
    ranks: Array
    takes: Array
    starts: Array
    lefts: Array
    left_valid: Array
    rights: Array
    right_valid: Array
    values: Array
    value_lengths: Array
    lane_columns: Array
    lane_positions: Array
    extremes: Array
    extreme_valid: Array
    extreme_positions: Array


class Pool(NamedTuple):
    """Rows: `width` numbers each, and the smallest values with whether there is one."""

    limbs: Array
    lengths: Array
    best: Array
    has: Array
    width: int


class Results(NamedTuple):
    """A result for each partition and window with trends: its rows one after the other.

    Number n of result r is limbs[offsets[r * width + n]:offsets[r * width + n + 1]].
    """

    partitions: Array
    windows: Array
    offsets: Array
    limbs: Array
    best: Array
    has: Array


@njit(cache=True, nogil=True)
def clear_row(pool: Pool, row: int) -> None:
    """Make a row stand for no trends."""
    for lane in range(pool.width):
        pool.lengths[row * pool.width + lane] = 0
    for extreme in range(pool.best.shape[1]):
        pool.has[row, extreme] = False


@njit(cache=True, nogil=True)
def copy_row(pool: Pool, target: int, other: int) -> None:
    """Make a row stand for the trends of another."""
    for lane in range(pool.width):
        assign(pool.limbs, pool.lengths, target * pool.width + lane, other * pool.width + lane)
    for extreme in range(pool.best.shape[1]):
        pool.has[target, extreme] = pool.has[other, extreme]
        pool.best[target, extreme] = pool.best[other, extreme]


@njit(cache=True, nogil=True)
def add_row(pool: Pool, target: int, other: int, ways: int) -> None:
    """Add the trends of a row to another, each so many times."""
    if pool.lengths[other * pool.width] == 0:
        return
    for lane in range(pool.width):
        add_multiple(pool.limbs, pool.lengths, target * pool.width + lane, other * pool.width + lane, ways)
    for extreme in range(pool.best.shape[1]):
        if pool.has[other, extreme]:
            lower_row(pool, target, extreme, pool.best[other, extreme])


@njit(cache=True, nogil=True)
def lower_row(pool: Pool, row: int, extreme: int, value: int) -> None:
    """Tell a row of a value that may be its smallest."""
    if not pool.has[row, extreme] or value < pool.best[row, extreme]:
        pool.has[row, extreme] = True
        pool.best[row, extreme] = value


@njit(cache=True, nogil=True)
def add_event(pool: Pool, target: int, extended: int, taken: Taken, event: int, position: int) -> None:
    """Add what an event itself contributes where it extends the trends of a row."""
    place = np.uint64(1) << np.uint64(position)
    count = extended * pool.width
    for lane in range(pool.width - 1):
        if taken.lane_positions[lane] & place:
            column = taken.lane_columns[lane]
            factor, length = taken.values[column, event], taken.value_lengths[column, event]
            add_scaled(pool.limbs, pool.lengths, target * pool.width + 1 + lane, count, factor, length)
    for extreme in range(pool.best.shape[1]):
        if taken.extreme_positions[extreme] & place and taken.extreme_valid[extreme, event]:
            lower_row(pool, target, extreme, taken.extremes[extreme, event])


@njit(cache=True, nogil=True)
def allows(mask: int, left: int, right: int) -> bool:
    """Whether a mask of signs allows two values."""
    return bool(mask & (1 if left < right else 2 if left == right else 4))


@njit(cache=True, nogil=True)
def sum_trends(
    machine: Machine,
    taken: Taken,
    length: int,
    slide: int,
    n_limbs: int,
    scans_all: bool,
    chosen: tuple[int, int],
) -> Results:
    """Aggregate the trends of every partition and window; with slide 0, a partition is one window.

    Only the windows from the first to the last of those `chosen` are looked at.

    Work per event is a sum for each feed; of a scanned feed, one for each earlier event of the window; of
    an ordered one, one for every level of a tree. `scans_all` scans them all, as GRETA does.
    """
    n_sources, n_positions = machine.owners.size, machine.items.size
    n_extremes = taken.extremes.shape[0]
    width = 1 + taken.lane_columns.size
    most = largest_window(taken.times, taken.starts, length, slide)
    is_stored = np.zeros(n_positions, np.bool_)
    trees = np.full(n_sources, -1, np.int64)
    n_trees = 0
    for source in range(n_sources):
        owner = machine.owners[source]
        if owner >= 0 and (machine.kinds[source] != SUM or scans_all):
            is_stored[owner] = True
        if machine.kinds[source] == ORDERED and not scans_all:
            trees[source] = n_trees
            n_trees += 1
    stores = np.cumsum(is_stored) - 1
    n_fixed = n_sources + 2 * n_positions + 2
    n_rows = n_fixed + (most * is_stored.sum()) + n_trees * (most + 1)
    pool = Pool(
        np.empty((n_rows * width, n_limbs), np.uint32),
        np.zeros(n_rows * width, np.int64),
        np.empty((n_rows, n_extremes), np.int64),
        np.zeros((n_rows, n_extremes), np.bool_),
        width,
    )
    stored = np.empty((n_positions, most), np.int64)
    result = n_fixed - 1
    partitions, windows = np.empty(64, np.int64), np.empty(64, np.int64)
    offsets, content = np.zeros(64 * width + 1, np.int64), np.empty(1024, np.uint32)
    best, has = np.empty((64, n_extremes), np.int64), np.empty((64, n_extremes), np.bool_)
    n_results = 0
    for partition in range(taken.starts.size - 1):
        low, stop = taken.starts[partition], taken.starts[partition + 1]
        high, window = low, max(first_window(taken.times[low], length, slide), chosen[0])
        while low < stop and window <= chosen[1]:
            if slide == 0:
                high = stop
            else:
                start = window * slide
                while low < stop and taken.times[low] < start:
                    low += 1
                high = max(high, low)
                while high < stop and taken.times[high] < start + length:
                    high += 1
            if low == high:
                if low < stop:
                    window = max(window + 1, first_window(taken.times[low], length, slide))
                continue
            _run_window(machine, taken, low, high, pool, stored, stores, trees, most, scans_all)
            if pool.lengths[result * width]:
                if n_results == partitions.size:
                    partitions, windows = grown(partitions), grown(windows)
                    best, has = more_rows(best), more_rows(has)
                    more = np.zeros(2 * n_results * width + 1, np.int64)
                    more[: offsets.size] = offsets
                    offsets = more
                partitions[n_results], windows[n_results] = partition, window
                for lane in range(width):
                    number = n_results * width + lane
                    used = pool.lengths[result * width + lane]
                    while offsets[number] + used > content.size:
                        content = grown(content)
                    for place in range(used):
                        content[offsets[number] + place] = pool.limbs[result * width + lane, place]
                    offsets[number + 1] = offsets[number] + used
                for extreme in range(n_extremes):
                    best[n_results, extreme] = pool.best[result, extreme]
                    has[n_results, extreme] = pool.has[result, extreme]
                n_results += 1
            if slide == 0:
                break
            window += 1
    return Results(
        partitions[:n_results],
        windows[:n_results],
        offsets[: n_results * width + 1],
        content[: offsets[n_results * width]],
        best[:n_results],
        has[:n_results],
    )


@njit(cache=True, nogil=True)
def first_window(time: int, length: int, slide: int) -> int:
    """Return the number of the first window that ends after a time; with slide 0 there is only one."""
    return (time - length) // slide + 1 if slide else 0


@njit(cache=True, nogil=True)
def more_rows(rows: Array) -> Array:
    """Return a copy of a matrix with twice the room for rows."""
    more = np.empty((2 * rows.shape[0], rows.shape[1]), rows.dtype)
    more[: rows.shape[0]] = rows
    return more


@njit(cache=True, nogil=True)
def largest_window(times: Array, starts: Array, length: int, slide: int) -> int:
    """Return how many events the fullest window of a partition can have."""
    most = 1
    for partition in range(starts.size - 1):
        low = starts[partition]
        for high in range(low, starts[partition + 1]):
            while slide and times[high] - times[low] >= length:
                low += 1
            most = max(most, high - low + 1)
    return most


@njit(cache=True, nogil=True)
def _run_window(
    machine: Machine,
    taken: Taken,
    low: int,
    high: int,
    pool: Pool,
    stored: Array,
    stores: Array,
    trees: Array,
    most: int,
    scans_all: bool,
) -> None:
    """Aggregate the trends of one window; the last fixed row of the pool is the result.

    Rows of the pool: sources; for every position what feeds it and what is new; a row for one event; the
    result; the events stored by position; the trees.
    """
    n_sources, n_positions = machine.owners.size, machine.items.size
    bases, news = n_sources, n_sources + n_positions
    single = news + n_positions
    first_store = single + 2
    first_tree = first_store + most * (stores[-1] + 1)
    n_stored, n_visible = np.zeros(n_positions, np.int64), np.zeros(n_positions, np.int64)
    since = np.zeros(n_sources, np.int64)
    based_at = np.full(n_positions, -1, np.int64)
    sorted_keys, places = _ordered_keys(machine, taken, low, high, trees)
    for source in range(n_sources):
        clear_row(pool, source)
        if machine.owners[source] < 0:
            assign_word(pool.limbs, pool.lengths, source * pool.width, 1)
        if trees[source] >= 0:
            for node in range(most + 1):
                clear_row(pool, first_tree + trees[source] * (most + 1) + node)
    begin = low
    while begin < high:
        end = begin + 1
        while end < high and taken.ranks[end] == taken.ranks[begin]:
            end += 1
        seen = np.uint64(0)
        for position in range(n_positions):
            clear_row(pool, news + position)
        for event in range(begin, end):
            seen |= taken.takes[event]
            for position in range(n_positions):
                if not taken.takes[event] >> np.uint64(machine.items[position]) & np.uint64(1):
                    continue
                row = bases + position
                is_indexed = False
                for feed in range(machine.feed_starts[position], machine.feed_starts[position + 1]):
                    source = machine.feed_sources[feed]
                    if machine.owners[source] >= 0 and (machine.kinds[source] != SUM or scans_all):
                        is_indexed = True
                if is_indexed:
                    row = single
                if is_indexed or based_at[position] != begin:
                    clear_row(pool, row)
                    based_at[position] = begin
                    for feed in range(machine.feed_starts[position], machine.feed_starts[position + 1]):
                        source, ways = machine.feed_sources[feed], machine.feed_ways[feed]
                        owner = machine.owners[source]
                        if owner < 0 or (machine.kinds[source] == SUM and not scans_all):
                            add_row(pool, row, source, ways)
                        elif trees[source] >= 0:
                            root = first_tree + trees[source] * (most + 1)
                            step = machine.step_starts[source]
                            if taken.right_valid[step, event]:
                                mask, right = machine.step_masks[step], taken.rights[step, event]
                                _add_ordered(
                                    pool, row, root, sorted_keys[trees[source]], mask, right, ways, high - low
                                )
                        else:
                            for place in range(since[source], n_visible[owner]):
                                before = stored[owner, place]
                                holds = True
                                for step in range(machine.step_starts[source], machine.step_starts[source + 1]):
                                    holds &= (
                                        taken.left_valid[step, before]
                                        and taken.right_valid[step, event]
                                        and allows(
                                            machine.step_masks[step],
                                            taken.lefts[step, before],
                                            taken.rights[step, event],
                                        )
                                    )
                                if holds:
                                    add_row(pool, row, first_store + stores[owner] * most + place, ways)
                if pool.lengths[row * pool.width] == 0:
                    continue
                add_row(pool, news + position, row, 1)
                add_event(pool, news + position, row, taken, event, position)
                if stores[position] >= 0 and (position == 0 or stores[position] > stores[position - 1]):
                    place = n_stored[position]
                    stored[position, place] = event
                    own = first_store + stores[position] * most + place
                    copy_row(pool, own, row)
                    add_event(pool, own, row, taken, event, position)
                    n_stored[position] += 1
        for source in range(n_sources):
            owner = machine.owners[source]
            if machine.negated[source] & seen:
                clear_row(pool, source)
                if owner >= 0:
                    since[source] = n_visible[owner]
            if owner < 0:
                continue
            add_row(pool, source, news + owner, 1)
            if trees[source] >= 0:
                root = first_tree + trees[source] * (most + 1)
                step = machine.step_starts[source]
                for place in range(n_visible[owner], n_stored[owner]):
                    event = stored[owner, place]
                    if taken.left_valid[step, event]:
                        own = first_store + stores[owner] * most + place
                        key = places[trees[source], event - low]
                        _insert(pool, root, key, own, machine.step_masks[step], high - low)
        for position in range(n_positions):
            n_visible[position] = n_stored[position]
        begin = end
    result = single + 1
    clear_row(pool, result)
    for end_place in range(machine.end_sources.size):
        add_row(pool, result, machine.end_sources[end_place], machine.end_ways[end_place])


@njit(cache=True, nogil=True)
def _ordered_keys(
    machine: Machine, taken: Taken, low: int, high: int, trees: Array
) -> tuple[Array, Array]:
    """Return, for every tree, the keys of the window in order, and the place of each event among them."""
    n_trees = 0
    for source in range(trees.size):
        n_trees = max(n_trees, trees[source] + 1)
    sorted_keys = np.empty((n_trees, high - low), np.int64)
    places = np.empty((n_trees, high - low), np.int64)
    for source in range(trees.size):
        if trees[source] >= 0:
            keys = taken.lefts[machine.step_starts[source], low:high]
            order = np.argsort(keys, kind="mergesort")
            for place in range(order.size):
                sorted_keys[trees[source], place] = keys[order[place]]
                places[trees[source], order[place]] = place
    return sorted_keys, places


@njit(cache=True, nogil=True)
def _insert(pool: Pool, root: int, key: int, row: int, mask: int, size: int) -> None:
    """Add a row to a Fenwick tree; where greater keys are asked for, the order is turned round."""
    node = size - key if mask & 4 else key + 1
    while node <= size:
        add_row(pool, root + node, row, 1)
        node += node & -node


@njit(cache=True, nogil=True)
def _add_ordered(
    pool: Pool, row: int, root: int, keys: Array, mask: int, right: int, ways: int, size: int
) -> None:
    """Add the rows of a tree whose keys compare with a value as the mask allows: a prefix of them."""
    below = np.searchsorted(keys[:size], right, side="left")
    up_to = np.searchsorted(keys[:size], right, side="right")
    if mask & 4:
        node = size - (below if mask & 2 else up_to)
    else:
        node = up_to if mask & 2 else below
    while node > 0:
        add_row(pool, row, root + node, ways)
        node -= node & -node
