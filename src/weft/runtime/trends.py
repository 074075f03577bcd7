"""Run the templates of trend queries on the events of a shard: aggregates by window and group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.kernels.naturals import sum_runs
from weft.kernels.trends import ORDERED, SCAN, SUM, Machine, Results, Taken, largest_window, sum_trends
from weft.plan.template import Automaton, Item, Source, Step, Template
from weft.runtime.columns import Array, Column, Events, comparable
from weft.runtime.compare import MASKS
from weft.runtime.evaluate import Scope, evaluate, holds_everywhere
from weft.runtime.table import Table
from weft.runtime.trend_values import Naturals, counted, parts_of, usable

ORDERINGS = ("<", "<=", ">", ">=")
SPARE_BITS = 96  # for the number of events, and carries


@dataclass(frozen=True, slots=True)
class Lane:
    """A sum that is carried along: of ones, of ones where an attribute is not NULL, or of one of its parts."""

    variable: str
    name: str | None
    part: str  # "one", "valid", "positive" or "negative"


@dataclass(frozen=True, slots=True)
class Extreme:
    """A smallest or largest value that is carried along."""

    variable: str
    name: str
    is_largest: bool


@dataclass(frozen=True)
class TrendRows:
    """What one query found: a row for each window and group with trends.

    `windows` are window numbers; `examples` is an event of each group. Number n of row r, the count or a
    lane, is limbs[offsets[r * width + n]:offsets[r * width + n + 1]], where width is 1 + the lanes.
    Extremes are what `comparable` makes of the values.
    """

    template: Template
    lanes: tuple[Lane, ...]
    extremes: tuple[Extreme, ...]
    exponents: Mapping[tuple[str, str], int]
    windows: Array
    examples: Array
    offsets: Array
    limbs: Array
    best: Array
    has: Array

    @property
    def n_rows(self) -> int:
        return int(self.windows.size)

    def number(self, row: int, place: int) -> int:
        """Return the count (place 0) or a lane of a row."""
        first = row * (1 + len(self.lanes)) + place
        content = self.limbs[self.offsets[first] : self.offsets[first + 1]]
        return int.from_bytes(content.astype("<u4").tobytes(), "little")


class Selection:
    """The events that a template takes or negates, in order of partition, and what it needs of them."""

    def __init__(self, template: Template, events: Events) -> None:
        self.template = template
        self.events = events
        takes = np.zeros(events.n_events, np.uint64)
        for number, item in enumerate(template.items):
            takes[rows_of_item(item, events)] |= np.uint64(1 << number)
        rows = np.flatnonzero(takes)
        for key in template.keys:
            rows = rows[events.columns[key].validity[rows]]
        partitions = partition_numbers(template.keys, events, rows)
        order = np.argsort(partitions, kind="stable")
        self.rows = rows[order]
        self.takes = takes[self.rows]
        sizes = np.bincount(partitions) if rows.size else np.empty(0, np.int64)
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def table(self) -> Table:
        return Table((self.rows, self.rows), self.rows, self.rows)

    def column(self, name: str) -> Column:
        return self.events.columns[name].take(self.rows)

    def keys_of(self, steps: Sequence[Step]) -> tuple[Array, Array, Array, Array]:
        """Return the two sides of each step for every event, and where they are not NULL."""
        n_rows = self.rows.size
        values = np.zeros((2, len(steps), n_rows), np.int64)
        valid = np.ones((2, len(steps), n_rows), np.bool_)
        for number, step in enumerate(steps):
            for side, expression in enumerate((step.left, step.right)):
                column = evaluate(expression, Scope(self.events, self.table))
                values[side, number] = comparable(column, self.events.strings, ordered=True)
                valid[side, number] = column.validity
        return values[0], valid[0], values[1], valid[1]


def rows_of_item(item: Item, events: Events) -> Array:
    """Return the rows of the events that an item stands for."""
    rows = events.rows_of_type(item.type)
    for predicate in item.predicates:
        rows = rows[holds_everywhere(predicate, events, Table((rows,), rows, rows))]
    return rows


def partition_numbers(keys: Sequence[str], events: Events, rows: Array) -> Array:
    """Number the distinct combinations of keys among the rows, from zero."""
    numbers = np.zeros(rows.size, np.int64)
    for key in keys:
        values = comparable(events.columns[key].take(rows), events.strings)
        codes = np.unique(values, return_inverse=True)[1]
        numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)[1]
    return np.asarray(numbers)


class Measures:
    """The lanes and extremes that the columns of a template need, with their values."""

    def __init__(self, selection: Selection) -> None:
        self.lanes: list[Lane] = []
        self.extremes: list[Extreme] = []
        self.exponents: dict[tuple[str, str], int] = {}
        self.columns: list[Naturals] = []
        for column in selection.template.columns:
            variable, name = column.variable, column.name
            if column.function is None or variable is None:
                continue
            if name is None:
                self._add(Lane(variable, None, "one"), counted(np.ones(selection.rows.size, np.bool_)))
                continue
            values = selection.column(name)
            if column.function in ("min", "max"):
                extreme = Extreme(variable, name, column.function == "max")
                if extreme not in self.extremes:
                    self.extremes.append(extreme)
                continue
            self._add(Lane(variable, name, "valid"), counted(_counts(column.function, values)))
            if column.function in ("sum", "avg") and Lane(variable, name, "positive") not in self.lanes:
                parts = parts_of(values)
                self.exponents[variable, name] = parts.exponent
                self._add(Lane(variable, name, "positive"), parts.positive)
                if parts.negative is not None:
                    self._add(Lane(variable, name, "negative"), parts.negative)
        self.selection = selection

    def _add(self, lane: Lane, values: Naturals) -> None:
        if lane not in self.lanes:
            self.lanes.append(lane)
            self.columns.append(values)

    @property
    def value_bits(self) -> int:
        return 32 * max((values.limbs.shape[1] for values in self.columns), default=0)

    def taken(self, automaton: Automaton) -> tuple[Taken, Array]:
        """Return the events as the kernels want them, and the number of each source's first step."""
        selection = self.selection
        events, rows = selection.events, selection.rows
        steps = [step for source in automaton.sources for step in source.steps]
        lefts, left_valid, rights, right_valid = selection.keys_of(steps)
        width = max((values.limbs.shape[1] for values in self.columns), default=1)
        limbs = np.zeros((len(self.columns), rows.size, width), np.uint32)
        lengths = np.zeros((len(self.columns), rows.size), np.int64)
        for number, values in enumerate(self.columns):
            limbs[number, :, : values.limbs.shape[1]] = values.limbs
            lengths[number] = values.lengths
        extremes = np.zeros((len(self.extremes), rows.size), np.int64)
        extreme_valid = np.zeros((len(self.extremes), rows.size), np.bool_)
        for number, extreme in enumerate(self.extremes):
            column = selection.column(extreme.name)
            keys = comparable(column, events.strings, ordered=True)
            extremes[number] = ~keys if extreme.is_largest else keys
            extreme_valid[number] = column.validity
        starts = np.cumsum([0, *(len(source.steps) for source in automaton.sources)])
        taken = Taken(
            times=events.times[rows],
            ranks=events.ranks[rows],
            takes=selection.takes,
            starts=selection.starts,
            lefts=lefts,
            left_valid=left_valid,
            rights=rights,
            right_valid=right_valid,
            values=limbs,
            value_lengths=lengths,
            lane_columns=np.arange(len(self.lanes)),
            lane_positions=np.array(
                [positions_of(lane.variable, automaton) for lane in self.lanes], np.uint64
            ),
            extremes=extremes,
            extreme_valid=extreme_valid,
            extreme_positions=np.array(
                [positions_of(extreme.variable, automaton) for extreme in self.extremes], np.uint64
            ),
        )
        return taken, starts


