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

SMALLEST, LARGEST = -(1 << 63), (1 << 63) - 1


class JoinSide(NamedTuple):
    """One side of a join, sorted by rank.

    `ranks` are those of a row's last event; `firsts` and `lasts` the clocks of its first and last event;
    `values` has a row per comparison; `hashes` is empty where nothing must be equal.
    """

    ranks: Array
    firsts: Array
    lasts: Array
    values: Array
    hashes: Array


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

    A build row is a candidate when its rank is below the probe's (`strict`) or at most equal, and the
    first events of both are at most `length` before the probe's last. Row c of the values must compare
    as masks[c] allows, build against probe. With hashes, candidates share the low bits of the hash.
    `monotone` says that the clock grows with the rank, with hashes at least among rows that share these
    bits. Pairs come out in probe order. Status is the number of pairs, or OVERFLOW, or EXHAUSTED; then the
    last probe row returned is the one reached.
    """
    if build.hashes.size:
        return probe_chains(build, probe, masks, length, strict, monotone, limit, budget)
    return probe_ranges(build, probe, masks, length, strict, monotone, limit, budget)


@njit(cache=True, nogil=True)
def probe_ranges(
    build: JoinSide,
    probe: JoinSide,
    masks: Array,
    length: int,
    strict: bool,
    monotone: bool,
    limit: int,
    budget: int,
) -> tuple[Array, Array, int, int]:
    """Join without equality: the candidates of a probe row are a range of build rows.

    Each test becomes an interval of build values; the loops over a range have no branches, because the
    outcome of a comparison is as good as random and a mispredicted branch costs more than the rest.
    """
    n_build, n_probe = build.ranks.size, probe.ranks.size
    found_build = np.empty(4096, np.int64)
    found_probe = np.empty(4096, np.int64)
    holds = np.empty(1024, np.uint8)
    n_found, n_examined, start, stop = 0, 0, 0, 0
    for row in range(n_probe):
        rank = probe.ranks[row]
        while stop < n_build and (build.ranks[stop] < rank or (not strict and build.ranks[stop] == rank)):
            stop += 1
        oldest = probe.lasts[row] - length
        while monotone and start < stop and build.lasts[start] < oldest:
            start += 1
        n_candidates = stop - start
        if n_candidates == 0 or probe.firsts[row] < oldest:
            continue
        n_examined += n_candidates
        if n_examined > budget:
            found_probe[0] = row
            return found_build[:1], found_probe[:1], EXHAUSTED, n_examined
        if holds.size < n_candidates:
            holds = np.empty(2 * n_candidates, np.uint8)
        firsts = build.firsts
        for place in range(n_candidates):
            holds[place] = firsts[start + place] >= oldest
        for column in range(masks.size):
            low, high, inverted = interval(masks[column], probe.values[column, row])
            values = build.values[column]
            for place in range(n_candidates):
                value = values[start + place]
                holds[place] &= ((low <= value) & (value <= high)) ^ inverted
        if n_found > limit:
            found_probe[n_found - 1] = row
            return found_build[:n_found], found_probe[:n_found], OVERFLOW, n_examined
        while n_found + n_candidates > found_build.size:
            found_build = grown(found_build)
            found_probe = grown(found_probe)
        for place in range(n_candidates):
            found_build[n_found] = start + place
            found_probe[n_found] = row
            n_found += holds[place]
    status = n_found if n_found <= limit else OVERFLOW
    return found_build[:n_found], found_probe[:n_found], status, n_examined


@njit(cache=True, nogil=True)
def interval(mask: int, value: int) -> tuple[int, int, bool]:
    """Return the values that compare with `value` as a mask allows: from low to high, or all but these."""
    if mask == 5:
        return value, value, True
    low, high = value, value
    if mask & 1:
        low = SMALLEST
        if not mask & 2:
            if value == SMALLEST:
                return 1, 0, False
            high = value - 1
    if mask & 4:
        high = LARGEST
        if not mask & 2:
            if value == LARGEST:
                return 1, 0, False
            low = value + 1
    return low, high, False


@njit(cache=True, nogil=True)
def probe_chains(
    build: JoinSide,
    probe: JoinSide,
    masks: Array,
    length: int,
    strict: bool,
    monotone: bool,
    limit: int,
    budget: int,
) -> tuple[Array, Array, int, int]:
    """Join with equality: build rows with the same low bits of the hash form a chain, newest first."""
    n_build, n_probe, n_values = build.ranks.size, probe.ranks.size, masks.size
    n_buckets = 1
    while n_buckets < 2 * n_build:
        n_buckets *= 2
    newest = np.full(n_buckets, -1, np.int64)
    previous = np.empty(n_build, np.int64)
    found_build = np.empty(1024, np.int64)
    found_probe = np.empty(1024, np.int64)
    n_found, n_examined, n_inserted = 0, 0, 0
    for row in range(n_probe):
        rank = probe.ranks[row]
        while n_inserted < n_build and (
            build.ranks[n_inserted] < rank or (not strict and build.ranks[n_inserted] == rank)
        ):
            bucket = build.hashes[n_inserted] & (n_buckets - 1)
            previous[n_inserted] = newest[bucket]
            newest[bucket] = n_inserted
            n_inserted += 1
        oldest = probe.lasts[row] - length
        if probe.firsts[row] < oldest:
            continue
        earlier = newest[probe.hashes[row] & (n_buckets - 1)]
        while earlier >= 0:
            if n_found > limit:
                found_probe[n_found - 1] = row
                return found_build[:n_found], found_probe[:n_found], OVERFLOW, n_examined
            if n_found == found_build.size:  # here, not in the inner loop: Numba pays for it in every step
                found_build = grown(found_build)
                found_probe = grown(found_probe)
            while earlier >= 0 and n_found < found_build.size:
                if monotone and build.lasts[earlier] < oldest:
                    earlier = -1
                    break
                n_examined += 1
                holds = build.firsts[earlier] >= oldest
                if holds:
                    for column in range(n_values):
                        a = build.values[column, earlier]
                        b = probe.values[column, row]
                        sign = 1 if a == b else (0 if a < b else 2)
                        if (masks[column] >> sign) & 1 == 0:
                            holds = False
                            break
                if holds:
                    found_build[n_found] = earlier
                    found_probe[n_found] = row
                    n_found += 1
                earlier = previous[earlier]
        if n_examined > budget:
            found_probe[0] = row
            return found_build[:1], found_probe[:1], EXHAUSTED, n_examined
    status = n_found if n_found <= limit else OVERFLOW
    return found_build[:n_found], found_probe[:n_found], status, n_examined
