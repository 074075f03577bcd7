"""Batches that wait: in memory up to a limit, beyond it in files, which are gone in the end."""

import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from weft.hosts.local import spool as spool_module
from weft.hosts.local.spool import Spool


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def batch(*numbers: int) -> pa.RecordBatch:
    """Return a batch of eight bytes for each number."""
    return pa.record_batch({"n": pa.array(numbers, pa.int64())})


def numbers(table: pa.Table) -> list[int]:
    found: list[int] = table["n"].to_pylist()
    return found


def test_exactly_the_limit_stays_in_memory_and_one_row_more_goes_to_a_file(folder: Path) -> None:
    with Spool(limit=24) as spool:
        spool.add("x", batch(1, 2))
        spool.add("y", batch(3))
        assert (spool.n_written, list(folder.iterdir())) == (0, [])
        spool.add("x", batch(4))
        assert spool.n_written == 1
        spool.add("x", batch(5))
        assert spool.n_written == 1  # what was written no longer counts
        assert {key: pile.n_rows for key, pile in spool.piles.items()} == {"x": 4, "y": 1}
        assert numbers(spool.take("x")) == [1, 2, 4, 5]
        assert numbers(spool.take("y")) == [3]


def test_what_was_taken_makes_room() -> None:
    with Spool(limit=16) as spool:
        for number in range(10):
            spool.add(number, batch(number, number))
            assert numbers(spool.take(number)) == [number, number]
        assert spool.n_written == 0


def test_with_no_memory_at_all_every_batch_is_a_file() -> None:
    with Spool(limit=0) as spool:
        for number in range(5):
            spool.add("x", batch(number))
        assert spool.n_written == 5
        assert numbers(spool.take("x")) == [0, 1, 2, 3, 4]


def test_a_batch_without_rows_makes_no_pile() -> None:
    with Spool(limit=0) as spool:
        spool.add("x", batch())
        assert spool.piles == {}
        assert spool.n_written == 0
        with pytest.raises(KeyError):
            spool.take("x")


def test_piles_come_in_the_order_in_which_they_began_and_once() -> None:
    with Spool(limit=20) as spool:
        for key, number in (("b", 1), ("a", 2), ("b", 3), ("c", 4)):
            spool.add(key, batch(number))
        found = [(key, numbers(table)) for key, table in spool.tables()]
        assert found == [("b", [1, 3]), ("a", [2]), ("c", [4])]
        assert list(spool.tables()) == []


def test_a_pile_begins_anew_once_it_was_taken() -> None:
    with Spool(limit=0) as spool:
        spool.add("x", batch(1))
        assert numbers(spool.take("x")) == [1]
        spool.add("x", batch(2))
        assert numbers(spool.take("x")) == [2]


def test_small_batches_are_large_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "PORTION", 40)
    with Spool(limit=95) as spool:
        for number in range(12):
            spool.add("x", batch(number))
        assert spool.n_written == 1
        table = spool.take("x")
        assert numbers(table) == list(range(12))
        assert [len(chunk) for chunk in table["n"].chunks] == [5, 5, 2]


def test_piles_may_have_columns_of_their_own_and_of_any_type() -> None:
    nested = pa.record_batch(
        {
            "events": [[{"id": 1, "k": None}], None, []],
            "type": pa.array(["A", None, "A"]).dictionary_encode(),
        }
    )
    with Spool(limit=0) as spool:
        spool.add("x", batch(1))
        spool.add("y", nested)
        assert numbers(spool.take("x")) == [1]
        assert spool.take("y").to_pylist() == nested.to_pylist()


def test_dictionaries_of_one_pile_may_differ() -> None:
    texts = [["A", "B"], ["C"], ["B", None, "D"]]
    with Spool(limit=0) as spool:
        for own in texts:
            spool.add("x", pa.record_batch({"type": pa.array(own, pa.string()).dictionary_encode()}))
        assert spool.take("x")["type"].to_pylist() == [text for own in texts for text in own]


def test_dictionaries_of_one_file_may_differ() -> None:
    """Pieces that are written together, too."""
    texts = [["A", "B"], ["C"], ["B", None, "D"]]
    with Spool(limit=1 << 20) as spool:
        for own in texts:
            spool.add("x", pa.record_batch({"type": pa.array(own, pa.string()).dictionary_encode()}))
        spool.limit = 0
        spool.add("y", batch(1))
        assert spool.n_written == 1
        assert spool.take("x")["type"].to_pylist() == [text for own in texts for text in own]


def test_files_are_gone_at_the_end_and_rows_that_were_taken_stay(folder: Path) -> None:
    with Spool(limit=0) as spool:
        spool.add("x", batch(*range(1_000)))
        table = spool.take("x")
        assert [path.name.startswith("weft-spool-") for path in folder.iterdir()] == [True]
    assert list(folder.iterdir()) == []
    assert numbers(table) == list(range(1_000))


def test_files_are_gone_after_an_error(folder: Path) -> None:
    def fail() -> None:
        with Spool(limit=0) as spool:
            spool.add("x", batch(1))
            raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        fail()
    assert list(folder.iterdir()) == []


def test_it_may_be_closed_twice(folder: Path) -> None:
    spool = Spool(limit=0)
    spool.add("x", batch(1))
    spool.close()
    spool.close()
    assert list(folder.iterdir()) == []


def test_several_threads_add_and_take() -> None:
    with Spool(limit=200) as spool, ThreadPoolExecutor(4) as pool:

        def fill(thread: int) -> list[int]:
            for number in range(200):
                spool.add(thread, batch(number))
                spool.add("all", batch(number))
            return numbers(spool.take(thread))

        assert list(pool.map(fill, range(4))) == [list(range(200))] * 4
        assert spool.n_written > 1
        assert sorted(numbers(spool.take("all"))) == sorted(list(range(200)) * 4)
