"""Steps of shards on Spark: rows of messages in, rows of messages out, with Spark's state or in a batch."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from weft.kernels.compilation import tell_of_compilation
from weft.runtime.budget import LOGGER
from weft.runtime.stages.messages import PACK, ROLE, SHARD, Message, Stage
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_stage import ShardStage, shard_tables
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.stages import stage_of
from weft.runtime.stages.task import StageTask

LARGE_PACK = 1 << 20  # bytes of a message that is handed on at once
MESSAGES = f"{SHARD} string, {ROLE} string, {PACK} binary"

_memory = Memory()  # of this worker process
_stages: dict[tuple[str, int], Stage] = {}


def take_step(
    task: StageTask,
    number: int,
    shard: str,
    frames: Iterable[pd.DataFrame],
    watermark: int,
    state: tuple[StatefulProcessorHandle, Any, Any],
) -> Iterator[pd.DataFrame]:
    """Run a step of a shard whose state Spark has at hand, and return what goes on, a few rows at a time."""
    messages = [
        Message(shard, role, bytes(pack))
        for frame in frames
        for role, pack in zip(frame[ROLE], frame[PACK], strict=True)
    ]
    return frames_of(stage_at(task, number).take(shard, messages, watermark, SparkStore(*state)))


def frames_of(messages: Iterable[Message]) -> Iterator[pd.DataFrame]:
    """Yield messages as rows, few large ones or many small ones at a time."""
    waiting: list[Message] = []
    for message in messages:
        waiting.append(message)
        if len(message.pack) >= LARGE_PACK:
            yield pd.DataFrame(map(astuple, waiting), columns=[SHARD, ROLE, PACK])
            waiting = []
    if waiting:
        yield pd.DataFrame(map(astuple, waiting), columns=[SHARD, ROLE, PACK])


@dataclass(frozen=True)
class BatchStage:
    """A stage of a batch, for `mapInArrow`: messages of the shards of a partition in, messages out."""

    task: StageTask
    number: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the one step of each shard of a partition."""
        came: dict[str, list[Message]] = {}
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in (SHARD, ROLE, PACK)]
            for shard, role, pack in zip(*columns, strict=True):
                came.setdefault(shard, []).append(Message(shard, role, pack))
        stage = stage_at(self.task, self.number)
        for shard in list(came):
            for message in stage.take(shard, came.pop(shard), 0, None):
                yield message.row


@dataclass(frozen=True)
class BatchStep:
    """The one step of query groups in a batch, for `mapInArrow`: rows of a partition in, outcomes out.

    Where the matches of slices meet, messages to that stage.
    """

    task: StageTask
    slices: TimeSlices | None = None
    meets: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the group on the rows of one partition."""
        stage = stage_at(self.task, 0)
        if not isinstance(stage, ShardStage):
            raise TypeError("the rows of sites travel as messages")
        for table, shards in shard_tables(batches, self.slices):
            name = _partition() if shards is None else f"slices {int(shards[0])}"
            if self.slices is not None and shards is not None and self.meets:
                yield from (own.row for own in stage.run_to_meet(table, name, self.slices, shards))
            else:
                yield from stage.run_batch(table, name, self.slices, shards)


def _partition() -> str:
    """Return a name that no other shard has: the number of the Spark task."""
    context = TaskContext.get()
    return f"partition {0 if context is None else context.partitionId()}"


def stage_at(task: StageTask, number: int) -> Stage:
    """Return a stage of a run, made ready once per process; all its shards share it."""
    if (task.run, number) not in _stages:
        for old in [key for key in _stages if key[0] != task.run]:
            del _stages[old]
        adapters = {
            place: group.adapted.adapter()
            for place, group in enumerate(task.groups)
            if group.adapted is not None
        }
        tell_of_compilation(_log_compilation)
        _stages[task.run, number] = stage_of(task, number, _memory, adapters)
    return _stages[task.run, number]


def _log_compilation() -> None:
    """Say in the log of this worker that kernels are compiled: nobody else hears of it."""
    LOGGER.warning(
        "kernels of Weft are compiled in a worker of Spark, which may take a minute; weft warm, of the "
        "installation of %s, compiles all of them, once for all",
        sys.executable,
    )


class SparkStore:
    """The state of the shard at hand, as Spark keeps it, and its timer."""

    def __init__(self, handle: StatefulProcessorHandle, journal: Any, segments: Any) -> None:
        self._handle = handle
        self._journal = journal
        self._segments = segments

    def journal(self) -> str | None:
        row = self._journal.get()
        return None if row is None else str(row[0])

    def set_journal(self, text: str) -> None:
        self._journal.update((text,))

    def segment(self, number: int) -> bytes:
        return bytes(self._segments.getValue((number,))[0])

    def set_segment(self, number: int, content: bytes) -> None:
        self._segments.updateValue((number,), (content,))

    def remove_segment(self, number: int) -> None:
        self._segments.removeKey((number,))

    def clear(self) -> None:
        self._journal.clear()
        self._segments.clear()

    def wake(self, moment: int | None, previous: int | None) -> None:
        """Have the shard woken at a time, and no longer at an earlier choice."""
        if moment != previous:
            if previous is not None:
                self._handle.deleteTimer(previous)
            if moment is not None:
                self._handle.registerTimer(moment)
