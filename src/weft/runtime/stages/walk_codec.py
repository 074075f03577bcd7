"""Matches on their way to where they are walked: rows that carry what a walk asks of them."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.plan.nodes import MatchWalk
from weft.runtime.columns.events import Array
from weft.runtime.matches.execute import Found
from weft.runtime.matches.walk import Walked, Walker, owner_of, walked_of
from weft.runtime.matches.walk_state import Moments, moments_from, moments_to
from weft.runtime.stages.outcomes import OutcomeColumns

HIDDEN = "weft_walk_"
SKIP, QUIET = f"{HIDDEN}skip", f"{HIDDEN}quiet"
FIRST, LAST, N_EVENTS = f"{HIDDEN}first", f"{HIDDEN}last", f"{HIDDEN}n_events"


def rows_to_meet(outcomes: OutcomeColumns, found: Found) -> list[pa.RecordBatch]:
    """Return matches as outcomes, with what a walk asks of them, if there is one."""
    rows, walk = list(outcomes.rows([found])), found.output.walk
    if not rows or walk is None:
        return rows
    table = pa.Table.from_batches(rows)
    hidden = walk_columns(found, walk)
    for name in hidden.column_names:
        table = table.append_column(name, hidden[name])
    return list(table.to_batches())


def walk_columns(found: Found, walk: MatchWalk) -> pa.Table:
    """Return what a walk asks of matches as columns."""
    walked = walked_of(walk, found)
    return pa.table(
        {
            **_key_columns(SKIP, walked.skip_keys),
            **_key_columns(QUIET, walked.quiet_keys),
            **moments_to(FIRST, walked.first),
            **moments_to(LAST, walked.last),
            N_EVENTS: pa.array(walked.n_events),
        }
    )


def choose_rows(
    walker: Walker, walk: MatchWalk, query: str, ahead: pa.Table | None, due: pa.Table, counted: Sequence[str]
) -> pa.Table:
    """Return the rows that count, without what the walk asked; `counted` says how many each swallowed."""
    read = [None if rows is None else walked_from(rows, owner_of(query, 0)) for rows in (ahead, due)]
    chosen, swallowed = walker.choose(walk, *read)
    kept = due.take(pa.array(chosen))
    for name in counted:
        kept = kept.set_column(kept.column_names.index(name), name, pa.array(swallowed))
    return kept.drop_columns([name for name in kept.column_names if name.startswith(HIDDEN)])


def walked_from(rows: pa.Table, owner: int) -> Walked:
    """Return rows as their walk sees them."""
    ids = rows["match_id"].to_numpy().astype("U32")
    return Walked(
        owner,
        _keys_from(rows, SKIP),
        _keys_from(rows, QUIET),
        first_moments(rows),
        last_moments(rows),
        rows[N_EVENTS].to_numpy(),
        lambda chosen: ids[chosen],
    )


def first_moments(rows: pa.Table) -> Moments:
    """Return when the first events of matches were."""
    return moments_from(rows, FIRST)


def last_moments(rows: pa.Table) -> Moments:
    """Return when the last events of matches were."""
    return moments_from(rows, LAST)


def _key_columns(name: str, keys: Array) -> dict[str, pa.Array]:
    return {f"{name}_{half}": pa.array(keys[:, half]) for half in (0, 1)}


def _keys_from(rows: pa.Table, name: str) -> Array:
    return np.stack([rows[f"{name}_{half}"].to_numpy() for half in (0, 1)], axis=1)
