"""The segment log: rows with a time, in segments that are written once, merged a few times and dropped whole.

Every row is rewritten a number of times that grows with the logarithm of the segments.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from weft.runtime.state.journal import BEGINNING, Journal, Segment, Store
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes, table_to_bytes

EVENTS = "events"  # the log of events; those of matches are named by their channels
FAN = 16  # segments of one level that become one of the next


def read_log(store: Store, journal: Journal, name: str, since: int = 0) -> list[bytes]:
    """Return the segments of a log with rows of a step after `since`."""
    return [
        store.segment(segment.number) for segment in journal.logs.get(name, ()) if segment.last_step > since
    ]


@dataclass
class LogWriter:
    """Brings the logs of a journal up to date with its step; rows before `oldest` are given up."""

    store: Store
    journal: Journal
    oldest: int

    def write(self, new: Mapping[str, pa.Table]) -> Journal:
        """Append new rows to their logs, drop and merge segments, and return the journal that says so."""
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
        kept = None if new is None else self._keep(new)
        if kept is not None and kept.num_rows:
            segments.append(self._write(kept, self.journal.step, self.journal.step, 0))
        group = segments_to_merge(segments, FAN)
        if group:
            tables = [table_from_bytes(self.store.segment(segment.number)) for segment in group]
            merged = pa.concat_tables(tables, promote_options="default")  # a new query may add columns
            for segment in group:
                self.store.remove_segment(segment.number)
            place = segments.index(group[0])
            steps = group[0].first_step, group[-1].last_step
            segments[place : place + FAN] = [self._write(self._keep(merged), *steps, group[0].level + 1)]
        return tuple(segments)

    def _keep(self, rows: pa.Table) -> pa.Table:
        times = rows[TIME_COLUMN].to_numpy()
        return (
            rows
            if times.min(initial=self.oldest) >= self.oldest
            else rows.filter(pa.array(times >= self.oldest))
        )

    def _write(self, rows: pa.Table, first_step: int, last_step: int, level: int) -> Segment:
        number, content = self.journal.next_number, table_to_bytes(rows)
        self.journal = replace(self.journal, next_number=number + 1)
        self.store.set_segment(number, content)
        last_time = int(np.max(rows[TIME_COLUMN].to_numpy())) if rows.num_rows else BEGINNING
        return Segment(number, rows.num_rows, len(content), last_time, first_step, last_step, level)


def segments_to_merge(segments: Sequence[Segment], fan: int) -> tuple[Segment, ...]:
    """Return segments that should become one: the first `fan` neighbors of one level, or none.

    >>> [s.number for s in segments_to_merge([Segment(n, 1, 1, 0, n, n, level=n < 1) for n in range(4)], 3)]
    [1, 2, 3]
    """
    run: list[Segment] = []
    for segment in segments:
        run = [*run, segment] if run and run[-1].level == segment.level else [segment]
        if len(run) == fan:
            return tuple(run)
    return ()