def _counts(function: str, column: Column) -> Array:
    return column.validity if function == "count" else usable(column)


def positions_of(variable: str, automaton: Automaton) -> int:
    """Return the positions at which a variable is bound, as bits."""
    return sum(1 << place for place, one in enumerate(automaton.positions) if one.variable == variable)


def machine_of(automaton: Automaton, step_starts: Array) -> Machine:
    """Return an automaton as arrays."""
    feeds = [position.feeds for position in automaton.positions]
    flat = [feed for own in feeds for feed in own]
    masks = [MASKS[step.operator] for source in automaton.sources for step in source.steps]
    return Machine(
        items=np.array([position.item for position in automaton.positions], np.int64),
        feed_starts=np.cumsum([0, *map(len, feeds)]),
        feed_sources=np.array([feed.source for feed in flat], np.int64),
        feed_ways=np.array([feed.ways for feed in flat], np.int64),
        owners=np.array([source.position for source in automaton.sources], np.int64),
        negated=np.array([sum(1 << item for item in source.negated) for source in automaton.sources], np.uint64),
        kinds=np.array([_kind(source) for source in automaton.sources], np.int64),
        step_starts=step_starts,
        step_masks=np.array(masks, np.int64),
        end_sources=np.array([feed.source for feed in automaton.ends], np.int64),
        end_ways=np.array([feed.ways for feed in automaton.ends], np.int64),
    )


