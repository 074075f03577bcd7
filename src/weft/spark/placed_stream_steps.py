"""Steps of sites on Spark's state: packs in, packs for sites at the next level and packs of outcomes out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from weft.plan.sites import SiteProgram
from weft.runtime.emit import emit, match_schema
from weft.runtime.segments import table_from_bytes, table_to_bytes
from weft.runtime.site_distinct import take_distinct
from weft.runtime.site_evaluator import program_of
from weft.runtime.site_level import OUTCOME, RAW, Level, Message
from weft.runtime.site_log import SiteJournal
from weft.runtime.site_shard import SiteMemory, SiteOutcome
from weft.runtime.site_timing import site_timing
from weft.runtime.site_wire import Wire
from weft.spark.packing import rejected_in
from weft.spark.placed_stream_task import ROLE, PlacedTask
from weft.spark.steps import StateStore, late_rows, of_kind, report_row, set_timer
from weft.spark.stream_task import LATE, MATCH, PACK, REPORT, SHARD

DISTINCT = "distinct"  # the role of matches that may come several times, on their way to where they meet

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
            sent = self._distinct(messages, watermark)
        else:
            sent = self._sent(site, messages, watermark)
        if sent:
            columns = {
                SHARD: [message.site for message in sent],
                ROLE: [message.role for message in sent],
                PACK: [message.pack for message in sent],
            }
            yield pd.DataFrame(columns)

    def _sent(self, site: str, messages: list[Message], watermark: int) -> list[Message]:
        passing = [message for message in messages if message.role == DISTINCT]
        own = [message for message in messages if message.role != DISTINCT]
        if site not in self.level.program.sites:
            return passing
        sent, outcome = self.level.take(site, own, watermark, self._store, _memory)
        if outcome is not None:
            set_timer(self._handle, outcome.wake, outcome.previous_wake)
            raw = [table_from_bytes(message.pack) for message in own if message.role == RAW]
            outcome.report.rejected = sum(map(rejected_in, raw))
            sent += self._outcomes(site, outcome)
        return passing + sent

    def _outcomes(self, site: str, outcome: SiteOutcome) -> Iterator[Message]:
        """Yield the report of a step, late rows and matches; those that others may find too go their way."""
        name = report_name(site, self.level.level)
        rows = [of_kind(REPORT, report_row(name, outcome.report, self._schema))]
        for work, finding, found in outcome.found:
            if finding.query is None:
                continue
            output = replace(program_of(work).plan.outputs[found.output], query=finding.query)
            matches = of_kind(MATCH, emit(found, output, self.task.return_names[finding.query], self._schema))
            if finding.query in self.level.program.repeated:
                yield Message(f"{DISTINCT} {finding.query}", DISTINCT, _packed([matches]))
            else:
                rows.append(matches)
        if outcome.late is not None:
            rows.append(of_kind(LATE, late_rows(outcome.late, self.level.wire.layout, self._schema)))
        yield Message(site, OUTCOME, _packed(rows))

    def _distinct(self, messages: list[Message], watermark: int) -> list[Message]:
        """Return outcomes as they are, and those matches that did not come before."""
        passed = [message for message in messages if message.role == OUTCOME]
        found = [table_from_bytes(message.pack) for message in messages if message.role == DISTINCT]
        known = self._store.journal()
        if not found and known is None:
            return passed
        previous = None if known is None else SiteJournal.from_json(known).wake
        matches, journal = take_distinct(
            self._store,
            self.task.name,
            pa.concat_tables(found) if found else None,
            watermark,
            self.level.timing.horizon,
        )
        set_timer(self._handle, journal.wake, previous)
        if matches is None or not matches.num_rows:
            return passed
        return [*passed, Message("", OUTCOME, table_to_bytes(matches))]


def report_name(site: str, level: int) -> str:
    """Return the name under which a site reports what it did at a level."""
    return f"{site} level {level}"


def _packed(rows: Iterable[pa.RecordBatch]) -> bytes:
    return table_to_bytes(pa.Table.from_batches(list(rows)))


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
