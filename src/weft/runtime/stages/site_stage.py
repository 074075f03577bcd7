"""The stage of a level: what sites find and send each other there, and which level takes it.

Levels follow each other within a step. A site at a level gets its own new events and the matches sent to
it, takes what its work at this level reads, and passes on what its work at higher levels does. Where several
sites may find a match, as different alternatives of a query, a last stage lets each out once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.plan.sites import SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Array
from weft.runtime.stages.match_codec import MATCHES, MatchCodec, value_bytes
from weft.runtime.stages.messages import (
    DISTINCT,
    NEWS,
    OUTCOME,
    OWN,
    RAW,
    SENT,
    Message,
    StageStore,
    in_packs,
    rejected_in,
)
from weft.runtime.stages.outcomes import OutcomeColumns
from weft.runtime.stages.report import Report, Transfer
from weft.runtime.stages.shard import Memory, Shard, count_by_query
from weft.runtime.stages.shard_executor import FoundAtSite, Result
from weft.runtime.stages.shard_program import Arrived, ShardProgram, StepOutcome, run_once
from weft.runtime.stages.site_executor import SitePlan, Timing
from weft.runtime.stages.slices import TimeSlices
from weft.runtime.state.journal import BEGINNING, journal_in, wake_after
from weft.runtime.state.log import LogWriter, logged
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes, table_to_bytes, to_table

IDS = "ids"  # the log of matches that went out, and its column


@dataclass(frozen=True)
class SiteNetwork:
    """All sites of a program, and the slices of time into which a batch cuts each of them."""

    program: SiteProgram
    codec: MatchCodec
    slices: TimeSlices | None = None

    @cached_property
    def shards(self) -> tuple[str, ...]:
        """The names of the shards: those of the sites, or of the slices of each."""
        if self.slices is None:
            return self.program.sites
        return tuple(f"{site} #{own}" for site in self.program.sites for own in range(self.slices.n_shards))

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """The site and the slice of each shard."""
        n_slices = 1 if self.slices is None else self.slices.n_shards
        return {name: divmod(number, n_slices) for number, name in enumerate(self.shards)}

    def shard(self, site: int, own: int) -> str:
        """Return the name of a slice of a site."""
        return self.shards[site * (1 if self.slices is None else self.slices.n_shards) + own]


class SiteStage:
    """All sites at one level of a program; what a process remembers of them is in `memory`."""

    def __init__(
        self,
        level: int,
        network: SiteNetwork,
        assignment: str,
        budget: Budget,
        outcomes: OutcomeColumns,
        memory: Memory,
        timing: Timing,
    ) -> None:
        self.level = level
        self.network, self.program = network, network.program
        self.timing = timing
        self.outcomes = outcomes
        self.memory = memory
        self._assignment = assignment
        self._budget = budget

    def take(
        self, shard: str, messages: Sequence[Message], watermark: int, store: StageStore | None
    ) -> Iterator[Message]:
        """Run a step of a site, and yield what goes on to the next level, its report and its outcomes."""
        yield from (message for message in messages if self.passes(shard, message))
        if shard not in self.network.places:
            return
        outcome = self.step(shard, messages, watermark, store)
        if outcome is None:
            return
        yield from self.sent(shard, outcome)
        yield from self._out(shard, outcome)

    def step(
        self, shard: str, messages: Sequence[Message], watermark: int, store: StageStore | None
    ) -> StepOutcome | None:
        """Run a step of a site: with its state in a store, or without one as the only step of a batch."""
        site, own = self.network.places[shard]
        arrived = self._arrived(site, messages)
        program = self._programs[site]
        if store is not None:
            name = f"{self._assignment} {self.level} {shard}"
            outcome = Shard(name, program, store, self.memory).step(arrived, watermark)
            if outcome is not None:
                store.wake(outcome.wake, outcome.previous_wake)
            return outcome
        _, events, found = run_once(program, arrived)
        kept = [self._owned(result, own) for result in found]
        report = Report(events=events.n_events, rejected=arrived.n_rejected, matches=count_by_query(kept))
        return StepOutcome(kept, events, None, report, None, None)

    def _owned(self, result: Result, own: int) -> Result:
        slices = self.network.slices
        return result if slices is None else slices.owned(result, np.array([own]))

    @cached_property
    def _programs(self) -> list[ShardProgram]:
        """What each site runs at this level."""
        codec = self.network.codec
        return [
            ShardProgram(
                SitePlan(
                    site,
                    tuple(
                        work for work in self.program.works if (work.site, work.level) == (site, self.level)
                    ),
                    codec,
                    self.timing,
                ),
                codec.layout,
                codec.id_type,
                self._budget,
                self._assignment,
            )
            for site in range(len(self.program.sites))
        ]

    def _is_active(self, site: int) -> bool:
        """Whether a site has work at a later level."""
        return any(work.site == site and work.level > self.level for work in self.program.works)

    def passes(self, shard: str, message: Message) -> bool:
        """Whether a message goes on to the next stage as it is."""
        if message.is_out or message.role == DISTINCT:
            return True
        if shard not in self.network.places:
            return False
        site, _ = self.network.places[shard]
        if message.role == OWN:
            return self._is_active(site)
        if not message.role.startswith(SENT):
            return False
        channel = int(message.role.removeprefix(SENT))
        works = self.program.works
        return any(w.site == site and w.level > self.level and channel in w.reads for w in works)

    def _arrived(self, site: int, messages: Iterable[Message]) -> Arrived:
        """Return what the work of a site at this level is to take."""
        works = [work for work in self.program.works if (work.site, work.level) == (site, self.level)]
        read = {channel for work in works for channel in work.reads}
        raw = [table_from_bytes(message.pack) for message in messages if message.role == RAW]
        passed = [message.pack for message in messages if message.role == OWN and works]
        received: dict[int, list[pa.Array]] = {}
        for message in messages:
            if message.role.startswith(SENT):
                channel = int(message.role.removeprefix(SENT))
                if channel in read:
                    received.setdefault(channel, []).extend(table_from_bytes(message.pack)[MATCHES].chunks)
        return Arrived(raw, passed, received, rejected_in(raw))

    def sent(self, shard: str, outcome: StepOutcome) -> Iterator[Message]:
        """Yield own events for higher levels and matches for other sites; count the latter in the report."""
        site, _ = self.network.places[shard]
        if self.level == 0 and outcome.own.n_events and self._is_active(site):
            yield Message(shard, OWN, table_to_bytes(to_table(outcome.own)))
        transfers = []
        for result in outcome.found:
            if not isinstance(result, FoundAtSite) or not result.n_rows:
                continue
            for number in result.finding.channels:
                channel = self.program.channels[number]
                matches = self.network.codec.written(result.found, result.finding.columns, channel.attributes)
                sites = self.program.sites
                transfers.append(
                    Transfer(
                        channel.projection,
                        sites[channel.source],
                        sites[channel.target],
                        len(matches),
                        value_bytes(matches),
                        channel=number,
                    )
                )
                for own, rows in self._slices(result.moments):
                    copied = matches if rows is None else matches.take(pa.array(rows))
                    pack = table_to_bytes(pa.table({MATCHES: copied}))
                    yield Message(self.network.shard(channel.target, own), f"{SENT}{number}", pack)
        outcome.report.sent = transfers

    def _slices(self, times: Array) -> Iterator[tuple[int, Array | None]]:
        """Yield the slices that have to see matches, and which of them; None: all."""
        if self.network.slices is None:
            yield 0, None
            return
        rows, slices = self.network.slices.copies(times)
        for own in np.unique(slices).tolist():
            yield own, rows[slices == own]

    def _out(self, shard: str, outcome: StepOutcome) -> Iterator[Message]:
        """Yield the report of a step, late rows and matches; those that others may find too go their way."""
        repeated, report = self.program.repeated, outcome.report
        report.matches = {name: count for name, count in report.matches.items() if name not in repeated}
        yield Message(shard, f"{NEWS}{self.level}", report.to_json().encode())

        def rows() -> Iterator[pa.RecordBatch]:
            yield self.outcomes.report(report_name(shard, self.level), report)
            if outcome.late is not None:
                yield self.outcomes.late(outcome.late, self.network.codec.layout)
            yield from self.outcomes.rows(one for one in outcome.found if one.query not in repeated)

        for pack in in_packs(rows()):
            yield Message(shard, OUTCOME, pack)
        for query in repeated:
            for pack in in_packs(self.outcomes.rows(one for one in outcome.found if one.query == query)):
                yield Message(f"{DISTINCT} {query}", DISTINCT, pack)


class DistinctStage:
    """Matches of queries that sites may find as different alternatives: each goes out once.

    A match that comes twice does so within the horizon after its end, by which all of it is decided.
    """

    def __init__(self, level: int, assignment: str, outcomes: OutcomeColumns, horizon: int) -> None:
        self.level = level
        self.outcomes = outcomes
        self._assignment = assignment
        self._horizon = horizon

    def take(
        self, shard: str, messages: Sequence[Message], watermark: int, store: StageStore | None
    ) -> Iterator[Message]:
        """Yield what is on its way out, and those matches of a query that did not come before."""
        yield from (message for message in messages if message.is_out)
        packs = [table_from_bytes(message.pack) for message in messages if message.role == DISTINCT]
        if not packs and (store is None or store.journal() is None):
            return
        matches = _first_of_each(pa.concat_tables(packs)) if packs else None
        step = 1
        if store is not None:
            matches, step = self._unseen(matches, watermark, store)
        if matches is not None and matches.num_rows:
            query = shard.removeprefix(f"{DISTINCT} ")
            report = Report(step=step, matches={query: matches.num_rows})
            yield Message(shard, f"{NEWS}{self.level}", report.to_json().encode())
            batches = [self.outcomes.report(report_name(shard, self.level), report), *matches.to_batches()]
            for pack in in_packs(batches):
                yield Message(shard, OUTCOME, pack)

    def _unseen(
        self, matches: pa.Table | None, watermark: int, store: StageStore
    ) -> tuple[pa.Table | None, int]:
        """Return the matches that the log does not know, and add them to it."""
        journal = journal_in(store, self._assignment)
        frontier, previous = journal.frontier_at(watermark), journal.wake
        known = [table_from_bytes(content)[IDS] for content in logged(store, journal, IDS)]
        journal = replace(journal, step=journal.step + 1, frontier=frontier)
        new: dict[str, pa.Table] = {}
        if matches is not None:
            seen = pa.chunked_array([chunk for ids in known for chunk in ids.chunks], pa.string())
            matches = matches.filter(pc.invert(pc.is_in(matches["match_id"], value_set=seen)))
            new[IDS] = pa.table({TIME_COLUMN: matches["end"].cast(pa.int64()), IDS: matches["match_id"]})
        oldest = max(frontier, BEGINNING + self._horizon) - self._horizon
        journal = LogWriter(store, journal, oldest).write(new)
        latest = max((segment.last_time for segment in journal.segments), default=None)
        wake = None if latest is None else wake_after(max(latest, frontier) + self._horizon)
        store.set_journal(replace(journal, wake=wake).to_json())
        store.wake(wake, previous)
        return matches, journal.step


def _first_of_each(matches: pa.Table) -> pa.Table:
    """Return each match once, told by its id."""
    ids = matches["match_id"].to_numpy().astype(str)
    _, first = np.unique(ids, return_index=True)
    return matches.take(pa.array(np.sort(first)))


def report_name(shard: str, level: int) -> str:
    """Return the name under which a site reports what it did at a level."""
    return f"{shard} level {level}"