def _kind(source: Source) -> int:
    if not source.steps:
        return SUM
    is_ordered = len(source.steps) == 1 and source.steps[0].operator in ORDERINGS and not source.negated
    return ORDERED if is_ordered else SCAN


def limbs_for(n_events: int, automaton: Automaton, value_bits: int) -> int:
    """Return how many limbs the largest number can need in a window of so many events.

    An event at most adds to all trends so far as many as there are ways for it to extend them.
    """
    ways: dict[int, int] = {}
    for position in automaton.positions:
        most = max((feed.ways for feed in position.feeds), default=1)
        ways[position.item] = ways.get(position.item, 0) + most
    growth = (1 + max(ways.values(), default=1)).bit_length()
    if max(ways.values(), default=1) == 1:
        growth = 1  # doubling is the most
    ends = max((feed.ways for feed in automaton.ends), default=1)
    bits = n_events * growth + value_bits + SPARE_BITS + ends.bit_length()
    return bits // 32 + 2


def aggregate_trends(template: Template, events: Events, *, scans_all: bool = False) -> TrendRows:
    """Return the aggregates of one query, which shares nothing with others."""
    selection = Selection(template, events)
    measures = Measures(selection)
    width = 1 + len(measures.lanes)
    found = [
        _alternative(automata, selection, measures, scans_all=scans_all)
        for automata in template.alternatives
    ]
    return merged_rows(selection, measures, found, width)


def _alternative(
    automata: Sequence[Automaton], selection: Selection, measures: Measures, *, scans_all: bool
) -> Results:
    parts = [_results(automaton, selection, measures, scans_all=scans_all) for automaton in automata]
    return parts[0] if len(parts) == 1 else combined(automata, parts, measures)


def _results(
    automaton: Automaton, selection: Selection, measures: Measures, *, scans_all: bool
) -> Results:
    taken, step_starts = measures.taken(automaton)
    template = selection.template
    length, slide = template.length or 0, template.slide or 0
    n_events = largest_window(taken.times, taken.starts, length, slide)
    return sum_trends(
        machine_of(automaton, step_starts),
        taken,
        length,
        slide,
        limbs_for(n_events, automaton, measures.value_bits),
        scans_all,
    )


