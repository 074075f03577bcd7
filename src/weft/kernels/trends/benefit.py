"""Which classes of queries share a burst: HAMLET's benefit model and its choice of the query set.

Sections 4.1 to 4.3 of "To Share, or not to Share: Online Event Trend Aggregation Over Bursty Event Streams"
(Poppe et al., SIGMOD 2021). `shared_cost` is equation 7. The paper chooses among all
sets of queries with two pruning principles: share a query that brings no snapshots (theorem 4.3), and
classify every other one by comparing two plans (theorem 4.5). Here the queries come in classes that take
the same events, and sets are looked at in the order in which classes miss events of the burst: a class
that misses nothing is shared first, and each further one is tried once, so m classes cost m looks.
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
    """Return the classes, as bits, that share the graphlet of a burst; every other has one to itself.

    Bit c of matched[event] says that class c takes the event; weights[c] is the number of its queries,
    one for each window. A graphlet has a closed form, so n, g and t of equation 7 are one: it costs its
    events, and for each of its snapshots, at graphlet or event level, its queries.
    """
    missed = np.zeros(64, np.int64)
    classes = np.empty(64, np.int64)
    n_classes = 0
    for number in range(64):
        if seen >> np.uint64(number) & np.uint64(1):
            classes[n_classes] = number
            n_classes += 1
    if n_classes < 2:
        return seen
    for event in range(begin, end):
        for place in range(n_classes):
            missed[place] += not matched[event] >> np.uint64(classes[place]) & np.uint64(1)
    order = np.argsort(missed[:n_classes], kind="mergesort")
    merged: Word = np.uint64(0)
    best: Word = np.uint64(0)
    alone = 0
    saved, most_saved, n_queries = 0, 0, 0
    for place in order:
        merged |= np.uint64(1) << np.uint64(classes[place])
        n_queries += weights[classes[place]]
        alone += shared_cost(end - begin - missed[place], 1, 1, 1, weights[classes[place]], 1, 1)
        n_common, n_snapshots = 0, 0
        for event in range(begin, end):
            own = matched[event] & merged
            n_common += own == merged
            n_snapshots += own != merged and own != 0
        together = shared_cost(n_common + n_snapshots, 1, 1, 1 + n_snapshots, n_queries, 1, 1)
        saved = alone - together
        if saved >= most_saved:
            best, most_saved = merged, saved
    return best
