"""Which classes of queries share a burst: HAMLET's benefit model and its choice of the query set.

Sections 4.1 to 4.3 of "To Share, or not to Share: Online Event Trend Aggregation Over Bursty Event Streams"
(Poppe et al., SIGMOD 2021). `shared_cost` is equation 7. The paper chooses among all
sets of queries with two pruning principles: share a query that brings no snapshots (theorem 4.3), and
classify every other one by comparing two plans (theorem 4.5). Here the queries come in classes that take
the same events. From all classes, the one is dropped without which most is saved, again and again, and the
best set on the way is taken; events that the same classes take are looked at once.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, Word


@njit(cache=True, nogil=True)
def shared_cost(b: int, n: int, s_p: int, s_c: int, k: int, g: int, t: int) -> int:
    """Return the cost of a burst of b events that k queries share (equation 7).

    n events in the window, s_p snapshots propagated and s_c created, g events in the graphlet, t types.
    """
    return b * n * s_p + s_c * k * g * t


@njit(cache=True, nogil=True)
def best_merged(matched: Array, begin: int, end: int, seen: Word, weights: Array) -> Word:
    """Return the classes, as bits, that share the graphlet of a burst; none, if none should.

    Bit c of matched[event] says that class c takes the event; weights[c] is the number of its queries,
    one for each window. A graphlet has a closed form, so n, g and t of equation 7 are one: it costs its
    events, and for each of its snapshots, at graphlet or event level, its queries.
    """
    if seen & (seen - np.uint64(1)) == 0:
        return seen
    masks, counts = _distinct(matched, begin, end, seen)
    merged: Word = seen
    most_saved = _saved(masks, counts, seen, weights)
    best: Word = seen if most_saved >= 0 else np.uint64(0)
    most_saved = max(most_saved, 0)
    while True:
        found = -(1 << 62)
        without: Word = np.uint64(0)
        left: Word = merged
        while left:
            lowest = left & (~left + np.uint64(1))
            left &= ~lowest
            saved = _saved(masks, counts, merged & ~lowest, weights)
            if saved > found:
                found, without = saved, merged & ~lowest
        merged = without
        if merged & (merged - np.uint64(1)) == 0:
            return best
        if found > most_saved:
            best, most_saved = merged, found


@njit(cache=True, nogil=True)
def _distinct(matched: Array, begin: int, end: int, seen: Word) -> tuple[Array, Array]:
    """Return the sets of classes that take events, and how many events each takes."""
    own = np.sort(matched[begin:end] & seen)
    masks, counts = np.empty(own.size, np.uint64), np.zeros(own.size, np.int64)
    n_masks = 0
    for place in range(own.size):
        if n_masks == 0 or masks[n_masks - 1] != own[place]:
            masks[n_masks] = own[place]
            n_masks += 1
        counts[n_masks - 1] += 1
    return masks[:n_masks], counts[:n_masks]


@njit(cache=True, nogil=True)
def _saved(masks: Array, counts: Array, merged: Word, weights: Array) -> int:
    """Return what is saved when some classes share, and do not each have a graphlet to themselves."""
    alone, n_queries, n_common, n_snapshots = 0, 0, 0, 0
    for number in range(64):
        if merged >> np.uint64(number) & np.uint64(1):
            n_queries += weights[number]
            alone += shared_cost(0, 1, 1, 1, weights[number], 1, 1)
    for place in range(masks.size):
        own = masks[place] & merged
        n_taken = 0
        left: Word = own
        while left:
            left &= left - np.uint64(1)
            n_taken += 1
        alone += shared_cost(counts[place] * n_taken, 1, 1, 0, 0, 1, 1)
        n_common += counts[place] * (own == merged)
        n_snapshots += counts[place] * (own != merged and own != 0)
    return alone - shared_cost(n_common + n_snapshots, 1, 1, 1 + n_snapshots, n_queries, 1, 1)
