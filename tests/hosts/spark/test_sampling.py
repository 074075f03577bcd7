"""Samples from Spark: whole slices of time, bounded in size, and the statistics they give."""

from collections.abc import Iterator
from functools import reduce

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.expressions import Attribute, Comparison
from weft.hosts import sampling
from weft.hosts.meaning import EventRoles
from weft.hosts.sampling import BUCKET_BITS, PART_BITS, ROWS, choose_buckets
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.sampling import EventSampler
from weft.hosts.spark.schemas import column_kinds
from weft.schema import LONG, STRING
from weft.statistics.model import GroupKey, Inquiry, ItemKey, Question, Statistics

A, B, D = ItemKey("A"), ItemKey("B"), ItemKey("D")
N_EVENTS = 40_000  # ten in a second
SECOND = 1_000_000


def source_of(
    frame: DataFrame, *, type: str | None = "kind", id: str | None = "id", **types: str
) -> EventFrame:
    derived = {name: F.expr(condition) for name, condition in types.items()}
    roles = EventRoles(time="ts", type=type, id=id, types=derived)
    return EventFrame.bind(column_kinds(frame.schema), roles, events=frame)


def estimate(
    source: EventFrame,
    inquiry: Inquiry,
    *,
    counts_all: bool = False,
    is_quick: bool = False,
    rows: int = ROWS,
    seed: int = 0,
) -> Statistics:
    types = {item.type for item in inquiry.every_item}
    sampler = EventSampler(source, types, inquiry.attributes, counts_all, rows, seed)
    return sampling.estimate(sampler, inquiry, is_quick=is_quick, seed=seed)


def asked(operator: str = "<", *, window: float | None = 5.0) -> Question:
    left, right = Attribute("$0", "x", type=LONG), Attribute("$1", "x", type=LONG)
    assert operator in ("<", "=")
    comparison = Comparison("<" if operator == "<" else "=", left, right)
    return Question(GroupKey((A, B), (comparison,)), frozenset({(0, 1)}), window)


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> Iterator[DataFrame]:
    """Ten events in a second for 4,000 s: of ten, 6 A, 3 B, 1 C; x grows by 1 in a second; unsorted."""
    frame = (
        spark.range(N_EVENTS)
        .select(
            F.timestamp_micros(F.col("id") * 100_000 + 1_700_000_000_000_000).alias("ts"),
            F.expr("substr('AAAAAABBBC', int(id % 10) + 1, 1)").alias("kind"),
            F.col("id"),
            F.expr("id div 10").alias("x"),
            F.expr("concat('u', hash(id) % 5)").alias("user"),
        )
        .repartition(6, F.xxhash64("id"))
        .cache()
    )
    yield frame
    frame.unpersist()


def test_all_events_when_they_are_few(events: DataFrame) -> None:
    sample = EventSampler(source_of(events), {"A", "B"}, {"x"}).sample_events(5.0)
    assert sample is not None
    assert sample.events.n_events == N_EVENTS * 9 // 10
    assert sample.duration == pytest.approx(4_000, rel=0.001)
    assert sample.span == pytest.approx(4_000, rel=0.001)
    assert bool(np.all(np.diff(sample.events.times) >= 0))
    assert set(sample.events.columns) == {"x"}


def test_the_first_events_are_a_sample_where_they_come_in_order(events: DataFrame) -> None:
    ordered = events.coalesce(1).sortWithinPartitions("ts")
    sample = EventSampler(source_of(ordered), {"A", "B"}, {"x"}, rows=900).first_events()
    assert sample is not None
    assert (sample.events.n_events, sample.span) == (900, None)
    assert sample.duration == pytest.approx(100, rel=0.01)
    shuffled = events.coalesce(1).sortWithinPartitions(F.xxhash64("id"))
    assert EventSampler(source_of(shuffled), {"A", "B"}, {"x"}, rows=900).first_events() is None
    everything = EventSampler(source_of(events), {"A", "B"}).first_events()
    assert everything is not None
    assert everything.span == pytest.approx(4_000, rel=0.001)


def test_a_quick_estimate_is_as_good_where_the_stream_is_even(events: DataFrame) -> None:
    ordered = events.coalesce(1).sortWithinPartitions("ts")
    quick = estimate(source_of(ordered), Inquiry([A, B], [asked()]), is_quick=True, rows=9_000)
    shuffled = events.coalesce(1).sortWithinPartitions(F.xxhash64("id"))
    unordered = estimate(source_of(shuffled), Inquiry([A, B], [asked()]), is_quick=True, rows=9_000)
    assert quick.duration is None
    assert unordered.duration == pytest.approx(4_000, rel=0.001)
    for item in (A, B):
        assert quick.rate(item) == pytest.approx(unordered.rate(item), rel=0.05)
    assert quick.selectivity(asked().group) == pytest.approx(unordered.selectivity(asked().group), abs=0.05)


