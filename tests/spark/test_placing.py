"""The names of shards: Spark spreads them evenly, and they do not depend on the session."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.spark.parts import Part
from weft.spark.stream import placed_names

BY_USER, ALONE = Part(("user",)), Part(number=1)


def partitions_of(spark: SparkSession, names: list[str], n_partitions: int) -> list[int]:
    """Return the partition of each name, as Spark's shuffle chooses it."""
    frame = spark.createDataFrame([(name,) for name in names], "name string")
    shuffled = frame.repartition(n_partitions, "name").select("name", F.spark_partition_id().alias("at"))
    places = {row["name"]: row["at"] for row in shuffled.collect()}
    return [places[name] for name in names]


@pytest.mark.parametrize("n_shards", [2, 4, 6])
def test_the_shards_of_a_part_are_on_different_partitions(spark: SparkSession, n_shards: int) -> None:
    names = placed_names(spark, [BY_USER], n_shards)[BY_USER]
    assert sorted(partitions_of(spark, names, n_shards)) == list(range(n_shards))


def test_names_stay_when_the_session_and_the_other_parts_change(spark: SparkSession) -> None:
    before = placed_names(spark, [BY_USER, ALONE], 4)
    spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        after = placed_names(spark, [ALONE], 4)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert after[ALONE] == before[ALONE]
    assert len(before[ALONE]) == 1
