"""The baselines of streams run: rows in place of packs give the same matches, packs merely moved none."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from stream_baselines import moved_packs, unpacked_steps
from stream_runs import detected
from tests.helpers.stream_files import BATCH, Files, write

from weft.runtime.stages.messages import OUTCOME, PACK, ROLE
from weft.runtime.stages.outcomes import KIND

PAIR = "QUERY pair PATTERN SEQ(A a, B b) WITHIN 10 seconds"


@pytest.fixture
def events(spark: SparkSession, tmp_path: Path) -> DataFrame:
    files = Files(tmp_path)
    write(spark, files, [[(1000.0 + n, "AB"[n % 2], n, 1) for n in range(8)]])
    return files.stream(spark).drop(BATCH).withColumnsRenamed({"kind": "type", "n": "id"})


def collected(frame: DataFrame, checkpoint: Path) -> list:
    """Return the rows of a stream."""
    rows: list = []
    writer = frame.writeStream.foreachBatch(lambda batch, _: rows.extend(batch.collect()))
    query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
    query.awaitTermination()
    return rows


def kinds_of(pack: bytes) -> list[str]:
    return pa.ipc.open_stream(pack).read_all()[KIND].to_pylist()


def test_rows_in_place_of_packs_give_the_same_matches(events: DataFrame, tmp_path: Path) -> None:
    rows = collected(unpacked_steps(detected(events, PAIR)), tmp_path / "unpacked")
    kinds = [kind for row in rows if row[ROLE] == OUTCOME for kind in kinds_of(row[PACK])]
    assert kinds.count("match") == 10  # 4 + 3 + 2 + 1


def test_packs_that_are_merely_moved_give_nothing(events: DataFrame, tmp_path: Path) -> None:
    assert collected(moved_packs(detected(events, PAIR)), tmp_path / "moved") == []
