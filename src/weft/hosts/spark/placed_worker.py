"""What a Python worker of Spark does for a site: own events and received matches in, matches out."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.hosts.spark.partitioning import ByTime, Slices
from weft.plan.sites import Finding, SiteProgram, SiteWork
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Array
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import emit_in_parts, match_schema
from weft.runtime.matches.execute import Found
from weft.runtime.stages.site_evaluator import SiteEvaluator
from weft.runtime.stages.site_wire import Wire, value_bytes
from weft.schema import Type

SITE, SHARD, STREAM, COPY, EVENTS = "weft_site", "weft_shard", "weft_stream", "weft_copy", "weft_events"
# A match may be needed in two slices of time; all but one of its rows are copies.


@dataclass(frozen=True)
class SiteTask:
    """What sites do at a level: they send; after the last, they find matches. The program travels as JSON."""

    program: str
    level: int | None  # None: matches are found
    layout: Layout
    budget: Budget
    id_is_text: bool
    returned: Mapping[str, Type]
    return_names: Mapping[str, Sequence[str]]
    division: ByTime | None = None
    slices: Slices | None = None
    analyze: bool = False  # besides the matches, say what came from other sites

    @property
    def sends(self) -> bool:
        return self.level is not None

    @property
    def wire(self) -> Wire:
        return Wire(self.layout, pa.string() if self.id_is_text else pa.int64())

    @property
    def schema(self) -> pa.Schema:
        """What comes out: rows for other sites, or matches."""
        if not self.sends:
            return match_schema(self.wire.id_type, self.returned)
        return sent_schema(self.wire)

    def works_of(self, program: SiteProgram) -> list[SiteWork]:
        """Return the work that is done in this step."""
        if self.level is None:
            return [work for work in program.works if not work.sends]
        return [work for work in program.works if work.sends and work.level == self.level]

    def run(self, key: tuple[pa.Scalar, ...], own: pa.Table, received: pa.Table) -> pa.Table:
        """Return what a site finds in a shard of the events; `key` has its name and the shard's number.

        In a step that sends, what was received goes on to the next step.
        """
        program = _program(self.program)
        site, shard = program.sites.index(key[0].as_py()), key[1].as_py()
        rows = list(self._found(program, site, shard, own, received))
        if self.sends:
            rows += received.select(self.schema.names).cast(self.schema).to_batches()
        if self.analyze:
            rows.append(self._measured(received))
        return pa.Table.from_batches(rows, self.schema)

    def run_alone(self, key: tuple[pa.Scalar, ...], own: pa.Table) -> pa.Table:
        """Return what a site finds in its own events."""
        return self.run(key, own, sent_schema(self.wire).empty_table())

    def _found(
        self, program: SiteProgram, site: int, shard: int, own: pa.Table, received: pa.Table
    ) -> Iterator[pa.RecordBatch]:
        works = [work for work in self.works_of(program) if work.site == site]
        if not works:
            return
        streams = received[STREAM].to_numpy()
        matches = received[EVENTS].combine_chunks()
        came = {number: matches.filter(pa.array(streams == number)) for number in np.unique(streams).tolist()}
        events = self.wire.own(own.drop_columns([SITE, SHARD]), site)
        for work in works:
            evaluator = SiteEvaluator(work, self.wire, self.budget)
            for finding, found in evaluator.run(events, came):
                owned = self._owned(found, shard)
                if not owned.table.n_rows:
                    continue
                if finding.query is None:
                    yield from self._sent(program, finding, owned)
                else:
                    output = replace(evaluator.program.plan.outputs[found.output], query=finding.query)
                    yield from emit_in_parts(owned, output, self.return_names[finding.query], self.schema)

    def _owned(self, found: Found, shard: int) -> Found:
        """Keep the matches that begin in a slice of this shard."""
        if self.slices is None:
            return found
        owners = self.slices.shard_of(found.events.times[found.table.first])
        return replace(found, table=found.table.take(np.flatnonzero(owners == shard)))

    def _sent(self, program: SiteProgram, finding: Finding, found: Found) -> Iterator[pa.RecordBatch]:
        attributes = program.channels[finding.channels[0]].attributes
        written = self.wire.written(found, finding.columns, attributes)
        rows, shards, copies = self._shards(found)
        matches = written if self.slices is None else written.take(pa.array(rows))
        for number in finding.channels:
            target = program.sites[program.channels[number].target]
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([target] * len(matches), pa.string()),
                    pa.array(shards, pa.int32()),
                    pa.array(np.full(len(matches), number, np.int32)),
                    pa.array(copies),
                    matches,
                ],
                schema=self.schema,
            )

    def _shards(self, found: Found) -> tuple[Array, Array, Array]:
        """Return the rows of matches, one for each shard that needs it; the shards; and which are copies."""
        n_rows = found.table.n_rows
        if self.slices is None or self.division is None:
            return np.arange(n_rows), np.zeros(n_rows, np.int32), np.zeros(n_rows, np.bool_)
        times = found.events.times[found.table.first]
        home = self.slices.shard_of(times)
        first = self.slices.shard_of(times - self.division.reach)
        last = self.slices.shard_of(times + self.division.lead)
        earlier, later = np.flatnonzero(first != home), np.flatnonzero(last != home)
        rows = np.concatenate([np.arange(n_rows), earlier, later])
        shards = np.concatenate([home, first[earlier], last[later]]).astype(np.int32)
        return rows, shards, np.arange(rows.size) >= n_rows

    def _measured(self, received: pa.Table) -> pa.RecordBatch:
        """Return the rows and bytes of every stream that other sites have sent, as rows of matches."""
        counted = received.filter(pc.invert(received[COPY]))
        streams = counted[STREAM].to_numpy()
        matches = counted[EVENTS].combine_chunks()
        texts = []
        for number in np.unique(streams).tolist():
            own = matches.filter(pa.array(streams == number))
            texts.append(json.dumps({"stream": number, "rows": len(own), "bytes": value_bytes(own)}))
        arrays = [
            pa.array(texts, field.type) if field.name == "match_id" else pa.nulls(len(texts), field.type)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def sent_schema(wire: Wire) -> pa.Schema:
    """Return the columns of rows that go from site to site."""
    return pa.schema(
        [
            (SITE, pa.string()),
            (SHARD, pa.int32()),
            (STREAM, pa.int32()),
            (COPY, pa.bool_()),
            (EVENTS, pa.list_(wire.event_type)),
        ]
    )


_programs: dict[str, SiteProgram] = {}


def _program(text: str) -> SiteProgram:
    """Read a program once per worker process."""
    if text not in _programs:
        _programs.clear()
        _programs[text] = SiteProgram.from_json(text)
    return _programs[text]
