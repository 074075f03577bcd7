"""Rows are dealt so that those that belong together meet, and piles run together that may."""

import numpy as np
import pyarrow as pa
import pytest

from weft.hosts.local import shards
from weft.hosts.local.shards import Dealing, hash_columns, run_together, with_values
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.slices import TimeSlices
from weft.schema import LONG

LAYOUT = Layout(
    time="t",
    type="type",
    id="id",
    content=None,
    tie=None,
    attributes={"k": ("k", LONG)},
    type_names=("A",),
)


def rows(times: list[int], keys: list[int | None] | None = None) -> pa.RecordBatch:
    own = keys if keys is not None else [0] * len(times)
    return pa.record_batch(
        {"t": pa.array(times, pa.int64()), "n": range(len(times)), "k": pa.array(own, pa.int64())}
    )


def dealt(dealing: Dealing, given: pa.RecordBatch) -> dict[int, list[int]]:
    """Return the numbers of the rows of each pile."""
    return {pile: own["n"].to_pylist() for pile, own in dealing.deal(given)}


def test_without_a_division_all_rows_go_to_one_pile() -> None:
    assert dealt(Dealing(1, LAYOUT), rows([3, 1, 2])) == {0: [0, 1, 2]}


@pytest.mark.parametrize("n_piles", [1, 7])
def test_no_rows_are_no_rows(n_piles: int) -> None:
    for slices in (None, TimeSlices(10, n_piles, reach=3)):
        found = dealt(Dealing(n_piles, LAYOUT, ("k",), ("k",), slices), rows([]))
        assert not any(found.values())


def test_rows_with_equal_keys_meet_in_their_order() -> None:
    keys = [n % 5 for n in range(100)]
    found = dealt(Dealing(3, LAYOUT, ("k",), ("k",)), rows(list(range(100)), keys))
    assert sorted(number for own in found.values() for number in own) == list(range(100))
    places = {keys[number]: pile for pile, own in found.items() for number in own}
    for pile, own in found.items():
        assert own == [number for number in range(100) if places[keys[number]] == pile]


def test_there_may_be_more_piles_than_rows() -> None:
    keys = list(range(3_000))
    for n_piles in (32_768, 100_000, 1 << 40):
        found = dealt(Dealing(n_piles, LAYOUT, ("k",), ("k",)), rows(keys, keys))
        assert sorted(number for own in found.values() for number in own) == keys
        assert all(0 <= pile < n_piles for pile in found)
        assert list(found) == sorted(found)


def test_rows_without_a_key_go_nowhere() -> None:
    found = dealt(Dealing(4, LAYOUT, ("k",), ("k",)), rows([1, 2, 3, 4], [7, None, 7, None]))
    assert list(found.values()) == [[0, 2]]
    assert not any(dealt(Dealing(4, LAYOUT, ("k",), ("k",)), rows([1, 2], [None, None])).values())
    assert dealt(Dealing(1, LAYOUT, (), ("k",)), rows([1, 2], [None, 3])) == {0: [1]}


def test_rows_near_the_end_of_a_slice_go_to_the_neighbor_too() -> None:
    """A slice sees `reach` after its end, and `lead` before its beginning."""
    slices = TimeSlices(100, 4, reach=10, lead=5)
    found = dealt(Dealing(4, LAYOUT, slices=slices), rows([50, 94, 95, 99, 100, 109, 110, 250, -1]))
    assert {pile: sorted(own) for pile, own in found.items()} == {
        0: [0, 1, 2, 3, 4, 5, 8],
        1: [2, 3, 4, 5, 6],
        2: [7],
        3: [8],
    }


def test_each_slice_sees_what_its_matches_need() -> None:
    slices, dice = TimeSlices(64, 6, reach=7, lead=3), np.random.default_rng(1)
    times = dice.integers(-2_000, 2_000, 500)
    found = dealt(Dealing(6, LAYOUT, slices=slices), rows(times.tolist()))
    for shard in range(6):
        seen = [
            number
            for number, time in enumerate(times.tolist())
            if any(moment // 64 % 6 == shard for moment in (time - 7, time, time + 3))
        ]
        assert sorted(found.get(shard, [])) == seen


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["x", "y", "x", None, "x"]),
        pa.array(["x", "y", "x", None, "x"]).cast(pa.large_string()),
        pa.array(["x", "y", "x", None, "x"]).dictionary_encode(),
        pa.array([1.0, 2.0, 1.0, None, 1.0]),
        pa.array([0.0, 2.0, -0.0, None, 0.0]),
        pa.array([float("nan"), 2.0, float("nan"), None, float("nan")]),
        pa.array([True, False, True, None, True]),
        pa.array([1, 2, 1, None, 1], pa.date32()),
    ],
    ids=str,
)
def test_equal_values_have_equal_hashes(column: pa.Array) -> None:
    keyed = with_values(pa.record_batch({"k": column, "j": [1, 1, 1, 1, 2]}), ["k"])
    assert keyed.num_rows == 4
    first, other, again, last = hash_columns(keyed, ["k"]).tolist()
    assert first == again == last != other
    both = hash_columns(keyed, ["k", "j"]).tolist()
    assert both[0] == both[2] != both[3]


def test_equal_texts_have_equal_hashes_in_whatever_batch() -> None:
    one = hash_columns(pa.record_batch({"k": ["b", "a"]}), ["k"])
    other = hash_columns(pa.record_batch({"k": ["a", "c", "b"]}).slice(2), ["k"])
    assert other.tolist() == [one[0]]


def test_small_piles_run_together_up_to_a_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MANY_ROWS", 10)
    sizes = dict.fromkeys((3, 0, 1, 2, 5), (4, 1))
    assert run_together(sizes, None, most_bytes=100, n_threads=2) == [[0, 1], [2, 3], [5]]
    assert run_together(sizes, None, most_bytes=1, n_threads=2) == [[0], [1], [2], [3], [5]]
    assert run_together({}, None, most_bytes=1, n_threads=2) == []


def test_few_rows_do_not_wait_for_memory_they_do_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pile that is larger than allowed runs by itself."""
    monkeypatch.setattr(shards, "MANY_ROWS", 1)
    assert run_together({0: (5, 900), 1: (5, 10)}, None, most_bytes=100, n_threads=1) == [[0], [1]]


def test_slices_that_are_neighbors_never_run_together() -> None:
    sizes = dict.fromkeys(range(6), (1, 1))
    together = run_together(sizes, TimeSlices(10, 6, reach=1), most_bytes=100, n_threads=1)
    assert together == [[0, 2, 4], [1, 3, 5]]
    alone = run_together(sizes, TimeSlices(10, 7, reach=1), most_bytes=100, n_threads=1)
    assert alone == [[0], [1], [2], [3], [4], [5]]  # of an odd number, the last is a neighbor of the first
