"""Matches of a placed stream that sites may find as different alternatives of a query: each goes out once."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.runtime.stages.shard import MILLISECOND, Store
from weft.runtime.state.journal import BEGINNING
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes
from weft.runtime.state.site_log import LogWriter, SiteJournal

IDS = "ids"  # the log, and its column


def take_distinct(
    store: Store, program: str, matches: pa.Table | None, watermark: int, horizon: int
) -> tuple[pa.Table | None, SiteJournal]:
    """Return the matches of a query that did not come before, each once, and the new journal.

    A match that comes twice does so within the horizon after its end, by which all of it is decided.
    """
    text = store.journal()
    journal = SiteJournal(program) if text is None else SiteJournal.from_json(text)
    frontier = max(watermark * MILLISECOND if watermark > 0 else BEGINNING, journal.frontier)
    journal = replace(journal, step=journal.step + 1, frontier=frontier)
    new: dict[str, pa.Table] = {}
    if matches is not None and matches.num_rows:
        known = [table_from_bytes(store.segment(one.number))[IDS] for one in journal.segments]
        seen = pa.chunked_array([chunk for one in known for chunk in one.chunks], pa.string())
        ids = matches["match_id"].combine_chunks()
        _, first = np.unique(ids.to_numpy(zero_copy_only=False).astype(str), return_index=True)
        is_first = np.zeros(len(ids), np.bool_)
        is_first[first] = True
        is_known = pc.is_in(ids, value_set=seen.combine_chunks()).to_numpy(zero_copy_only=False)
        matches = matches.filter(pa.array(is_first & ~is_known))
        ends = matches["end"].cast(pa.int64())
        new[IDS] = pa.table({TIME_COLUMN: ends, IDS: matches["match_id"]})
    journal = LogWriter(store, journal, max(frontier, BEGINNING + horizon) - horizon).write(new)
    latest = max((segment.last_time for segment in journal.segments), default=None)
    wake = None if latest is None else max(1, (max(latest, frontier) + horizon) // MILLISECOND + 1)
    journal = replace(journal, wake=wake)
    store.set_journal(journal.to_json())
    return matches, journal
