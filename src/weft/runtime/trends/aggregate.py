"""Run the templates of trend queries on the events of a shard, each by itself."""

import numpy as np

from weft.errors import BudgetError
from weft.kernels.trends.rows import largest_window
from weft.kernels.trends.trends import (
    EVERY_WINDOW,
    ORDERED,
    SCAN,
    SUM,
    Machine,
    Taken,
    sum_trends,
)
from weft.plan.template import Automaton, Template, TrendSum
from weft.runtime.columns.compare import MASKS
from weft.runtime.columns.events import Array, Events
from weft.runtime.trends.measures import Measures, Values, positions_of
from weft.runtime.trends.rows import Results, TrendRows, combined, merged_rows, results_of, room_for
from weft.runtime.trends.selection import Selection

ORDERINGS = ("<", "<=", ">", ">=")
MOST_BYTES = 4 << 30  # of address space; what is not written to takes no memory
SPARE_BITS = 96  # for the number of events, for carries and for what products need in passing


def aggregate_trends(
    template: Template,
    events: Events,
    *,
    chosen: tuple[int, int] = EVERY_WINDOW,
    scans_all: bool = False,
) -> TrendRows:
    """Return the aggregates of one query; `scans_all` looks at every pair of events, as GRETA does.

    `chosen` are the numbers of the first and the last window that are wanted.
    """
    selection = Selection([template], events)
    values = Values(selection)
    measures = values.measures(template)
    found = [
        combined(
            [
                _results(automaton, template, selection, values, measures, chosen, scans_all=scans_all)
                for automaton in automata
            ],
            1 + len(measures.lanes),
        )
        for automata in template.alternatives
    ]
    exponents = {name: parts.exponent for name, parts in values.parts.items()}
    return merged_rows(template, measures, exponents, selection, found)


def _results(
    automaton: Automaton,
    template: Template,
    selection: Selection,
    values: Values,
    measures: Measures,
    chosen: tuple[int, int],
    *,
    scans_all: bool,
) -> Results:
    length, slide = template.length or 0, template.slide or 0
    n_events = largest_window(selection.times, selection.starts, length, slide)
    n_limbs = limbs_for(n_events, automaton, values.bits)
    _check_memory(template, automaton, n_events, 4 * n_limbs * (1 + len(measures.lanes)))
    width, n_extremes = 1 + len(measures.lanes), len(measures.extremes)
    room = room_for(selection.n_windows(length, slide), width, n_extremes)
    limbs = sum_trends(
        machine_of(automaton),
        _taken(automaton, selection, values, measures),
        length,
        slide,
        n_limbs,
        scans_all,
        chosen,
        room,
    )
    return results_of(room, limbs, 0, width, n_extremes)


def _check_memory(template: Template, automaton: Automaton, n_events: int, row_bytes: int) -> None:
    """Raise when a window whose events have to be kept one by one, for their steps, is too large."""
    n_kept = n_events * 2 * sum(1 for source in automaton.sources if source.steps)
    if n_kept * row_bytes > MOST_BYTES:
        raise BudgetError(
            f"query {template.query}: a window of {n_events:,} events with a condition between neighbors "
            f"may need {n_kept * row_bytes / 1e9:,.0f} GB for exact numbers, more than "
            f"{MOST_BYTES / 1e9:,.0f} GB\n"
            f"  hint: shorten WITHIN, or divide the events with GROUP BY or [a]",
            (template.query,),
        )


def machine_of(automaton: Automaton) -> Machine:
    """Return an automaton as arrays."""
    feeds = [position.feeds for position in automaton.positions]
    flat = [feed for own in feeds for feed in own]
    sources = automaton.sources
    return Machine(
        items=np.array([position.item for position in automaton.positions], np.int64),
        feed_starts=np.cumsum([0, *map(len, feeds)]),
        feed_sources=np.array([feed.source for feed in flat], np.int64),
        feed_ways=np.array([feed.ways for feed in flat], np.int64),
        owners=np.array([source.position for source in sources], np.int64),
        negated=np.array([sum(1 << item for item in source.negated) for source in sources], np.uint64),
        kinds=np.array([_kind(source) for source in sources], np.int64),
        step_starts=np.cumsum([0, *(len(source.steps) for source in sources)]),
        step_masks=np.array([MASKS[step.operator] for source in sources for step in source.steps], np.int64),
        end_sources=np.array([feed.source for feed in automaton.ends], np.int64),
        end_ways=np.array([feed.ways for feed in automaton.ends], np.int64),
        undone_by=np.array([sum(1 << item for item in automaton.undone_by)], np.uint64),
    )


def _kind(source: TrendSum) -> int:
    if not source.steps:
        return SUM
    is_ordered = len(source.steps) == 1 and source.steps[0].operator in ORDERINGS and not source.negated
    return ORDERED if is_ordered else SCAN


def _taken(automaton: Automaton, selection: Selection, values: Values, measures: Measures) -> Taken:
    lefts, left_valid, rights, right_valid = selection.sides_of(
        [step for source in automaton.sources for step in source.steps]
    )
    limbs, lengths = values.limbs()
    extremes, extreme_valid = values.smallest()
    lane_places, extreme_places = values.lane_places(measures), values.extremes_at(measures)
    return Taken(
        times=selection.times,
        ranks=selection.ranks,
        takes=selection.takes[0],
        starts=selection.starts,
        lefts=lefts,
        left_valid=left_valid,
        rights=rights,
        right_valid=right_valid,
        values=limbs,
        value_lengths=lengths,
        lane_columns=np.array(lane_places, np.int64),
        lane_positions=bits_of(measures.lanes, automaton),
        extremes=extremes[extreme_places],
        extreme_valid=extreme_valid[extreme_places],
        extreme_positions=bits_of(measures.extremes, automaton),
    )


def bits_of(measured: tuple, automaton: Automaton) -> Array:  # type: ignore[type-arg]
    """Return for each lane or extreme the positions of its variable."""
    return np.array([positions_of(one.variable, automaton) for one in measured], np.uint64)


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
