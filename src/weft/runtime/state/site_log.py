"""What a site of a placed stream knows of its own state: logs of segments, and how far it is.

A log holds rows with a time in segments, which are written once, joined a few times and dropped whole. A site
has one for the events that it knows, and one for each stream of matches that it has to remember.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import DataError
from weft.runtime.stages.shard import FAN, Store
from weft.runtime.state.journal import BEGINNING, Segment, merging
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes, table_to_bytes

VERSION = 1
EVENTS = "events"  # the name of the log of events; those of streams are named by their numbers


@dataclass(frozen=True)
class SiteJournal:
    """The state of a site at a level after a step; `token` tells this step from any other that was tried.

    >>> journal = SiteJournal("p1", step=7, logs={"events": (Segment(0, 1, 9, 5, 7, 7),)})
    >>> SiteJournal.from_json(journal.to_json()) == journal
    True
    """

    program: str  # tells the program from any other
    step: int = 0
    frontier: int = BEGINNING
    token: str = ""
    next_number: int = 0
    logs: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    wake: int | None = None  # milliseconds

    @property
    def segments(self) -> list[Segment]:
        """The segments of all logs."""
        return [segment for log in self.logs.values() for segment in log]

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, **asdict(self)}, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "SiteJournal":
        """Return the journal written by `to_json`."""
        found = json.loads(text)
        version = found.pop("version", None)
        if version != VERSION:
            raise DataError(
                f"the state of a site has version {version!r}, expected {VERSION}; it was written by a "
                "newer Weft: go on with that one, or start with a new checkpoint"
            )
        logs = {
            name: tuple(Segment(**segment) for segment in segments)
            for name, segments in found.pop("logs").items()
        }
        return SiteJournal(**found, logs=logs)


@dataclass
class LogWriter:
    """Brings the logs of a site up to date with a step; rows before `oldest` are given up."""

    store: Store
    journal: SiteJournal
    oldest: int

    def write(self, new: Mapping[str, pa.Table]) -> SiteJournal:
        """Append new rows to their logs, drop and join segments, and return the journal that says so."""
        names = dict.fromkeys([*self.journal.logs, *new])
        logs = {name: self._log(self.journal.logs.get(name, ()), new.get(name)) for name in names}
        self.journal = replace(self.journal, logs={name: log for name, log in logs.items() if log})
        return self.journal

    def _log(self, known: Sequence[Segment], new: pa.Table | None) -> tuple[Segment, ...]:
        segments = []
        for segment in known:
            if segment.last_time < self.oldest:
                self.store.remove_segment(segment.number)
            else:
                segments.append(segment)
        step = self.journal.step
        kept = None if new is None else self._kept(new)
        if kept is not None and kept.num_rows:
            segments.append(self._written(kept, step, step, 0))
        group = merging(segments, FAN)
        if group:
            joined = pa.concat_tables([table_from_bytes(self.store.segment(one.number)) for one in group])
            for one in group:
                self.store.remove_segment(one.number)
            place = segments.index(group[0])
            steps = group[0].first_step, group[-1].last_step
            segments[place : place + FAN] = [self._written(self._kept(joined), *steps, group[0].level + 1)]
        return tuple(segments)

    def _kept(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pc.greater_equal(rows[TIME_COLUMN], self.oldest))

    def _written(self, rows: pa.Table, first_step: int, last_step: int, level: int) -> Segment:
        number, content = self.journal.next_number, table_to_bytes(rows)
        self.journal = replace(self.journal, next_number=number + 1)
        self.store.set_segment(number, content)
        last_time = int(np.max(rows[TIME_COLUMN].to_numpy())) if rows.num_rows else BEGINNING
        return Segment(number, rows.num_rows, len(content), last_time, first_step, last_step, level)
