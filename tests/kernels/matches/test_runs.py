"""Lists that are runs against all stretches, and against the enumeration of lists."""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.matches.join import EXHAUSTED, OVERFLOW
from weft.kernels.matches.kleene import Edges, Elements, Rows, Successors, expand_lists
from weft.kernels.matches.runs import find_runs

LOWEST, HIGHEST = -(2**63), 2**63 - 1
PLENTY = 1_000_000
Lists = set[tuple[int, tuple[int, ...]]]


@dataclass
class Element:
    """An element of a run; one that is broken is the last of its list."""

    rank: int
    clock: int
    is_new: bool
    is_broken: bool = False


@dataclass
class Row:
    """A row to expand."""

    run: int
    bounds: tuple[int, int]
    clocks: tuple[int, int]
    is_new: bool
    seed: int = -1


@dataclass
class Problem:
    """Everything that one call gets; the elements of a run are one after the other."""

    runs: list[list[Element]]
    rows: list[Row]
    begins_early: bool = False
    ends_late: bool = False
    least: int = 1
    most: int = HIGHEST
    length: int = 100

    @property
    def elements(self) -> list[Element]:
        return [element for run in self.runs for element in run]

    def stretch(self, run: int) -> tuple[int, int]:
        """Return the first element of a run and the one past its last."""
        ends = [0, *accumulate(map(len, self.runs))]
        return ends[run], ends[run + 1]

    def arrays(self) -> tuple[Rows, Elements, np.ndarray]:
        rows, elements = self.rows, self.elements
        pairs = [[self.stretch(row.run) for row in rows], *([getattr(row, n) for row in rows] for n in ENDS)]
        stretches, bounds, clocks = (np.array(pair, np.int64).reshape(len(rows), 2) for pair in pairs)
        return (
            Rows(
                stretches,
                bounds,
                clocks,
                np.array([row.seed for row in rows], np.int64),
                np.empty((0, len(rows)), np.int64),
                np.array([row.is_new for row in rows], np.bool_),
            ),
            Elements(
                np.array([element.rank for element in elements], np.int64),
                np.array([element.clock for element in elements], np.int64),
                np.empty((0, len(elements)), np.int64),
                np.array([element.is_new for element in elements], np.bool_),
            ),
            np.array([element.is_broken for element in elements], np.bool_),
        )


ENDS = ("bounds", "clocks")


def last_elements(broken: np.ndarray) -> np.ndarray:
    """Return the last element of the longest list that begins with each, as far as what is broken goes."""
    size = broken.size
    return np.array(
        [next((end for end in range(at, size) if broken[end]), size) for at in range(size)], np.int64
    )


def runs_found(problem: Problem, limit: int = PLENTY, budget: int = PLENTY) -> tuple[np.ndarray, ...]:
    rows, elements, broken = problem.arrays()
    bounds = problem.least, problem.most, problem.length
    early, late = problem.begins_early, problem.ends_late
    return find_runs(rows, elements, last_elements(broken), early, late, *bounds, limit, budget)


def lists_of(problem: Problem) -> Lists:
    rows, starts, lengths, status, _ = runs_found(problem)
    assert status == rows.size == starts.size == lengths.size
    found = [
        (int(row), tuple(range(start, start + length)))
        for row, start, length in zip(rows, starts, lengths, strict=True)
    ]
    assert len(set(found)) == len(found)
    return set(found)


def enumerated_lists(problem: Problem) -> Lists:
    """Return what the enumeration of lists finds that go on with the nearest."""
    rows, elements, broken = problem.arrays()
    n_elements, no_edge = broken.size, np.empty(0, np.int64)
    found_rows, offsets, members, _, _ = expand_lists(
        rows,
        elements,
        Edges(np.empty((n_elements, 0)), np.empty((n_elements, 0)), np.empty((n_elements, 0)), no_edge),
        no_edge,
        Successors(True, broken, problem.begins_early, problem.ends_late),
        problem.least,
        problem.most,
        problem.length,
        True,
        PLENTY,
        PLENTY,
    )
    return {
        (int(row), tuple(members[start:stop].tolist()))
        for row, start, stop in zip(found_rows, offsets[:-1], offsets[1:], strict=True)
    }


def naive_lists(problem: Problem) -> Lists:
    """Try every stretch of the elements."""
    size = len(problem.elements)
    return {
        (number, tuple(range(start, stop)))
        for number, row in enumerate(problem.rows)
        for start in range(size)
        for stop in range(start + 1, size + 1)
        if is_list(row, start, stop, problem)
    }


def is_list(row: Row, start: int, stop: int, problem: Problem) -> bool:
    elements, seed = problem.elements, row.seed
    candidates = [
        place
        for place in range(*problem.stretch(row.run))
        if row.bounds[0] < elements[place].rank < row.bounds[1] or place == seed
    ]
    members = elements[start:stop]
    clocks = [*row.clocks, *(member.clock for member in members)]
    return (
        all(place in candidates for place in range(start, stop))
        and (seed < 0 or start == seed)
        and problem.least <= stop - start <= problem.most
        and max(clocks) - min(clocks) <= problem.length
        and not any(member.is_broken for member in members[:-1])
        and (row.is_new or any(member.is_new for member in members))
        and not (problem.begins_early and seed < 0 and start != candidates[0])
        and not (problem.ends_late and stop - start < problem.most and stop - 1 != candidates[-1])
    )


