"""Steps of sites on Spark's state: packs in, packs for sites at the next level and packs of outcomes out."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from weft.hosts.spark.packing import in_packs, rejected_in
from weft.hosts.spark.placed_stream_task import DISTINCT, ROLE, PlacedTask, report_name
from weft.hosts.spark.steps import StateStore, late_rows, of_kind, report_row, report_text, set_timer
from weft.hosts.spark.stream_task import LATE, MATCH, PACK, REPORT, SHARD
from weft.plan.sites import SiteProgram
from weft.runtime.matches.emit import emit_in_parts, match_schema
from weft.runtime.stages.shard import Report
from weft.runtime.stages.site_distinct import take_distinct
from weft.runtime.stages.site_evaluator import program_of
from weft.runtime.stages.site_level import NEWS, OUTCOME, RAW, Level, Message, is_on_its_way_out
from weft.runtime.stages.site_shard import SiteMemory, SiteOutcome
from weft.runtime.stages.site_timing import site_timing
from weft.runtime.stages.site_wire import Wire
from weft.runtime.state.segments import table_from_bytes
from weft.runtime.state.site_log import SiteJournal

LARGE_PACK = 1 << 20  # bytes of a message that is handed on at once

_memory = SiteMemory()  # of this worker process
_levels: dict[tuple[str, int], Level] = {}


class PlacedSteps:
    """Runs steps of the site whose state Spark has at hand; after the last level, makes matches distinct."""

    def __init__(
        self, task: PlacedTask, level: int, handle: StatefulProcessorHandle, journal: Any, segments: Any
    ) -> None:
        self.task = task
        self.level = _level(task, level)
        self._handle = handle
        self._journal = journal
        self._store = StateStore(journal, segments)
        self._schema = match_schema(self.level.wire.id_type, task.returned)

    def take(self, site: str, packs: Sequence[tuple[str, bytes]], watermark: int) -> Iterator[pd.DataFrame]:
        """Run a step of a site and return what goes on to the next operator."""
        messages = [Message(site, role, bytes(pack)) for role, pack in packs]
        if self.level.level >= self.level.program.n_levels > 0:
            sent = self._distinct(site, messages, watermark)
        else:
            sent = self._sent(site, messages, watermark)
        waiting: list[Message] = []
        for message in sent:
            waiting.append(message)
            if len(message.pack) >= LARGE_PACK:
                yield _frame(waiting)
                waiting = []
        if waiting:
            yield _frame(waiting)

    def _sent(self, site: str, messages: list[Message], watermark: int) -> Iterator[Message]:
        yield from (message for message in messages if message.role == DISTINCT)
        own = [message for message in messages if message.role != DISTINCT]
        if site not in self.level.program.sites:
            return
        sent, outcome = self.level.take(site, own, watermark, self._store, _memory)
        if outcome is not None:
            set_timer(self._handle, outcome.wake, outcome.previous_wake)
            raw = [table_from_bytes(message.pack) for message in own if message.role == RAW]
            outcome.report.rejected = sum(map(rejected_in, raw))
            for query in self.level.program.repeated:  # counted where they meet
                outcome.report.matches.pop(query, None)
        yield from sent
        if outcome is not None:
            yield from self._outcomes(site, outcome)

    def _outcomes(self, site: str, outcome: SiteOutcome) -> Iterator[Message]:
        """Yield the report of a step, late rows and matches; those that others may find too go their way."""
        yield Message(site, f"{NEWS}{self.level.level}", report_text(outcome.report).encode())
        for pack in in_packs(self._rows(site, outcome)):
            yield Message(site, OUTCOME, pack)
        for query in self.level.program.repeated:
            for pack in in_packs(self._matches(outcome, [query])):
                yield Message(f"{DISTINCT}{query}", DISTINCT, pack)

    def _rows(self, site: str, outcome: SiteOutcome) -> Iterator[pa.RecordBatch]:
        name = report_name(site, self.level.level)
        yield of_kind(REPORT, report_row(name, outcome.report, self._schema))
        if outcome.late is not None:
            yield of_kind(LATE, late_rows(outcome.late, self.level.wire.layout, self._schema))
        yield from self._matches(outcome, self.task.return_names.keys() - self.level.program.repeated)

    def _matches(self, outcome: SiteOutcome, queries: Collection[str]) -> Iterator[pa.RecordBatch]:
        for work, finding, found in outcome.found:
            if finding.query is not None and finding.query in queries:
                output = replace(program_of(work).plan.outputs[found.output], query=finding.query)
                names = self.task.return_names[finding.query]
                for matches in emit_in_parts(found, output, names, self._schema):
                    yield of_kind(MATCH, matches)

    def _distinct(self, name: str, messages: list[Message], watermark: int) -> Iterator[Message]:
        """Yield what is on its way out, and those matches of a query that did not come before."""
        yield from (message for message in messages if is_on_its_way_out(message.role))
        found = [table_from_bytes(message.pack) for message in messages if message.role == DISTINCT]
        known = self._store.journal()
        if not found and known is None:
            return
        previous = None if known is None else SiteJournal.from_json(known).wake
        matches, journal = take_distinct(
            self._store,
            self.task.name,
            pa.concat_tables(found) if found else None,
            watermark,
            self.level.timing.horizon,
        )
        set_timer(self._handle, journal.wake, previous)
        if matches is not None and matches.num_rows:
            report = Report(step=journal.step, matches={name.removeprefix(DISTINCT): matches.num_rows})
            yield Message(name, f"{NEWS}{self.level.level}", report_text(report).encode())
            for pack in in_packs(matches.to_batches()):
                yield Message(name, OUTCOME, pack)


def _frame(messages: Sequence[Message]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            SHARD: [message.site for message in messages],
            ROLE: [message.role for message in messages],
            PACK: [message.pack for message in messages],
        }
    )


def _level(task: PlacedTask, level: int) -> Level:
    """Return a level of a program, made ready once per process."""
    if (task.run, level) not in _levels:
        for old in [key for key in _levels if key[0] != task.run]:
            del _levels[old]
        program = SiteProgram.from_json(task.program)
        wire = Wire(task.layout, pa.string() if task.id_is_text else pa.int64())
        made = Level(level, program, task.name, wire, task.budget, site_timing(program))
        _levels[task.run, level] = made
    return _levels[task.run, level]
