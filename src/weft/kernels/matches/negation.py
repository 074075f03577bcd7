"""Find the rows of a negated pattern that lie in the scopes of matches."""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, first_at_least, grown
from weft.kernels.matches.join import EXHAUSTED, OVERFLOW

HIGHEST = (1 << 63) - 1


class Scopes(NamedTuple):
    """Where to look for each row: in the run of negated rows, strictly between ranks, within clocks."""

    runs: Array
    ranks: Array
    clocks: Array
    values: Array


class Negated(NamedTuple):
    """The rows of the negated pattern; ranks and clocks have a column each for first and last event."""

    ranks: Array
    clocks: Array
    values: Array


@njit(cache=True, nogil=True)
def find_in_scope(
    scopes: Scopes,
    negated: Negated,
    masks: Array,
    monotone: bool,
    first_only: bool,
    limit: int,
    budget: int,
) -> tuple[Array, Array, int, int]:
    """Return (rows, negated rows, status, candidates examined).

    Within a run the negated rows are sorted by the rank of their last event. All events of a negated row
    must lie in the scope; clock bounds are inclusive. With `first_only` the search of a row ends at its
    first hit.
    """
    found_rows = np.empty(1024, np.int64)
    found_negated = np.empty(1024, np.int64)
    last_ranks = negated.ranks[:, 1].copy()
    last_clocks = negated.clocks[:, 1].copy()
    n_found, n_examined = 0, 0
    for row in range(scopes.runs.shape[0]):
        start, stop = scopes.runs[row, 0], scopes.runs[row, 1]
        stop = first_at_least(last_ranks, start, stop, scopes.ranks[row, 1])
        if monotone and scopes.clocks[row, 1] < HIGHEST:
            stop = first_at_least(last_clocks, start, stop, scopes.clocks[row, 1] + 1)
        candidate = stop - 1
        while candidate >= start:
            if n_found > limit:
                found_rows[n_found - 1] = row
                return found_rows[:n_found], found_negated[:n_found], OVERFLOW, n_examined
            if n_found == found_rows.size:
                found_rows = grown(found_rows)
                found_negated = grown(found_negated)
            while candidate >= start and n_found < found_rows.size:
                if last_ranks[candidate] <= scopes.ranks[row, 0]:
                    candidate = -1
                    break
                if monotone and last_clocks[candidate] < scopes.clocks[row, 0]:
                    candidate = -1
                    break
                n_examined += 1
                holds = (
                    negated.ranks[candidate, 0] > scopes.ranks[row, 0]
                    and negated.clocks[candidate, 0] >= scopes.clocks[row, 0]
                    and last_clocks[candidate] <= scopes.clocks[row, 1]
                )
                if holds:
                    for column in range(masks.size):
                        a = scopes.values[column, row]
                        b = negated.values[column, candidate]
                        sign = 1 if a == b else (0 if a < b else 2)
                        if (masks[column] >> sign) & 1 == 0:
                            holds = False
                            break
                if holds:
                    found_rows[n_found] = row
                    found_negated[n_found] = candidate
                    n_found += 1
                    if first_only:
                        candidate = -1
                        break
                candidate -= 1
        if n_examined > budget:
            found_rows[0] = row
            return found_rows[:1], found_negated[:1], EXHAUSTED, n_examined
    status = n_found if n_found <= limit else OVERFLOW
    return found_rows[:n_found], found_negated[:n_found], status, n_examined
