"""The log of a shard's panes: what steps have added to them, written anew when it has many pieces."""

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from weft.runtime.state.journal import Journal, Store
from weft.runtime.state.log import read_log
from weft.runtime.state.segments import table_from_bytes
from weft.runtime.trends.executor import TrendExecutor
from weft.runtime.trends.pane_pieces import rows_of_pieces

PANES = "panes"
MOST_PIECES = 64  # of each member, before all are written as one


def restore_panes(store: Store, journal: Journal, executor: TrendExecutor, owners: Mapping[str, int]) -> None:
    """Let an executor go on from what is in the log; where there is nothing, it begins with the events."""
    contents = read_log(store, journal, PANES)
    if contents:
        rows = pa.concat_tables([table_from_bytes(content) for content in contents])
        executor.restore(rows, owners, journal.frontier)


def panes_to_log(
    store: Store, journal: Journal, executor: TrendExecutor, owners: Mapping[str, int]
) -> tuple[Journal, dict[str, pa.Table]]:
    """Return the rows that are new to the log, and the journal; where the log has too many, without it."""
    log = journal.logs.get(PANES, ())
    is_anew = sum(segment.n_rows for segment in log) > MOST_PIECES * executor.n_members
    rows = rows_of_pieces(executor.pieces(owners, is_anew=is_anew))
    if is_anew:
        for segment in log:
            store.remove_segment(segment.number)
        logs = {name: own for name, own in journal.logs.items() if name != PANES}
        journal = replace(journal, logs=logs)
    return journal, {PANES: rows} if rows.num_rows else {}
