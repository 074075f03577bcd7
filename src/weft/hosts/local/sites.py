"""Queries at sites, run in this process: a stage for each level, messages from stage to stage."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.hosts.divide import time_of
from weft.hosts.host import RunOptions
from weft.hosts.local.columns import texts_of
from weft.hosts.local.events import LocalEvents
from weft.hosts.local.memory import spool_limit
from weft.hosts.local.outcomes import KindTables
from weft.hosts.local.run import (
    RunState,
    Workers,
    add_outcomes,
    n_piles_for,
    pass_messages,
    tables_by_kind,
    workers_for,
)
from weft.hosts.local.spool import Spool
from weft.hosts.local.wire import RowCounts, Wire
from weft.hosts.tasks import PLACE, site_demand, site_route, site_task, slices_for
from weft.pattern.nodes import Query
from weft.plan.sites import SiteProgram
from weft.runtime.columns.events import Array
from weft.runtime.stages.messages import OUTCOME, SHARD
from weft.runtime.stages.routing import PackTask
from weft.runtime.stages.shard import Memory
from weft.runtime.stages.site_stage import SiteNetwork
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.stages.stages import stage_of
from weft.runtime.stages.task import SitesTask, StageTask


@dataclass
class SitesRun:
    """A program of sites on events: read once, divided by site and inside of a site by slices of time."""

    source: LocalEvents
    program: SiteProgram
    queries: Sequence[Query]
    options: RunOptions
    state: RunState

    @cached_property
    def task(self) -> StageTask:
        """What the sites do."""
        most = self.options.partitions or n_piles_for(self.source)
        n_slices = most // max(len(self.program.sites), 1)
        slices = slices_for(time_of(self.queries), n_slices - n_slices % 2)
        sites = SitesTask(self.program.to_json(), self._wire.layout, slices)
        return site_task(sites, self.source.id_type, self.options, is_batch=True)

    @cached_property
    def _wire(self) -> Wire:
        return Wire.of(self.source, site_demand(self.program))

    @cached_property
    def tables(self) -> KindTables:
        """The outcomes by kind."""
        workers = workers_for(self.source)
        limit = spool_limit()
        with ExitStack() as stack:
            messages, found = stack.enter_context(Spool(limit)), stack.enter_context(Spool(limit))
            self._read(messages, workers)
            self.state.done, self.state.total = 0, self.program.n_stages
            for number in range(self.program.n_stages):
                sent = stack.enter_context(Spool(limit))
                for message in pass_messages(stage_of(self.task, number, Memory()), messages, workers):
                    if message.role == OUTCOME:
                        add_outcomes(message, found)
                    else:
                        sent.add((0, message.shard), message.row)
                messages.close()
                messages = sent
                self.state.done += 1
            return tables_by_kind((own for _, own in found.tables()), self.task)

    def _read(self, messages: Spool, workers: Workers) -> None:
        """Read the rows, and pack those of each site, or of each slice of it."""
        network = SiteNetwork(self.task.sites, self.source.id_type) if self.task.sites is not None else None
        if network is None:
            raise TypeError("sites run the program of sites")
        slices, layout = network.sites.slices, self._wire.layout
        numbers = {name: number for number, name in enumerate(self.program.sites)}

        def deal(rows: pa.RecordBatch) -> RowCounts:
            events, as_given, counts = self._wire.events_of(rows)
            sites = as_given.column(self.source.site or "")
            placed = _with_places(events, _numbers_of(texts_of(sites), numbers), slices, layout.time)
            route = site_route(network.shards, placed.schema.names)
            for packed in PackTask((route,), layout.type, layout.flags)(iter([placed])):
                messages.add((0, packed.column(SHARD)[0].as_py()), packed)
            return counts

        total = RowCounts()
        for counts in workers.map(deal, self._wire.batches()):
            total.add(counts)
        self.state.keep(total)


def _numbers_of(names: pa.Array, numbers: Mapping[str, int]) -> Array:
    """Return the number of each name, -1 of those that are not known."""
    encoded = names.dictionary_encode()
    known = np.array([numbers.get(name, -1) for name in encoded.dictionary.to_pylist()] + [-1], np.int64)
    return np.asarray(known[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)])


def _with_places(rows: pa.RecordBatch, sites: Array, slices: TimeSlices | None, time: str) -> pa.RecordBatch:
    """Return rows with the number of their shard; those that two slices have to see come twice."""
    places = pa.array(sites, pa.int64(), mask=sites < 0)
    if slices is None:
        return rows.append_column(PLACE, places)
    times = rows.column(time).to_numpy()
    first, last = slices.shard_of(times - slices.reach), slices.shard_of(times + slices.lead)
    again = np.flatnonzero(first != last)
    copies = np.concatenate([np.arange(times.size), again])
    numbers = sites[copies] * slices.n_shards + np.concatenate([last, first[again]])
    doubled = rows.take(pa.array(copies))
    return doubled.append_column(PLACE, pa.array(numbers, pa.int64(), mask=sites[copies] < 0))
