"""The stream without one of its parts: with rows in place of packs, or with packs that are merely moved."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql.streaming.stateful_processor import TimerValues

from weft.api.session import StreamDetection
from weft.codec import to_json
from weft.hosts.spark import stream
from weft.hosts.spark.batch import wire
from weft.hosts.spark.processor import ShardProcessor
from weft.hosts.spark.pushdown import wanted_rows
from weft.hosts.spark.stream import fingerprint, use_rocksdb
from weft.hosts.spark.stream_task import PACK, SHARD, STEPPED, PartTask, StreamTask
from weft.runtime.budget import Budget

ONLY_SHARD = "rows"
DELAY = 10_000_000  # microseconds


def unpacked_steps(detection: StreamDetection) -> DataFrame:
    """Return what the shard of a detection makes of rows that come one by one, still packed."""
    ((_, planned),) = detection.weave().items()
    source, plan = detection.source, planned.optimized.plan
    use_rocksdb(source.events.sparkSession)
    columns, layout = wire(plan, source)
    queries = planned.share.queries
    task = StreamTask(
        run="unpacked",
        parts=(
            PartTask(
                to_json("plan", plan),
                layout,
                {query.name: fingerprint(query) for query in queries},
                is_owner=False,
            ),
        ),
        part_of={ONLY_SHARD: 0},
        id_is_text=False,
        returned={},
        return_names={query.name: () for query in queries},
        budget=Budget(),
        delay=DELAY,
        n_shards=1,
    )
    wanted = wanted_rows(plan, source.is_of_type)
    rows = source.events.withWatermark(source.time, f"{DELAY} microseconds").where(source.is_good)
    rows = rows if wanted is None else rows.where(wanted)
    sent = rows.select(
        F.lit(ONLY_SHARD).alias(SHARD), *(value.alias(name) for name, value in columns.items())
    )
    return sent.groupBy(SHARD).transformWithStateInPandas(_processor(task), STEPPED, "append", "eventTime")


def _processor(task: StreamTask) -> ShardProcessor:
    """Return the operator; as a local class it travels by value, so workers need not import this."""

    class Unpacked(ShardProcessor):
        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
        ) -> Iterator[pd.DataFrame]:
            tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in rows]
            return self.steps(*self._state).step(key[0], tables, timerValues.getCurrentWatermarkInMs())

    return Unpacked(task)


def moved_packs(detection: StreamDetection) -> DataFrame:
    """Return the outcomes of a stream whose operator takes the packs, notes their size and does nothing."""

    def idle(task: StreamTask) -> ShardProcessor:
        class Idle(ShardProcessor):
            def handleInputRows(
                self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
            ) -> Iterator[pd.DataFrame]:
                size = sum(len(pack) for frame in rows for pack in frame[PACK])
                _, journal, _ = self._state
                journal.update((str(size),))
                return iter(())

        return Idle(task)

    with patch.object(stream, "ShardProcessor", idle):
        return detection.outcomes
