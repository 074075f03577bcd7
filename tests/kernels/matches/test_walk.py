"""The walk against a dictionary, and keys against a sorted list."""

from bisect import bisect_left

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.matches.walk import places_of, walk_in_order

moments = st.tuples(st.integers(0, 4), st.integers(0, 1))
rows = st.lists(st.tuples(st.integers(0, 2), moments, moments), max_size=20)
halves = st.sampled_from([0, 1, 2**63, 2**64 - 1])
keys = st.lists(st.tuples(halves, halves), max_size=8)


@given(rows, st.lists(st.tuples(moments, st.integers(0, 3)), min_size=3, max_size=3))
def test_a_row_is_kept_if_it_starts_after_what_its_partition_has_reached(
    given_rows: list[tuple[int, tuple[int, int], tuple[int, int]]],
    known: list[tuple[tuple[int, int], int]],
) -> None:
    state = [list(one) for one in known]
    expected, latest = [], [-1, -1, -1]
    for row, (partition, start, end) in enumerate(given_rows):
        own = state[partition]
        is_kept = start > own[0]
        expected.append((is_kept, own[1] if is_kept else 0))
        state[partition] = [end, 0] if is_kept else [own[0], own[1] + 1]
        latest[partition] = row if is_kept else latest[partition]
    reached, swallowed = np.array([one for one, _ in known]), np.array([count for _, count in known])
    columns = [np.array([row[place] for row in given_rows], np.int64) for place in range(3)]
    pairs = [column.reshape(-1, 2) for column in columns[1:]]
    is_kept, counts, last = walk_in_order(columns[0], *pairs, reached, swallowed)
    assert list(zip(is_kept.tolist(), counts.tolist(), strict=True)) == expected
    assert [
        [tuple(one), count] for one, count in zip(reached.tolist(), swallowed.tolist(), strict=True)
    ] == state
    assert last.tolist() == latest


@given(keys, keys)
def test_keys_are_found_where_they_belong(
    known: list[tuple[int, int]], wanted: list[tuple[int, int]]
) -> None:
    known = sorted(set(known))
    places = places_of(*(np.array(one, np.uint64).reshape(-1, 2) for one in (known, wanted)))
    assert places.tolist() == [bisect_left(known, key) for key in wanted]
