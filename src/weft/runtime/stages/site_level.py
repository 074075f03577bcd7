"""One level of a placed stream: what sites send each other in a micro-batch, and which level takes it.

Levels follow each other within a micro-batch. A site at a level gets its own new events and the matches sent
to it, takes what its work at this level reads, and passes on what its work at higher levels does.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from weft.plan.sites import Channel, SiteProgram
from weft.runtime.budget import Budget
from weft.runtime.stages.shard import Store
from weft.runtime.stages.site_shard import MATCHES, Arrived, LevelWork, SiteMemory, SiteOutcome, SiteShard
from weft.runtime.stages.site_timing import SiteTiming
from weft.runtime.stages.site_wire import Wire, value_bytes
from weft.runtime.state.segments import table_from_bytes, table_to_bytes, to_table

RAW, OWN, OUTCOME = "raw", "own", "outcome"  # roles of messages
NEWS, SENT = "news ", "sent "  # those of reports, with the level, and of matches, with a stream's number


@dataclass(frozen=True, slots=True)
class Message:
    """Rows for a site at the next level: events or matches; or outcomes and reports on their way out."""

    site: str
    role: str
    pack: bytes


@dataclass(frozen=True)
class Level:
    """All sites at one level of a program; `name` tells the program from any other."""

    level: int
    program: SiteProgram
    name: str
    wire: Wire
    budget: Budget
    timing: SiteTiming

    @property
    def is_last(self) -> bool:
        """Whether no level follows."""
        return self.level + 1 >= self.program.n_levels

    def take(
        self, site: str, messages: Iterable[Message], watermark: int, store: Store, memory: SiteMemory
    ) -> tuple[list[Message], SiteOutcome | None]:
        """Run a step of a site; return what goes on to the next level, and what it found."""
        messages = list(messages)
        passed = [message for message in messages if self._passes(site, message.role)]
        shard = SiteShard(f"{self.name} {self.level} {site}", self._works[site], store, memory)
        outcome = shard.step(self._arrived(site, messages), watermark)
        if outcome is None:
            return passed, None
        if self.level == 0 and outcome.own.n_events and self._is_active(site, after=0):
            passed.append(Message(site, OWN, table_to_bytes(to_table(outcome.own))))
        for number, stream, matches in self._sent(outcome):
            outcome.report.sent.append(_transfer(self.program, stream, matches))
            pack = table_to_bytes(pa.table({MATCHES: matches}))
            passed.append(Message(self.program.sites[stream.target], f"{SENT}{number}", pack))
        return passed, outcome

    @cached_property
    def _works(self) -> dict[str, LevelWork]:
        return {
            name: LevelWork(
                number,
                tuple(w for w in self.program.works if (w.site, w.level) == (number, self.level)),
                self.wire,
                self.budget,
                self.timing,
                self.name,
            )
            for number, name in enumerate(self.program.sites)
        }

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.program.sites)}

    def _is_active(self, site: str, after: int) -> bool:
        """Whether a site has work at a later level."""
        number = self._numbers[site]
        return any(work.site == number and work.level > after for work in self.program.works)

    def _passes(self, site: str, role: str) -> bool:
        """Whether a message goes on to the next level as it is."""
        if is_on_its_way_out(role):
            return True
        if role == OWN:
            return self._is_active(site, self.level)
        return role.startswith(SENT) and self._is_read(site, int(role.removeprefix(SENT)), later=True)

    def _is_read(self, site: str, stream: int, *, later: bool) -> bool:
        number = self._numbers[site]
        return any(
            work.site == number and stream in work.reads
            for work in self.program.works
            if (work.level > self.level if later else work.level == self.level)
        )

    def _arrived(self, site: str, messages: list[Message]) -> Arrived:
        """Return what the work of a site at this level is to take."""
        raw = [table_from_bytes(message.pack) for message in messages if message.role == RAW]
        has_work = bool(self._works[site].works)
        own = [message.pack for message in messages if message.role == OWN and has_work]
        received: dict[int, list[pa.Array]] = {}
        for message in messages:
            if message.role.startswith(SENT):
                stream = int(message.role.removeprefix(SENT))
                if self._is_read(site, stream, later=False):
                    matches = table_from_bytes(message.pack)[MATCHES]
                    received.setdefault(stream, []).extend(matches.chunks)
        return Arrived(raw, own, received)

    def _sent(self, outcome: SiteOutcome) -> Iterator[tuple[int, Channel, pa.Array]]:
        for _, finding, found in outcome.found:
            for number in finding.channels:
                stream = self.program.channels[number]
                yield number, stream, self.wire.written(found, finding.columns, stream.attributes)


def is_on_its_way_out(role: str) -> bool:
    """Whether messages of a role are for nobody at any level."""
    return role == OUTCOME or role.startswith(NEWS)


def _transfer(program: SiteProgram, stream: Channel, matches: pa.Array) -> dict[str, Any]:
    """Return what a report says of matches that were sent."""
    return {
        "projection": stream.projection,
        "source": program.sites[stream.source],
        "target": program.sites[stream.target],
        "rows": len(matches),
        "bytes": value_bytes(matches),
    }
