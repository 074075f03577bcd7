"""COUNT(DISTINCT v.x) of trend queries of a single event: how many values the events of each window have."""

import numpy as np

from weft.runtime.columns.events import Array, Events
from weft.runtime.trends.rows import TrendRows
from weft.runtime.trends.selection import rows_of_item


def distinct_counts(results: TrendRows, events: Events, name: str) -> Array:
    """Return for each result how many values of an attribute differ among the events of its window and group.

    A value is in windows from the first that has one of its events to the last. Taken as runs of windows that
    no two events share, those that have begun until a window, without those that are over, are its values.
    """
    template = results.template
    ((automaton,),) = template.alternatives
    rows = rows_of_item(template.items[automaton.positions[0].item], events)
    for key in (*template.keys, name):
        rows = rows[events.columns[key].validity[rows]]
    both = np.concatenate([rows, results.examples])
    groups, own_groups = np.split(events.number_groups(template.group_by, both), [rows.size])
    values = events.number_groups((name,), rows)
    order = np.lexsort((values, groups))  # stable: events of one value stay in order of time
    rows, groups, values = rows[order], groups[order], values[order]
    times = events.times[rows]
    length, slide = template.length or 0, template.slide or 0
    lasts = times // slide if slide else np.zeros(rows.size, np.int64)
    firsts = (times - length) // slide + 1 if slide else lasts
    is_again = np.zeros(rows.size, np.bool_)
    is_again[1:] = (np.diff(groups) == 0) & (np.diff(values) == 0)
    firsts = np.where(is_again, np.maximum(firsts, np.roll(lasts, 1) + 1), firsts)
    is_run = firsts <= lasts
    return _begun(
        groups[is_run], firsts[is_run], lasts[is_run] + 1, own_groups, results.windows if slide else 0
    )


def _begun(groups: Array, starts: Array, ends: Array, own_groups: Array, windows: Array | int) -> Array:
    """Return for each of some windows how many runs of its group have begun and are not over."""
    windows = np.broadcast_to(windows, own_groups.shape)
    every = np.unique(np.concatenate([starts, ends, windows]))

    def keys(own: Array, numbers: Array) -> Array:
        return own * every.size + np.searchsorted(every, numbers)

    wanted = keys(own_groups, windows)
    begun = np.searchsorted(np.sort(keys(groups, starts)), wanted, side="right")
    over = np.searchsorted(np.sort(keys(groups, ends)), wanted, side="right")
    return np.asarray(begun - over)
