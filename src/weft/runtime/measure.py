"""Measure arrival rates and selectivities on a sample of events.

A selectivity is measured on tuples of events drawn at random from all those that the question is about:
within the window and in the order of the pattern. It is not that of the cross product over all time,
which trends and bursts make a different number.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from weft.expressions import Aggregate, Attribute, Comparison, Expression
from weft.kernels.arrays import mix_hashes
from weft.runtime.columns.evaluate import Scope, column_number, evaluate, holds_everywhere, is_true
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.table import Table, events_table
from weft.statistics.model import ItemKey, Question, Statistics
from weft.tree import find

UNSEEN = 0.5  # events that count for an item of which the sample holds none: rare, but not impossible
ANCHORS = 8_192  # events of the rarest item around which tuples are drawn
DRAWS = (8_192, 65_536)  # tuples drawn at first, and again when hardly any of them was a hit
ENOUGH_HITS = 16
MANY = 16  # times the tuples drawn: of so many possible ones, hardly any is drawn twice
LEAST_TUPLES = 20  # with fewer, a question stays open
MICROSECONDS = 1_000_000
LONGEST = 1 << 59  # microseconds: more than from year 1 to year 9999, and far from overflow


def measure(
    events: Events,
    items: Iterable[ItemKey],
    questions: Iterable[Question],
    keys: Iterable[str],
    *,
    duration: float,
    window: float | None = None,
    total_rate: float | None = None,
    seed: int = 0,
) -> Statistics:
    """Return what a sample says of items, of predicate groups and of agreement on keys.

    What the sample cannot answer is left out, so that the defaults of `Statistics` apply: groups of
    which it holds too few tuples, and predicates on the first, the last or all elements of a list.

    Parameters
    ----------
    events
        Whole stretches of time, with gaps between them or not, or a random part of their events.
    items, questions, keys
        What to measure. Of several questions about one group the first that has an answer counts.
    duration
        The seconds in which the complete stream has as many events as the sample.
    window
        The seconds within which agreement on keys is measured, if longer than those of all questions.
    total_rate
        The rate of events of all types, where the sample holds only some of these.

    >>> import pyarrow as pa
    >>> from weft.runtime.columns.events import StringPool
    >>> ids = pa.array([1, 2, 3])
    >>> events = Events(np.arange(3), np.array([0, 1, 0]), ("A", "B", "C"), {}, ids, StringPool(ids))
    >>> found = measure(events, map(ItemKey, "ABC"), [], [], duration=10.0)
    >>> [found.rate(ItemKey(name)) for name in "ABC"]
    [0.2, 0.1, 0.05]
    """
    if not duration > 0:
        raise ValueError(f"the sample covers {duration} seconds; expected more than 0")
    sample = _Sample(events, seed)
    asked = tuple(questions)
    wanted = dict.fromkeys((*items, *(item for question in asked for item in question.group.items)))
    rates = {item: max(float(sample.rows_of(item).size), UNSEEN) / duration for item in wanted}
    selectivities = {}
    for question in asked:
        if question.group not in selectivities:
            found = sample.selectivity(question)
            if found is not None:
                selectivities[question.group] = found
    types = dict.fromkeys(item.type for item in wanted)
    longest = largest_window(asked, window)
    agreements = {}
    for key in keys:
        share = sample.agreement(key, types, longest)
        if share is not None:
            agreements[key] = share
    return Statistics(
        rates,
        selectivities,
        agreements,
        total_rate=events.n_events / duration if total_rate is None else total_rate,
        duration=max(duration, sample.span),
    )


def largest_window(questions: Iterable[Question], window: float | None = None) -> float | None:
    """Return the largest of a window and those of questions, in seconds; None when there is none."""
    windows = (window, *(question.window for question in questions))
    return max((one for one in windows if one is not None), default=None)


@dataclass(frozen=True)
class _Tuples:
    """What tuples are drawn from: the events for each place, which place is before which, the window."""

    rows: Sequence[Array]
    order: frozenset[tuple[int, int]]
    window: int | None


class _Sample:
    """Events to ask, with the rows of each item found once."""

    def __init__(self, events: Events, seed: int) -> None:
        self.events = events
        self.seed = seed
        self._rows: dict[ItemKey, Array] = {}

    @cached_property
    def span(self) -> float:
        """The seconds from the first event to the last."""
        times = self.events.times
        return float(times[-1] - times[0]) / MICROSECONDS if times.size else 0.0

    def rows_of(self, item: ItemKey) -> Array:
        """Return the events of an item in the order of time."""
        if item not in self._rows:
            rows = self.events.rows_of_type(item.type).astype(np.int64, copy=False)
            for predicate in item.predicates:
                rows = rows[holds_everywhere(predicate, self.events, events_table(rows))]
            self._rows[item] = rows
        return self._rows[item]

    def selectivity(self, question: Question) -> float | None:
        """Return how often a group holds among the tuples of a question; None when that stays open."""
        group = question.group
        if any(map(speaks_of_whole_list, group.predicates)):
            return None
        rows = [self.rows_of(item) for item in group.items]
        order = set(question.order)
        previous: dict[int, int] = {}  # a list's v[i-1] is an event more, which comes before v[i]
        for place in sorted(places_with_previous(group.predicates)):
            previous[place] = len(rows)
            order |= {(a, len(rows)) for a, b in question.order if b == place} | {(len(rows), place)}
            rows.append(rows[place])
        tuples = _Tuples(rows, frozenset(order), _length(question.window))
        return self._share(tuples, group.predicates, previous, repr(group))

    def agreement(self, key: str, types: Iterable[str], window: float | None) -> float | None:
        """Return how often two events of some types agree on an attribute."""
        found = [self.events.rows_of_type(name) for name in types]
        rows = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
        equal = Comparison("=", Attribute("$0", key), Attribute("$1", key))
        tuples = _Tuples([rows, rows], frozenset(), _length(window))
        return self._share(tuples, (equal,), {}, key)

    def _share(
        self, asked: _Tuples, predicates: Sequence[Expression], previous: Mapping[int, int], name: str
    ) -> float | None:
        """Return the share of tuples that satisfy all predicates; `name` gives each question its own dice."""
        generator = np.random.default_rng((self.seed, zlib.crc32(name.encode())))
        n_tuples = n_hits = 0
        for n_draws in DRAWS:
            tuples = _draw(asked, self.events, n_draws, generator)
            n_tuples = tuples.shape[1]
            if not n_tuples:
                return None
            n_hits = int(np.count_nonzero(self._holds(tuples, predicates, previous)))
            if n_hits >= ENOUGH_HITS:
                break
        return (n_hits + 0.5) / (n_tuples + 1) if n_tuples >= LEAST_TUPLES else None

    def _holds(self, tuples: Array, predicates: Sequence[Expression], previous: Mapping[int, int]) -> Array:
        table = Table(tuple(tuples), reduce(np.minimum, tuples), reduce(np.maximum, tuples))
        before = {place: tuples[number] for place, number in previous.items()}
        scope = Scope(self.events, table, previous=before)
        holds = np.ones(tuples.shape[1], np.bool_)
        for predicate in predicates:
            holds &= is_true(evaluate(predicate, scope))
        return holds


def _draw(asked: _Tuples, events: Events, n_draws: int, generator: np.random.Generator) -> Array:
    """Draw tuples of events, every possible one as likely as any other; each is returned once.

    The rarest item gives the anchors. An anchor is drawn as often as there are tuples around it whose
    other events, each by itself, are in the window of the anchor and before or after it as asked. Of
    these tuples, those are dropped whose other events do not fit each other.
    """
    anchor = min(range(len(asked.rows)), key=lambda place: asked.rows[place].size)
    anchors = asked.rows[anchor]
    if anchors.size > ANCHORS:
        anchors = np.sort(generator.choice(anchors, ANCHORS, replace=False))
    bounds = {
        place: _bounds(asked, events, anchors, anchor, place)
        for place in range(len(asked.rows))
        if place != anchor
    }
    weights = np.ones(anchors.size)
    for start, stop in bounds.values():
        weights *= np.maximum(stop - start, 0)
    partnered = np.flatnonzero(weights)
    if not partnered.size:
        return np.empty((len(asked.rows), 0), np.int64)
    n_possible = weights.sum()
    chosen = np.repeat(partnered, generator.multinomial(n_draws, weights[partnered] / n_possible))
    tuples = np.empty((len(asked.rows), n_draws), np.int64)
    tuples[anchor] = anchors[chosen]
    for place, (start, stop) in bounds.items():
        lengths = (stop - start)[chosen]
        steps = np.minimum((generator.random(n_draws) * lengths).astype(np.int64), lengths - 1)
        tuples[place] = asked.rows[place][start[chosen] + steps]
    window = asked.window if len(tuples) > 2 else None  # two were chosen in the window
    fitting = np.ascontiguousarray(tuples[:, which_fit(tuples, events, asked.order, window)])
    if n_possible > MANY * n_draws:
        return fitting  # hardly any of them twice
    _, first = np.unique(mix_hashes(fitting), return_index=True)
    return fitting[:, first]


def _bounds(asked: _Tuples, events: Events, anchors: Array, anchor: int, place: int) -> tuple[Array, Array]:
    """Return, for each anchor, from where to where in the rows of a place its partners stand."""
    rows, window = asked.rows[place], asked.window
    ranks, times = events.ranks[rows], events.times[rows]
    start, stop = np.zeros(anchors.size, np.int64), np.full(anchors.size, rows.size, np.int64)
    if (anchor, place) in asked.order:
        start = np.searchsorted(ranks, events.ranks[anchors], side="right")
    elif window is not None:
        start = np.searchsorted(times, events.times[anchors] - window, side="left")
    if (place, anchor) in asked.order:
        stop = np.searchsorted(ranks, events.ranks[anchors], side="left")
    elif window is not None:
        stop = np.searchsorted(times, events.times[anchors] + window, side="right")
    return start, stop


def which_fit(tuples: Array, events: Events, order: Iterable[tuple[int, int]], window: int | None) -> Array:
    """Return which tuples are in order, within the window, and of different events."""
    fits = np.ones(tuples.shape[1], np.bool_)
    if window is not None:
        times = [events.times[rows] for rows in tuples]
        fits &= reduce(np.maximum, times) - reduce(np.minimum, times) <= window
    for a, b in order:
        fits &= events.ranks[tuples[a]] < events.ranks[tuples[b]]
    for b in range(len(tuples)):
        for a in range(b):
            fits &= tuples[a] != tuples[b]
    return fits


def speaks_of_whole_list(predicate: Expression) -> bool:
    """Say whether single events cannot decide a predicate."""
    return any(find(predicate, Aggregate)) or any(
        attribute.place in ("first", "last") for attribute in find(predicate, Attribute)
    )


def places_with_previous(predicates: Iterable[Expression]) -> set[int]:
    """Return the places of the lists whose v[i-1] occurs."""
    return {
        column_number(attribute.variable)
        for predicate in predicates
        for attribute in find(predicate, Attribute)
        if attribute.place == "previous"
    }


def _length(window: float | None) -> int | None:
    return None if window is None else microseconds(window)


def microseconds(seconds: float) -> int:
    """Return a length of time in microseconds, at most one that is longer than all of time."""
    return int(min(round(seconds * MICROSECONDS, 0), float(LONGEST)))
