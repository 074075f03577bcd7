"""The trends of windows, from what panes do to trends.

What a pane does to the trends of a query is linear in how many there are at each source, so it is a square
of rows: that of column c and source s stands for what becomes at s of one trend at c. Panes one after the
other are the product of their squares. Windows slide over the panes by two stacks: the panes of a window are
a front, multiplied from its end, of which each beginning is given up in turn, and a back, multiplied as
panes come; when the front is used up, the back becomes the front. So every pane is multiplied twice, in
however many windows it lies.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array
from weft.kernels.trends.naturals import add_product, assign_word
from weft.kernels.trends.panes import pane_start, panes_of
from weft.kernels.trends.results import Kept, Room, load_row, with_result
from weft.kernels.trends.rows import (
    Pool,
    add_row,
    clear_row,
    copy_row,
    first_window,
    is_empty,
    lower_row,
    new_pool,
)


class PaneMaps(NamedTuple):
    """What panes do, in order of partition and pane: map m is the results from m * size * size on."""

    partitions: Array
    panes: Array
    kept: Kept
    best: Array
    has: Array
    size: int


class Composition(NamedTuple):
    """Windows, and at which sources trends begin and end; of the windows, only some are wanted."""

    length: int
    slide: int
    first_window: int
    last_window: int
    starts: Array
    end_sources: Array
    end_ways: Array


class _Stacks(NamedTuple):
    """The pool and the rows of the front's beginnings, of two squares and a spare one, and of a result."""

    pool: Pool
    fronts: int
    back: int
    square: int
    spare: int
    result: int


@njit(cache=True, nogil=True)
def compose_windows(maps: PaneMaps, wanted: Composition, width: int, most: int, room: Room) -> Array:
    """Put the results of all windows that have panes with events into a room; return their limbs.

    Few windows are each followed through their panes, which is less work for each of them.
    """
    is_followed = wanted.last_window < wanted.first_window + maps.size
    stacks = _new_stacks(maps, wanted, width, most)
    limbs = np.empty(1024, np.uint32)
    low, n_maps = 0, maps.panes.size
    while low < n_maps:
        stop = low + 1
        while stop < n_maps and maps.partitions[stop] == maps.partitions[low]:
            stop += 1
        if is_followed:
            limbs = _follow_windows(maps, wanted, stacks, low, stop, room, limbs)
        else:
            limbs = _slide_windows(maps, wanted, stacks, low, stop, room, limbs)
        low = stop
    return limbs


@njit(cache=True, nogil=True)
def _new_stacks(maps: PaneMaps, wanted: Composition, width: int, most: int) -> _Stacks:
    """Return room for the panes of the window that has most."""
    n_fronts, low = 1, 0
    _, n_panes = panes_of(0, wanted.length, wanted.slide)
    for high in range(maps.panes.size):
        while maps.partitions[low] != maps.partitions[high] or maps.panes[high] - maps.panes[low] >= n_panes:
            low += 1
        n_fronts = max(n_fronts, high - low + 1)
    size, square = maps.size, maps.size * maps.size
    back = n_fronts * size
    pool = new_pool(back + 3 * square + 2 * size + 1, width, most, maps.best.shape[1])
    return _Stacks(pool, 0, back, back + square, back + 2 * square, back + 3 * square)


@njit(cache=True, nogil=True)
def _slide_windows(
    maps: PaneMaps, wanted: Composition, stacks: _Stacks, low: int, stop: int, room: Room, limbs: Array
) -> Array:
    high, middle, base, window = low, low, low, wanted.first_window
    has_back = False
    while low < stop and window <= wanted.last_window:
        time = pane_start(maps.panes[low], wanted.length, wanted.slide)
        if low == high:  # nothing is open: on to the next window with a pane
            window = max(window, first_window(time, wanted.length, wanted.slide))
            middle, has_back = high, False
        first, after = panes_of(window, wanted.length, wanted.slide)
        while high < stop and maps.panes[high] < after:
            if maps.panes[high] >= first:
                _push(maps, stacks, high, has_back)
                has_back = True
            high += 1
        while low < high and maps.panes[low] < first:
            low += 1
        if low < high and window <= wanted.last_window:
            if low >= middle:
                _turn(maps, wanted, stacks, low, high)
                base, middle, has_back = low, high, False
            _sum_ends(maps, wanted, stacks, stacks.fronts + (low - base) * maps.size, has_back)
            if not is_empty(stacks.pool, stacks.result):
                partition = maps.partitions[low]
                limbs = with_result(limbs, room, stacks.pool, stacks.result, 0, partition, window)
            window += 1
    return limbs


