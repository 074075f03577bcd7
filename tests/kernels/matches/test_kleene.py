"""The enumeration of lists against all subsets."""

from dataclasses import dataclass, field
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.matches.join import EXHAUSTED, OVERFLOW
from weft.kernels.matches.kleene import Edges, Elements, Rows, Successors, expand_lists

LOWEST, HIGHEST = -(2**63), 2**63 - 1
MASKS = [1, 2, 3, 4, 5, 6]
PLENTY = 1_000_000
NO_MOST = HIGHEST
Lists = set[tuple[int, tuple[int, ...]]]
values = st.one_of(st.integers(0, 2), st.sampled_from([LOWEST, HIGHEST]))
small = st.integers(0, 6)


@dataclass
class Element:
    """An element with its run, the values that rows look at and those its neighbors look at."""

    run: int
    rank: int
    clock: int
    values: list[int]
    is_new: bool
    previous: list[int]
    current: list[int]
    valid: list[bool]
    is_broken: bool = False


@dataclass
class Row:
    """A row to expand."""

    run: int
    bounds: tuple[int, int]
    clocks: tuple[int, int]
    values: list[int]
    is_new: bool
    seed: int = -1


@dataclass
class Problem:
    """Everything that one call gets."""

    elements: list[Element]
    rows: list[Row]
    masks: list[int] = field(default_factory=list)
    edge_masks: list[int] = field(default_factory=list)
    least: int = 1
    most: int = NO_MOST
    length: int = 100
    is_nearest: bool = False
    begins_early: bool = False
    ends_late: bool = False


def compares(left: int, mask: int, right: int) -> bool:
    return bool(mask & (1 if left < right else 4 if left > right else 2))


def expand(
    problem: Problem, limit: int = PLENTY, budget: int = PLENTY, *, monotone: bool = True
) -> tuple[np.ndarray, ...]:
    rows, elements = problem.rows, problem.elements
    n_second = sum(element.run == 0 for element in elements)
    runs = {0: (0, n_second), 1: (n_second, len(elements))}

    def table(lists: list[list[int]], width: int, dtype: type = np.int64) -> np.ndarray:
        return np.array(lists, dtype).reshape(len(lists), width)

    n_edges = len(problem.edge_masks)
    return expand_lists(
        Rows(
            table([list(runs[row.run]) for row in rows], 2),
            table([list(row.bounds) for row in rows], 2),
            table([list(row.clocks) for row in rows], 2),
            np.array([row.seed for row in rows], np.int64),
            np.ascontiguousarray(table([row.values for row in rows], len(problem.masks)).T),
            np.array([row.is_new for row in rows], np.bool_),
        ),
        Elements(
            np.array([element.rank for element in elements], np.int64),
            np.array([element.clock for element in elements], np.int64),
            np.ascontiguousarray(table([element.values for element in elements], len(problem.masks)).T),
            np.array([element.is_new for element in elements], np.bool_),
        ),
        Edges(
            table([element.previous for element in elements], n_edges),
            table([element.current for element in elements], n_edges),
            table([element.valid for element in elements], 2 * n_edges, np.bool_),
            np.array(problem.edge_masks, np.int64),
        ),
        np.array(problem.masks, np.int64),
        Successors(
            problem.is_nearest,
            np.array([element.is_broken for element in elements], np.bool_),
            problem.begins_early,
            problem.ends_late,
        ),
        problem.least,
        problem.most,
        problem.length,
        monotone,
        limit,
        budget,
    )


def lists_of(problem: Problem) -> Lists:
    rows, offsets, members, status, _ = expand(problem)
    unhurried = expand(problem, monotone=False)
    assert all(
        np.array_equal(one, other) for one, other in zip((rows, offsets, members), unhurried, strict=False)
    )
    assert status == rows.size == offsets.size - 1
    found = [
        (int(row), tuple(members[start:stop].tolist()))
        for row, start, stop in zip(rows, offsets[:-1], offsets[1:], strict=True)
    ]
    assert len(set(found)) == len(found)
    return set(found)


def naive_lists(problem: Problem) -> Lists:
    """Try every subset of the elements."""
    return {
        (number, chosen)
        for number, row in enumerate(problem.rows)
        for size in range(problem.least, min(problem.most, len(problem.elements)) + 1)
        for chosen in combinations(range(len(problem.elements)), size)
        if is_list(row, chosen, problem) and goes_on(row, chosen, problem)
    }


def is_list(row: Row, chosen: tuple[int, ...], problem: Problem) -> bool:
    members = [problem.elements[place] for place in chosen]
    clocks = [*row.clocks, *(member.clock for member in members)]
    return (
        all(is_candidate(row, member, problem) for member in members)
        and (row.seed < 0 or chosen[0] == row.seed)
        and max(clocks) - min(clocks) <= problem.length
        and all(may_follow(a, b, problem) for a, b in pairwise(members))
        and (row.is_new or any(member.is_new for member in members))
    )


