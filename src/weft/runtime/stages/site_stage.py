"""The stage of a level: what sites find and send each other there, and which level takes it.

Levels follow each other within a step. A site at a level gets its own new events and the matches sent to
it, takes what its work at this level reads, and passes on what its work at higher levels does. Matches that
meet others before they go out do so in a last stage.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.plan.sites import SiteProgram, SiteWork
from weft.runtime.columns.events import Array
from weft.runtime.stages.match_codec import MATCHES, MatchCodec, value_bytes
from weft.runtime.stages.messages import (
    DISTINCT,
    OWN,
    RAW,
    SENT,
    Message,
    count_rejected,
    in_packs,
    outgoing,
)
from weft.runtime.stages.outcomes import outcome_columns
from weft.runtime.stages.report import Report, Transfer
from weft.runtime.stages.shard import Memory, Shard, count_results
from weft.runtime.stages.shard_executor import FoundAtSite, is_timeout
from weft.runtime.stages.shard_program import Arrived, ShardProgram, StepOutcome, run_once
from weft.runtime.stages.site_executor import SitePlan, Timing
from weft.runtime.stages.task import SitesTask, StageTask
from weft.runtime.stages.walk_codec import rows_to_meet
from weft.runtime.state.journal import Store
from weft.runtime.state.segments import table_from_bytes, table_to_bytes, to_table

IDS = "ids"  # the log of matches that went out, and its column


@dataclass(frozen=True)
class SiteNetwork:
    """All sites of a program, and the slices of time into which a batch cuts each of them."""

    sites: SitesTask
    id_type: pa.DataType

    @cached_property
    def program(self) -> SiteProgram:
        """What all sites run."""
        return SiteProgram.from_json(self.sites.program)

    @cached_property
    def codec(self) -> MatchCodec:
        """How matches travel."""
        return MatchCodec(self.sites.layout, self.id_type)

    @cached_property
    def shards(self) -> tuple[str, ...]:
        """The names of the shards: those of the sites, or of the slices of each."""
        slices, names = self.sites.slices, self.program.sites
        return (
            names if slices is None else tuple(f"{s} #{own}" for s in names for own in range(slices.n_shards))
        )

    @cached_property
    def places(self) -> dict[str, tuple[int, int]]:
        """The site and the slice of each shard."""
        n_slices = 1 if self.sites.slices is None else self.sites.slices.n_shards
        return {name: divmod(number, n_slices) for number, name in enumerate(self.shards)}

    def works(self, site: int, levels: Container[int]) -> tuple[SiteWork, ...]:
        """Return what a site evaluates at some levels."""
        return tuple(work for work in self.program.works if work.site == site and work.level in levels)


class SiteStage:
    """All sites at one level of a program; what a process remembers of them is in `memory`."""

    def __init__(
        self, task: StageTask, network: SiteNetwork, level: int, memory: Memory, timing: Timing
    ) -> None:
        self.task, self.network, self.program = task, network, network.program
        self.level = level
        self.memory = memory
        self.timing = timing
        self.outcomes = outcome_columns(task)

    def take(
        self, shard: str, messages: Sequence[Message], watermark: int, store: Store | None
    ) -> Iterator[Message]:
        """Run a step of a site, and yield what goes on to the next level, its report and its outcomes."""
        yield from (message for message in messages if self.passes(shard, message))
        outcome = self.step(shard, messages, watermark, store) if shard in self.network.places else None
        if outcome is not None:
            yield from self.send(shard, outcome)
            yield from self._out(shard, outcome)

    def step(
        self, shard: str, messages: Sequence[Message], watermark: int, store: Store | None
    ) -> StepOutcome | None:
        """Run a step of a site: with its state in a store, or without one as the only step of a batch."""
        site, own = self.network.places[shard]
        arrived, program = self._read_messages(site, messages), self._programs[site]
        if store is not None:
            name = f"{self.task.assignment} {self.level} {shard}"
            return Shard(name, program, store, self.memory).step(arrived, watermark)
        executor, events, results = run_once(program, arrived)
        slices, shards = self.network.sites.slices, np.array([own])
        kept = [result if slices is None else slices.keep_owned(result, shards) for result in results]
        report = Report(events=events.n_events, rejected=arrived.n_rejected, stopped=executor.stopped or {})
        count_results(report, kept)
        return StepOutcome(kept, events, None, report)

    @cached_property
    def _programs(self) -> list[ShardProgram]:
        """What each site runs at this level."""
        codec = self.network.codec
        plans = [
            SitePlan(site, self.network.works(site, [self.level]), codec, self.timing)
            for site in range(len(self.program.sites))
        ]
        task = self.task
        return [
            ShardProgram(
                plan, codec.layout, codec.id_type, task.budget, task.assignment, on_budget=task.on_budget
            )
            for plan in plans
        ]

    def _later_works(self, site: int) -> tuple[SiteWork, ...]:
        return self.network.works(site, range(self.level + 1, self.program.n_levels))

    def passes(self, shard: str, message: Message) -> bool:
        """Whether a message goes on to the next stage as it is."""
        if message.is_out or message.role == DISTINCT:
            return True
        later = self._later_works(self.network.places[shard][0])
        return any(message.role == OWN or message.channel in work.reads for work in later)

    def _read_messages(self, site: int, messages: Iterable[Message]) -> Arrived:
        """Return what the work of a site at this level is to take."""
        works = self.network.works(site, [self.level])
        read = {channel for work in works for channel in work.reads}
        raw = [table_from_bytes(message.pack) for message in messages if message.role == RAW]
        passed = [message.pack for message in messages if message.role == OWN and works]
        received: dict[int, list[pa.Array]] = {}
        for message in messages:
            if message.channel is not None and message.channel in read:
                chunks = table_from_bytes(message.pack)[MATCHES].chunks
                received.setdefault(message.channel, []).extend(chunks)
        return Arrived(raw, passed, received, count_rejected(raw))

    def send(self, shard: str, outcome: StepOutcome) -> Iterator[Message]:
        """Yield own events for higher levels and matches for other sites; count the latter in the report."""
        site, _ = self.network.places[shard]
        if self.level == 0 and outcome.own.n_events and self._later_works(site):
            yield Message(shard, OWN, table_to_bytes(to_table(outcome.own)))
        transfers = []
        for result in outcome.found:
            if not isinstance(result, FoundAtSite) or not result.n_rows:
                continue
            for number in result.finding.channels:
                channel = self.program.channels[number]
                matches = self.network.codec.write(result.found, result.finding.columns, channel.attributes)
                way = self.program.sites[channel.source], self.program.sites[channel.target]
                amount = len(matches), value_bytes(matches)
                transfers.append(Transfer(channel.projection, *way, *amount, channel=number))
                for target, rows in self._recipients(channel.target, result.moments):
                    copied = matches if rows is None else matches.take(pa.array(rows))
                    yield Message(target, f"{SENT}{number}", table_to_bytes(pa.table({MATCHES: copied})))
        outcome.report.sent = transfers

    def _recipients(self, site: int, times: Array) -> Iterator[tuple[str, Array | None]]:
        """Yield the shards of a site that have to see matches, and which of them; None: all."""
        slices = self.network.sites.slices
        if slices is None:
            yield self.network.shards[site], None
            return
        rows, shards = slices.copies(times)
        for own in np.unique(shards).tolist():
            yield self.network.shards[site * slices.n_shards + own], rows[shards == own]

    def _out(self, shard: str, outcome: StepOutcome) -> Iterator[Message]:
        """Yield the report of a step, late rows and matches; those that meet others go their way."""
        meeting, report = self.program.meeting, outcome.report
        report.matches = {name: count for name, count in report.matches.items() if name not in meeting}
        layout, name = self.network.codec.layout, report_name(shard, self.level)
        yield from outgoing(
            shard, self.level, report, self.outcomes.of_step(name, outcome, layout, held_back=meeting)
        )
        for query in meeting:
            results = (one for one in outcome.found if isinstance(one, FoundAtSite) and one.query == query)
            matches = (one.found for one in results if not is_timeout(one))
            rows = (batch for found in matches for batch in rows_to_meet(self.outcomes, found))
            for pack in in_packs(rows):
                yield Message(f"{DISTINCT} {query}", DISTINCT, pack)


def report_name(shard: str, level: int) -> str:
    """Return the name under which a site reports what it did at a level."""
    return f"{shard} level {level}"
