"""Results of trend queries as the kernels leave them: put together from partitions and alternatives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from weft.kernels.trends.results import Kept, Room, multiply_results, sum_results
from weft.plan.template import Template
from weft.runtime.columns.events import Array
from weft.runtime.matches.table import offsets_of, ranges
from weft.runtime.trends.measures import Measures
from weft.runtime.trends.numbers import Rounded, number_at

LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Results:
    """What a kernel found: a result for each partition and window with trends, so many numbers each."""

    partitions: Array
    windows: Array
    kept: Kept
    best: Array
    has: Array


def room_for(n_results: int, width: int, n_extremes: int) -> Room:
    """Return room for so many results of rows of so many numbers and extremes."""
    return Room(
        members=np.empty(n_results, np.int64),
        partitions=np.empty(n_results, np.int64),
        windows=np.empty(n_results, np.int64),
        offsets=np.zeros(n_results * width + 1, np.int64),
        mantissas=np.empty(n_results * width, np.float64),
        exponents=np.empty(n_results * width, np.int64),
        best=np.empty((n_results, n_extremes), np.int64),
        has=np.empty((n_results, n_extremes), np.bool_),
        size=np.zeros(1, np.int64),
    )


def results_of(room: Room, limbs: Array, member: int, width: int, n_extremes: int) -> Results:
    """Return the results of one member, without the lanes and extremes that only others have."""
    chosen = np.flatnonzero(room.members[: room.size[0]] == member)
    all_width = (room.offsets.size - 1) // max(room.members.size, 1)
    numbers = (chosen[:, None] * all_width + np.arange(width)).reshape(-1)
    sizes = room.offsets[numbers + 1] - room.offsets[numbers]
    kept = Kept(
        offsets_of(sizes),
        limbs[ranges(room.offsets[numbers], sizes)],
        room.mantissas[numbers],
        room.exponents[numbers],
    )
    return Results(
        partitions=room.partitions[chosen],
        windows=room.windows[chosen],
        kept=kept,
        best=room.best[chosen][:, :n_extremes],
        has=room.has[chosen][:, :n_extremes],
    )


@dataclass(frozen=True)
class TrendRows:
    """What one query found: a row for each window and group with trends.

    `windows` are window numbers; `examples` is an event of each group. The numbers of row r are those from
    r * width on: the count and the lanes, where width is 1 + the lanes.
    Extremes are what `comparable` makes of the values, its complement where the largest is wanted.
    """

    template: Template
    measures: Measures
    exponents: Mapping[str, int]
    windows: Array
    examples: Array
    kept: Kept
    best: Array
    has: Array
    distinct: dict[str, Array] = field(default_factory=dict)  # of an attribute, once it is asked for

    @property
    def n_rows(self) -> int:
        return int(self.windows.size)

    @property
    def width(self) -> int:
        return 1 + len(self.measures.lanes)

    def numbers(self, place: int) -> list[int | Rounded]:
        """Return the count (place 0) or a lane of all rows."""
        return [number_at(self.kept, row * self.width + place) for row in range(self.n_rows)]


def combine_results(parts: Sequence[Results], width: int, most: int) -> Results:
    """Return the results of AND: every trend of one part with every trend of each other part."""
    whole, *others = parts
    for part in others:
        whole = _combine_two(whole, part, width, most)
    return whole


def _combine_two(left: Results, right: Results, width: int, most: int) -> Results:
    keys = [np.stack([part.partitions, part.windows], axis=1) for part in (left, right)]
    _, numbers = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
    left_keys, right_keys = np.split(numbers.reshape(-1), [left.windows.size])
    _, left_rows, right_rows = np.intersect1d(left_keys, right_keys, return_indices=True)
    has = np.stack([left.has[left_rows], right.has[right_rows]])
    best = np.where(has, np.stack([left.best[left_rows], right.best[right_rows]]), LARGEST)
    return Results(
        partitions=left.partitions[left_rows],
        windows=left.windows[left_rows],
        kept=multiply_results(left.kept, left_rows, right.kept, right_rows, width, most),
        best=best.min(axis=0),
        has=np.logical_or(*has),
    )


def merge_results(
    template: Template,
    measures: Measures,
    exponents: Mapping[str, int],
    groups: Array,
    examples: Array,
    parts: Sequence[Results],
    most: int,
) -> TrendRows:
    """Add up the results of partitions that belong to one group, and those of alternatives.

    `groups` numbers the group of each partition, and `examples` has an event of it.
    """
    partitions = np.concatenate([part.partitions for part in parts])
    windows = np.concatenate([part.windows for part in parts])
    own_groups = groups[partitions]
    order = np.lexsort((windows, own_groups))
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (np.diff(own_groups[order]) != 0) | (np.diff(windows[order]) != 0)
    runs = np.append(np.flatnonzero(is_first), order.size)
    chosen = order[runs[:-1]]
    has = np.concatenate([part.has for part in parts])[order]
    best = np.where(has, np.concatenate([part.best for part in parts])[order], LARGEST)
    if chosen.size:
        best = np.minimum.reduceat(best, runs[:-1], axis=0)
        has = np.logical_or.reduceat(has, runs[:-1], axis=0)
    kept = chain([part.kept for part in parts])
    return TrendRows(
        template,
        measures,
        exponents,
        windows=windows[chosen],
        examples=examples[partitions[chosen]],
        kept=sum_results(kept, 1 + len(measures.lanes), order, runs, most),
        best=best,
        has=has,
    )


def chain(parts: Sequence[Kept]) -> Kept:
    """Return the numbers of all parts, one part after the other."""
    ends = np.cumsum([0, *(part.limbs.size for part in parts)])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, ends, strict=False)]
    return Kept(
        np.concatenate([[0], *offsets]).astype(np.int64),
        np.concatenate([part.limbs for part in parts]),
        np.concatenate([part.mantissas for part in parts]),
        np.concatenate([part.exponents for part in parts]),
    )
