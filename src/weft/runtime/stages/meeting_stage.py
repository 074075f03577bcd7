"""The last stage of sites and of slices: matches of a query meet, and those go out that count, each once.

Several sites may find a match, as different alternatives of a query; and of matches that are walked, one
decides about others, wherever they were found. A walk waits until all that comes before in its order is here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.expressions import Suppressed
from weft.plan.nodes import MatchWalk, Output
from weft.runtime.matches.walk import new_walker, owner_of
from weft.runtime.stages.messages import DISTINCT, Message, outgoing
from weft.runtime.stages.outcomes import OutcomeColumns
from weft.runtime.stages.report import Report
from weft.runtime.stages.site_stage import report_name
from weft.runtime.stages.walk_codec import choose_rows, first_moments, last_moments
from weft.runtime.stages.walk_log import WALK, rows_to_log, stored_walker
from weft.runtime.state.journal import BEGINNING, Journal, Store, journal_in, wake_after
from weft.runtime.state.log import LogWriter, read_log
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes

IDS = "ids"  # the log of matches that went out, and its column
PENDING = "pending"  # the log of matches that a walk has not come to


@dataclass(frozen=True)
class Meeting:
    """What happens to the matches of a query where they meet; `counted` are columns with SUPPRESSED()."""

    query: str
    is_repeated: bool = True
    walk: MatchWalk | None = None
    counted: tuple[str, ...] = ()


def meetings_of(
    walked: Mapping[str, Output], outcomes: OutcomeColumns, repeated: Sequence[str] = ()
) -> dict[str, Meeting]:
    """Return what happens to the matches of each query that meet."""
    meetings = {query: Meeting(query) for query in repeated}
    for query, output in walked.items():
        names = outcomes.columns.returned.names[query]
        pairs = zip(names, output.branches[0].returns, strict=True)
        counted = tuple(name for name, part in pairs if isinstance(part, Suppressed))
        meetings[query] = Meeting(query, query in repeated, output.walk, counted)
    return meetings


class MeetingStage:
    """Each query has a shard, where all its matches come; `horizon` after its end, a match has come.

    It is decided by then, and so is every other that ends, or began, no later.
    """

    def __init__(
        self,
        level: int,
        assignment: str,
        outcomes: OutcomeColumns,
        horizon: int,
        meetings: Mapping[str, Meeting],
        *,
        reports: bool = True,
    ) -> None:
        self.level = level
        self.outcomes = outcomes
        self.meetings = meetings
        self._assignment = assignment
        self._horizon = horizon
        self._reports = reports

    def take(
        self, shard: str, messages: Sequence[Message], watermark: int, store: Store | None
    ) -> Iterator[Message]:
        """Yield what is on its way out, and those matches of a query that count and did not come before."""
        yield from (message for message in messages if message.is_out)
        packs = [table_from_bytes(message.pack) for message in messages if message.role == DISTINCT]
        if not packs and (store is None or store.journal() is None):
            return
        meeting = self.meetings[shard.removeprefix(f"{DISTINCT} ")]
        came, step = pa.concat_tables(packs) if packs else None, 1
        if came is not None and meeting.is_repeated:
            came = _first_of_each(came)
        if store is not None:
            matches, step = self._step(meeting, came, watermark, store)
        elif came is not None and meeting.walk is not None:
            ahead = came if meeting.walk.is_twofold else None
            matches = choose_rows(new_walker(), meeting.walk, meeting.query, ahead, came, meeting.counted)
        else:
            matches = came
        if matches is not None and matches.num_rows:
            report, rows = Report(step=step, matches={meeting.query: matches.num_rows}), matches.to_batches()
            if self._reports:
                rows.insert(0, self.outcomes.report(report_name(shard, self.level), report))
            yield from outgoing(shard, self.level, report, rows)

    def _step(
        self, meeting: Meeting, came: pa.Table | None, watermark: int, store: Store
    ) -> tuple[pa.Table | None, int]:
        """Return the matches that go out in a step, and its number; bring the logs up to date."""
        journal = journal_in(store, self._assignment)
        previous, wake = journal.frontier, journal.wake
        journal = replace(journal, step=journal.step + 1, frontier=journal.frontier_at(watermark))
        new: dict[str, pa.Table] = {}
        matches, next_end = came, None
        if meeting.is_repeated and came is not None:
            came = matches = _drop_known(came, journal, store)
            new[IDS] = pa.table({TIME_COLUMN: came["end"].cast(pa.int64()), IDS: came["match_id"]})
        kept_for = self._horizon
        if meeting.walk is not None:
            kept_for *= 2  # what comes `horizon` late may begin as long before
            pending = _Pending(meeting.walk, self._oldest(previous), self._oldest(journal.frontier))
            rows = pending.read(came, [table_from_bytes(own) for own in read_log(store, journal, PENDING)])
            walker = stored_walker(store, journal)
            if came is not None:
                new[PENDING] = pending.stamped(came)
            if rows is not None:
                ahead, due, next_end = pending.divided(rows)
                matches = choose_rows(walker, meeting.walk, meeting.query, ahead, due, meeting.counted)
            oldest = max(journal.frontier, BEGINNING + kept_for) - kept_for
            journal, walked = rows_to_log(store, journal, walker, oldest, [owner_of(meeting.query, 0)])
            new |= walked
        oldest = max(journal.frontier, BEGINNING + kept_for) - kept_for
        journal = LogWriter(store, journal, oldest).write(new)
        moment = self._wakes_at(journal, kept_for, next_end)
        store.set_journal(replace(journal, wake=moment).to_json())
        store.wake(moment, wake)
        return matches, journal.step

    def _oldest(self, frontier: int) -> int:
        """Return the time from which on matches may still come."""
        return max(frontier, BEGINNING + self._horizon) - self._horizon

    def _wakes_at(self, journal: Journal, kept_for: int, next_end: int | None) -> int | None:
        """Return when a walk goes on, or else when nothing is needed any more."""
        if next_end is not None:
            return wake_after(max(next_end + self._horizon, journal.frontier))
        logs = [log for name, log in journal.logs.items() if name != WALK]
        latest = max((segment.last_time for log in logs for segment in log), default=None)
        return None if latest is None else wake_after(max(latest, journal.frontier) + kept_for)


@dataclass(frozen=True)
class _Pending:
    """The matches that a walk has not come to: those since a time before the step, since another after it."""

    walk: MatchWalk
    before: int
    after: int

    def _times(self, rows: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the times by which rows are walked, at last."""
        is_by_first = self.walk.prefer_longest and not self.walk.is_twofold
        return (first_moments(rows) if is_by_first else last_moments(rows)).times

    def stamped(self, rows: pa.Table) -> pa.Table:
        """Return rows as they are stored."""
        return rows.append_column(TIME_COLUMN, pa.array(self._times(rows)))

    def read(self, came: pa.Table | None, stored: list[pa.Table]) -> pa.Table | None:
        """Return the rows that are pending, those stored first; `is_new` says which came now."""
        parts = [rows.filter(pc.greater_equal(rows[TIME_COLUMN], self.before)) for rows in stored]
        known = [rows.drop_columns([TIME_COLUMN]) for rows in parts if rows.num_rows]
        tables = [*known, *([] if came is None else [came])]
        if not tables:
            return None
        n_known = sum(rows.num_rows for rows in known)
        rows = pa.concat_tables(tables)
        return rows.append_column(IS_NEW, pa.array(np.arange(rows.num_rows) >= n_known))

    def divided(self, rows: pa.Table) -> tuple[pa.Table | None, pa.Table, int | None]:
        """Return the rows that a first walk comes to, those of the last, and when the next will be due."""
        is_new, plain = rows[IS_NEW].to_numpy(), rows.drop_columns([IS_NEW])
        times = self._times(plain)
        is_due = times < self.after
        ahead = None
        if self.walk.is_twofold:
            begun = first_moments(plain).times
            ahead = plain.filter(pa.array((begun < self.after) & (is_new | (begun >= self.before))))
        rest = times[~is_due]
        return ahead, plain.filter(pa.array(is_due)), int(rest.min()) if rest.size else None


IS_NEW = "weft_walk_is_new"


def _drop_known(matches: pa.Table, journal: Journal, store: Store) -> pa.Table:
    """Return the matches that the log does not know."""
    known = [table_from_bytes(content)[IDS] for content in read_log(store, journal, IDS)]
    seen = pa.chunked_array([chunk for ids in known for chunk in ids.chunks], pa.string())
    return matches.filter(pc.invert(pc.is_in(matches["match_id"], value_set=seen)))


def _first_of_each(matches: pa.Table) -> pa.Table:
    """Return each match once, told by its id."""
    ids = matches["match_id"].to_numpy().astype(str)
    _, first = np.unique(ids, return_index=True)
    return matches.take(pa.array(np.sort(first)))
