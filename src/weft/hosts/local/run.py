"""Runs in this process: rows are read once, dealt to piles for every group of queries, and run by threads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from weft.hosts.demand import demand_of
from weft.hosts.divide import ByKey, ByTime
from weft.hosts.host import GroupWork, RunOptions
from weft.hosts.local.events import LocalEvents
from weft.hosts.local.memory import n_threads, spool_limit
from weft.hosts.local.outcomes import KindTables
from weft.hosts.local.shards import MOST_PILES, PILES, Dealing, run_together
from weft.hosts.local.spool import Spool
from weft.hosts.local.wire import RowCounts, Wire
from weft.hosts.progress import Progress
from weft.hosts.tasks import batch_task, common_keys, slices_for
from weft.runtime.stages.messages import OUTCOME, PACK, ROLE, SHARD, Message, Stage
from weft.runtime.stages.outcomes import KIND, outcome_columns
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_stage import ShardStage
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.stages import stage_of
from weft.runtime.stages.task import StageTask

LITTLE = 16 << 20  # bytes of events that one shard takes at once
PASSES = 8  # how often the rows of a shard are in memory while it runs, about

Given = TypeVar("Given")
Done = TypeVar("Done")


@dataclass
class RunState:
    """How far the runs of a host are, and what they counted of the rows that they read."""

    done: int = 0
    total: int = 0
    counts: RowCounts | None = None

    def progress(self) -> Progress:
        """Return how many shards are done."""
        return Progress(self.done, self.total)

    def keep(self, counts: RowCounts) -> None:
        """Keep what a run counted, and of earlier ones the derived types that this one did not ask for."""
        if self.counts is not None:
            counts.n_of_type = {**self.counts.n_of_type, **counts.n_of_type}
        self.counts = counts


@dataclass(frozen=True)
class Workers:
    """Threads that work through what they are given, in order; for little work there are none."""

    n_threads: int

    def map(self, work: Callable[[Given], Done], given: Iterable[Given]) -> Iterator[Done]:
        """Yield what comes of each, a few ahead of whoever takes it."""
        if self.n_threads == 1:
            yield from map(work, given)
            return
        with ThreadPoolExecutor(self.n_threads, thread_name_prefix="weft") as pool:
            waiting: list[Future[Done]] = []
            try:
                for one in given:
                    waiting.append(pool.submit(work, one))
                    if len(waiting) > 2 * self.n_threads:
                        yield waiting.pop(0).result()
                for future in waiting:
                    yield future.result()
            finally:
                for future in waiting:
                    future.cancel()


@dataclass(frozen=True)
class GroupRun:
    """A group of queries on its way: what is read for it, how that is dealt, and the stage that runs it."""

    work: GroupWork
    wire: Wire
    task: StageTask
    dealing: Dealing
    slices: TimeSlices | None

    @staticmethod
    def of(work: GroupWork, source: LocalEvents, options: RunOptions) -> "GroupRun":
        """Return how a group is run on some events."""
        wire = Wire.of(source, demand_of(work.plan))
        layout, division = wire.layout, work.division
        n_piles = options.partitions or n_piles_for(source)
        slices = slices_for(division, n_piles)
        keys = division.attributes if isinstance(division, ByKey) else ()
        required = dict.fromkeys([*keys, *common_keys(work.plan)])
        dealing = Dealing(
            n_piles if keys or slices is not None else 1,
            layout,
            tuple(layout.attributes[key][0] for key in keys),
            tuple(layout.attributes[key][0] for key in required),
            slices,
        )
        return GroupRun(work, wire, batch_task(work.plan, layout, source.id_type, options), dealing, slices)

    @property
    def meets(self) -> bool:
        """Whether the matches of slices are walked where they meet."""
        division = self.work.division
        return self.slices is not None and isinstance(division, ByTime) and division.meet

    @cached_property
    def stage(self) -> ShardStage:
        """The stage of the shards."""
        stage = stage_of(self.task, 0, Memory())
        if not isinstance(stage, ShardStage):
            raise TypeError("the rows of sites travel as messages")
        return stage

    def run(self, rows: pa.Table, piles: Sequence[int], number: int) -> Iterator[pa.RecordBatch]:
        """Yield the outcomes of some piles."""
        if self.slices is None:
            return self.stage.run_batch(rows, f"partition {number}")
        return self.stage.run_batch(rows, f"slices {piles[0]}", self.slices, np.array(piles))

    def to_meet(self, rows: pa.Table, piles: Sequence[int]) -> Iterator[Message]:
        """Yield messages to where the matches of slices meet."""
        if self.slices is None:
            raise ValueError("matches of one shard meet nowhere else")
        return self.stage.run_to_meet(rows, f"slices {piles[0]}", self.slices, np.array(piles))


@dataclass
class GroupsRun:
    """Some groups of queries on the same events, which are read once for all of them."""

    source: LocalEvents
    groups: list[GroupRun]
    state: RunState
    workers: Workers = field(init=False)

    def __post_init__(self) -> None:
        self.workers = workers_for(self.source)

    @cached_property
    def tables(self) -> list[KindTables]:
        """The outcomes of each group by kind."""
        limit = spool_limit()
        with ExitStack() as stack:
            piles, found, meeting = (stack.enter_context(Spool(limit)) for _ in range(3))
            self._read(piles)
            self._run(piles, found, meeting)
            piles.close()
            return [self._finish(place, found, meeting) for place in range(len(self.groups))]

    def _read(self, piles: Spool) -> None:
        """Read the rows, and deal them to the piles of every group."""
        columns = list(dict.fromkeys(name for group in self.groups for name in group.wire.read_columns))

        def deal(rows: pa.RecordBatch) -> RowCounts:
            counts = RowCounts()
            for place, group in enumerate(self.groups):
                events, _, own_counts = group.wire.events_of(rows.select(group.wire.read_columns))
                own_counts.n_of_type |= counts.n_of_type  # each group knows its own derived types
                counts = own_counts
                for pile, own in group.dealing.deal(events):
                    piles.add((place, pile), own)
            return counts

        total = RowCounts()
        coded = frozenset.intersection(*(group.wire.coded for group in self.groups))
        for counts in self.workers.map(deal, self.source.rows.batches(columns, coded)):
            total.add(counts)
        self.state.keep(total)

    def _run(self, piles: Spool, found: Spool, meeting: Spool) -> None:
        """Run the shards of every group; matches of slices are on their way to where they meet."""
        most_bytes = shard_limit(self.workers.n_threads)
        tasks = []
        for place, group in enumerate(self.groups):
            sizes = {
                pile: (own.n_rows, own.n_bytes) for (at, pile), own in piles.piles.items() if at == place
            }
            split = run_together(sizes, group.slices, most_bytes=most_bytes, n_threads=self.workers.n_threads)
            tasks += [(group, place, number, together) for number, together in enumerate(split)]
        self.state.done, self.state.total = 0, len(tasks)

        def run(task: tuple[GroupRun, int, int, list[int]]) -> None:
            group, place, number, together = task
            rows = pa.concat_tables([piles.take((place, pile)) for pile in together])
            if group.meets:
                for message in group.to_meet(rows, together):
                    meeting.add((place, message.shard), message.row)
                return
            for batch in group.run(rows, together, number):
                found.add((place, number, kind_of(batch)), batch)

        for _ in self.workers.map(run, tasks):
            self.state.done += 1

    def _finish(self, place: int, found: Spool, meeting: Spool) -> KindTables:
        """Return the outcomes of a group by kind; what has to meet does so now."""
        group = self.groups[place]
        if group.meets:
            stage = stage_of(group.task, 1, Memory())
            for message in pass_messages(stage, meeting, self.workers, place):
                if message.role == OUTCOME:
                    add_outcomes(message, found, place)
        parts = (found.take(key) for key in sorted(found.piles) if key[0] == place)
        return tables_by_kind(parts, group.task)


def kind_of(batch: pa.RecordBatch) -> str:
    """Return the kind of outcomes, of which a batch holds one."""
    return str(batch.column(KIND)[0])


def workers_for(source: LocalEvents) -> Workers:
    """Return threads for some events."""
    return Workers(1 if source.rows.n_bytes < LITTLE else n_threads())


def n_piles_for(source: LocalEvents) -> int:
    """Return into how many piles events are dealt, so that each has a place in memory."""
    if source.rows.n_bytes < LITTLE:
        return 1
    wanted, most_bytes = PILES, shard_limit(n_threads())
    while wanted < MOST_PILES and source.rows.n_bytes > wanted * most_bytes:
        wanted *= 2
    return wanted


def shard_limit(n_threads: int) -> int:
    """Return how many bytes of events one of several threads may run at once."""
    return max(1, spool_limit() // (PASSES * n_threads))


def pass_messages(stage: Stage, messages: Spool, workers: Workers, place: int = 0) -> Iterator[Message]:
    """Run all shards of a stage on the messages that came for it, and yield those that leave it."""

    def run(shard: str) -> list[Message]:
        came = messages.take((place, shard))
        columns = [came[name].to_pylist() for name in (SHARD, ROLE, PACK)]
        return list(stage.take(shard, [Message(*row) for row in zip(*columns, strict=True)], 0, None))

    for sent in workers.map(run, sorted(shard for at, shard in messages.piles if at == place)):
        yield from sent


def add_outcomes(message: Message, found: Spool, place: int = 0) -> None:
    """Put the outcomes that a message carries to those of their kind."""
    for batch in pa.ipc.open_stream(message.pack):
        if batch.num_rows:
            found.add((place, 0, kind_of(batch)), batch)


def tables_by_kind(parts: Iterable[pa.Table], task: StageTask) -> KindTables:
    """Return the outcomes of each kind; those of a part are all of one."""
    schema = outcome_columns(task).schema
    kinds: dict[str, list[pa.RecordBatch]] = {}
    for part in parts:
        for batch in part.to_batches():
            kinds.setdefault(kind_of(batch), []).append(batch)
    return {kind: pa.Table.from_batches(own, schema) for kind, own in kinds.items()}
