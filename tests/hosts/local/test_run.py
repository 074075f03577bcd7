"""Runs in this process: threads, errors on the way, what is left behind, and that a run is one run."""

import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from tests.helpers.local_cases import table_of

import weft
from weft.errors import BudgetError
from weft.hosts.local import memory, run
from weft.hosts.local.arrow_events import ArrowEvents
from weft.hosts.local.run import Workers, shard_limit

QUERIES = """
QUERY keyed PATTERN SEQ(A a, B b) WHERE [k] WITHIN 3 s RETURN b.x AS x
QUERY timed PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 3 s RETURN a.x AS x
QUERY walked PATTERN SEQ(A a, B b) WITHIN 3 s AFTER MATCH SKIP PAST LAST
QUERY whole PATTERN SEQ(C c, D d)
QUERY trend PATTERN SEQ(A a, B+ b) WITHIN 3 s SLIDE 3 s RETURN COUNT(*) AS n
"""
ROWS = [(n / 2, "ABAC"[n % 4], n, n % 3, n % 7) for n in range(80)] + [(100, "D", 80, 0, 0)]
COLUMNS = {"time": "ts", "type": "type", "id": "id", "notices": False}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def _little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything go to files, and three threads run."""
    monkeypatch.setattr(memory, "LEAST", 100)
    monkeypatch.setattr(memory, "MOST", 100)
    monkeypatch.setattr(run, "LITTLE", 0)
    monkeypatch.setattr(run, "n_threads", lambda: 3)


class Events:
    """Events that count how often they are read, and may fail then."""

    def __init__(self, *, fails_after: int | None = None) -> None:
        self.table = table_of(ROWS)
        self.fails_after = fails_after
        self.columns: list[list[str]] = []
        self.given = ArrowEvents(self.table.schema, self.table.nbytes, self._read)

    def _read(self, names: Sequence[str], _: Collection[str]) -> Iterator[pa.RecordBatch]:
        self.columns.append(list(names))
        for number, batch in enumerate(self.table.select(list(names)).to_batches(max_chunksize=10)):
            if number == self.fails_after:
                raise OSError("the disk is gone")
            yield batch


def rows_of(detection: weft.Detection) -> list[list[dict[str, object]]]:
    """Return all results, in an order."""
    return [
        sorted(frame.to_pylist(maps_as_pydicts="lossy"), key=str)  # type: ignore[attr-defined]
        for frame in (detection.matches, detection.trends)
    ]


@pytest.mark.usefixtures("_little_memory")
@pytest.mark.parametrize("partitions", [1, 2, 5, 16])
def test_little_memory_finds_what_much_memory_finds(
    partitions: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rows_of(weft.prepare(table_of(ROWS), QUERIES, partitions=partitions, **COLUMNS))  # type: ignore[arg-type]
    assert list(folder.iterdir()) == []
    monkeypatch.undo()
    expected = rows_of(weft.prepare(table_of(ROWS), QUERIES, **COLUMNS))  # type: ignore[arg-type]
    assert found == expected
    queries = {row["query"] for rows in expected for row in rows}
    assert queries == {"keyed", "timed", "walked", "whole", "trend"}


def test_events_are_read_once_for_all_queries_of_a_kind() -> None:
    """However often results are asked for, and no column is read that none of them needs."""
    events = Events()
    planning = weft.Planning(plan="trivial")
    detection = weft.prepare(events.given, QUERIES, planning=planning, **COLUMNS)  # type: ignore[arg-type]
    detection.choose_plans()
    events.columns.clear()
    rows_of(detection)
    rows_of(detection)
    counts = detection.run().counts
    assert detection.input_counts() == (81, 0)
    assert events.columns == [["ts", "type", "id", "k", "x"], ["ts", "type", "id"]]
    assert counts["whole"] == 20


@pytest.mark.usefixtures("_little_memory")
def test_an_error_while_reading_is_that_error_and_leaves_no_files(folder: Path) -> None:
    events = Events(fails_after=5)
    planning = weft.Planning(plan="trivial")
    detection = weft.prepare(events.given, QUERIES, planning=planning, **COLUMNS)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="the disk is gone"):
        _ = detection.matches.num_rows
    assert list(folder.iterdir()) == []
    events.fails_after = None
    assert detection.matches.num_rows > 0  # what failed is tried again


@pytest.mark.usefixtures("_little_memory")
def test_an_error_of_a_shard_leaves_no_files_and_no_threads(folder: Path) -> None:
    budget = weft.Budget(partial_matches=1)
    detection = weft.prepare(table_of(ROWS), QUERIES, budget=budget, on_budget="error", **COLUMNS)  # type: ignore[arg-type]
    with pytest.raises(BudgetError):
        _ = detection.matches.num_rows
    assert list(folder.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("weft")]


@pytest.mark.usefixtures("_little_memory")
def test_a_query_that_is_stopped_is_told_and_the_others_are_complete(folder: Path) -> None:
    text = (
        "QUERY many PATTERN SEQ(A a, B+ b[]) WITHIN 1 hour\nQUERY few PATTERN SEQ(C c, D d) RETURN d.x AS x"
    )
    budget = weft.Budget(partial_matches=1_000)
    detection = weft.prepare(table_of(ROWS), text, budget=budget, partitions=2, **COLUMNS)  # type: ignore[arg-type]
    counted = detection.run()
    assert set(counted.stopped) == {"many"}
    assert counted.counts["few"] == 20
    assert set(detection.stopped["query"].to_pylist()) == {"many"}
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("n_threads", [1, 4])
def test_what_comes_of_each_comes_in_order(n_threads: int) -> None:
    def work(number: int) -> int:
        time.sleep(0.002 * (number % 3))
        return number * number

    assert list(Workers(n_threads).map(work, range(40))) == [number * number for number in range(40)]
    assert list(Workers(n_threads).map(work, [])) == []


def test_threads_take_only_a_few_ahead() -> None:
    taken = []

    def given() -> Iterator[int]:
        for number in range(1_000):
            taken.append(number)
            yield number

    results = Workers(2).map(lambda number: number, given())
    assert next(results) == 0
    assert len(taken) <= 6
    results.close()  # type: ignore[attr-defined]
    assert len(taken) <= 6


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_ends_the_work(n_threads: int) -> None:
    done = []

    def work(number: int) -> int:
        if number == 5:
            raise ValueError("number five")
        done.append(number)
        return number

    with pytest.raises(ValueError, match="number five"):
        list(Workers(n_threads).map(work, range(10_000)))
    assert set(range(5)) <= set(done)
    assert len(done) < 30


def test_a_thread_runs_a_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "spool_limit", lambda: 800)
    assert (shard_limit(1), shard_limit(4), shard_limit(1_000)) == (100, 25, 1)


def test_progress_counts_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "LITTLE", 0)
    monkeypatch.setattr(run, "n_threads", lambda: 2)
    detection = weft.prepare(table_of(ROWS), QUERIES, partitions=4, **COLUMNS)  # type: ignore[arg-type]
    assert detection.host.progress().done == 0
    assert detection.matches.num_rows > 0
    progress = detection.host.progress()
    assert progress.done == progress.total >= 4