def combined(automata: Sequence[Automaton], parts: Sequence[Results], measures: Measures) -> Results:
    """Return the results of AND: every trend of one part with every trend of each other part."""
    width = 1 + len(measures.lanes)
    rows = [
        {(int(p), int(w)): row for row, (p, w) in enumerate(zip(part.partitions, part.windows, strict=True))}
        for part in parts
    ]
    common = sorted(set(rows[0]).intersection(*rows[1:]))
    numbers: list[int] = []
    best = np.zeros((len(common), len(measures.extremes)), np.int64)
    has = np.zeros((len(common), len(measures.extremes)), np.bool_)
    for place, key in enumerate(common):
        own = [_numbers(part, rows[number][key], width) for number, part in enumerate(parts)]
        count = 1
        for one in own:
            count *= one[0]
        numbers.append(count)
        numbers += [sum(one[lane] * (count // one[0]) for one in own) for lane in range(1, width)]
        for number, part in enumerate(parts):
            row = rows[number][key]
            for extreme in np.flatnonzero(part.has[row]):
                value = part.best[row, extreme]
                if not has[place, extreme] or value < best[place, extreme]:
                    best[place, extreme], has[place, extreme] = value, True
    content = [np.frombuffer(one.to_bytes(-(-one.bit_length() // 32) * 4, "little"), "<u4") for one in numbers]
    return Results(
        partitions=np.array([partition for partition, _ in common], np.int64),
        windows=np.array([window for _, window in common], np.int64),
        offsets=np.cumsum([0, *(limbs.size for limbs in content)]),
        limbs=np.concatenate([np.empty(0, np.uint32), *content]).astype(np.uint32),
        best=best,
        has=has,
    )


def _numbers(results: Results, row: int, width: int) -> list[int]:
    bounds = results.offsets[row * width : (row + 1) * width + 1]
    return [
        int.from_bytes(results.limbs[start:stop].astype("<u4").tobytes(), "little")
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def merged_rows(
    selection: Selection, measures: Measures, found: Sequence[Results], width: int
) -> TrendRows:
    """Add up the results of partitions that belong to one group, and of alternatives."""
    template, events = selection.template, selection.events
    firsts = selection.rows[selection.starts[:-1]] if selection.starts.size > 1 else np.empty(0, np.int64)
    groups = partition_numbers(template.group_by, events, firsts)
    partitions = np.concatenate([one.partitions for one in found])
    windows = np.concatenate([one.windows for one in found])
    best = np.concatenate([one.best for one in found])
    has = np.concatenate([one.has for one in found])
    limbs = np.concatenate([one.limbs for one in found])
    ends = np.cumsum([0, *(one.limbs.size for one in found)])
    offsets = np.concatenate(
        [[0], *(one.offsets[1:] + start for one, start in zip(found, ends, strict=False))]
    ).astype(np.int64)
    own_groups = groups[partitions]
    order = np.lexsort((windows, own_groups))
    changes = np.ones(order.size, np.bool_)
    changes[1:] = (np.diff(own_groups[order]) != 0) | (np.diff(windows[order]) != 0)
    runs = np.append(np.flatnonzero(changes), order.size)
    n_rows = runs.size - 1
    lanes = [sum_runs(limbs, offsets, order * width + lane, runs) for lane in range(width)]
    sizes = np.stack([np.diff(own) for _, own in lanes], axis=1).reshape(-1)
    merged_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    content = np.empty(int(merged_offsets[-1]), np.uint32)
    for lane, (sums, own) in enumerate(lanes):
        starts = merged_offsets[lane:-1:width] if n_rows else np.empty(0, np.int64)
        places = np.repeat(starts - own[:-1], np.diff(own)) + np.arange(sums.size)
        content[places] = sums
    lowest = np.where(has, best, np.iinfo(np.int64).max)[order]
    is_there = has[order]
    if n_rows:
        lowest = np.minimum.reduceat(lowest, runs[:-1], axis=0)
        is_there = np.logical_or.reduceat(is_there, runs[:-1], axis=0)
    chosen = order[runs[:-1]]
    return TrendRows(
        template=template,
        lanes=tuple(measures.lanes),
        extremes=tuple(measures.extremes),
        exponents=measures.exponents,
        windows=windows[chosen],
        examples=firsts[partitions[chosen]],
        offsets=merged_offsets,
        limbs=content,
        best=lowest,
        has=is_there,
    )
