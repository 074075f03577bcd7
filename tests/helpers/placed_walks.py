"""All stages of a program of sites, that where matches meet too: what goes out, in batch and on a stream."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from tests.helpers.engine import Bindings, Timeouts, arrow_events, bindings_of, plain, plan_of
from tests.helpers.placed import PlacedCase, raw_messages
from tests.helpers.strategies import Case
from tests.helpers.streams import AFTER_ALL, MILLISECOND, Kept, cut, deliveries

from weft.codec import to_json
from weft.hosts.divide import time_of
from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.stages.messages import OUTCOME, Message
from weft.runtime.stages.outcomes import KIND, MATCH_KIND, MISSING, TIMEOUT_KIND
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.shard_stage import ShardStage
from weft.runtime.stages.site_stage import SiteNetwork
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.stages import stage_of
from weft.runtime.stages.task import GroupTask, MergedColumns, ResultColumns, SitesTask, StageTask
from weft.runtime.state.segments import table_from_bytes

Matches = dict[str, dict[Bindings, dict[str, object]]]


def task_of(placed: PlacedCase, program: SiteProgram, slices: TimeSlices | None = None) -> StageTask:
    """Return the envelope of a program: in batch with slices, or none; each query has columns of its own."""
    layout = arrow_events(placed.case)[1]
    outputs = {
        finding.query: output
        for work in program.works
        for output, finding in zip(work.plan.outputs, work.findings, strict=True)
        if finding.query is not None
    }
    names = {
        query: tuple(f"{query}_{number}" for number in range(len(output.columns)))
        for query, output in outputs.items()
    }
    types = {
        name: column.type
        for query, output in outputs.items()
        for name, column in zip(names[query], output.columns, strict=True)
    }
    sites = SitesTask(program.to_json(), layout, slices)
    columns = ResultColumns(MergedColumns(types, names), has_timeouts=True)
    return StageTask(pa.int64(), Budget(), sites=sites, columns=columns, assignment="p")


@dataclass
class StageRun:
    """The stages of a task, and what has gone out; without stores it is a batch."""

    placed: PlacedCase
    task: StageTask
    n_stages: int
    dice: random.Random
    stores: dict[tuple[int, str], Kept] | None = None
    found: Matches = field(default_factory=dict)
    timeouts: dict[str, Timeouts] = field(default_factory=dict)

    def run(self, messages: list[Message], watermark: int) -> None:
        """Take messages through all stages."""
        for number in range(self.n_stages):
            addressed: dict[str, list[Message]] = {}
            for message in messages:
                addressed.setdefault(message.shard, []).append(message)
            for own, shard in self.stores or ():
                store = (self.stores or {})[own, shard]
                if own == number and store.due is not None and store.due <= watermark:
                    addressed.setdefault(shard, [])
            messages = [
                sent for shard, own in addressed.items() for sent in self._take(number, shard, own, watermark)
            ]
        for message in messages:
            if message.role == OUTCOME:
                read_matches(self.placed.case, message, self.found)
                self._read_timeouts(message)

    def _read_timeouts(self, message: Message) -> None:
        for row in table_from_bytes(message.pack).to_pylist():
            if row[KIND] == TIMEOUT_KIND:
                own = self.timeouts.setdefault(row["query"], {})
                chain = bindings_of(row["events"]), row[MISSING]
                assert chain not in own, "a timeout was emitted twice"
                own[chain] = returned(self.placed.case, row)

    def _take(self, number: int, shard: str, own: Sequence[Message], watermark: int) -> list[Message]:
        stage = stage_of(self.task, number, Memory())
        if self.stores is None:
            return list(stage.take(shard, own, watermark, None))
        store = self.stores.setdefault((number, shard), Kept())
        if self.dice.random() < 0.2:  # an attempt that fails
            list(stage.take(shard, own, watermark, store.copy()))
        return list(stage.take(shard, own, watermark, store))


def returned(case: Case, row: Mapping[str, object]) -> dict[str, object]:
    """Return the values of RETURN in a row."""
    query = next(query for query in case.queries if query.name == row["query"])
    return {column.name: plain(row[f"{query.name}_{number}"]) for number, column in enumerate(query.returns)}


def read_matches(case: Case, message: Message, found: Matches) -> None:
    """Add the matches in a message to those found; none may come twice."""
    for row in table_from_bytes(message.pack).to_pylist():
        if row[KIND] != MATCH_KIND:
            continue
        query, bindings = row["query"], bindings_of(row["events"])
        own = found.setdefault(query, {})
        assert bindings not in own, "a match was emitted twice"
        own[bindings] = returned(case, row)


def run_stages(placed: PlacedCase, program: SiteProgram, slices: TimeSlices | None = None) -> StageRun:
    """Run all stages of a batch, and return what goes out."""
    task = task_of(placed, program, slices)
    task = replace(task, is_batch=True)
    assert task.sites is not None
    run = StageRun(placed, task, program.n_stages, random.Random(0))
    table = arrow_events(placed.case)[0]
    run.run(raw_messages(table, placed.sites, SiteNetwork(task.sites, task.id_type)), 0)
    return run


def stream_stages(placed: PlacedCase, program: SiteProgram, seed: int) -> StageRun:
    """Run all stages of a stream, each step of which begins as after a restart, and return what goes out."""
    dice = random.Random(seed)
    task = task_of(placed, program)
    assert task.sites is not None
    network = SiteNetwork(task.sites, task.id_type)
    run = StageRun(placed, task, program.n_stages, dice, {})
    delay = dice.choice([0, 1_000_000, 3_000_000])
    table, layout = arrow_events(placed.case)
    latest: int | None = None
    for rows in cut(deliveries(placed.case.events, dice, delay), dice, dice.choice([dice.randint(1, 6), 12])):
        part = table.take(pa.array(rows, pa.int64()))
        watermark = 0 if latest is None else max(0, latest // MILLISECOND - delay // MILLISECOND)
        run.run(raw_messages(part, [placed.sites[row] for row in rows], network), watermark)
        if part.num_rows:
            most = max(part[layout.time].to_pylist())
            latest = most if latest is None else max(latest, most)
    for _ in range(3):
        run.run([], AFTER_ALL)
    assert all(store.due is None for store in (run.stores or {}).values())
    return run


def slices_of(case: Case) -> TimeSlices | None:
    """Return slices of time as short as may be for the queries of a case; None: some have no bound."""
    division = time_of(case.queries)
    if division is None:
        return None
    return TimeSlices(max(division.reach + division.lead, 1) + 1, 4, division.reach, division.lead)


def run_slices(case: Case, slices: TimeSlices) -> Matches:
    """Run a plan on slices of time, one after the other, and walk the matches where they meet."""
    table, layout = arrow_events(case)
    plan = plan_of(case)
    names = {one.query: tuple(f"{one.query}_{n}" for n in range(len(one.columns))) for one in plan.outputs}
    pairs = [pair for one in plan.outputs for pair in zip(names[one.query], one.columns, strict=True)]
    columns = ResultColumns(MergedColumns({name: column.type for name, column in pairs}, names))
    group = GroupTask(to_json("plan", plan), layout)
    task = StageTask(pa.int64(), Budget(), groups=(group,), columns=columns)
    stage, meeting = (stage_of(task, number, Memory()) for number in (0, 1))
    assert isinstance(stage, ShardStage)
    rows, shards = slices.copies(table[layout.time].to_numpy())
    came: dict[str, list[Message]] = {}
    for group_of_shards in slices.groups(np.unique(shards)):
        seen = np.unique(rows[np.isin(shards, group_of_shards)])
        for message in stage.run_to_meet(table.take(pa.array(seen)), "slices", slices, group_of_shards):
            came.setdefault(message.shard, []).append(message)
    found: Matches = {}
    for shard, own in came.items():
        for message in meeting.take(shard, own, 0, None):
            if message.role == OUTCOME:
                read_matches(case, message, found)
    return found