def is_candidate(row: Row, element: Element, problem: Problem) -> bool:
    """Say whether a row may have an element at all: the clocks of the row alone are within the length."""
    return (row.seed >= 0 and element is problem.elements[row.seed]) or (
        element.run == row.run
        and row.bounds[0] < element.rank < row.bounds[1]
        and all(map(compares, row.values, problem.masks, element.values))
        and max(*row.clocks, element.clock) - min(*row.clocks, element.clock) <= problem.length
    )


def may_follow(earlier: Element, later: Element, problem: Problem) -> bool:
    return earlier.rank < later.rank and all(
        earlier.valid[2 * edge]
        and later.valid[2 * edge + 1]
        and compares(earlier.previous[edge], mask, later.current[edge])
        for edge, mask in enumerate(problem.edge_masks)
    )


def goes_on(row: Row, chosen: tuple[int, ...], problem: Problem) -> bool:
    """Say whether the successors of a problem are such that a list may be as it is."""
    candidates = [element for element in problem.elements if is_candidate(row, element, problem)]
    members = [problem.elements[place] for place in chosen]
    first, last = members[0], members[-1]
    return (
        not any(earlier.is_broken for earlier in members[:-1])
        and not (
            problem.is_nearest
            and any(
                may_follow(a, other, problem) and other.rank < b.rank
                for a, b in pairwise(members)
                for other in candidates
            )
        )
        and not (
            problem.begins_early
            and row.seed < 0
            and any(candidate.rank < first.rank for candidate in candidates)
        )
        and not (
            problem.ends_late
            and len(members) < problem.most
            and not last.is_broken
            and any(may_follow(last, candidate, problem) for candidate in candidates)
        )
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Draw rows and elements in two runs; the clock is the rank, with ties."""
    masks = draw(st.lists(st.sampled_from(MASKS), max_size=2))
    edge_masks = draw(st.lists(st.sampled_from(MASKS), max_size=2))
    n_values, n_edges = len(masks), len(edge_masks)
    of_edges = st.lists(values, min_size=n_edges, max_size=n_edges)
    validity = st.lists(st.sampled_from([True, True, False]), min_size=2 * n_edges, max_size=2 * n_edges)
    of_rows = st.lists(values, min_size=n_values, max_size=n_values)
    element = st.builds(
        Element, st.integers(0, 1), small, small, of_rows, st.booleans(), of_edges, of_edges, validity
    )
    elements = sorted(draw(st.lists(element, max_size=7)), key=lambda one: (one.run, one.rank))
    for one in elements:
        one.clock = one.rank
    bound = st.one_of(small, st.sampled_from([LOWEST, HIGHEST]))
    clocks = st.tuples(small, small).map(lambda pair: (min(pair), max(pair)))
    row = st.builds(Row, st.integers(0, 1), st.tuples(bound, bound), clocks, of_rows, st.booleans())
    least = draw(st.integers(1, 3))
    most = draw(st.sampled_from([least, least + 1, NO_MOST]))
    return Problem(
        elements, draw(st.lists(row, max_size=4)), masks, edge_masks, least, most, draw(st.integers(0, 7))
    )


@given(problems())
@settings(max_examples=400)
def test_lists_are_the_subsets_that_fit(problem: Problem) -> None:
    assert lists_of(problem) == naive_lists(problem)


@given(problems())
@settings(max_examples=200)
def test_a_seed_starts_every_list_of_its_row(problem: Problem) -> None:
    """As the runtime calls it: the rows are the elements, each the seed of its own lists."""
    problem.rows = [
        Row(element.run, (element.rank, HIGHEST), (element.clock, element.clock), element.values, False, seed)
        for seed, element in enumerate(problem.elements)
    ]
    assert lists_of(problem) == naive_lists(problem)


@st.composite
def strategic_problems(draw: st.DrawFn) -> Problem:
    """Draw problems whose lists go on with the nearest, or end at what is broken, or both."""
    problem = draw(problems())
    problem.is_nearest, problem.begins_early, problem.ends_late = (draw(st.booleans()) for _ in range(3))
    for element in problem.elements:
        element.is_broken = draw(st.sampled_from([False, False, False, True]))
    problem.length = draw(st.sampled_from([problem.length, 7, 7]))  # of all ranks
    return problem


@given(strategic_problems())
@settings(max_examples=800)
def test_strategic_lists_are_the_subsets_that_go_on_as_they_must(problem: Problem) -> None:
    assert lists_of(problem) == naive_lists(problem)


@given(strategic_problems())
@settings(max_examples=200)
def test_a_seed_is_followed_by_the_nearest(problem: Problem) -> None:
    problem.rows = [
        Row(element.run, (element.rank, HIGHEST), (element.clock, element.clock), element.values, False, seed)
        for seed, element in enumerate(problem.elements)
    ]
    assert lists_of(problem) == naive_lists(problem)


def equal_elements(number: int, *, is_new: bool = True) -> list[Element]:
    return [Element(0, rank, 0, [], is_new, [], [], []) for rank in range(number)]


def free_row(*, is_new: bool) -> Row:
    return Row(0, (LOWEST, HIGHEST), (0, 0), [], is_new)


def test_twelve_elements_have_all_their_subsets() -> None:
    found = lists_of(Problem(equal_elements(12), [free_row(is_new=True)]))
    assert len(found) == 2**12 - 1
    assert (0, tuple(range(12))) in found


def test_a_list_may_be_long() -> None:
    """More elements than the kernel first makes room for."""
    problem = Problem(equal_elements(300), [free_row(is_new=True)], least=300)
    assert lists_of(problem) == {(0, tuple(range(300)))}


def test_lists_of_old_elements_are_not_found_again() -> None:
    elements = [*equal_elements(2, is_new=False), *equal_elements(3)[2:]]
    found = lists_of(Problem(elements, [free_row(is_new=False)]))
    assert found == {(0, (2,)), (0, (0, 2)), (0, (1, 2)), (0, (0, 1, 2))}


def test_elements_tied_in_rank_are_never_in_one_list() -> None:
    elements = [Element(0, 5, 0, [], True, [], [], []) for _ in range(3)]
    assert lists_of(Problem(elements, [free_row(is_new=True)])) == {(0, (place,)) for place in range(3)}


@pytest.mark.parametrize("limit", [1, 100, 4_094])
def test_more_lists_than_the_limit_overflow_at_a_row_that_is_named(limit: int) -> None:
    problem = Problem(equal_elements(12), [free_row(is_new=False), free_row(is_new=True)])
    for element in problem.elements:
        element.is_new = False  # so that only the second row has lists
    rows, _, _, status, _ = expand(problem, limit=limit)
    assert status == OVERFLOW
    assert rows[-1] == 1


def test_long_lists_overflow_by_their_elements() -> None:
    """Few lists may still be much: more than eight elements a list count as too many."""
    problem = Problem(equal_elements(200), [free_row(is_new=True)], least=199)
    rows, _, _, status, _ = expand(problem, limit=150)
    assert status == OVERFLOW
    assert rows[-1] == 0


def test_more_lists_than_the_budget_exhaust_it_at_a_row_that_is_named() -> None:
    problem = Problem(equal_elements(12), [free_row(is_new=True)])
    rows, _, members, status, n_examined = expand(problem, budget=1_000)
    assert status == EXHAUSTED
    assert rows.tolist() == [0]
    assert members.size == 0
    assert n_examined == 1_001


def test_a_hopeless_search_is_exhausted_too() -> None:
    """No list satisfies the edge, but pairs are tried: the budget counts tries, not lists."""
    elements = [Element(0, rank, 0, [], True, [0], [0], [True, True]) for rank in range(100)]
    problem = Problem(elements, [free_row(is_new=True)], edge_masks=[1], least=2)
    assert expand(problem)[3] == 0
    assert expand(problem, budget=2_000)[3] == EXHAUSTED


@pytest.mark.parametrize(("n_elements", "n_rows"), [(0, 2), (2, 0), (0, 0)])
def test_an_empty_side_gives_nothing(n_elements: int, n_rows: int) -> None:
    assert lists_of(Problem(equal_elements(n_elements), [free_row(is_new=True)] * n_rows)) == set()


def test_any_of_several_elements_at_the_nearest_rank_may_follow() -> None:
    elements = [Element(0, rank, 0, [], True, [], [], []) for rank in (1, 2, 2, 3)]
    problem = Problem(elements, [free_row(is_new=True)], is_nearest=True, begins_early=True)
    assert lists_of(problem) == {(0, chosen) for chosen in [(0,), (0, 1), (0, 2), (0, 1, 3), (0, 2, 3)]}


def test_what_does_not_follow_is_passed_over() -> None:
    """The nearest is the nearest of those that an edge lets follow: here, of a greater value."""
    elements = [
        Element(0, rank, 0, [], True, [x], [x], [True, True]) for rank, x in enumerate([1, 0, 2, 0, 3])
    ]
    problem = Problem(elements, [free_row(is_new=True)], edge_masks=[1], is_nearest=True, begins_early=True)
    assert lists_of(problem) == {(0, (0,)), (0, (0, 2)), (0, (0, 2, 4))}
    problem.ends_late = True
    assert lists_of(problem) == {(0, (0, 2, 4))}


def test_a_list_ends_early_only_where_it_must() -> None:
    elements = equal_elements(5)
    problem = Problem(elements, [free_row(is_new=True)], is_nearest=True, begins_early=True, ends_late=True)
    assert lists_of(problem) == {(0, (0, 1, 2, 3, 4))}
    problem.most = 3
    assert lists_of(problem) == {(0, (0, 1, 2))}
    elements[1].is_broken = True
    assert lists_of(problem) == {(0, (0, 1))}
    problem.least = 3
    assert lists_of(problem) == set()
