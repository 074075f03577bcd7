"""The names of shards: Spark spreads them evenly, and they do not depend on the session."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from weft.hosts.spark.assignment import ShardGroup
from weft.hosts.spark.shard_names import shard_names, spark_hash

BY_USER, ALONE = ShardGroup(("user",)), ShardGroup(number=1)


def partitions_of(spark: SparkSession, names: list[str], n_partitions: int) -> list[int]:
    """Return the partition of each name, as Spark's shuffle chooses it."""
    frame = spark.createDataFrame([(name,) for name in names], "name string")
    shuffled = frame.repartition(n_partitions, "name").select("name", F.spark_partition_id().alias("at"))
    places = {row["name"]: row["at"] for row in shuffled.collect()}
    return [places[name] for name in names]


@pytest.mark.parametrize("n_shards", [2, 4, 6])
def test_the_shards_of_a_part_are_on_different_partitions(spark: SparkSession, n_shards: int) -> None:
    names = shard_names([BY_USER], n_shards)[BY_USER]
    assert sorted(partitions_of(spark, names, n_shards)) == list(range(n_shards))


def test_the_name_of_a_shard_does_not_depend_on_other_parts() -> None:
    assert shard_names([BY_USER, ALONE], 4)[ALONE] == shard_names([ALONE], 4)[ALONE]
    assert len(shard_names([ALONE], 4)[ALONE]) == 1


def test_strings_hash_as_in_spark(spark: SparkSession) -> None:
    texts = ["", "a", "ab", "abc", "abcd", "by user #0~157", "zoé", "\U0001f9f5 thread"]
    frame = spark.createDataFrame([(text,) for text in texts], "text string")
    hashes = {
        row["text"]: row["hash"] for row in frame.select("text", F.hash("text").alias("hash")).collect()
    }
    assert {text: spark_hash(text) for text in texts} == hashes