@njit(cache=True, nogil=True)
def _follow_windows(
    maps: PaneMaps, wanted: Composition, stacks: _Stacks, low: int, stop: int, room: Room, limbs: Array
) -> Array:
    pool, size, has_back = stacks.pool, maps.size, False
    for window in range(wanted.first_window, wanted.last_window + 1):
        first, after = panes_of(window, wanted.length, wanted.slide)
        while low < stop and maps.panes[low] < first:
            low += 1
        state, other = stacks.spare, stacks.spare + size
        for source in range(size):
            clear_row(pool, state + source)
        for source in wanted.starts:
            assign_word(pool.numbers, (state + source) * pool.width, 1)
        high = low
        while high < stop and maps.panes[high] < after:
            _load(maps, pool, stacks.square, high)
            _multiply(pool, other, stacks.square, state, size, 1)
            state, other = other, state
            high += 1
        if low < high:
            _sum_ends(maps, wanted, stacks, state, has_back)
            if not is_empty(pool, stacks.result):
                limbs = with_result(limbs, room, pool, stacks.result, 0, maps.partitions[low], window)
    return limbs


@njit(cache=True, nogil=True)
def join_panes(maps: PaneMaps, width: int, most: int, room: Room) -> Array:
    """Put the product of the maps of each pane, which were made piece by piece, into a room."""
    size, square = maps.size, maps.size * maps.size
    pool = new_pool(3 * square, width, most, maps.best.shape[1])
    limbs = np.empty(1024, np.uint32)
    low = 0
    while low < maps.panes.size:
        pane, partition = maps.panes[low], maps.partitions[low]
        whole, other = 0, square
        _load(maps, pool, whole, low)
        low += 1
        while low < maps.panes.size and maps.panes[low] == pane and maps.partitions[low] == partition:
            _load(maps, pool, 2 * square, low)
            _multiply(pool, other, 2 * square, whole, size, size)
            whole, other = other, whole
            low += 1
        for row in range(whole, whole + square):
            limbs = with_result(limbs, room, pool, row, 0, partition, pane)
    return limbs


@njit(cache=True, nogil=True)
def _load(maps: PaneMaps, pool: Pool, target: int, number: int) -> None:
    """Set a square to the map of a pane."""
    square = maps.size * maps.size
    for place in range(square):
        load_row(pool, target + place, maps.kept, number * square + place, maps.best, maps.has)


@njit(cache=True, nogil=True)
def _push(maps: PaneMaps, stacks: _Stacks, number: int, has_back: bool) -> None:
    """Let the back be followed by a pane."""
    _load(maps, stacks.pool, stacks.square, number)
    if has_back:
        _multiply(stacks.pool, stacks.spare, stacks.square, stacks.back, maps.size, maps.size)
        _copy(stacks.pool, stacks.back, stacks.spare, maps.size * maps.size)
    else:
        _copy(stacks.pool, stacks.back, stacks.square, maps.size * maps.size)


@njit(cache=True, nogil=True)
def _turn(maps: PaneMaps, wanted: Composition, stacks: _Stacks, low: int, high: int) -> None:
    """Make all panes the front: what becomes of trends that begin with each of them."""
    pool, size = stacks.pool, maps.size
    for number in range(high - 1, low - 1, -1):
        _load(maps, pool, stacks.square, number)
        if number == high - 1:
            _copy(pool, stacks.back, stacks.square, size * size)
        else:
            _multiply(pool, stacks.spare, stacks.back, stacks.square, size, size)
            _copy(pool, stacks.back, stacks.spare, size * size)
        front = stacks.fronts + (number - low) * size
        for source in range(size):
            clear_row(pool, front + source)
            for column in wanted.starts:
                add_row(pool, front + source, stacks.back + column * size + source, 1)


@njit(cache=True, nogil=True)
def _sum_ends(maps: PaneMaps, wanted: Composition, stacks: _Stacks, front: int, has_back: bool) -> None:
    """Set the result to the trends that end anywhere after a front and the back."""
    pool, state = stacks.pool, front
    if has_back:
        state = stacks.result + 1
        _multiply(pool, state, stacks.back, front, maps.size, 1)
    clear_row(pool, stacks.result)
    for end in range(wanted.end_sources.size):
        add_row(pool, stacks.result, state + wanted.end_sources[end], wanted.end_ways[end])


@njit(cache=True, nogil=True)
def _copy(pool: Pool, target: int, other: int, n_rows: int) -> None:
    for row in range(n_rows):
        copy_row(pool, target + row, other + row)


@njit(cache=True, nogil=True)
def _multiply(pool: Pool, target: int, left: int, right: int, size: int, n_columns: int) -> None:
    """Set the columns of a target to a square times the columns on its right, which come first in time."""
    for column in range(n_columns):
        for source in range(size):
            own = target + column * size + source
            clear_row(pool, own)
            for between in range(size):
                _add_product(pool, own, left + between * size + source, right + column * size + between)


@njit(cache=True, nogil=True)
def _add_product(pool: Pool, target: int, left: int, right: int) -> None:
    """Add each trend of a row, followed by each of another, to a third row."""
    if is_empty(pool, left) or is_empty(pool, right):
        return
    width, numbers = pool.width, pool.numbers
    for lane in range(width):
        add_product(numbers, target * width + lane, left * width + lane, right * width)
        if lane:
            add_product(numbers, target * width + lane, left * width, right * width + lane)
    for extreme in range(pool.best.shape[1]):
        if pool.has[left, extreme]:
            lower_row(pool, target, extreme, pool.best[left, extreme])
        if pool.has[right, extreme]:
            lower_row(pool, target, extreme, pool.best[right, extreme])
