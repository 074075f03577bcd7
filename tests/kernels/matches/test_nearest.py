"""The join with the nearest against all pairs."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.matches.join import EXHAUSTED, OVERFLOW
from weft.kernels.matches.nearest import EarlierRows, LaterRows, probe_nearest

LOWEST, HIGHEST = -(2**63), 2**63 - 1
MASKS = [1, 2, 3, 4, 5, 6]
PLENTY = 1_000_000
values = st.one_of(st.integers(0, 2), st.sampled_from([LOWEST, HIGHEST]))
small = st.integers(0, 6)


@dataclass
class Earlier:
    """A row that looks for the nearest in a run, past a rank."""

    run: int
    rank: int
    clocks: tuple[int, int]
    values: list[int]
    is_new: bool


@dataclass
class Later:
    """A row with an event of a rank and a clock, between its first and its last one."""

    run: int
    rank: int
    before: int
    clock: int
    after: int
    values: list[int]
    is_new: bool

    @property
    def clocks(self) -> tuple[int, int]:
        return self.clock - self.before, self.clock + self.after


@dataclass
class Problem:
    """Everything that one call gets; later rows are sorted by run and rank."""

    earlier: list[Earlier]
    later: list[Later]
    masks: list[int]
    length: int
    monotone: bool = False


def found(problem: Problem, limit: int = PLENTY, budget: int = PLENTY) -> tuple[np.ndarray, ...]:
    earlier, later = problem.earlier, problem.later
    runs = [row.run for row in later]
    stretches = [(runs.index(row.run) if row.run in runs else 0, runs.count(row.run)) for row in earlier]

    def pairs(each: list[tuple[int, int]]) -> np.ndarray:
        return np.array(each, np.int64).reshape(len(each), 2)

    def table(each: list[list[int]]) -> np.ndarray:
        return np.ascontiguousarray(np.array(each, np.int64).reshape(len(each), len(problem.masks)).T)

    return probe_nearest(
        EarlierRows(
            pairs([(start, start + size) for start, size in stretches]),
            np.array([row.rank for row in earlier], np.int64),
            pairs([row.clocks for row in earlier]),
            table([row.values for row in earlier]),
            np.array([row.is_new for row in earlier], np.bool_),
        ),
        LaterRows(
            np.array([row.rank for row in later], np.int64),
            np.array([row.clock for row in later], np.int64),
            pairs([row.clocks for row in later]),
            table([row.values for row in later]),
            np.array([row.is_new for row in later], np.bool_),
        ),
        np.array(problem.masks, np.int64),
        problem.length,
        problem.monotone,
        limit,
        budget,
    )


def pairs_of(problem: Problem) -> set[tuple[int, int]]:
    rows, others, status, _ = found(problem)
    pairs = list(zip(rows.tolist(), others.tolist(), strict=True))
    assert status == len(pairs) == len(set(pairs))
    return set(pairs)


def naive_pairs(problem: Problem) -> set[tuple[int, int]]:
    """Try all pairs; of those that compare, the nearest are looked at closely."""
    pairs = set()
    for number, row in enumerate(problem.earlier):
        comparing = {
            place: other
            for place, other in enumerate(problem.later)
            if other.run == row.run and other.rank > row.rank and all_compare(row, other, problem.masks)
        }
        nearest = min((other.rank for other in comparing.values()), default=None)
        for place, other in comparing.items():
            clocks = (*row.clocks, *other.clocks)
            fits = max(clocks) - min(clocks) <= problem.length
            if other.rank == nearest and fits and (row.is_new or other.is_new):
                pairs.add((number, place))
    return pairs


def all_compare(row: Earlier, other: Later, masks: list[int]) -> bool:
    return all(
        mask & (1 if a < b else 4 if a > b else 2)
        for a, mask, b in zip(row.values, masks, other.values, strict=True)
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw rows in two runs; the clock grows with the rank, or not at all."""
    masks = draw(st.lists(st.sampled_from(MASKS), max_size=2))
    of_rows = st.lists(values, min_size=len(masks), max_size=len(masks))
    clocks = st.tuples(small, small).map(lambda pair: (min(pair), max(pair)))
    rank = st.one_of(small, st.sampled_from([LOWEST, HIGHEST - 1]))
    earlier = st.builds(Earlier, st.integers(0, 1), rank, clocks, of_rows, st.booleans())
    short = st.integers(0, 2)
    later = st.builds(Later, st.integers(0, 1), small, short, small, short, of_rows, st.booleans())
    monotone = draw(st.booleans())
    rows = sorted(draw(st.lists(later, max_size=8)), key=lambda row: (row.run, row.rank))
    for row in rows if monotone else ():
        row.clock = row.rank
    return Problem(draw(st.lists(earlier, max_size=5)), rows, masks, draw(st.integers(0, 7)), monotone)


