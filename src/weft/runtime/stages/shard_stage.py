"""The stage of query groups: shards that run a plan or templates, step by step or in one batch."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
import pyarrow as pa

from weft.codec import from_json
from weft.runtime.columns.events import Array
from weft.runtime.matches.execute import Found
from weft.runtime.stages.messages import (
    DISTINCT,
    OUTCOME,
    SHARD,
    Message,
    count_rejected,
    in_packs,
    outgoing,
)
from weft.runtime.stages.outcomes import outcome_columns
from weft.runtime.stages.report import Report
from weft.runtime.stages.routing import OWNER
from weft.runtime.stages.shard import Memory, Shard
from weft.runtime.stages.shard_executor import Adapter, ShardExecutor
from weft.runtime.stages.shard_program import Arrived, ShardPlan, ShardProgram, run_once
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.task import StageTask
from weft.runtime.stages.walk_codec import rows_to_meet
from weft.runtime.state.journal import Store
from weft.runtime.state.segments import table_from_bytes

WARMING_ROWS = 1_000


class ShardStage:
    """Runs the shards of query groups; `adapters` has what adapts the plan of a group, if anything does."""

    def __init__(self, task: StageTask, memory: Memory, adapters: dict[int, Adapter] | None = None) -> None:
        self.task = task
        self.outcomes = outcome_columns(task)
        self._memory = memory
        self._adapters = adapters or {}

    def take(
        self, shard: str, messages: Sequence[Message], watermark: int, store: Store | None
    ) -> Iterator[Message]:
        """Run a step of a shard, and yield its report and its outcomes, packed."""
        if store is None:
            raise ValueError("a batch of query groups is run by run_batch")
        if shard not in self.task.group_of:  # its queries are gone
            store.clear()
            return
        yield from self.step(
            shard, [table_from_bytes(message.pack) for message in messages], watermark, store
        )

    def step(self, shard: str, tables: Sequence[pa.Table], watermark: int, store: Store) -> Iterator[Message]:
        """Run a step of a shard on rows."""
        program = self.program(self.task.group_of[shard])
        arrived = Arrived(tables, n_rejected=count_rejected(tables))
        outcome = Shard(f"{self.task.run} {shard}", program, store, self._memory).step(arrived, watermark)
        if outcome is not None:
            rows = self.outcomes.of_step(shard, outcome, program.layout)
            yield from outgoing(shard, 0, outcome.report, rows)

    def run_batch(
        self, table: pa.Table, shard: str, slices: TimeSlices | None = None, own: Array | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the outcomes of the only group on a table; of slices of time, those that some shards own."""
        program = self.program(0)
        if self.task.analyze:  # a kernel is loaded when it is first called: no node should pay for that
            for _ in run_once(program, Arrived([table.slice(0, WARMING_ROWS)]))[2]:
                pass
        executor, _, results = run_once(program, Arrived([table]))
        del table
        for result in results:
            owned = result if slices is None or own is None else slices.keep_owned(result, own)
            yield from self.outcomes.rows([owned])
        yield from self._reports(shard, executor)

    def run_to_meet(self, table: pa.Table, shard: str, slices: TimeSlices, own: Array) -> Iterator[Message]:
        """Yield the matches that some shards own on their way to where they are walked, and all else."""
        executor, _, results = run_once(self.program(0), Arrived([table]), is_walked=False)
        for result in results:
            if not isinstance(result, Found) or result.is_ahead:
                continue
            owned = result.take(np.flatnonzero(np.isin(slices.shard_of(result.moments), own)))
            if owned.is_timeout:
                yield from (Message(shard, OUTCOME, pack) for pack in in_packs(self.outcomes.rows([owned])))
                continue
            for pack in in_packs(rows_to_meet(self.outcomes, owned)):
                yield Message(f"{DISTINCT} {result.query}", DISTINCT, pack)
        yield from (Message(shard, OUTCOME, pack) for pack in in_packs(self._reports(shard, executor)))

    def _reports(self, shard: str, executor: ShardExecutor) -> Iterator[pa.RecordBatch]:
        """Yield the report of a batch, where it was asked for or some query was stopped."""
        report = Report(stopped=executor.stopped or {})
        if self.task.analyze:
            report.activity = executor.activity
        if self.task.analyze or report.stopped:
            yield self.outcomes.report(shard, report)

    def program(self, number: int) -> ShardProgram:
        """Return what the shards of a group run."""
        group = self.task.groups[number]
        return ShardProgram(
            shard_plan(group.plan),
            group.layout,
            self.task.id_type,
            self.task.budget,
            self.task.assignment,
            group.fingerprints,
            self.task.delay,
            OWNER if group.is_owner else None,
            self._adapters.get(number),
            self.task.on_budget,
        )


def shard_tables(
    batches: Iterator[pa.RecordBatch], slices: TimeSlices | None
) -> Iterator[tuple[pa.Table, Array | None]]:
    """Yield the rows of a partition in one table, or those of shards that are no neighbors, with these."""
    collected = [batch for batch in batches if batch.num_rows]
    if not collected:
        return
    table = pa.Table.from_batches(collected)
    del collected
    if slices is None:
        yield table, None
        return
    shards = table[SHARD].to_numpy()
    table = table.drop_columns([SHARD])
    groups = slices.groups(np.unique(shards))
    for group in groups:
        yield (table if len(groups) == 1 else table.filter(pa.array(np.isin(shards, group)))), group


@lru_cache(maxsize=16)
def shard_plan(text: str) -> ShardPlan:
    """Read a plan, or that of trend queries, once per process: shards share it."""
    plan: ShardPlan = from_json("plan", text)
    return plan
