"""Draw tuples of weighted events at random: an anchor, and partners around it.

Places are stretches of flat arrays, `starts[p]` to `starts[p + 1]`, sorted by rank and time. Every event has
a weight; some of them are anchors. The anchor of a tuple is at the first place that has one: places before
it take events that are none. `sums[0]` has running totals of the weights of all events, `sums[1]` of those
that are no anchors, each one longer than the events and starting with 0. `order[a, b]` says that place a
comes before place b; a window below 0 is none.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array


@njit(cache=True, nogil=True)
def weigh_anchors(starts: Array, ranks: Array, times: Array, sums: Array, order: Array, window: int) -> Array:
    """Return running totals of what the tuples around each anchor weigh, starting with 0."""
    n_places = starts.size - 1
    totals = np.zeros(ranks.size + 1)
    for anchor in range(n_places):
        for event in range(starts[anchor], starts[anchor + 1]):
            own = sums[0, event + 1] - sums[0, event] - (sums[1, event + 1] - sums[1, event])
            for place in range(n_places):
                if place != anchor and own > 0.0:
                    first, last = _range(starts, ranks, times, order, window, anchor, event, place)
                    kind = 1 if place < anchor else 0
                    own *= max(0.0, sums[kind, last] - sums[kind, first])
            totals[event + 1] = totals[event] + max(0.0, own)
    return totals


@njit(cache=True, nogil=True)
def draw_anchored(
    totals: Array,
    starts: Array,
    ranks: Array,
    times: Array,
    sums: Array,
    order: Array,
    window: int,
    points: Array,
) -> Array:
    """Return tuples of flat places, one row for each place of the pattern.

    `totals` are those of `weigh_anchors`, and not all 0. `points` are random numbers in [0, 1), a row for
    each tuple and a column for each place; where the first column is sorted, tuples of one anchor follow each
    other, and where its partners stand is looked up once. A tuple comes with a probability in proportion to
    the product of its weights.
    """
    n_places, n_events = starts.size - 1, ranks.size
    n_drawn = points.shape[0]
    tuples = np.empty((n_places, n_drawn), np.int64)
    ranges = np.empty((n_places, 2), np.int64)
    anchor, latest = 0, -1
    for number in range(n_drawn):
        event = _find(totals, 0, n_events, points[number, 0] * totals[n_events])
        if event != latest:
            latest, anchor = event, 0
            while starts[anchor + 1] <= event:
                anchor += 1
            for place in range(n_places):
                if place != anchor:
                    ranges[place] = _range(starts, ranks, times, order, window, anchor, event, place)
        column = 1
        for place in range(n_places):
            if place == anchor:
                tuples[place, number] = event
                continue
            first, last = ranges[place]
            kind = 1 if place < anchor else 0
            wanted = sums[kind, first] + points[number, column] * (sums[kind, last] - sums[kind, first])
            tuples[place, number] = _find(sums[kind], first, last, wanted)
            column += 1
    return tuples


@njit(cache=True, nogil=True)
def _range(
    starts: Array, ranks: Array, times: Array, order: Array, window: int, anchor: int, event: int, place: int
) -> tuple[int, int]:
    """Return from where to where the partners of an event stand at another place."""
    start, stop = starts[place], starts[place + 1]
    first, last = start, stop
    if window >= 0:
        first = start + np.searchsorted(times[start:stop], times[event] - window, side="left")
        last = start + np.searchsorted(times[start:stop], times[event] + window, side="right")
    if order[anchor, place]:
        first = start + np.searchsorted(ranks[start:stop], ranks[event], side="right")
    if order[place, anchor]:
        last = start + np.searchsorted(ranks[start:stop], ranks[event], side="left")
    return first, max(first, last)


@njit(cache=True, nogil=True)
def _find(sums: Array, first: int, last: int, wanted: float) -> int:
    """Return the event in [first, last) in whose stretch of the running totals a number lies."""
    low, high = first, last
    while low < high:
        middle = (low + high) // 2
        if sums[middle + 1] <= wanted:
            low = middle + 1
        else:
            high = middle
    low = min(low, last - 1)
    while low > first and sums[low + 1] <= sums[low]:  # rounding: never one without a weight
        low -= 1
    return low