def test_a_sample_is_bounded_and_of_whole_slices(events: DataFrame) -> None:
    """5 s windows make slices of 2^26 us, about 67 s: 60 of them, of which nine hold 6,000 rows."""
    sample = EventSampler(source_of(events), {"A", "B"}, rows=6_000).sample_events(5.0)
    assert sample is not None
    assert 4_000 < sample.events.n_events <= 6_000
    slices, counts = np.unique(sample.events.times >> 26, return_counts=True)
    assert len(slices) >= 8
    first, last = 1_700_000_000_000_000 >> 26, (1_700_000_000_000_000 + 4_000 * SECOND) >> 26
    whole = counts[(slices > first) & (slices < last)]
    assert bool(np.all(abs(whole - 9 * 2**26 / SECOND) < 10))
    assert slices.max() - slices.min() > 30
    assert sample.events.n_events / sample.duration == pytest.approx(9.0, rel=0.02)
    assert sample.span == pytest.approx(4_000, rel=0.001)


def test_large_slices_are_thinned(events: DataFrame) -> None:
    """A window of half the data gives one or two slices: a random part of their events comes."""
    for window in (2_000.0, None):
        sample = EventSampler(source_of(events), {"A", "B"}, rows=2_000).sample_events(window)
        assert sample is not None
        assert sample.events.n_events == pytest.approx(2_000, rel=0.15)
        assert sample.events.n_events / sample.duration == pytest.approx(9.0, rel=0.01)
        assert sample.events.times[-1] - sample.events.times[0] > 3_900 * SECOND


def test_statistics_of_a_sample(events: DataFrame) -> None:
    """A comes in the first 0.6 s of a second, B after it: of 5 s back, 1 in 5 A is of the same second."""
    later = ItemKey(
        "A", (Comparison(">", Attribute("$0", "user", type=STRING), Attribute("$0", "kind", type=STRING)),)
    )
    less, equal = asked("<"), asked("=")
    found = estimate(source_of(events), Inquiry([A, B, D, later], [less, equal], ["user"]), rows=9_000)
    assert found.rate(A) == pytest.approx(6.0, rel=0.03)
    assert found.rate(B) == pytest.approx(3.0, rel=0.03)
    assert found.rate(later) == found.rate(A)  # 'u1' > 'A'
    assert 0 < found.rate(D) < 0.001
    assert found.selectivity(less.group) == pytest.approx(0.8, abs=0.02)
    assert found.selectivity(equal.group) == pytest.approx(0.2, abs=0.02)
    assert found.agreement("user") == pytest.approx(1 / 9, abs=0.03)  # u-4 to u4
    assert found.duration == pytest.approx(4_000, rel=0.001)


def test_the_sample_is_within_the_window(spark: SparkSession, events: DataFrame) -> None:
    """Over all of time hardly any two events have one x."""
    anywhere = estimate(source_of(events), Inquiry([], [asked("=", window=None)]), rows=9_000)
    within = estimate(source_of(events), Inquiry([], [asked("=", window=1.0)]), rows=9_000)
    assert anywhere.selectivity(asked("=").group) < 0.005
    assert within.selectivity(asked("=").group) > 0.2
    keyed = [
        estimate(source_of(events), Inquiry([A], [], ["x"], window), rows=9_000) for window in (1.0, None)
    ]
    assert keyed[0].agreement("x") > 0.2
    assert keyed[1].agreement("x") < 0.005


def test_the_sample_does_not_depend_on_partitions(events: DataFrame) -> None:
    def estimated(frame: DataFrame, seed: int, id: str | None = "id") -> Statistics:
        source = source_of(frame, id=id)
        return estimate(source, Inquiry([A], [asked()], ["user"]), rows=3_000, seed=seed)

    one = estimated(events, 1)
    assert estimated(events.repartition(2), 1) == one
    assert estimated(events.coalesce(1).orderBy(F.desc("id")), 1) == one
    assert estimated(events, 2) != one
    thinned = [
        EventSampler(source_of(frame), {"A"}, {"x"}, rows=500, seed=4).sample_events(None)
        for frame in (events, events.repartition(3))
    ]
    ids = [set(sample.events.ids.to_pylist()) for sample in thinned if sample is not None]
    assert ids[0] == ids[1]


def test_all_types_are_counted_for_windows_of_events(events: DataFrame) -> None:
    wanted = estimate(source_of(events), Inquiry([B], []), rows=5_000)
    everything = estimate(source_of(events), Inquiry([B], []), rows=5_000, counts_all=True)
    assert wanted.events_per_second == pytest.approx(3.0, rel=0.02)
    assert everything.events_per_second == pytest.approx(10.0, rel=0.02)
    assert everything.rate(B) == pytest.approx(3.0, rel=0.1)


