"""Networks from events with a site column: exact counts, rates that fit the sample, sizes."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from weft.api.planning import estimate_statistics, network_of
from weft.errors import DataError
from weft.hosts.meaning import EventRoles
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.host import SparkHost
from weft.hosts.spark.schemas import column_kinds
from weft.language.read import read_queries
from weft.pattern.nodes import Query
from weft.placement.site_statistics import SiteStatistics
from weft.statistics.model import ItemKey, Statistics

START = datetime(2024, 1, 1, tzinfo=UTC)
QUERY = "QUERY q PATTERN SEQ(A a, NOT N n, B b) WHERE a.x = b.x AND b.x > 1 WITHIN 1 minute"
PAIRS = "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute"


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """Of 100 seconds, an A in each at north, a B in every tenth at south; an N and an A without a site."""
    rows = [(second, START + timedelta(seconds=second), "A", "north", second % 5) for second in range(100)]
    rows += [(1000 + n, START + timedelta(seconds=10 * n + 5), "B", "south", n % 5) for n in range(10)]
    rows += [(2000, START, "N", "south", 0), (2001, START, "A", None, 0), (2002, START, "D", "west", 0)]
    return spark.createDataFrame(rows, "id long, ts timestamp, kind string, place string, x long")


def source_of(frame: DataFrame) -> EventFrame:
    roles = EventRoles(time="ts", type="kind", id="id")
    return EventFrame.bind(column_kinds(frame.schema), roles, events=frame)


def bound(text: str, source: EventFrame) -> tuple[Query, ...]:
    return read_queries(text, source.schema, origin="q", tie_break=False)


def counted(source: EventFrame, queries: tuple[Query, ...]) -> SiteStatistics:
    host = SparkHost(source)
    return network_of(host, queries, "place", estimate_statistics(host, queries, is_quick=False))


def test_kinds_are_counted_by_site(events: DataFrame) -> None:
    source = source_of(events)
    queries = bound(QUERY, source)
    found = counted(source, queries)
    assert found.network.sites == ("north", "south")  # what no query looks at has no part in it
    assert found.rows(float(found.network.rates["A"].sum())) == pytest.approx(100)
    assert found.rows(found.network.rates["B[x > 1]"][1]) == pytest.approx(6)
    assert found.network.rates["B[x > 1]"][0] == 0
    assert found.rows(found.network.rates["N"][1]) == pytest.approx(1)
    assert found.seconds == pytest.approx(100, rel=0.1)
    assert [query.name for query in found.queries] == ["q"]
    assert found.event_bytes == 3 * 8  # time, id and x


def test_given_statistics_tell_the_rates(events: DataFrame) -> None:
    source = source_of(events)
    queries = read_queries(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute", source.schema, origin="q", tie_break=False
    )
    known = Statistics(rates={ItemKey("A"): 10.0, ItemKey("B"): 1.0})
    found = network_of(SparkHost(source), queries, "place", known)
    assert found.seconds == pytest.approx(10.0)
    assert found.network.rates["A"].tolist() == [10.0, 0.0]


def test_sites_may_be_numbers_and_are_ordered_as_such(events: DataFrame) -> None:
    source = source_of(events.withColumn("place", F.col("id") % 11))
    queries = read_queries(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute", source.schema, origin="q", tie_break=False
    )
    found = counted(source, queries)
    assert found.network.sites == tuple(map(str, range(11)))


def test_a_query_without_events_of_a_kind_is_idle(events: DataFrame) -> None:
    source = source_of(events)
    text = (
        "QUERY q PATTERN SEQ(A a, Z z) WITHIN 1 minute QUERY r PATTERN SEQ(A a, NOT Z z, B b) WITHIN 1 minute"
    )
    queries = bound(text, source)
    found = counted(source, queries)
    assert [query.name for query in found.idle] == ["q"]
    assert [query.name for query in found.queries] == ["r"]


def test_a_condition_that_spark_may_read_differently_is_estimated(events: DataFrame) -> None:
    frame = events.withColumn("price", F.col("x").cast("decimal(10, 2)"))
    source = source_of(frame)
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE a.price > 1.5 WITHIN 1 minute"
    queries = bound(text, source)
    found = counted(source, queries)
    (kind,) = (kind for kind in found.network.rates if kind.startswith("A["))
    assert found.rows(float(found.network.rates[kind].sum())) == pytest.approx(60, rel=0.2)


def test_no_events_have_no_sites(events: DataFrame) -> None:
    source = source_of(events)
    for text, frame in (
        (PAIRS.replace("B b", "Y b").replace("A a", "Z a"), events),
        (PAIRS, events.limit(0)),
    ):
        found = counted(source_of(frame), bound(text, source))
        assert found.network.sites == ()
        assert found.queries == ()
        assert [query.name for query in found.idle] == ["q"]


def test_events_without_any_site_are_an_error(events: DataFrame) -> None:
    source = source_of(events.withColumn("place", F.lit(None).cast("string")))
    queries = read_queries(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 1 minute", source.schema, origin="q", tie_break=False
    )
    with pytest.raises(DataError, match="no event that a query looks at has a site"):
        counted(source, queries)
