"""The search for negated rows in scopes against two nested loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.matches.join import EXHAUSTED, OVERFLOW
from weft.kernels.matches.negation import Negated, Scopes, find_in_scope

LOWEST, HIGHEST = -(2**63), 2**63 - 1
MASKS = [1, 2, 3, 4, 5, 6]
PLENTY = 1_000_000
values = st.one_of(st.integers(0, 2), st.sampled_from([LOWEST, HIGHEST]))
small = st.integers(-4, 4)
Row = dict[str, object]


def negated_rows(n_values: int, *, monotone: bool) -> st.SearchStrategy[list[Row]]:
    """Draw negated rows in two runs, sorted by the last rank in each; the clock is the rank, or anything."""
    row = st.fixed_dictionaries(
        {
            "run": st.integers(0, 1),
            "last": small,
            "extent": st.integers(0, 3),
            "clock": small,
            "values": st.lists(values, min_size=n_values, max_size=n_values),
        }
    )

    def ordered(rows: list[Row]) -> list[Row]:
        for one in rows:
            one["clock"] = one["last"] if monotone else one["clock"]
        return sorted(rows, key=lambda one: (one["run"], one["last"]))

    return st.lists(row, max_size=8).map(ordered)


def scope_rows(n_values: int) -> st.SearchStrategy[list[Row]]:
    bound = st.one_of(small, st.sampled_from([LOWEST, HIGHEST]))
    return st.lists(
        st.fixed_dictionaries(
            {
                "run": st.integers(0, 1),
                "ranks": st.tuples(bound, bound),
                "clocks": st.tuples(bound, bound),
                "values": st.lists(values, min_size=n_values, max_size=n_values),
            }
        ),
        max_size=5,
    )


def columns(rows: list[Row], n_values: int) -> np.ndarray:
    table = np.array([row["values"] for row in rows], np.int64).reshape(len(rows), n_values)
    return np.ascontiguousarray(table.T)


def pairs_of(rows: list[tuple[object, object]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, 2)


def scopes_of(scopes: list[Row], negated: list[Row], n_values: int) -> Scopes:
    first_of_second_run = sum(row["run"] == 0 for row in negated)
    runs = {0: (0, first_of_second_run), 1: (first_of_second_run, len(negated))}
    return Scopes(
        pairs_of([runs[row["run"]] for row in scopes]),
        pairs_of([row["ranks"] for row in scopes]),
        pairs_of([row["clocks"] for row in scopes]),
        columns(scopes, n_values),
    )


def negated_of(negated: list[Row], n_values: int) -> Negated:
    return Negated(
        pairs_of([(row["last"] - row["extent"], row["last"]) for row in negated]),
        pairs_of([(row["clock"] - row["extent"], row["clock"]) for row in negated]),
        columns(negated, n_values),
    )


def compares(left: int, mask: int, right: int) -> bool:
    return bool(mask & (1 if left < right else 4 if left > right else 2))


def naive_pairs(scopes: list[Row], negated: list[Row], masks: list[int]) -> set[tuple[int, int]]:
    return {
        (row, candidate)
        for row, scope in enumerate(scopes)
        for candidate, one in enumerate(negated)
        if scope["run"] == one["run"]
        and scope["ranks"][0] < one["last"] - one["extent"]
        and one["last"] < scope["ranks"][1]
        and scope["clocks"][0] <= one["clock"] - one["extent"]
        and one["clock"] <= scope["clocks"][1]
        and all(map(compares, scope["values"], masks, one["values"]))
    }


@given(st.data(), st.lists(st.sampled_from(MASKS), max_size=2), st.booleans())
@settings(max_examples=300)
def test_hits_are_those_of_the_nested_loops(data: st.DataObject, masks: list[int], monotone: bool) -> None:
    negated = data.draw(negated_rows(len(masks), monotone=monotone))
    scopes = data.draw(scope_rows(len(masks)))
    arguments = (
        scopes_of(scopes, negated, len(masks)),
        negated_of(negated, len(masks)),
        np.array(masks, np.int64),
        monotone,
    )
    rows, candidates, status, _ = find_in_scope(*arguments, False, PLENTY, PLENTY)
    found = list(zip(rows.tolist(), candidates.tolist(), strict=True))
    expected = naive_pairs(scopes, negated, masks)
    assert status == len(found) == len(expected)
    assert set(found) == expected

    rows, candidates, status, _ = find_in_scope(*arguments, True, PLENTY, PLENTY)
    hit = list(zip(rows.tolist(), candidates.tolist(), strict=True))
    assert rows.tolist() == sorted({row for row, _ in expected})
    assert set(hit) <= expected


def many(n_rows: int, n_negated: int, *, limit: int, budget: int) -> tuple[int, list[int], int]:
    """Look for equal rows in scopes that hold them all; return status, rows and the number examined."""
    scope: Row = {"run": 0, "ranks": (LOWEST, HIGHEST), "clocks": (LOWEST, HIGHEST), "values": []}
    row: Row = {"run": 0, "last": 0, "extent": 0, "clock": 0, "values": []}
    scopes, negated = [scope] * n_rows, [row] * n_negated
    rows, _, status, n_examined = find_in_scope(
        scopes_of(scopes, negated, 0),
        negated_of(negated, 0),
        np.empty(0, np.int64),
        True,
        False,
        limit,
        budget,
    )
    return status, rows.tolist(), n_examined


def test_all_hits_fit_below_the_limit() -> None:
    status, rows, n_examined = many(60, 60, limit=5_000, budget=3_600)
    assert status == n_examined == len(rows) == 3_600


def test_more_hits_than_the_limit_overflow_at_a_row_that_is_named() -> None:
    status, rows, _ = many(100, 100, limit=2_000, budget=PLENTY)
    assert status == OVERFLOW
    assert 19 <= rows[-1] < 100  # buffers double, so the limit is noticed late


def test_more_candidates_than_the_budget_exhaust_it_at_a_row_that_is_named() -> None:
    status, rows, _ = many(60, 60, limit=PLENTY, budget=3_599)
    assert status == EXHAUSTED
    assert rows == [59]


@pytest.mark.parametrize(("n_rows", "n_negated"), [(0, 3), (3, 0), (0, 0)])
def test_an_empty_side_gives_nothing(n_rows: int, n_negated: int) -> None:
    assert many(n_rows, n_negated, limit=PLENTY, budget=PLENTY) == (0, [], 0)
