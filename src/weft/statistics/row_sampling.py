"""A sample of the rows of a step, with those that can play each role."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from weft.runtime.columns.events import Events
from weft.statistics.model import ItemKey
from weft.statistics.recent_events import RecentSample, excerpt
from weft.statistics.sampling import ANY, NO_ROWS, WeightedRows, resample, rows_of_item, spread_places

TAIL, TAIL_WINDOWS = 16_384, 4  # rows and windows at the end of a large batch that are looked at


def sample_rows(
    events: Events,
    first_row: int,
    reach: int,
    most: int,
    items_of: Mapping[str, Sequence[ItemKey]],
    roles_of: Mapping[ItemKey, int],
    columns: Collection[str],
    dice: np.random.Generator,
) -> tuple[RecentSample, dict[ItemKey, tuple[int, int]]]:
    """Return at most so many rows of each type from the first that counts, with those of each role.

    Of each item of a type, return how many rows were looked at, and how many of them it has.
    """
    tail = int(np.searchsorted(events.times, events.times[-1] - TAIL_WINDOWS * reach, side="left"))
    tail = max(min(tail, events.n_events - TAIL), first_row)
    chosen, weights = {}, {}
    for name in items_of:
        rows = events.rows_of_type(name)
        first, latest = np.searchsorted(rows, [first_row, tail])
        rows = rows[max(first, min(latest, rows.size - most)) :]
        chosen[name] = rows[spread_places(rows.size, most, dice)]
        weights[name] = rows.size / max(chosen[name].size, 1)
    used = np.unique(np.concatenate([np.empty(0, np.int64), *chosen.values()]))
    sample = excerpt(events, used, columns)
    roles, looked = [NO_ROWS] * len(roles_of), {}
    for name, items in items_of.items():
        own = np.searchsorted(used, chosen[name])
        for item in items:
            rows = rows_of_item(item, own, sample)
            if own.size:
                looked[item] = own.size, rows.size
            if item in roles_of:
                roles[roles_of[item]] = WeightedRows(rows, np.full(rows.size, weights[name]))
    if ANY in roles_of:
        amounts = np.zeros(used.size)
        for name in items_of:
            amounts[np.searchsorted(used, chosen[name])] = weights[name]
        every = WeightedRows(np.arange(used.size), amounts)
        roles[roles_of[ANY]] = resample(every, np.zeros(used.size, np.int64), most, dice)
    return RecentSample(sample, roles, np.ones(used.size, np.bool_)), looked
