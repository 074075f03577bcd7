"""The stream without one of its parts: with rows in place of packs, or with packs that are merely moved."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import TimerValues

from weft.api.detection import Detection
from weft.hosts.demand import demand_of
from weft.hosts.spark import stream
from weft.hosts.spark.frame import wire_columns
from weft.hosts.spark.operator import StageOperator
from weft.hosts.spark.pushdown import wanted_by
from weft.hosts.spark.steps import MESSAGES
from weft.hosts.spark.stream import use_rocksdb
from weft.hosts.tasks import group_task
from weft.runtime.budget import Budget
from weft.runtime.stages.messages import PACK, SHARD
from weft.runtime.stages.task import MergedColumns, ResultColumns, StageTask

ONLY_SHARD = "rows"
DELAY = 10_000_000  # microseconds


def unpacked_steps(detection: Detection) -> DataFrame:
    """Return what the shard of a detection makes of rows that come one by one, still packed."""
    source, plan = detection.source, detection.shared_plan
    use_rocksdb(source.events.sparkSession)
    columns, layout = wire_columns(demand_of(plan), source)
    task = StageTask(
        run="unpacked",
        id_type=pa.int64(),
        budget=Budget(),
        groups=(group_task(plan, layout),),
        group_of={ONLY_SHARD: 0},
        columns=ResultColumns(MergedColumns(names={query.name: () for query in detection.queries})),
        delay=DELAY,
    )
    wanted = wanted_by([plan], source.is_of_type)
    rows = source.events.withWatermark(source.time, f"{DELAY} microseconds").where(source.is_good)
    rows = rows if wanted is None else rows.where(wanted)
    sent = rows.select(
        F.lit(ONLY_SHARD).alias(SHARD), *(value.alias(name) for name, value in columns.items())
    )
    return sent.groupBy(SHARD).transformWithStateInPandas(_operator(task), MESSAGES, "append", "eventTime")


def _operator(task: StageTask) -> StageOperator:
    """Return the operator; as a local class it travels by value, so workers need not import this."""

    class Unpacked(StageOperator):
        def handleInputRows(
            self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
        ) -> Iterator[pd.DataFrame]:
            from weft.hosts.spark.steps import SparkStore, frames_of, stage_at

            tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in rows]
            watermark, store = timerValues.getCurrentWatermarkInMs(), SparkStore(*self._state)
            return frames_of(stage_at(self.task, 0).step(key[0], tables, watermark, store))

    return Unpacked(task)


def moved_packs(detection: Detection) -> DataFrame:
    """Return the outcomes of a stream whose operator takes the packs, notes their size and does nothing."""

    def idle(task: StageTask, number: int) -> StageOperator:
        class Idle(StageOperator):
            def handleInputRows(
                self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
            ) -> Iterator[pd.DataFrame]:
                size = sum(len(pack) for frame in rows for pack in frame[PACK])
                _, journal, _ = self._state
                journal.update((str(size),))
                return iter(())

        return Idle(task, number)

    with patch.object(stream, "StageOperator", idle):
        return detection.outcomes