ranks = st.integers(0, 9)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw rows and elements in two runs, without ties; the clock grows with the rank."""

    def run() -> list[Element]:
        of_run = draw(st.lists(ranks, max_size=6, unique=True).map(sorted))
        flags = st.sampled_from([True, False, False])
        return [Element(rank, rank // 2, draw(st.booleans()), draw(flags)) for rank in of_run]

    bound = st.one_of(ranks, st.sampled_from([LOWEST, HIGHEST]))
    clocks = st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda pair: (min(pair), max(pair)))
    row = st.builds(Row, st.integers(0, 1), st.tuples(bound, bound), clocks, st.booleans())
    least = draw(st.integers(1, 3))
    return Problem(
        [run(), run()],
        draw(st.lists(row, max_size=4)),
        draw(st.booleans()),
        draw(st.booleans()),
        least,
        draw(st.sampled_from([least, least + 1, HIGHEST])),
        draw(st.integers(0, 6)),
    )


def with_seeds(problem: Problem) -> Problem:
    """Return a problem as the runtime poses it without rows: each element is the seed of its own lists."""
    places = [(run, element) for run, own in enumerate(problem.runs) for element in own]
    problem.rows = [
        Row(run, (element.rank, HIGHEST), (element.clock, element.clock), False, seed)
        for seed, (run, element) in enumerate(places)
    ]
    return problem


@given(problems())
@settings(max_examples=800)
def test_lists_are_the_stretches_that_fit(problem: Problem) -> None:
    assert lists_of(problem) == naive_lists(problem)


@given(problems().map(with_seeds))
@settings(max_examples=300)
def test_a_seed_starts_every_list_of_its_row(problem: Problem) -> None:
    assert lists_of(problem) == naive_lists(problem)


@given(problems())
@settings(max_examples=500)
def test_runs_are_the_lists_that_go_on_with_the_nearest(problem: Problem) -> None:
    """Where lists begin early or end late, events of the row are before or after them, as in a plan.

    Of what ends late, runs leave out what is broken off; whoever reads them forbids that too.
    """
    for row in problem.rows:
        low, high = row.bounds
        if problem.begins_early:
            low = max(low, 2 * row.clocks[0] + 1)
        if problem.ends_late:
            high = min(high, 2 * row.clocks[1])
        row.bounds = low, high
    if problem.ends_late:
        for element in problem.elements:
            element.is_broken = False
    assert lists_of(problem) == enumerated_lists(problem)


def run_of(n_elements: int, *, is_new: bool = True) -> list[Element]:
    return [Element(rank, 0, is_new) for rank in range(n_elements)]


def free_row(run: int = 0, *, is_new: bool = True) -> Row:
    return Row(run, (LOWEST, HIGHEST), (0, 0), is_new)


def test_a_row_has_every_stretch_of_its_run() -> None:
    assert len(lists_of(Problem([run_of(60), run_of(9)], [free_row()]))) == 60 * 61 // 2  # it grows


def test_one_long_list_is_told_by_its_ends() -> None:
    problem = Problem([run_of(5_000)], [free_row()], begins_early=True, ends_late=True)
    rows, starts, lengths, status, n_examined = runs_found(problem, limit=1, budget=1)
    assert (rows.tolist(), starts.tolist(), lengths.tolist()) == ([0], [0], [5_000])
    assert (status, n_examined) == (1, 1)


def test_lists_of_old_elements_are_not_found_again() -> None:
    elements = [*run_of(2, is_new=False), *run_of(3)[2:]]
    assert lists_of(Problem([elements], [free_row(is_new=False)])) == {(0, (2,)), (0, (1, 2)), (0, (0, 1, 2))}


def test_a_list_is_as_long_as_it_may_be_though_it_could_go_on() -> None:
    problem = Problem([run_of(5)], [free_row()], begins_early=True, ends_late=True, least=2, most=3)
    assert lists_of(problem) == {(0, (0, 1, 2))}


def test_a_window_cuts_a_list_but_not_one_that_ends_late() -> None:
    elements = [Element(rank, rank, True) for rank in range(4)]
    problem = Problem([elements], [free_row()], begins_early=True, length=2)
    assert lists_of(problem) == {(0, (0,)), (0, (0, 1)), (0, (0, 1, 2))}
    problem.ends_late = True
    assert lists_of(problem) == set()


@pytest.mark.parametrize("limit", [1, 100, 1_829])
def test_more_lists_than_the_limit_overflow_at_a_row_that_is_named(limit: int) -> None:
    problem = Problem([run_of(60, is_new=False)], [free_row(is_new=False), free_row()])
    rows, _, _, status, _ = runs_found(problem, limit=limit)
    assert status == OVERFLOW
    assert rows[-1] == 1
    assert runs_found(problem, limit=1_830)[3] == 1_830


def test_more_beginnings_than_the_budget_exhaust_it_at_a_row_that_is_named() -> None:
    problem = Problem([run_of(60)], [free_row(), free_row()], least=61)
    assert runs_found(problem, budget=120)[3] == 0
    rows, _, _, status, n_examined = runs_found(problem, budget=119)
    assert (rows.tolist(), status, n_examined) == ([1], EXHAUSTED, 120)


@pytest.mark.parametrize(("n_elements", "n_rows"), [(0, 2), (2, 0), (0, 0)])
def test_an_empty_side_gives_nothing(n_elements: int, n_rows: int) -> None:
    assert lists_of(Problem([run_of(n_elements)], [free_row()] * n_rows)) == set()
