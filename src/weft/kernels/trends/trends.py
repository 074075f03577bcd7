"""Aggregates over the trends of one query, window by window, without building the trends.

An event extends the trends of the sources that feed its position; events of one rank do not see each other.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.trends.members import Members, SharedEvents, add_event
from weft.kernels.trends.naturals import assign_word
from weft.kernels.trends.results import Room, with_result
from weft.kernels.trends.rows import (
    Pool,
    add_row,
    clear_row,
    copy_row,
    first_window,
    is_empty,
    largest_window,
    new_pool,
)

SUM, SCAN, ORDERED = 0, 1, 2  # how a source is read: as a sum, event by event, or through an index
NEVER = -(1 << 63)  # the time at which nothing happens
EVERY_WINDOW = (-(1 << 62), 1 << 62)  # the first and the last window to look at


class Steps(NamedTuple):
    """How the sources of a member are read, and the conditions between neighbors.

    Source s has the steps starts[s]:starts[s + 1], each a mask of allowed signs: bit 0 of it allows less, bit
    1 equal, bit 2 greater. An ordered source has one step. `lefts` and `rights` are the two sides of each
    step, for every event.
    """

    kinds: Array
    starts: Array
    masks: Array
    lefts: Array
    left_valid: Array
    rights: Array
    right_valid: Array


@njit(cache=True, nogil=True)
def is_read_by_event(members: Members, steps: Steps, source: int, scans_all: bool) -> bool:
    """Whether the trends of a source are kept by their last events, not only as a sum."""
    return bool(members.owners[source] >= 0 and (steps.kinds[source] != SUM or scans_all))


@njit(cache=True, nogil=True)
def _may_follow(steps: Steps, source: int, before: int, event: int) -> bool:
    """Whether an event may follow another along the steps of a source."""
    for step in range(steps.starts[source], steps.starts[source + 1]):
        if not steps.left_valid[step, before] or not steps.right_valid[step, event]:
            return False
        left, right = steps.lefts[step, before], steps.rights[step, event]
        if not steps.masks[step] & (1 if left < right else 2 if left == right else 4):
            return False
    return True


@njit(cache=True, nogil=True)
def sum_trends(
    members: Members, events: SharedEvents, steps: Steps, most: int, scans_all: bool, room: Room
) -> Array:
    """Aggregate the trends of a lone member, window by window; with slide 0, a partition is one window.

    Results go to the room, their limbs are returned. Numbers are exact up to `most` limbs.

    Work per event is a sum for each feed; of a scanned feed, one for each earlier event of the window; of
    an ordered one, one for every level of a tree. `scans_all` scans them all, as GRETA does.
    """
    n_sources, n_positions = members.owners.size, members.items.size
    length, slide = members.lengths[0], members.slides[0]
    width, n_extremes = 1 + members.lane_columns.shape[1], members.extreme_columns.shape[1]
    n_events = largest_window(events.times, events.starts, length, slide)
    stores, trees = np.full(n_positions, -1, np.int64), np.full(n_sources, -1, np.int64)
    n_stores, n_trees = 0, 0
    for source in range(n_sources):
        owner = members.owners[source]
        if is_read_by_event(members, steps, source, scans_all) and stores[owner] < 0:
            stores[owner] = n_stores
            n_stores += 1
        if steps.kinds[source] == ORDERED and not scans_all:
            trees[source] = n_trees
            n_trees += 1
    n_fixed = n_sources + 2 * n_positions + 2
    n_rows = n_fixed + n_events * n_stores + n_trees * (n_events + 1)
    pool = new_pool(n_rows, width, most, n_extremes)
    stored = np.empty((n_positions, n_events), np.int64)
    result = n_fixed - 1
    limbs = np.empty(1024, np.uint32)
    for partition in range(events.starts.size - 1):
        low, stop = events.starts[partition], events.starts[partition + 1]
        high, window = low, max(first_window(events.times[low], length, slide), members.first_windows[0])
        while low < stop and window <= members.last_windows[0]:
            start = window * slide
            while slide and low < stop and events.times[low] < start:
                low += 1
            high = max(high, low)
            while high < stop and (slide == 0 or events.times[high] < start + length):
                high += 1
            if low < high:
                _run_window(
                    members, events, steps, low, high, pool, stored, stores, trees, n_events, scans_all
                )
                if not is_empty(pool, result):
                    limbs = with_result(limbs, room, pool, result, 0, partition, window)
                window += 1
            elif low < stop:
                window = max(window + 1, first_window(events.times[low], length, slide))
            if slide == 0:
                break
    return limbs


@njit(cache=True, nogil=True)
def _run_window(
    members: Members,
    events: SharedEvents,
    steps: Steps,
    low: int,
    high: int,
    pool: Pool,
    stored: Array,
    stores: Array,
    trees: Array,
    n_events: int,
    scans_all: bool,
) -> None:
    """Aggregate the trends of one window; the last fixed row of the pool is the result.

    Rows of the pool: sources; for every position what feeds it and what is new; a row for one event; the
    result; the events stored by position; the trees.
    """
    n_sources, n_positions = members.owners.size, members.items.size
    bases, news = n_sources, n_sources + n_positions
    single = news + n_positions
    first_store = single + 2
    first_tree = first_store + n_events * (stores.max() + 1)
    takes = events.takes[members.queries[0]]
    n_stored, n_visible = np.zeros(n_positions, np.int64), np.zeros(n_positions, np.int64)
    since = np.zeros(n_sources, np.int64)
    based_at = np.full(n_positions, -1, np.int64)
    undone, undone_at = members.undone_by[0], NEVER
    is_indexed = np.zeros(n_positions, np.bool_)
    for position in range(n_positions):
        for feed in range(members.feed_starts[position], members.feed_starts[position + 1]):
            is_indexed[position] |= is_read_by_event(members, steps, members.feed_sources[feed], scans_all)
    sorted_keys, places = _ordered_keys(steps, low, high, trees)
    for source in range(n_sources):
        clear_row(pool, source)
        if members.owners[source] < 0:
            assign_word(pool.numbers, source * pool.width, 1)
        _clear_tree(pool, trees[source], first_tree, n_events)
    begin = low
    while begin < high:
        end = begin + 1
        while end < high and events.ranks[end] == events.ranks[begin]:
            end += 1
        seen = np.uint64(0)
        for position in range(n_positions):
            clear_row(pool, news + position)
        for event in range(begin, end):
            seen |= takes[event]
            for position in range(n_positions):
                if not takes[event] >> np.uint64(members.items[position]) & np.uint64(1):
                    continue
                row = single if is_indexed[position] else bases + position
                if is_indexed[position] or based_at[position] != begin:
                    based_at[position] = begin
                    clear_row(pool, row)
                    for feed in range(members.feed_starts[position], members.feed_starts[position + 1]):
                        source, ways = members.feed_sources[feed], members.feed_ways[feed]
                        owner = members.owners[source]
                        if owner < 0 and events.times[event] == undone_at:
                            continue
                        if not is_read_by_event(members, steps, source, scans_all):
                            add_row(pool, row, source, ways)
                        elif trees[source] >= 0:
                            root = first_tree + trees[source] * (n_events + 1)
                            step = steps.starts[source]
                            if steps.right_valid[step, event]:
                                mask, right = steps.masks[step], steps.rights[step, event]
                                keys = sorted_keys[trees[source]]
                                _add_ordered(pool, row, root, keys, mask, right, ways, high - low)
                        else:
                            first_row = first_store + stores[owner] * n_events
                            for place in range(since[source], n_visible[owner]):
                                if _may_follow(steps, source, stored[owner, place], event):
                                    add_row(pool, row, first_row + place, ways)
                if is_empty(pool, row):
                    continue
                add_row(pool, news + position, row, 1)
                add_event(members, events, pool, news + position, row, 0, event, position)
                if stores[position] >= 0:
                    place = n_stored[position]
                    stored[position, place] = event
                    own = first_store + stores[position] * n_events + place
                    copy_row(pool, own, row)
                    add_event(members, events, pool, own, row, 0, event, position)
                    n_stored[position] += 1
        for source in range(n_sources):
            owner = members.owners[source]
            if members.negated[source] & seen:
                clear_row(pool, source)
                if owner >= 0:
                    since[source] = n_visible[owner]
            if owner < 0:
                continue
            add_row(pool, source, news + owner, 1)
            if trees[source] >= 0:
                root = first_tree + trees[source] * (n_events + 1)
                step = steps.starts[source]
                for place in range(n_visible[owner], n_stored[owner]):
                    event = stored[owner, place]
                    if steps.left_valid[step, event]:
                        own = first_store + stores[owner] * n_events + place
                        key = places[trees[source], event - low]
                        _insert(pool, root, key, own, steps.masks[step], high - low)
        for position in range(n_positions):
            n_visible[position] = n_stored[position]
        if undone & seen:
            undone_at = events.times[begin]
            for source in range(n_sources):
                if members.owners[source] >= 0:
                    clear_row(pool, source)
                    since[source] = n_visible[members.owners[source]]
                    _clear_tree(pool, trees[source], first_tree, n_events)
        begin = end
    result = single + 1
    clear_row(pool, result)
    for end_place in range(members.end_sources.size):
        add_row(pool, result, members.end_sources[end_place], members.end_ways[end_place])


@njit(cache=True, nogil=True)
def _clear_tree(pool: Pool, tree: int, first_tree: int, n_events: int) -> None:
    """Take all rows from a tree; -1 is none."""
    if tree >= 0:
        for node in range(n_events + 1):
            clear_row(pool, first_tree + tree * (n_events + 1) + node)


@njit(cache=True, nogil=True)
def _ordered_keys(steps: Steps, low: int, high: int, trees: Array) -> tuple[Array, Array]:
    """Return, for every tree, the keys of the window in order, and the place of each event among them."""
    n_trees = 0
    for source in range(trees.size):
        n_trees = max(n_trees, trees[source] + 1)
    sorted_keys = np.empty((n_trees, high - low), np.int64)
    places = np.empty((n_trees, high - low), np.int64)
    for source in range(trees.size):
        if trees[source] >= 0:
            keys = steps.lefts[steps.starts[source], low:high]
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
    greater, less = size - (below if mask & 2 else up_to), up_to if mask & 2 else below
    node = int(greater if mask & 4 else less)
    while node > 0:
        add_row(pool, row, root + node, ways)
        node -= node & -node
