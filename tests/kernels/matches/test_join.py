"""The join kernel against two nested loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.kernels.matches.join import EXHAUSTED, OVERFLOW, JoinSide, probe_earlier

LOWEST, HIGHEST = -(2**63), 2**63 - 1
LESS, EQUAL, GREATER = 1, 2, 4
MASKS = [1, 2, 3, 4, 5, 6]
PLENTY = 1_000_000
values = st.one_of(st.integers(0, 3), st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST]))
Rows = list[dict[str, object]]


def masks_up_to(number: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.sampled_from(MASKS), max_size=number)


def rows_of(n_values: int, *, monotone: bool) -> st.SearchStrategy[Rows]:
    """Draw rows sorted by rank, with ties; the clock is the rank, or anything."""
    row = st.fixed_dictionaries(
        {
            "rank": st.integers(-5, 5),
            "last": st.integers(-5, 5),
            "extent": st.integers(0, 6),
            "values": st.lists(values, min_size=n_values, max_size=n_values),
            "hash": st.integers(0, 2),  # few, so that rows that differ share a bucket
        }
    )

    def ordered(rows: Rows) -> Rows:
        rows = sorted(rows, key=lambda row: row["rank"])
        return [{**row, "last": row["rank"]} for row in rows] if monotone else rows

    return st.lists(row, max_size=8).map(ordered)


def side(rows: Rows, n_values: int, *, hashed: bool) -> JoinSide:
    last = np.array([row["last"] for row in rows], np.int64)
    first = last - np.array([row["extent"] for row in rows], np.int64)
    table = np.array([row["values"] for row in rows], np.int64).reshape(len(rows), n_values)
    hashes = np.array([row["hash"] for row in rows] if hashed else [], np.int64)
    ranks = np.array([row["rank"] for row in rows], np.int64)
    return JoinSide(ranks, first, last, np.ascontiguousarray(table.T), hashes)


def compares(left: int, mask: int, right: int) -> bool:
    return bool(mask & (LESS if left < right else GREATER if left > right else EQUAL))


def naive_pairs(
    build: Rows, probe: Rows, masks: list[int], length: int, *, strict: bool
) -> set[tuple[int, int]]:
    return {
        (early, late)
        for late, b in enumerate(probe)
        for early, a in enumerate(build)
        if (a["rank"] < b["rank"] or (not strict and a["rank"] == b["rank"]))
        and max(b["last"] - (a["last"] - a["extent"]), b["extent"]) <= length
        and all(map(compares, a["values"], masks, b["values"]))
    }


@given(
    st.data(), st.lists(st.sampled_from(MASKS), max_size=3), st.integers(0, 8), st.booleans(), st.booleans()
)
@settings(max_examples=300)
def test_pairs_are_those_of_the_nested_loops(
    data: st.DataObject, masks: list[int], length: int, strict: bool, monotone: bool
) -> None:
    build, probe = (data.draw(rows_of(len(masks), monotone=monotone)) for _ in range(2))
    found_build, found_probe, status, _ = probe_earlier(
        side(build, len(masks), hashed=False),
        side(probe, len(masks), hashed=False),
        np.array(masks, np.int64),
        length,
        strict,
        monotone,
        PLENTY,
        PLENTY,
    )
    pairs = list(zip(found_build.tolist(), found_probe.tolist(), strict=True))
    assert status == len(pairs) == len(set(pairs))
    assert set(pairs) == naive_pairs(build, probe, masks, length, strict=strict)
    assert found_probe.tolist() == sorted(found_probe.tolist())


@given(
    st.data(), st.lists(st.sampled_from(MASKS), max_size=2), st.integers(0, 8), st.booleans(), st.booleans()
)
@settings(max_examples=300)
def test_hashes_find_equal_rows_and_collisions_do_not_matter(
    data: st.DataObject, masks: list[int], length: int, strict: bool, monotone: bool
) -> None:
    """Equal rows have equal hashes, different rows may have them too: only the values decide."""
    masks = [EQUAL, *masks]
    build, probe = (data.draw(rows_of(len(masks), monotone=monotone)) for _ in range(2))
    for row in (*build, *probe):
        row["hash"] = row["values"][0] % 2
    found_build, found_probe, status, _ = probe_earlier(
        side(build, len(masks), hashed=True),
        side(probe, len(masks), hashed=True),
        np.array(masks, np.int64),
        length,
        strict,
        monotone,
        PLENTY,
        PLENTY,
    )
    pairs = list(zip(found_build.tolist(), found_probe.tolist(), strict=True))
    assert status == len(pairs) == len(set(pairs))
    assert set(pairs) == naive_pairs(build, probe, masks, length, strict=strict)
    assert found_probe.tolist() == sorted(found_probe.tolist())


def many(n_rows: int, *, rank: int, hashed: bool) -> JoinSide:
    """Return equal rows at one moment."""
    row = {"rank": rank, "last": rank, "extent": 0, "values": [7], "hash": 5}
    return side([row] * n_rows, 1, hashed=hashed)


def join_all(n_build: int, n_probe: int, *, hashed: bool, limit: int, budget: int) -> tuple[int, list[int]]:
    """Join rows that all fit; return the status and the probe rows found."""
    _, probed, status, _ = probe_earlier(
        many(n_build, rank=0, hashed=hashed),
        many(n_probe, rank=1, hashed=hashed),
        np.array([EQUAL]),
        1,
        True,
        True,
        limit,
        budget,
    )
    return status, probed.tolist()


@pytest.mark.parametrize("hashed", [False, True])
def test_many_pairs_fit_below_the_limit(hashed: bool) -> None:
    status, probed = join_all(100, 100, hashed=hashed, limit=10_000, budget=PLENTY)
    assert status == 10_000
    assert probed == [row for row in range(100) for _ in range(100)]


@pytest.mark.parametrize("hashed", [False, True])
def test_more_pairs_than_the_limit_overflow_at_a_row_that_is_named(hashed: bool) -> None:
    status, probed = join_all(100, 100, hashed=hashed, limit=9_999, budget=PLENTY)
    assert status == OVERFLOW
    assert probed[-1] == 99


@pytest.mark.parametrize("hashed", [False, True])
def test_more_candidates_than_the_budget_exhaust_it_at_a_row_that_is_named(hashed: bool) -> None:
    assert join_all(100, 100, hashed=hashed, limit=PLENTY, budget=10_000)[0] == 10_000
    status, probed = join_all(100, 100, hashed=hashed, limit=PLENTY, budget=4_999)
    assert status == EXHAUSTED
    assert probed == [49]


@pytest.mark.parametrize("hashed", [False, True])
def test_a_monotone_clock_ends_the_search_of_a_row_early(hashed: bool) -> None:
    """Of a thousand rows one second apart only the last is within a second of the next event."""
    rows = [{"rank": rank, "last": rank, "extent": 0, "values": [7], "hash": 5} for rank in range(1000)]
    probe = [{"rank": 1000, "last": 1000, "extent": 0, "values": [7], "hash": 5}]
    build_rows, _, status, n_examined = probe_earlier(
        side(rows, 1, hashed=hashed),
        side(probe, 1, hashed=hashed),
        np.array([EQUAL]),
        1,
        True,
        True,
        PLENTY,
        PLENTY,
    )
    assert status == 1
    assert build_rows.tolist() == [999]
    assert n_examined == 1


@pytest.mark.parametrize(("n_build", "n_probe"), [(0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("hashed", [False, True])
def test_an_empty_side_gives_nothing(n_build: int, n_probe: int, hashed: bool) -> None:
    assert join_all(n_build, n_probe, hashed=hashed, limit=PLENTY, budget=PLENTY) == (0, [])
