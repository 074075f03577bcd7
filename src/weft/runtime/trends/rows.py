"""Results of trend queries as the kernels leave them: put together from partitions and alternatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from weft.kernels.trends.naturals import sum_runs
from weft.kernels.trends.rows import Room
from weft.plan.template import Template
from weft.runtime.columns.events import Array
from weft.runtime.matches.table import offsets_of, ranges
from weft.runtime.trends.measures import Measures
from weft.runtime.trends.selection import Selection

LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Results:
    """What a kernel found: a result for each partition and window with trends.

    Number n of result r is limbs[offsets[r * width + n]:offsets[r * width + n + 1]].
    """

    partitions: Array
    windows: Array
    offsets: Array
    limbs: Array
    best: Array
    has: Array


def room_for(n_results: int, width: int, n_extremes: int) -> Room:
    """Return room for so many results of rows of so many numbers and extremes."""
    return Room(
        members=np.empty(n_results, np.int64),
        partitions=np.empty(n_results, np.int64),
        windows=np.empty(n_results, np.int64),
        offsets=np.zeros(n_results * width + 1, np.int64),
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
    return Results(
        partitions=room.partitions[chosen],
        windows=room.windows[chosen],
        offsets=offsets_of(sizes),
        limbs=limbs[ranges(room.offsets[numbers], sizes)],
        best=room.best[chosen][:, :n_extremes],
        has=room.has[chosen][:, :n_extremes],
    )


@dataclass(frozen=True)
class TrendRows:
    """What one query found: a row for each window and group with trends.

    `windows` are window numbers; `examples` is an event of each group. Number n of row r, the count or a
    lane, is limbs[offsets[r * width + n]:offsets[r * width + n + 1]], where width is 1 + the lanes.
    Extremes are what `comparable` makes of the values, its complement where the largest is wanted.
    """

    template: Template
    measures: Measures
    exponents: dict[str, int]
    windows: Array
    examples: Array
    offsets: Array
    limbs: Array
    best: Array
    has: Array

    @property
    def n_rows(self) -> int:
        return int(self.windows.size)

    @property
    def width(self) -> int:
        return 1 + len(self.measures.lanes)

    def numbers(self, place: int) -> list[int]:
        """Return the count (place 0) or a lane of all rows."""
        return [number_at(self.limbs, self.offsets, row * self.width + place) for row in range(self.n_rows)]


def number_at(limbs: Array, offsets: Array, number: int) -> int:
    """Return a natural of any size."""
    content = limbs[offsets[number] : offsets[number + 1]]
    return int.from_bytes(content.astype("<u4").tobytes(), "little")


def combine_results(parts: Sequence[Results], width: int) -> Results:
    """Return the results of AND: every trend of one part with every trend of each other part."""
    if len(parts) == 1:
        return parts[0]
    rows = [
        {(int(p), int(w)): row for row, (p, w) in enumerate(zip(part.partitions, part.windows, strict=True))}
        for part in parts
    ]
    common = sorted(set(rows[0]).intersection(*rows[1:]))
    numbers: list[int] = []
    best = np.full((len(common), parts[0].best.shape[1]), LARGEST)
    has = np.zeros(best.shape, np.bool_)
    for place, key in enumerate(common):
        own_rows = [own[key] for own in rows]
        own = [
            [number_at(part.limbs, part.offsets, row * width + number) for number in range(width)]
            for part, row in zip(parts, own_rows, strict=True)
        ]
        count = prod(count for count, *_ in own)
        numbers.append(count)
        numbers += [sum(part[lane] * (count // part[0]) for part in own) for lane in range(1, width)]
        for part, row in zip(parts, own_rows, strict=True):
            best[place] = np.minimum(best[place], np.where(part.has[row], part.best[row], LARGEST))
            has[place] |= part.has[row]
    content = [
        np.frombuffer(number.to_bytes(-(-number.bit_length() // 32) * 4, "little"), "<u4")
        for number in numbers
    ]
    return Results(
        partitions=np.array([partition for partition, _ in common], np.int64),
        windows=np.array([window for _, window in common], np.int64),
        offsets=np.cumsum([0, *(limbs.size for limbs in content)]),
        limbs=np.concatenate([np.empty(0, np.uint32), *content]).astype(np.uint32),
        best=best,
        has=has,
    )


def merge_results(
    template: Template,
    measures: Measures,
    exponents: dict[str, int],
    selection: Selection,
    parts: Sequence[Results],
) -> TrendRows:
    """Add up the results of partitions that belong to one group, and those of alternatives."""
    width = 1 + len(measures.lanes)
    partitions = np.concatenate([part.partitions for part in parts])
    windows = np.concatenate([part.windows for part in parts])
    ends = np.cumsum([0, *(part.limbs.size for part in parts)])
    offsets = [part.offsets[1:] + start for part, start in zip(parts, ends, strict=False)]
    groups = selection.groups[partitions]
    order = np.lexsort((windows, groups))
    is_first = np.ones(order.size, np.bool_)
    is_first[1:] = (np.diff(groups[order]) != 0) | (np.diff(windows[order]) != 0)
    runs = np.append(np.flatnonzero(is_first), order.size)
    chosen = order[runs[:-1]]
    new_offsets, limbs = _sum_rows(
        np.concatenate([part.limbs for part in parts]),
        np.concatenate([[0], *offsets]).astype(np.int64),
        order,
        runs,
        width,
    )
    has = np.concatenate([part.has for part in parts])[order]
    best = np.where(has, np.concatenate([part.best for part in parts])[order], LARGEST)
    if chosen.size:
        best = np.minimum.reduceat(best, runs[:-1], axis=0)
        has = np.logical_or.reduceat(has, runs[:-1], axis=0)
    return TrendRows(
        template,
        measures,
        exponents,
        windows=windows[chosen],
        examples=selection.examples[partitions[chosen]],
        offsets=new_offsets,
        limbs=limbs,
        best=best,
        has=has,
    )


def _sum_rows(limbs: Array, offsets: Array, order: Array, runs: Array, width: int) -> tuple[Array, Array]:
    """Add up rows of `width` numbers, run by run; return the offsets and limbs of the sums."""
    lanes = [sum_runs(limbs, offsets, order * width + lane, runs) for lane in range(width)]
    sizes = np.stack([np.diff(own) for _, own in lanes], axis=1).reshape(-1)
    new_offsets = offsets_of(sizes)
    content = np.empty(int(new_offsets[-1]), np.uint32)
    for lane, (sums, own) in enumerate(lanes):
        content[ranges(new_offsets[lane:-1:width], np.diff(own))] = sums
    return new_offsets, content
