"""Run trend queries of a workload on the events of a shard, those that may share in one pass."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from math import gcd

import numpy as np

from weft.codec import stored
from weft.kernels.trends.graphlets import DYNAMIC, STATIC
from weft.kernels.trends.members import Members, SharedEvents
from weft.kernels.trends.rows import largest_window
from weft.kernels.trends.shared import sum_shared_trends
from weft.kernels.trends.trends import EVERY_WINDOW
from weft.plan.template import Automaton, Template, TrendItem
from weft.plan.trend_sets import Sharing, sharable_sets
from weft.runtime.columns.events import Array, Events
from weft.runtime.trends.aggregate import aggregate_trends, bits_of, limbs_for
from weft.runtime.trends.measures import Measures, Values
from weft.runtime.trends.rows import TrendRows, combined, merged_rows, results_of, room_for
from weft.runtime.trends.selection import Selection, rows_of_item

MOST_CLASSES = 64  # that take different events of one Kleene type: they are bits of a word


@stored
class Counters:
    """What sharing did: bursts and the graphlets they became, snapshots, changes of mind, other events.

    And what it kept: so many numbers in so many bytes, for all windows of a partition at once.
    """

    bursts: int = 0
    graphlets: int = 0
    shared_graphlets: int = 0
    graphlet_snapshots: int = 0
    event_snapshots: int = 0
    splits: int = 0
    merges: int = 0
    other_events: int = 0
    numbers: int = 0
    bytes: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def aggregate_workload(
    templates: Sequence[Template],
    events: Events,
    sharing: Sharing = "dynamic",
    chosen: Sequence[tuple[int, int]] | None = None,
) -> tuple[list[TrendRows], Counters]:
    """Return the aggregates of all queries, in their order, and what sharing did.

    `chosen` are, for each query, the first and the last window that are wanted; by default all are.
    """
    windows = [EVERY_WINDOW] * len(templates) if chosen is None else chosen
    rows: dict[int, TrendRows] = {}
    counters = Counters()
    for own in [] if sharing == "none" else sharing_sets(templates):
        mode = STATIC if sharing == "static" else DYNAMIC
        found, counted = aggregate_together(
            [templates[number] for number in own], events, mode, [windows[number] for number in own]
        )
        rows |= dict(zip(own, found, strict=True))
        counters += counted
    for number, template in enumerate(templates):
        if number not in rows:
            rows[number] = aggregate_trends(template, events, chosen=windows[number])
    return [rows[number] for number in range(len(templates))], counters


def sharing_sets(templates: Sequence[Template]) -> list[list[int]]:
    """Return the sharable sets as far as one pass can run them; what is in none runs by itself.

    A template takes part where it repeats a type of the set and has no steps. A set may be one template,
    which then shares work among its own windows.
    """
    found = []
    for one in sharable_sets(templates):
        own = [
            number
            for number in one.templates
            if not _has_steps(templates[number])
            and (repeated := repeated_types(templates[number]))
            and (not one.types or repeated.intersection(one.types))
        ]
        if own:
            found.append(own)
    return found


def repeated_types(template: Template) -> set[str]:
    """Return the event types that a template takes in plain repetitions and nowhere else."""
    simple: set[str] = set()
    others: set[str] = set()
    for automata in template.alternatives:
        for automaton in automata:
            for place, position in enumerate(automaton.positions):
                own = template.items[position.item].type
                (simple if is_plain_repetition(automaton, place) else others).add(own)
            types = [template.items[position.item].type for position in automaton.positions]
            others |= {own for own in types if types.count(own) > 1}
            negated = [item for source in automaton.sources for item in source.negated]
            others |= {template.items[item].type for item in (*negated, *automaton.undone_by)}
    return simple - others


def is_plain_repetition(automaton: Automaton, place: int) -> bool:
    """Whether an event at a position extends every trend that ended there, in one way."""
    own = [
        feed.ways
        for feed in automaton.positions[place].feeds
        if automaton.sources[feed.source].position == place
        and not automaton.sources[feed.source].negated
        and not automaton.sources[feed.source].steps
    ]
    all_own = [
        feed for feed in automaton.positions[place].feeds if automaton.sources[feed.source].position == place
    ]
    return own == [1] and len(all_own) == 1


def _has_steps(template: Template) -> bool:
    return any(
        source.steps for automata in template.alternatives for one in automata for source in one.sources
    )


@dataclass(frozen=True, slots=True)
class _Member:
    """An automaton of a template, and which alternative of it it belongs to."""

    query: int
    alternative: int
    automaton: Automaton


def aggregate_together(
    templates: Sequence[Template],
    events: Events,
    mode: int = DYNAMIC,
    chosen: Sequence[tuple[int, int]] | None = None,
) -> tuple[list[TrendRows], Counters]:
    """Return the aggregates of templates that can run in one pass, and what sharing did."""
    windows = [EVERY_WINDOW] * len(templates) if chosen is None else chosen
    selection = Selection(templates, events)
    values = Values(selection)
    measures = [values.measures(template) for template in templates]
    members = [
        _Member(query, alternative, automaton)
        for query, template in enumerate(templates)
        for alternative, automata in enumerate(template.alternatives)
        for automaton in automata
    ]
    kinds, matched, kleene, classes = _classified(selection, members)
    arrays = _members(members, templates, windows, values, measures, kleene, classes)
    spans = [(template.length or 0, template.slide or 0) for template in templates]
    n_events = max(largest_window(selection.times, selection.starts, *span) for span in spans)
    n_limbs = max(limbs_for(n_events, member.automaton, values.bits) for member in members)
    limbs, lengths = values.limbs()
    extremes, extreme_valid = values.smallest()
    shared = SharedEvents(
        times=selection.times,
        ranks=selection.ranks,
        takes=selection.takes,
        starts=selection.starts,
        kinds=kinds,
        matched=matched,
        values=limbs,
        value_lengths=lengths,
        extremes=extremes,
        extreme_valid=extreme_valid,
    )
    pane = gcd(*(one for span in spans for one in span))
    n_results = sum(selection.n_windows(*spans[member.query]) for member in members)
    room = room_for(n_results, 1 + arrays.lane_columns.shape[1], arrays.extreme_columns.shape[1])
    found, counters = sum_shared_trends(arrays, shared, pane, n_limbs, mode, room)
    exponents = {name: parts.exponent for name, parts in values.parts.items()}
    rows = []
    for query, template in enumerate(templates):
        width = 1 + len(measures[query].lanes)
        alternatives = [
            combined(
                [
                    results_of(room, found, number, width, len(measures[query].extremes))
                    for number, member in enumerate(members)
                    if (member.query, member.alternative) == (query, alternative)
                ],
                width,
            )
            for alternative in range(len(template.alternatives))
        ]
        rows.append(merged_rows(template, measures[query], exponents, selection, alternatives))
    return rows, Counters(*map(int, counters))


def _classified(selection: Selection, members: Sequence[_Member]) -> tuple[Array, Array, Array, Array]:
    """Return the Kleene type of each event, the classes that take it, and the position and class of members.

    An event has a Kleene type when all templates that take it do so in a plain repetition of that type.
    """
    templates = selection.templates
    repeated = [repeated_types(template) for template in templates]
    types = sorted(set().union(*repeated))
    kinds = np.full(selection.n_rows, -1, np.int64)
    matched = np.zeros(selection.n_rows, np.uint64)
    kleene = np.full((len(types), len(members)), -1, np.int64)
    classes = np.full((len(types), len(members)), -1, np.int64)
    for kind, own_type in enumerate(types):
        is_pure = np.ones(selection.n_rows, np.bool_)
        for query, template in enumerate(templates):
            allowed = sum(
                1 << bit
                for bit, item in enumerate(template.items)
                if item.type == own_type and own_type in repeated[query]
            )
            is_pure &= selection.takes[query] & ~np.array(allowed, selection.takes.dtype) == 0
        items: dict[TrendItem, int] = {}
        for number, member in enumerate(members):
            if own_type not in repeated[member.query]:
                continue
            for place, position in enumerate(member.automaton.positions):
                item = templates[member.query].items[position.item]
                if item.type == own_type:
                    kleene[kind, number] = place
                    classes[kind, number] = items.setdefault(item, len(items))
        if len(items) > MOST_CLASSES:
            kleene[kind], classes[kind] = -1, -1
            continue
        kinds[is_pure] = kind
        for item, number in items.items():
            is_taken = np.zeros(selection.events.n_events, np.bool_)
            is_taken[rows_of_item(item, selection.events)] = True
            matched |= np.where(is_pure & is_taken[selection.rows], np.uint64(1 << number), np.uint64(0))
    return kinds, matched, kleene, classes


def _members(
    members: Sequence[_Member],
    templates: Sequence[Template],
    windows: Sequence[tuple[int, int]],
    values: Values,
    measures: Sequence[Measures],
    kleene: Array,
    classes: Array,
) -> Members:
    automata = [member.automaton for member in members]
    n_lanes = max(len(own.lanes) for own in measures)
    n_extremes = max(len(own.extremes) for own in measures)
    feeds = [position.feeds for one in automata for position in one.positions]
    flat = [feed for own in feeds for feed in own]
    sources = [source for one in automata for source in one.sources]
    ends = [end for one in automata for end in one.ends]

    def starts(size_of: Callable[[Automaton], int]) -> Array:
        return np.cumsum([0, *map(size_of, automata)])

    return Members(
        queries=np.array([member.query for member in members], np.int64),
        lengths=np.array([templates[member.query].length or 0 for member in members], np.int64),
        slides=np.array([templates[member.query].slide or 0 for member in members], np.int64),
        first_windows=np.array([windows[member.query][0] for member in members], np.int64),
        last_windows=np.array([windows[member.query][1] for member in members], np.int64),
        position_starts=starts(lambda one: len(one.positions)),
        items=np.array([position.item for one in automata for position in one.positions], np.int64),
        feed_starts=np.cumsum([0, *map(len, feeds)]),
        feed_sources=np.array([feed.source for feed in flat], np.int64),
        feed_ways=np.array([feed.ways for feed in flat], np.int64),
        source_starts=starts(lambda one: len(one.sources)),
        owners=np.array([source.position for source in sources], np.int64),
        negated=np.array([sum(1 << item for item in source.negated) for source in sources], np.uint64),
        end_starts=starts(lambda one: len(one.ends)),
        end_sources=np.array([end.source for end in ends], np.int64),
        end_ways=np.array([end.ways for end in ends], np.int64),
        undone_by=np.array([sum(1 << item for item in one.undone_by) for one in automata], np.uint64),
        lane_columns=_padded([values.lane_places(measures[one.query]) for one in members], n_lanes, -1),
        lane_positions=_padded(
            [bits_of(measures[one.query].lanes, one.automaton).tolist() for one in members], n_lanes, 0
        ).astype(np.uint64),
        extreme_columns=_padded([values.extremes_at(measures[one.query]) for one in members], n_extremes, -1),
        extreme_positions=_padded(
            [bits_of(measures[one.query].extremes, one.automaton).tolist() for one in members], n_extremes, 0
        ).astype(np.uint64),
        kleene=kleene,
        classes=classes,
    )


def _padded(rows: Sequence[Sequence[int]], width: int, filler: int) -> Array:
    return np.array([[*row, *[filler] * (width - len(row))] for row in rows], np.int64).reshape(
        len(rows), width
    )
