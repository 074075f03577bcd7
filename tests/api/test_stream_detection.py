"""Detection on streams: the reference's matches in whatever pieces the events come, and what is counted."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from tests.helpers.engine import arrow_events, bindings_of, expected_outcome, is_supported, plain, plan_of
from tests.helpers.frames import bound_ids
from tests.helpers.strategies import Case, event, matching_case
from tests.helpers.stream_files import BATCH, SECOND, Files, Run, late_by_hand, run, scattered, write
from tests.helpers.streams import Kept, cut, deliveries, program_of

import weft
from weft.api.detection import Detection
from weft.errors import DataError, WeftError
from weft.hosts.spark.failures import failure_of
from weft.pattern.nodes import TimeWindow
from weft.runtime.matches.emit import ROWS_PER_BATCH
from weft.runtime.stages.shard import Memory, Shard
from weft.runtime.stages.shard_program import Arrived

HOUR = 3_600_000_000
PAIR = "QUERY pair PATTERN SEQ(A a, B b) WITHIN 10 seconds"
SEEDS = [30_002, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(30_005, 30_035, 2))]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def windowed_case(seed: int) -> Case:
    """Return a random case whose queries a stream accepts, and decides once time has passed."""

    def is_accepted(case: Case) -> bool:
        windows = all(isinstance(query.window, TimeWindow) for query in case.queries)
        return windows and is_supported(case)

    return matching_case(seed, most_queries=3, accepts=is_accepted)


def with_later_events(case: Case) -> Case:
    """Append events that no query names, late enough to decide what time decides."""
    last = max(one.time for one in case.events)
    first = len(case.events)
    later = [
        event(first + n, "E", last + HOUR * (n + 1), key=first + n if case.id else None) for n in range(3)
    ]
    return replace(case, events=(*case.events, *later))


def prepared(spark: SparkSession, case: Case, files: Files, delay: int, checkpoint: Path) -> Detection:
    overlap = any(len(one.types) > 1 for one in case.events)
    return weft.prepare(
        files.stream(spark).drop("__time", "__row", "__flags", BATCH),
        case.text,
        time="ts",
        type=None if overlap else "__type",
        id="__id",
        watermark=f"{delay // SECOND} seconds",
        columns=weft.Columns(
            order_by=case.order_by,
            types={name: f"contains(letters, '{name}')" for name in "ABCDE"} if overlap else {},
        ),
        streaming=weft.Streaming(checkpoint=str(checkpoint)),
    )


def test_many_matches_of_one_step_leave_in_several_packs(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    rows = [(1000 + n / 1000, "A", n, 1) for n in range(260)]
    write(spark, files, [rows + [(1001 + n / 1000, "B", 1000 + n, 1) for n in range(260)]])
    stream = files.stream(spark).drop(BATCH)
    detection = weft.prepare(stream, PAIR, time="ts", type="kind", id="n", watermark="1 second")
    done = run(detection.matches.drop("events"), tmp_path / "checkpoint")
    assert len(done.match_ids) == len(done.rows) == 260 * 260 > ROWS_PER_BATCH
    assert [report["matches"] for report in done.reports if report["matches"]] == [{"pair": 260 * 260}]


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_and_a_restart_give_the_reference_result(
    spark: SparkSession, files: Files, tmp_path: Path, seed: int
) -> None:
    """Events out of order, some twice, in random micro-batches, with a restart between two of them."""
    case, dice = windowed_case(seed), random.Random(seed)
    delay = dice.choice([0, SECOND, 3 * SECOND])
    longer = with_later_events(case)
    batches = [rows for rows in cut(deliveries(case.events, dice, delay), dice, dice.randint(2, 4)) if rows]
    batches.append(list(range(len(case.events), len(longer.events))))
    table, _ = arrow_events(longer)
    letters = ["".join(sorted(one.types)) for one in longer.events]
    frame = spark.createDataFrame(table.append_column("letters", [letters]))
    arrivals = [(number, row) for number, rows in enumerate(batches) for row in rows]
    arrived = spark.createDataFrame(arrivals, f"{BATCH} int, __row long").join(frame, "__row")
    stop = dice.randint(1, len(batches) - 1)
    found: dict[str, dict[object, object]] = {query.name: {} for query in case.queries}
    late = 0
    for is_wanted in (F.col(BATCH) < stop, F.col(BATCH) >= stop):
        files.add(arrived.where(is_wanted))
        detection = prepared(spark, longer, files, delay, tmp_path / "checkpoint")
        done = run(detection.matches, tmp_path / "checkpoint")
        late += done.total("late")
        for row in done.rows:
            bindings = bindings_of([one.asDict() for one in row["events"]])
            assert bindings not in found[row["query"]], "a match was emitted twice"
            columns = detection.return_columns[row["query"]]
            found[row["query"]][bindings] = {name: plain(row[column]) for name, column in columns.items()}
    assert found == expected_outcome(case)
    assert late == 0


KEYED = "QUERY keyed PATTERN SEQ(A a, B b) WHERE [user] WITHIN 10 seconds"


@pytest.mark.parametrize("users", [pytest.param((1, 2, 3), marks=pytest.mark.soak), (1, 2, None)])
def test_late_rows_are_counted_once_and_shown(
    spark: SparkSession, files: Files, tmp_path: Path, users: tuple[int | None, ...]
) -> None:
    """Every row goes to two parts, and the late ones are told by one of them."""
    batches = scattered(random.Random(3), 4, users=users)
    write(spark, files, batches)
    late = late_by_hand(batches, 2 * SECOND)
    assert len(late) > 20
    detection = weft.prepare(
        files.stream(spark), KEYED + "\n" + PAIR, time="ts", type="kind", id="n", watermark="2 seconds"
    )
    assert len(detection.assignment.members) == 2
    done = run(detection.outcomes, tmp_path / "outcomes")
    assert sorted(row["events"][0]["id"] for row in done.rows if row["kind"] == "late") == late
    assert done.total("late") == len(late)
    assert (done.n_rows, done.total("rejected")) == (120, 0)
    timely = files.read(spark).where(~F.col("n").isin(late))
    expected = weft.detect(timely, KEYED + "\n" + PAIR, time="ts", type="kind", id="n").collect()
    found = Counter((row["query"], row["match_id"]) for row in done.rows if row["kind"] == "match")
    assert found == Counter((row["query"], row["match_id"]) for row in expected)
    assert done.total("events") == timely.count() + timely.where("user IS NOT NULL").count()


def test_the_stream_of_late_rows(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    batches = scattered(random.Random(4), 3, users=(1, 2))
    write(spark, files, batches)
    detection = weft.prepare(
        files.stream(spark), KEYED, time="ts", type="kind", id="n", watermark="2 seconds"
    )
    done = run(detection.late, tmp_path / "late")
    expected = {
        row[2]: row for rows in batches for row in rows if row[2] in late_by_hand(batches, 2 * SECOND)
    }
    assert {row["id"]: (row["ts"], row["type"]) for row in done.rows} == {
        n: (round(row[0] * SECOND), row[1]) for n, row in expected.items()
    }
    assert len(done.rows) == len(expected) > 10


def test_duplicates_and_bad_rows_are_counted(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    batches: list[list[tuple]] = [
        [(1.0, "A", 1, 1), (1.0, "A", 1, 1), (None, "A", 2, 1), (2.0, None, 3, 1)],
        [(1.0, "A", 1, 1), (3.0, "B", None, 1), (3.0, "B", 4, 1), (None, None, None, None)],
        [(3.0, "B", 4, 1), (5.0, "Z", 5, 1)],
    ]
    write(spark, files, batches)
    found = weft.detect(files.stream(spark), KEYED, time="ts", type="kind", id="n", watermark="20 seconds")
    done = run(found, tmp_path / "checkpoint")
    assert [bound_ids(row) for row in done.rows] == [{"a": [1], "b": [4]}]
    assert (done.n_rows, done.total("rejected")) == (10, 4)
    assert (done.total("events"), done.total("duplicates"), done.total("late")) == (5, 3, 0)
    assert sum(report["matches"].get("keyed", 0) for report in done.reports) == 1  # type: ignore[attr-defined]


def test_what_a_stream_refuses(spark: SparkSession, files: Files) -> None:
    write(spark, files, [[(1.0, "A", 1, 1)]])
    stream = files.stream(spark)
    with pytest.raises(WeftError, match="query forever: without WITHIN, every event may belong"):
        weft.detect(
            stream, "QUERY forever PATTERN SEQ(A a, B b)", time="ts", type="kind", watermark="1 second"
        )
    with pytest.raises(WeftError, match="a stream needs a watermark"):
        weft.detect(stream, PAIR, time="ts", type="kind")
    with pytest.raises(WeftError, match="expected a duration such as '10 seconds'"):
        weft.detect(stream, PAIR, time="ts", type="kind", watermark="soon")
    marked = stream.withWatermark("ts", "1 second")
    with pytest.raises(WeftError, match="the events have a watermark already, on 'ts'"):
        weft.detect(marked, PAIR, time="ts", type="kind", watermark="1 second")
    with pytest.raises(WeftError, match="`watermark` is for streams, but `events` is a batch"):
        weft.prepare(files.read(spark), PAIR, time="ts", type="kind", watermark="1 second")


def ordered_batches(n_batches: int) -> list[list[tuple]]:
    """Return micro-batches with many rows of equal time, and a last one that decides everything."""
    dice = random.Random(5)
    batches: list[list[tuple]] = [
        [
            (float(10 * number + dice.randint(0, 9)), dice.choice("ABC"), dice.randint(0, 4), 1)
            for _ in range(25)
        ]
        for number in range(n_batches)
    ]
    return [*batches, [(10_000.0, "Z", 0, 1)]]


def test_a_watermark_that_the_events_have(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    """Its delay is the one by which trailing absences wait and rows are late."""
    write(spark, files, [*ordered_batches(2), [(9_990.0, "A", 1, 1), (9_999.0, "A", 2, 1)]])
    text = "QUERY q PATTERN SEQ(A a, B b, NOT C c) WITHIN 4 seconds"
    stream = files.stream(spark).withWatermark("ts", "5 seconds")
    done = run(weft.detect(stream, text, time="ts", type="kind"), tmp_path / "checkpoint")
    expected = weft.detect(files.read(spark), text, time="ts", type="kind").collect()
    assert done.match_ids == Counter((row["query"], row["match_id"]) for row in expected)
    assert done.match_ids
    assert done.total("late") == 1


def test_derived_types_an_order_and_no_id(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    """Equal rows are different events, also when they come in different micro-batches."""
    first, second, last = ordered_batches(2)
    write(spark, files, [first, second + second[:3], second[2:5], last])
    text = """QUERY both PATTERN SEQ(Low l, High h) WITHIN 3 seconds
        QUERY near PATTERN SEQ(A a, NOT Low x, High h) WITHIN 5 EVENTS"""
    options = {"time": "ts", "type": "kind"}
    types = {"Low": "n < 2 AND kind <> 'Z'", "High": "n > 2"}
    columns = weft.Columns(order_by="n", types=types)
    found = weft.detect(files.stream(spark), text, watermark="10 seconds", **options, columns=columns)
    done = run(found, tmp_path / "checkpoint")
    expected = weft.detect(files.read(spark), text, **options, columns=columns).collect()
    assert done.match_ids == Counter((row["query"], row["match_id"]) for row in expected)
    assert {name for name, _ in done.match_ids} == {"both", "near"}


def test_a_budget_stops_one_query_alone(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    """It stays stopped after a restart."""
    rows = [(float(second), "AB"[second % 2], second, 1) for second in range(60)]
    text = KEYED + "\nQUERY boom PATTERN A{2,} a[] WHERE [user] WITHIN 1 hour"
    found: Counter[tuple[str, str]] = Counter()
    for part in ([rows[:10], rows[10:40]], [rows[40:]]):
        write(spark, files, part)
        detection = weft.detect(
            files.stream(spark),
            text,
            time="ts",
            type="kind",
            id="n",
            watermark="1 second",
            budget=weft.Budget(partial_matches=2_000),
        )
        done = run(detection, tmp_path / "checkpoint")
        assert done.names("stopped") == {"boom"}
        found += done.match_ids
    reason = done.reports[-1]["stopped"]["boom"]  # type: ignore[index]
    assert "query boom: more than 2,000 partial matches" in reason
    expected = weft.detect(files.read(spark), KEYED, time="ts", type="kind", id="n").collect()
    kept = Counter({key: count for key, count in found.items() if key[0] == "keyed"})
    assert kept == Counter((row["query"], row["match_id"]) for row in expected)


def bound(spark: SparkSession, files: Files, queries: dict[str, str]) -> Detection:
    text = "\n".join(f"QUERY {name} PATTERN {asked}" for name, asked in queries.items())
    checkpoint = str(files.folder / "checkpoint")
    options = {"time": "ts", "type": "kind", "id": "n", "watermark": "1 second"}
    return weft.prepare(files.stream(spark), text, **options, streaming=weft.Streaming(checkpoint=checkpoint))


def go_on(spark: SparkSession, files: Files, queries: dict[str, str]) -> tuple[Run, dict[str, set[object]]]:
    """Start with these queries from the checkpoint; return also the ids that each query found."""
    done = run(bound(spark, files, queries).matches, files.folder / "checkpoint")
    found: dict[str, set[object]] = {name: set() for name in queries}
    for row in done.rows:
        found[row["query"]].add(tuple(one["id"] for one in row["events"]))
    return done, found


@pytest.mark.parametrize("key", ["[user] AND ", ""], ids=["by key", "together"])
def test_another_workload_after_a_restart(spark: SparkSession, files: Files, key: str) -> None:
    """A query that stays goes on; new and changed ones see only what comes after."""
    asked = f"SEQ(A a, B b) WHERE {key}a.n < b.n WITHIN"
    write(spark, files, [[(1.0, "A", 1, 7)], [(2.0, "B", 2, 7), (3.0, "A", 3, 7)]])
    queries = {"stays": "1 hour", "removed": "50 minutes", "changed": "40 minutes"}
    done, found = go_on(spark, files, {name: f"{asked} {window}" for name, window in queries.items()})
    assert found == {"stays": {(1, 2)}, "removed": {(1, 2)}, "changed": {(1, 2)}}
    assert not done.names("started") | done.names("ended")
    write(spark, files, [[(10.0, "B", 10, 7)], [(20.0, "A", 20, 7), (21.0, "B", 21, 7)]])
    queries = {"stays": "1 hour", "new": "50 minutes", "changed": "45 minutes"}
    done, found = go_on(spark, files, {name: f"{asked} {window}" for name, window in queries.items()})
    assert found["stays"] == {(1, 10), (3, 10), (1, 21), (3, 21), (20, 21)}
    assert found["new"] == found["changed"] == {(20, 21)}
    if key:
        assert done.names("started") == {"new", "changed"}
        assert done.names("ended") == {"removed"}


def test_queries_that_come_and_go_with_their_shards_are_told(spark: SparkSession, files: Files) -> None:
    old = {"stays": "SEQ(A a, B b) WITHIN 1 hour", "removed": "SEQ(B b, C c) WITHIN 1 hour"}
    new = {"stays": old["stays"], "new": "SEQ(A a, C c) WHERE [user] WITHIN 1 hour"}
    rows = [(1.0, "A", 1, 7), (2.0, "B", 2, 7), (3.0, "C", 3, 7)]
    write(spark, files, [rows])
    go_on(spark, files, old)
    write(spark, files, [[(at + 10, kind, n + 10, user) for at, kind, n, user in rows]])
    detection = bound(spark, files, new)
    assert (detection.started, detection.ended) == (["new"], ["removed"])
    _, found = go_on(spark, files, new)
    assert found["new"] == {(11, 13)}
    assert (bound(spark, files, new).started, bound(spark, files, new).ended) == ([], [])


def test_another_number_of_partitions_is_refused(spark: SparkSession, files: Files, tmp_path: Path) -> None:
    options = {"time": "ts", "type": "kind", "id": "n", "watermark": "1 second"}
    write(spark, files, [[(1.0, "A", user, user) for user in range(20)]])
    run(weft.detect(files.stream(spark), KEYED, partitions=2, **options), tmp_path / "checkpoint")
    write(spark, files, [[(2.0, "B", 20 + user, user) for user in range(20)]])
    with pytest.raises(StreamingQueryException) as caught:
        run(weft.detect(files.stream(spark), KEYED, partitions=3, **options), tmp_path / "checkpoint")
    failure = failure_of(caught.value)
    assert isinstance(failure, DataError)
    assert (
        "the checkpoint was written for 2 shards, and its state is divided so; the stream now has 3 shards"
        in str(failure)
    )


def test_a_refused_number_of_partitions_is_not_remembered(
    spark: SparkSession, files: Files, tmp_path: Path
) -> None:
    write(spark, files, [[(1.0, "A", 1, 1)]])

    def prepare(partitions: int | None) -> Detection:
        checkpoint = str(tmp_path / "checkpoint")
        options = {"time": "ts", "type": "kind", "watermark": "1 second"}
        streaming = weft.Streaming(checkpoint=checkpoint)
        return weft.prepare(files.stream(spark), KEYED, partitions=partitions, streaming=streaming, **options)

    assert prepare(2).outcomes.isStreaming
    with pytest.raises(WeftError, match="2"):
        prepare(3).outcomes  # noqa: B018 - to look at it is to prepare it
    assert prepare(None).assignment.n_shards == 2


def test_a_failure_while_the_division_is_written(
    spark: SparkSession, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that would be sharded otherwise if it came new finds its state after the next start."""
    write(spark, files, [[(1.0, "A", 1, 1)]])
    stays = "QUERY stays PATTERN SEQ(A a, B b) WHERE [user] AND [n] WITHIN 1 minute"
    other = "QUERY other PATTERN SEQ(A a, B b) WHERE [user] WITHIN 1 minute"

    def prepare(text: str) -> Detection:
        checkpoint = str(tmp_path / "checkpoint")
        options = {"time": "ts", "type": "kind", "watermark": "1 second"}
        streaming = weft.Streaming(checkpoint=checkpoint)
        return weft.prepare(files.stream(spark), text, streaming=streaming, **options)

    first = prepare(stays + "\n" + other)
    assert first.outcomes.isStreaming
    failing = spark.range(1).select(F.raise_error(F.lit("the machine died")).cast("string").alias("value"))
    with monkeypatch.context() as patched:
        patched.setattr(type(spark), "createDataFrame", lambda *_: failing)
        with pytest.raises(PySparkException, match="the machine died"):
            prepare(stays).outcomes  # noqa: B018 - to look at it is to prepare it
    assert prepare(stays).assignment.groups["stays"] == first.assignment.groups["stays"]


@pytest.mark.parametrize("partition", ["", "PARTITION BY k "], ids=["all", "partitioned"])
def test_a_window_of_events_in_a_worker_that_lags_behind(partition: str) -> None:
    """One worker takes the first step and the last two; between them another counts eight events."""
    events = [event(n, kind, SECOND * n, k=1) for n, kind in enumerate("ACCCCCCCCBC")]
    case = Case(f"QUERY q PATTERN SEQ(A a, B b) {partition}WITHIN 3 EVENTS", tuple(events))
    table, layout = arrow_events(case)
    work, store, workers = program_of(plan_of(case), layout, delay=0), Kept(), [Memory(), Memory()]
    found, watermark = [], 0
    for worker, rows in ((0, [0]), (1, [1, 2, 3, 4]), (1, [5, 6, 7, 8]), (0, [9]), (0, [10])):
        outcome = Shard("s", work, store, workers[worker]).step(
            Arrived([table.take(pa.array(rows))]), watermark
        )
        assert outcome is not None
        found += outcome.found
        watermark = 1_000 * rows[-1]
    assert case.expected() == {"q": set()}
    assert not found