def test_only_what_is_asked_is_read(events: DataFrame) -> None:
    """Without an id, events are known by all their columns; a sample does not need to know them."""
    poisoned = events.withColumn("poison", F.raise_error(F.lit("the column was read")).cast("string"))
    found = estimate(source_of(poisoned, id=None), Inquiry([A], [asked()], ["user"]), rows=2_000)
    assert found.selectivity(asked().group) > 0.5
    with pytest.raises(Exception, match="the column was read"):
        estimate(source_of(poisoned, id=None), Inquiry([A], [], ["poison"]), rows=2_000)


def test_bad_rows_and_repeated_deliveries_do_not_count(events: DataFrame) -> None:
    bad = [
        events.where("id % 4 = 0").withColumn(name, F.lit(None).cast(kind))
        for name, kind in (("ts", "timestamp"), ("kind", "string"), ("id", "long"))
    ]
    more = reduce(DataFrame.unionByName, bad, events.where("kind = 'B'").unionByName(events))
    for counts_all in (False, True):
        for rows in (200_000, 5_000):
            found = estimate(source_of(more), Inquiry([A, B], []), rows=rows, counts_all=counts_all)
            assert found.rate(A) == pytest.approx(6.0, rel=0.06)
            assert found.rate(B) == pytest.approx(3.0, rel=0.08)


def test_derived_types(events: DataFrame) -> None:
    source = source_of(events, type=None, A="kind != 'C'", B="x % 2 = 0")
    found = estimate(source, Inquiry([A, B, D], [asked("<", window=5.0)]), rows=6_000)
    assert found.rate(A) == pytest.approx(9.0, rel=0.05)
    assert found.rate(B) == pytest.approx(5.0, rel=0.1)
    assert found.selectivity(asked().group) > 0.7


def test_no_events_say_nothing(events: DataFrame) -> None:
    for frame, items in ((events.where("false"), [A]), (events, [D]), (events, [])):
        assert estimate(source_of(frame), Inquiry(items, [], ["user"])) == Statistics()


def test_one_event_and_one_moment(spark: SparkSession, events: DataFrame) -> None:
    """A rate needs a duration; where there is none, a second stands in for it."""
    one = estimate(source_of(events.where("id = 7")), Inquiry([B], [asked()]))
    assert (one.rate(B), one.selectivities) == (1.0, {})
    same = events.where("id < 100").withColumn("ts", F.lit("2024-01-31 12:00:00").cast("timestamp"))
    found = estimate(source_of(same), Inquiry([A, B], [asked()]))
    assert (found.rate(A), found.rate(B), found.selectivities) == (60.0, 30.0, {})


def test_time_before_the_epoch_and_outliers(events: DataFrame) -> None:
    """An event of the year 1 does not stretch the time that rates refer to."""
    outlier = events.where("id = 0").withColumn("ts", F.lit("0001-01-01 00:00:00").cast("timestamp"))
    outlier = outlier.withColumn("id", F.lit(-1).cast("long"))
    found = estimate(source_of(events.unionByName(outlier)), Inquiry([A], [asked()]))
    assert found.rate(A) == pytest.approx(6.0, rel=0.05)
    assert found.duration is not None
    assert found.duration > 2_000 * 365 * 86_400


def test_two_scans_whatever_the_data(spark: SparkSession, events: DataFrame) -> None:
    """A count and a fetch; Spark runs the two stages of the count as a job each."""
    spark.sparkContext.setJobGroup("sampling", "a sample")
    try:
        estimate(source_of(events), Inquiry([A, B], [asked()], ["user"]), rows=1_000)
    finally:
        spark.sparkContext.setJobGroup("other tests", "")
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup("sampling")
    assert len(jobs) == 3


def test_buckets_are_chosen_by_their_numbers() -> None:
    few = [(number, 100) for number in range(0, 400, 4)]
    drawn = choose_buckets(few[::-1], 2_050)
    assert drawn is not None
    assert (drawn.last, drawn.n_events, drawn.part) == (76, 2_000, 1 << PART_BITS)
    least = choose_buckets(few, 200)  # eight buckets, of which a quarter
    assert least is not None
    assert (least.last, least.n_events, least.part) == (28, 800, 1 << PART_BITS - 2)
    full = choose_buckets([(number, 1_000) for number in range(1 << BUCKET_BITS)], 500)
    assert full is not None
    assert (full.last, full.n_events, full.part) == (0, 1_000, 1 << PART_BITS - 1)
    assert choose_buckets([], 10) is None