@given(problems())
@settings(max_examples=800)
def test_pairs_are_those_of_the_nearest_that_compares(problem: Problem) -> None:
    assert pairs_of(problem) == naive_pairs(problem)


def later(rank: int, *, x: int = 0, after: int = 0, is_new: bool = True) -> Later:
    return Later(0, rank, 0, rank, after, [x], is_new)


def earlier(rank: int, *, x: int = 0, is_new: bool = True) -> Earlier:
    return Earlier(0, rank, (rank, rank), [x], is_new)


def test_the_search_goes_on_after_what_does_not_compare() -> None:
    rows = [later(1, x=5), later(2), later(3)]
    assert pairs_of(Problem([earlier(0)], rows, [2], 9)) == {(0, 1)}


def test_the_search_ends_with_what_compares_though_it_lasts_too_long() -> None:
    """The event that is nearest forbids all others, be its row in the window or not."""
    rows = [later(1, after=9), later(2)]
    assert pairs_of(Problem([earlier(0)], rows, [2], 5)) == set()


def test_all_rows_at_the_nearest_place_are_nearest() -> None:
    rows = [later(1), later(2), later(2, x=5), later(2, after=9), later(2, after=1), later(3)]
    assert pairs_of(Problem([earlier(1)], rows, [2], 5)) == {(0, 1), (0, 4)}


def test_an_old_pair_is_not_found_again_and_hides_what_is_new() -> None:
    rows = [later(1, is_new=False), later(2)]
    assert pairs_of(Problem([earlier(0, is_new=False)], rows, [2], 9)) == set()
    assert pairs_of(Problem([earlier(0)], rows, [2], 9)) == {(0, 0)}


def many(n_earlier: int, n_later: int, *, x: int = 0) -> Problem:
    """Return rows that all are nearest to each other, where x is 0."""
    return Problem([earlier(0) for _ in range(n_earlier)], [later(1, x=x) for _ in range(n_later)], [2], 9)


@pytest.mark.parametrize("limit", [1, 100, 2_999])
def test_more_pairs_than_the_limit_overflow_at_a_row_that_is_named(limit: int) -> None:
    problem = many(2, 3_000)
    problem.earlier[0].values = [7]  # only the second row has pairs
    rows, _, status, _ = found(problem, limit=limit)
    assert status == OVERFLOW
    assert rows[-1] == 1
    assert found(problem, limit=3_000)[2] == 3_000


def test_a_hopeless_search_is_exhausted_at_a_row_that_is_named() -> None:
    problem = many(3, 100, x=1)
    assert found(problem, budget=300)[2:] == (0, 300)
    rows, _, status, n_examined = found(problem, budget=199)
    assert (rows.tolist(), status, n_examined) == ([1], EXHAUSTED, 200)


@pytest.mark.parametrize(("n_earlier", "n_later"), [(0, 2), (2, 0), (0, 0)])
def test_an_empty_side_gives_nothing(n_earlier: int, n_later: int) -> None:
    assert pairs_of(many(n_earlier, n_later)) == set()
