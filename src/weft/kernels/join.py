"""Join two tables of partial matches: each probe row looks back at the build rows that ended before it.

All comparable values are int64, so one table of sign masks interprets every predicate: bit 0 of a mask
allows less, bit 1 equal, bit 2 greater.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown

OVERFLOW = -1  # status: more pairs than the limit
EXHAUSTED = -2  # status: more candidates than the budget


class JoinSide(NamedTuple):
    """One side of a join, sorted by rank.

    `ranks` are those of a row's last event; `clocks` has two columns, the clock of the first and of the
    last event; `values` has a column per comparison; `hashes` is empty where nothing must be equal.
    """

    ranks: Array
    clocks: Array
    values: Array
    hashes: Array


@njit(cache=True, nogil=True)
def probe_earlier(
    build: JoinSide,
    probe: JoinSide,
    masks: Array,
    length: int,
    strict: bool,
    monotone: bool,
    limit: int,
    budget: int,
) -> tuple[Array, Array, int, int]:
    """Return (build rows, probe rows, status, candidates examined) of the pairs that satisfy everything.

    A build row is a candidate when its rank is below the probe's (`strict`) or at most equal, and its
    first event is at most `length` before the probe's last. Column c of the values must compare as
    masks[c] allows, build against probe. With hashes, candidates share the low bits of the hash.
    `monotone` says that the clock grows with the rank. Pairs come out in probe order. Status is the
    number of pairs, or OVERFLOW, or EXHAUSTED; then the last probe row returned is the one reached.
    """
    n_build, n_probe, n_values = build.ranks.size, probe.ranks.size, masks.size
    hashed = build.hashes.size > 0
    n_buckets = 1
    if hashed:
        while n_buckets < 2 * n_build:
            n_buckets *= 2
    newest = np.full(n_buckets, -1, np.int64)
    previous = np.empty(n_build if hashed else 0, np.int64)
    found_build = np.empty(1024, np.int64)
    found_probe = np.empty(1024, np.int64)
    n_found, n_examined, n_inserted = 0, 0, 0
    for row in range(n_probe):
        rank = probe.ranks[row]
        while n_inserted < n_build and (
            build.ranks[n_inserted] < rank or (not strict and build.ranks[n_inserted] == rank)
        ):
            if hashed:
                bucket = build.hashes[n_inserted] & (n_buckets - 1)
                previous[n_inserted] = newest[bucket]
                newest[bucket] = n_inserted
            n_inserted += 1
        oldest = probe.clocks[row, 1] - length
        earlier = newest[probe.hashes[row] & (n_buckets - 1)] if hashed else n_inserted - 1
        while earlier >= 0:
            if build.clocks[earlier, 1] < oldest and monotone:
                break
            n_examined += 1
            holds = build.clocks[earlier, 0] >= oldest
            if holds:
                for column in range(n_values):
                    a = build.values[earlier, column]
                    b = probe.values[row, column]
                    sign = 1 if a == b else (0 if a < b else 2)
                    if (masks[column] >> sign) & 1 == 0:
                        holds = False
                        break
            if holds:
                if n_found == found_build.size:
                    if n_found >= limit:
                        found_probe[n_found - 1] = row
                        return found_build[:n_found], found_probe[:n_found], OVERFLOW, n_examined
                    found_build = grown(found_build)
                    found_probe = grown(found_probe)
                found_build[n_found] = earlier
                found_probe[n_found] = row
                n_found += 1
            earlier = previous[earlier] if hashed else earlier - 1
        if n_examined > budget:
            found_probe[0] = row
            return found_build[:1], found_probe[:1], EXHAUSTED, n_examined
    return found_build[:n_found], found_probe[:n_found], n_found, n_examined
