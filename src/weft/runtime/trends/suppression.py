"""SUPPRESS of trend queries: which results of a batch count, one that does deciding about those after it."""

import numpy as np

from weft.kernels.matches.walk import walk_in_order
from weft.runtime.columns.events import Array, Events, comparable
from weft.runtime.trends.rows import TrendRows

LONGEST = 1 << 62  # longer than all time
LOWEST = np.iinfo(np.int64).min


def kept_rows(results: TrendRows, events: Events, rows: Array) -> Array:
    """Return those of some rows of results that SUPPRESS keeps, in their order.

    They are walked in order of windows; those of one window in order of their groups.
    """
    template = results.template
    if template.quiet is None or template.slide is None or template.length is None:
        return rows
    examples = results.examples[rows]
    keys = events.number_groups(template.quiet_keys, examples)
    groups = [
        comparable(events.columns[name].take(examples), events.strings, ordered=True)
        for name in template.group_by
    ]
    windows = results.windows[rows]
    order = np.lexsort([*reversed(groups), windows, keys])
    ends = windows[order] * template.slide + template.length
    n_keys = int(keys.max(initial=-1)) + 1
    is_kept, _, _ = walk_in_order(
        keys[order],
        _moments(ends - min(template.quiet, LONGEST)),
        _moments(ends - 1),  # the first that is not quiet ends where the quiet time does
        _moments(np.full(n_keys, LOWEST)),
        np.zeros(n_keys, np.int64),
    )
    return np.asarray(np.sort(rows[order[is_kept]]))


def _moments(times: Array) -> Array:
    """Return times as the walk takes them, nothing being between equal ones."""
    return np.stack([times, np.zeros(times.size, np.int64)], axis=1)
