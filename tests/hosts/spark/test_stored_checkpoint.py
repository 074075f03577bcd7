"""A stream goes on from a checkpoint that an earlier Weft wrote, with the matches that it had begun."""

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.helpers.make_checkpoint import (
    N_ALL,
    N_STORED,
    PLACE,
    QUERIES,
    STORED,
    restore,
    run_stream,
    write_events,
)

import weft

MOST_BYTES = 200_000


def test_the_stored_checkpoint_is_small_and_names_no_folder() -> None:
    assert STORED.stat().st_size < MOST_BYTES
    with tarfile.open(STORED) as archive:
        names = archive.getnames()
        assert {"events", "state", "found.json"} <= {name.partition("/")[0] for name in names}
        source = archive.extractfile("state/sources/0/0")
        assert source is not None
        assert PLACE in source.read()


@pytest.mark.spark
def test_matches_that_began_before_the_restart_are_found_after_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    restore(STORED, tmp_path)
    before = set(json.loads((tmp_path / "found.json").read_text(encoding="utf-8")))
    write_events(spark, tmp_path / "events", N_STORED, N_ALL)
    write_events(spark, tmp_path / "events", 2000, 2001)  # a day later: the watermark passes all the rest
    found = run_stream(spark, tmp_path)
    after = [row["match_id"] for row in found]
    assert len(set(after)) == len(after)
    assert not before & set(after)

    events = spark.read.parquet(str(tmp_path / "events"))
    whole = weft.detect(events, QUERIES, time="ts", type="type", id="id").collect()
    assert before | set(after) == {row["match_id"] for row in whole}
    across = Counter(
        row["query"]
        for row in found
        if min(event["id"] for event in row["events"])
        < N_STORED
        <= max(event["id"] for event in row["events"])
    )
    assert set(across) == {"takeover", "spree", "anyone", "counted"}
    returned = {row["match_id"]: row.asDict() for row in whole}
    assert all(row.asDict() == returned[row["match_id"]] for row in found)
