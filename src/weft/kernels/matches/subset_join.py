"""Find every combination of events of some inputs that fit together, at most one of each input.

A combination grows by one event after the other. Whatever part of one that fits is one itself, so each step
of the search is a result, and nothing is looked at in vain but events that do not fit.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, grown
from weft.kernels.matches.join import EXHAUSTED, OVERFLOW


class InputEvents(NamedTuple):
    """The events of all inputs, those of one after those of another, in each by group and then by row.

    `starts` has where those of each input begin, and where the last ones end. Events of one combination are
    of one group, inside which the clock grows with the row.
    """

    starts: Array
    inputs: Array
    rows: Array
    groups: Array
    clocks: Array
    is_new: Array


class Combinations(NamedTuple):
    """Combinations: each is an earlier one, -1 for none, and one candidate more; its first and last row."""

    parents: Array
    places: Array
    firsts: Array
    lasts: Array


class PairTests(NamedTuple):
    """What is asked of a candidate and the event of another input, where the combination has one.

    The value of a candidate at a place is `values[offset + place]`; the other one must compare with the own
    one as the mask allows. A value that is not valid compares with nothing.
    """

    others: Array
    own_offsets: Array
    other_offsets: Array
    masks: Array
    values: Array
    is_valid: Array


@njit(cache=True, nogil=True)
def extend_combinations(
    known: Combinations,
    start: int,
    events: InputEvents,
    added: int,
    tests: PairTests,
    rivals: Array,
    clocks: Array,
    length: int,
    only_old: bool,
    limit: int,
    budget: int,
) -> tuple[Combinations, int, int]:
    """Return those from `start` on with one event of the input `added` more, status, candidates examined.

    `rivals` are the inputs that may hold the same event, `clocks` those of all rows. Status is the number of
    combinations, or OVERFLOW, or EXHAUSTED; then the last one returned is made of the one that was reached.
    """
    chosen = np.empty(events.starts.size - 1, np.int64)
    parents, places = np.empty(1024, np.int64), np.empty(1024, np.int64)
    firsts, lasts = np.empty(1024, np.int64), np.empty(1024, np.int64)
    first_place, end = events.starts[added], events.starts[added + 1]
    n_found, n_examined = 0, 0
    for parent in range(start, known.parents.size):
        group = events.groups[known.places[parent]]
        earliest = clocks[known.lasts[parent]] - length
        latest = clocks[known.firsts[parent]] + length
        place = _first_within(events, first_place, end, group, earliest)
        stop = place
        while stop < end and events.groups[stop] == group and events.clocks[stop] <= latest:
            stop += 1
        if place == stop:
            continue
        n_examined += stop - place
        if n_examined > budget:
            parents[0] = parent
            return Combinations(parents[:1], places[:1], firsts[:1], lasts[:1]), EXHAUSTED, n_examined
        if n_found > limit:
            parents[n_found - 1] = parent
            break
        while n_found + stop - place > parents.size:
            parents, places, firsts, lasts = grown(parents), grown(places), grown(firsts), grown(lasts)
        _choose(known, parent, events.inputs, chosen)
        for candidate in range(place, stop):
            row = events.rows[candidate]
            fits = not (only_old and events.is_new[candidate])
            for number in range(rivals.size):
                other = chosen[rivals[number]]
                fits &= other < 0 or events.rows[other] != row
            if fits and _passes(tests, chosen, candidate):
                parents[n_found], places[n_found] = parent, candidate
                firsts[n_found] = min(known.firsts[parent], row)
                lasts[n_found] = max(known.lasts[parent], row)
                n_found += 1
    status = n_found if n_found <= limit else OVERFLOW
    found = Combinations(parents[:n_found], places[:n_found], firsts[:n_found], lasts[:n_found])
    return found, status, n_examined


@njit(cache=True, nogil=True)
def _first_within(events: InputEvents, start: int, stop: int, group: int, earliest: int) -> int:
    """Return the first place in [start, stop) with an event of a group that is no earlier than a clock."""
    while start < stop:
        middle = (start + stop) // 2
        own = events.groups[middle]
        if own < group or (own == group and events.clocks[middle] < earliest):
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True, nogil=True)
def _choose(known: Combinations, number: int, inputs: Array, chosen: Array) -> None:
    """Write for each input the place of its event in a combination, -1 where there is none."""
    chosen[:] = -1
    while number >= 0:
        place = known.places[number]
        chosen[inputs[place]] = place
        number = known.parents[number]


@njit(cache=True, nogil=True)
def _passes(tests: PairTests, chosen: Array, candidate: int) -> bool:
    """Say whether a candidate fits the events that were chosen of other inputs."""
    for number in range(tests.others.size):
        other = chosen[tests.others[number]]
        if other < 0:
            continue
        own_place, other_place = tests.own_offsets[number] + candidate, tests.other_offsets[number] + other
        if not (tests.is_valid[own_place] and tests.is_valid[other_place]):
            return False
        a, b = tests.values[other_place], tests.values[own_place]
        sign = 1 if a == b else (0 if a < b else 2)
        if (tests.masks[number] >> sign) & 1 == 0:
            return False
    return True


@njit(cache=True, nogil=True)
def rows_of_combinations(
    known: Combinations, numbers: Array, events: InputEvents, columns: Array, n_columns: int
) -> Array:
    """Return the rows of some combinations, a column for each of some inputs; -1 for none.

    `columns` has the column of each input, -1 for those that are not wanted.
    """
    rows = np.full((n_columns, numbers.size), -1, np.int64)
    for place in range(numbers.size):
        number = numbers[place]
        while number >= 0:
            event = known.places[number]
            column = columns[events.inputs[event]]
            if column >= 0:
                rows[column, place] = events.rows[event]
            number = known.parents[number]
    return rows
