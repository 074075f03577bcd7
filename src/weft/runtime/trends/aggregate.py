"""Run the templates of trend queries on the events of a shard: sets that share in one pass, others alone."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from weft.errors import BudgetError
from weft.kernels.trends.graphlets import DYNAMIC, STATIC
from weft.kernels.trends.members import Members, SharedEvents
from weft.kernels.trends.panes import panes_of
from weft.kernels.trends.results import Room
from weft.kernels.trends.rows import largest_window
from weft.kernels.trends.shared import sum_shared_trends
from weft.kernels.trends.trends import EVERY_WINDOW, ORDERED, SCAN, SUM, Steps, sum_trends
from weft.plan.template import Automaton, Template, TrendSum
from weft.plan.trend_sets import Sharing
from weft.runtime.columns.compare import masks_of
from weft.runtime.columns.events import Array, Events
from weft.runtime.trends.maps import ROUNDED_LIMBS, TrendMaps
from weft.runtime.trends.measures import Values, variable_bits
from weft.runtime.trends.rows import Results, TrendRows, combine_results, merge_results, results_of, room_for
from weft.runtime.trends.selection import Selection
from weft.runtime.trends.shared import (
    Counters,
    SetMember,
    classify_events,
    has_steps,
    set_members,
    sharing_sets,
)

ORDERINGS = ("<", "<=", ">", ">=")
MOST_BYTES = 4 << 30  # of address space; what is not written to takes no memory
SPARE_BITS = 96  # for the number of events, for carries and for what products need in passing


def aggregate_workload(
    templates: Sequence[Template],
    events: Events,
    sharing: Sharing = "dynamic",
    chosen: Sequence[tuple[int, int]] | None = None,
    *,
    exact: bool = False,
) -> tuple[list[TrendRows], Counters]:
    """Return the aggregates of all queries, in their order, and what sharing did.

    `chosen` are, for each query, the first and the last window that are wanted; by default all are. Unless
    `exact` is asked for, numbers that no decimal holds are rounded.
    """
    windows = [EVERY_WINDOW] * len(templates) if chosen is None else chosen
    sets = [] if sharing == "none" else sharing_sets(templates)
    alone = set(range(len(templates))).difference(*sets)
    passes: list[tuple[list[int], Sharing]] = [(own, sharing) for own in sets]
    passes += [([number], "none") for number in sorted(alone)]
    rows: dict[int, TrendRows] = {}
    counters = Counters()
    for own, way in passes:
        own_rows, own_counters = aggregate_set(
            [templates[number] for number in own],
            events,
            way,
            [windows[number] for number in own],
            exact=exact,
        )
        rows |= dict(zip(own, own_rows, strict=True))
        counters += own_counters
    return [rows[number] for number in range(len(templates))], counters


def aggregate_set(
    templates: Sequence[Template],
    events: Events,
    sharing: Sharing | Literal["pairwise"] = "none",
    chosen: Sequence[tuple[int, int]] | None = None,
    *,
    exact: bool = False,
) -> tuple[list[TrendRows], Counters]:
    """Return the aggregates of templates that have the same keys and groups, and what sharing did.

    They share only where `sharing_sets` says they can. With "none" each template runs by itself; with
    "pairwise" each automaton, which looks at every pair of events, as GRETA does.
    """
    windows = [EVERY_WINDOW] * len(templates) if chosen is None else chosen
    if sharing in ("dynamic", "static"):
        together = TrendPass(templates, events, windows, exact=exact)
        return together.run_together(STATIC if sharing == "static" else DYNAMIC)
    rows = []
    for template, own in zip(templates, windows, strict=True):
        alone = TrendPass([template], events, [own], exact=exact)
        if sharing == "pairwise" or has_steps(template):
            scans_all = sharing == "pairwise"
            results = [alone.run_stepwise(member, scans_all=scans_all) for member in alone.members]
            rows += alone.rows_of(results)
        else:
            rows += alone.run_together(DYNAMIC)[0]
    return rows, Counters()


class TrendPass:
    """The events and the values of some templates, ready for the kernels."""

    def __init__(
        self,
        templates: Sequence[Template],
        events: Events,
        windows: Sequence[tuple[int, int]],
        *,
        exact: bool = False,
        gives_maps: bool = False,
    ) -> None:
        self.templates = templates
        self.exact = exact
        self.gives_maps = gives_maps
        self.windows = windows
        self.spans = [(template.length or 0, template.slide or 0) for template in templates]
        self.members = list(set_members(templates))
        self.selection = Selection(templates, events)
        self.values = Values(self.selection)
        self.measures = [self.values.measures(template) for template in templates]

    def run_shared(self, mode: int) -> tuple[list[Results], Counters]:
        """Run all members in one pass; bursts are shared graphlets. Some give maps, in place of windows."""
        selection, members = self.selection, self.members
        kinds, matched, kleene, classes = classify_events(selection, members)
        most = max(map(self._most_limbs, members))
        room = self._room(members)
        limbs, counts = sum_shared_trends(
            self._arrays(members, kleene, classes), self._events(kinds, matched), most, mode, room
        )
        results = [self._results(room, limbs, number, member) for number, member in enumerate(members)]
        return results, Counters(*map(int, counts))

    def run_together(self, mode: int) -> tuple[list[TrendRows], Counters]:
        """Return the results of all templates, those with many windows put together from panes."""
        found, counters = self.run_shared(mode)
        results = [
            self.maps(own, member).compose(self.windows[member.query]) if self._is_map(member) else own
            for own, member in zip(found, self.members, strict=True)
        ]
        return self.rows_of(results), counters

    def maps(self, found: Results, member: SetMember) -> TrendMaps:
        """Return what was found of a member as maps of panes."""
        return TrendMaps.of_results(
            found,
            member.automaton,
            self.spans[member.query],
            self.measures[member.query],
            self.values.exponents,
            self.values.bits // 32,
        )

    def _is_map(self, member: SetMember) -> bool:
        """Whether it is asked for, or less work, to know what panes do to trends, in place of windows."""
        if self.gives_maps:
            return True
        length, slide = self.spans[member.query]
        if self.exact or not slide or has_steps(self.templates[member.query]):
            return False
        return -(-length // slide) > len(member.automaton.sources)

    def run_stepwise(self, member: SetMember, *, scans_all: bool) -> Results:
        """Run one member, window by window, with conditions between neighbors."""
        automaton, measures = member.automaton, self.measures[member.query]
        n_events = self._largest_window(member)
        most = self._most_limbs(member)
        _check_memory(self.templates[member.query], automaton, n_events, 4 * most * (1 + len(measures.lanes)))
        room = self._room([member])
        none = np.empty((0, 1), np.int64)  # Kleene types: nothing is shared
        arrays = self._arrays([member], none, none)
        given = self._events(none[:, 0], np.empty(0, np.uint64))
        limbs = sum_trends(arrays, given, self._steps(automaton), most, scans_all, room)
        return self._results(room, limbs, 0, member)

    def rows_of(self, results: Sequence[Results]) -> list[TrendRows]:
        """Put the results of members together to those of templates."""
        rows = []
        for query, (template, measures) in enumerate(zip(self.templates, self.measures, strict=True)):
            alternatives: list[list[Results]] = [[] for _ in template.alternatives]
            for member, own in zip(self.members, results, strict=True):
                if member.query == query:
                    alternatives[member.alternative].append(own)
            most = 0 if self.exact else self._rounded_limbs
            whole = [combine_results(parts, 1 + len(measures.lanes), most) for parts in alternatives]
            groups, examples = self.selection.groups, self.selection.examples
            exponents = self.values.exponents
            rows.append(merge_results(template, measures, exponents, groups, examples, whole, most))
        return rows

    @property
    def _rounded_limbs(self) -> int:
        return ROUNDED_LIMBS + self.values.bits // 32

    def _most_limbs(self, member: SetMember) -> int:
        """Return up to how many limbs numbers are exact."""
        most = limbs_for(self._largest_window(member), member.automaton, self.values.bits)
        return most if self.exact else min(most, self._rounded_limbs)

    def _largest_window(self, member: SetMember) -> int:
        return int(largest_window(self.selection.times, self.selection.starts, *self.spans[member.query]))

    def _room(self, members: Sequence[SetMember]) -> Room:
        measures = [self.measures[member.query] for member in members]
        return room_for(
            sum(map(self._n_results, members)),
            1 + max(len(own.lanes) for own in measures),
            max(len(own.extremes) for own in measures),
        )

    def _n_results(self, member: SetMember) -> int:
        """Return how many results a member has at most: of windows, or of every two sources in each pane."""
        if self._is_map(member):
            return self.selection.n_panes(*self.spans[member.query]) * len(member.automaton.sources) ** 2
        return self.selection.n_windows(*self.spans[member.query])

    def _results(self, room: Room, limbs: Array, number: int, member: SetMember) -> Results:
        measures = self.measures[member.query]
        return results_of(room, limbs, number, 1 + len(measures.lanes), len(measures.extremes))

    def _events(self, kinds: Array, matched: Array) -> SharedEvents:
        values, value_lengths = self.values.limbs()
        extremes, extreme_valid = self.values.smallest()
        return SharedEvents(
            times=self.selection.times,
            ranks=self.selection.ranks,
            takes=self.selection.takes,
            starts=self.selection.starts,
            kinds=kinds,
            matched=matched,
            values=values,
            value_lengths=value_lengths,
            extremes=extremes,
            extreme_valid=extreme_valid,
        )

    def _steps(self, automaton: Automaton) -> Steps:
        sources = automaton.sources
        steps = [step for source in sources for step in source.steps]
        return Steps(
            np.array([_kind(source) for source in sources], np.int64),
            np.cumsum([0, *(len(source.steps) for source in sources)]),
            masks_of(step.operator for step in steps),
            *self.selection.sides_of(steps),
        )

    def _range(self, member: SetMember) -> tuple[int, int]:
        """Return the first and the last window of a member that is looked at, or pane."""
        first, last = self.windows[member.query]
        if not self._is_map(member) or (first, last) == EVERY_WINDOW:
            return first, last
        span = self.spans[member.query]
        return panes_of(first, *span)[0], panes_of(last, *span)[1] - 1

    def _arrays(self, members: Sequence[SetMember], kleene: Array, classes: Array) -> Members:
        measures = [self.measures[member.query] for member in members]
        lengths, slides = np.array([self.spans[member.query] for member in members], np.int64).T.copy()
        firsts, lasts = np.array([self._range(member) for member in members], np.int64).T.copy()
        pairs = [(own, member.automaton) for own, member in zip(measures, members, strict=True)]
        automata = [member.automaton for member in members]
        positions = [position for automaton in automata for position in automaton.positions]
        feeds = [feed for position in positions for feed in position.feeds]
        sources = [source for automaton in automata for source in automaton.sources]
        ends = [end for automaton in automata for end in automaton.ends]

        def starts(size_of: Callable[[Automaton], int]) -> Array:
            return np.cumsum([0, *map(size_of, automata)])

        return Members(
            queries=np.array([member.query for member in members], np.int64),
            lengths=lengths,
            slides=slides,
            first_windows=firsts,
            last_windows=lasts,
            maps=np.array([self._is_map(member) for member in members], np.bool_),
            position_starts=starts(lambda automaton: len(automaton.positions)),
            items=np.array([position.item for position in positions], np.int64),
            feed_starts=np.cumsum([0, *(len(position.feeds) for position in positions)]),
            feed_sources=np.array([feed.source for feed in feeds], np.int64),
            feed_ways=np.array([feed.ways for feed in feeds], np.int64),
            source_starts=starts(lambda automaton: len(automaton.sources)),
            owners=np.array([source.position for source in sources], np.int64),
            negated=np.array([_bits(source.negated) for source in sources], np.uint64),
            end_starts=starts(lambda automaton: len(automaton.ends)),
            end_sources=np.array([end.source for end in ends], np.int64),
            end_ways=np.array([end.ways for end in ends], np.int64),
            undone_by=np.array([_bits(automaton.undone_by) for automaton in automata], np.uint64),
            lane_columns=_pad_rows([self.values.lane_columns(own) for own in measures], -1, np.int64),
            lane_positions=_pad_rows(
                [variable_bits(own.lanes, automaton) for own, automaton in pairs], 0, np.uint64
            ),
            extreme_columns=_pad_rows([self.values.extreme_columns(own) for own in measures], -1, np.int64),
            extreme_positions=_pad_rows(
                [variable_bits(own.extremes, automaton) for own, automaton in pairs], 0, np.uint64
            ),
            kleene=kleene,
            classes=classes,
        )


def _pad_rows(rows: Sequence[Sequence[int]], filler: int, dtype: type) -> Array:
    width = max(map(len, rows))
    return np.array([[*row, *[filler] * (width - len(row))] for row in rows], dtype).reshape(len(rows), width)


def _bits(items: Sequence[int]) -> int:
    return sum(1 << item for item in items)


def _kind(source: TrendSum) -> int:
    if not source.steps:
        return SUM
    is_ordered = len(source.steps) == 1 and source.steps[0].operator in ORDERINGS and not source.negated
    return ORDERED if is_ordered else SCAN


def _check_memory(template: Template, automaton: Automaton, n_events: int, row_bytes: int) -> None:
    """Raise when a window whose events have to be kept one by one, for their steps, is too large."""
    n_kept = n_events * 2 * sum(1 for source in automaton.sources if source.steps)
    if n_kept * row_bytes > MOST_BYTES:
        raise BudgetError(
            f"a window of {n_events:,} events with a condition between neighbors "
            f"may need {n_kept * row_bytes / 1e9:,.0f} GB for exact numbers, more than "
            f"{MOST_BYTES / 1e9:,.0f} GB\n"
            f"  hint: shorten WITHIN, or divide the events with GROUP BY or [a]",
            (template.query,),
        )


def limbs_for(n_events: int, automaton: Automaton, value_bits: int) -> int:
    """Return how many limbs the largest number can need in a window of so many events.

    An event adds to the trends so far at most as many as there are ways in which it extends them.
    """
    ways: dict[int, int] = {}
    for position in automaton.positions:
        ways[position.item] = ways.get(position.item, 0) + max(feed.ways for feed in position.feeds)
    growth = max(ways.values(), default=1).bit_length()  # 1 + ways is at most a power of two above
    ends = sum(feed.ways for feed in automaton.ends)
    return (n_events * growth + value_bits + ends.bit_length() + SPARE_BITS) // 32 + 2
