"""The log of a shard's walks: what keys have reached, written where it changes, and anew when most is old."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from weft.runtime.matches.walk import Walker
from weft.runtime.matches.walk_state import concatenate_states, state_from
from weft.runtime.state.journal import Journal, Store
from weft.runtime.state.log import read_log
from weft.runtime.state.segments import table_from_bytes

WALK = "walk"
LEAST_OUTDATED = 1_024  # rows that are not worth writing the log anew


def stored_walker(store: Store, journal: Journal) -> Walker:
    """Return a walker that goes on from what is in the log."""
    return Walker(state_from([table_from_bytes(content) for content in read_log(store, journal, WALK)]), [])


def rows_to_log(
    store: Store, journal: Journal, walker: Walker, oldest: int, owners: Sequence[int]
) -> tuple[Journal, dict[str, pa.Table]]:
    """Return the rows that are new to the log, and the journal; where most of the log is old, without it.

    What can affect no match with events since `oldest` alone is given up, and so are other owners' rows.
    """
    walker.state = walker.state.since(oldest, owners)
    changed, walker.changed = walker.changed, []
    log = journal.logs.get(WALK, ())
    n_logged, n_rows = sum(segment.n_rows for segment in log), walker.state.n_rows
    if n_logged > 2 * n_rows + (LEAST_OUTDATED if n_rows else 0):
        for segment in log:
            store.remove_segment(segment.number)
        logs = {name: own for name, own in journal.logs.items() if name != WALK}
        journal, changed = replace(journal, logs=logs), [walker.state]
    changed = [state for state in changed if state.n_rows]
    return journal, {WALK: concatenate_states(changed).to_table()} if changed else {}
