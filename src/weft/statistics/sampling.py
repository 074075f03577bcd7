"""Questions about tuples of events, answered by tuples that are drawn at random from sampled events.

An event that was drawn from many stands for all of them: it has a weight. A tuple is drawn with a probability
in proportion to the product of its weights, from those within the window and in the order that the question
asks for.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from weft.expressions import Aggregate, Attribute, Comparison, Expression
from weft.kernels.draw import draw_anchored, weigh_anchors
from weft.runtime.columns.evaluate import Scope, column_number, evaluate, holds_everywhere, is_true
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.table import Table, events_table
from weft.statistics.model import GroupKey, ItemKey, Question
from weft.tree import find

UNSEEN = 0.5  # events that count for an item of which the sample holds none: rare, but not impossible
MICROSECONDS = 1_000_000
ANY = ItemKey("")  # an event of any of the types that are asked about
LONGEST = 1 << 59  # microseconds: more than from year 1 to year 9999, and far from overflow


@dataclass(frozen=True)
class SampledQuestion:
    """A question made ready: the item at each place, which place is before which, and the window.

    A list's v[i-1] is an event more, which comes before v[i]; `previous` says where it stands.
    """

    question: Question
    items: tuple[ItemKey, ...]
    order: frozenset[tuple[int, int]]
    window: int | None
    previous: Mapping[int, int]

    @cached_property
    def digest(self) -> str:
        """A short name, the same in every process for equal questions."""
        return digest_of((self.question.group, sorted(self.question.order), self.question.window))

    def holds(self, tuples: Array, events: Events) -> Array:
        """Return which tuples satisfy all predicates of the question."""
        table = Table(tuple(tuples), reduce(np.minimum, tuples), reduce(np.maximum, tuples))
        previous = {place: tuples[number] for place, number in self.previous.items()}
        scope = Scope(events, table, previous=previous)
        holds = np.ones(tuples.shape[1], np.bool_)
        for predicate in self.question.group.predicates:
            holds &= is_true(evaluate(predicate, scope))
        return holds


def prepare(question: Question) -> SampledQuestion:
    """Return a question with one place for each event of a tuple.

    >>> rises = Comparison(">", Attribute("$0", "x", "current"), Attribute("$0", "x", "previous"))
    >>> asked = prepare(Question(GroupKey((ItemKey("A"),), (rises,)), window=60.0))
    >>> [item.type for item in asked.items], asked.order, asked.window
    (['A', 'A'], frozenset({(1, 0)}), 60000000)
    """
    items, order = list(question.group.items), set(question.order)
    previous: dict[int, int] = {}
    for place in sorted(_places_with_previous(question.group.predicates)):
        previous[place] = len(items)
        order |= {(a, len(items)) for a, b in question.order if b == place} | {(len(items), place)}
        items.append(items[place])
    window = None if question.window is None else microseconds(question.window)
    return SampledQuestion(question, tuple(items), frozenset(order), window, previous)


def is_answerable(question: Question) -> bool:
    """Say whether tuples of single events answer a question: none of them is a whole list."""
    return not any(map(_speaks_of_whole_list, question.group.predicates))


def agreement_question(key: str, window: float | None) -> Question:
    """Return the question how often two events, of whatever types, agree on an attribute."""
    equal = Comparison("=", Attribute("$0", key), Attribute("$1", key))
    return Question(GroupKey((ANY, ANY), (equal,)), window=window)


def rows_of_item(item: ItemKey, rows: Array, events: Events) -> Array:
    """Return the rows of an item among rows of its type."""
    for predicate in item.predicates:
        rows = rows[holds_everywhere(predicate, events, events_table(rows))]
    return rows


@dataclass(frozen=True, slots=True)
class WeightedRows:
    """Rows of events in ascending order, and how many events each of them stands for."""

    rows: Array
    weights: Array

    def take(self, selected: Array) -> "WeightedRows":
        return WeightedRows(self.rows[selected], self.weights[selected])


NO_ROWS = WeightedRows(np.empty(0, np.int64), np.empty(0, np.float64))


class TupleSampler:
    """All tuples of some events that are in order and within a window, to draw from.

    `places` has the events for each place, `order` pairs (earlier place, later place). Each tuple has one
    anchor, at the first place with one, and places after it take any event: `is_anchor` says of each event
    whether it can be one. Where that is not said, the events at the place with fewest of them are anchors.
    `weight` is that of all tuples whose events fit the anchor; whether they fit each other is not known.
    """

    def __init__(
        self,
        places: Sequence[WeightedRows],
        order: frozenset[tuple[int, int]],
        window: int | None,
        events: Events,
        is_anchor: Array | None = None,
    ) -> None:
        self._events, self._order, self._window = events, order, window
        self._n_places = len(places)
        sizes = [place.rows.size for place in places]
        self._rows = np.concatenate([place.rows for place in places])
        if is_anchor is None:
            rarest = sizes.index(min(sizes))
            anchors = np.repeat(np.arange(len(places)) == rarest, sizes)
        else:
            anchors = is_anchor[self._rows]
        weights = np.concatenate([place.weights for place in places])
        sums = np.zeros((2, self._rows.size + 1))
        np.cumsum(weights, out=sums[0, 1:])
        np.cumsum(np.where(anchors, 0.0, weights), out=sums[1, 1:])
        before = np.zeros((len(places), len(places)), np.bool_)
        for earlier, later in order:
            before[earlier, later] = True
        starts = np.cumsum([0, *sizes])
        ranks, times = events.ranks[self._rows], events.times[self._rows]
        self._arguments = starts, ranks, times, sums, before, -1 if window is None else window
        self._totals = weigh_anchors(*self._arguments)
        self.weight = float(self._totals[-1])

    def draw(self, n_tuples: int, generator: np.random.Generator) -> Array:
        """Return tuples of event rows, one row of the result for each place.

        Those whose events do not fit each other are dropped.
        """
        if not self.weight:
            return np.empty((self._n_places, 0), np.int64)
        points = generator.random((n_tuples, self._n_places))
        points[:, 0].sort()  # tuples of one anchor together, which is faster; their order does not matter
        tuples = self._rows[draw_anchored(self._totals, *self._arguments, points)]
        return np.ascontiguousarray(tuples[:, self._which_fit(tuples)])

    def draw_at_most(self, most: int, generator: np.random.Generator) -> Array:
        """Return as many tuples as there are in the stream, by their weights, but at most `most`."""
        return self.draw(min(most, math.ceil(self.weight)), generator)

    def _which_fit(self, tuples: Array) -> Array:
        """Return which tuples are in order, within the window, and of different events."""
        fits, ranks = np.ones(tuples.shape[1], np.bool_), self._events.ranks
        if self._window is not None and self._n_places > 2:  # two were drawn within the window
            times = self._events.times[tuples]
            fits &= times.max(axis=0) - times.min(axis=0) <= self._window
        for a, b in self._order:
            fits &= ranks[tuples[a]] < ranks[tuples[b]]
        for b in range(self._n_places):
            for a in range(b):
                fits &= tuples[a] != tuples[b]
        return fits


def spread_places(n_rows: int, most: int, dice: np.random.Generator) -> Array:
    """Return at most `most` of the places below `n_rows`: one at random of each of as many stretches."""
    if n_rows <= most:
        return np.arange(n_rows)
    edges = np.linspace(0, n_rows, most + 1).astype(np.int64)
    return np.asarray(edges[:-1] + (dice.random(most) * np.diff(edges)).astype(np.int64))


def resample(
    given: WeightedRows, slots: Array, per_slot: int, generator: np.random.Generator
) -> WeightedRows:
    """Choose at most `per_slot` rows of each slot in proportion to weights, which keep their sum.

    The slots of the rows are numbers in ascending order.

    >>> given = WeightedRows(np.array([2, 5, 7]), np.array([1.0, 1.0, 6.0]))
    >>> resample(given, np.array([0, 0, 0]), 2, np.random.default_rng(0))
    WeightedRows(rows=array([7]), weights=array([8.]))
    """
    firsts = np.flatnonzero(np.diff(slots, prepend=slots[:1] - 1))
    counts = np.diff(firsts, append=slots.size)
    is_full = counts > per_slot
    if not is_full.any():
        return given
    ends = np.append(0.0, np.cumsum(given.weights))
    starts, totals = ends[firsts[is_full]], np.diff(ends[np.append(firsts, slots.size)])[is_full]
    shares = (np.arange(per_slot) + generator.random((totals.size, 1))) / per_slot
    drawn = np.searchsorted(ends[1:], (starts[:, None] + shares * totals[:, None]).ravel(), side="right")
    lasts = (firsts + counts - 1)[is_full]
    drawn = np.clip(drawn, np.repeat(firsts[is_full], per_slot), np.repeat(lasts, per_slot))
    weights = np.where(np.repeat(is_full, counts), 0.0, given.weights)
    np.add.at(weights, drawn, np.repeat(totals / per_slot, per_slot))
    return WeightedRows(given.rows, weights).take(np.flatnonzero(weights))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How much is looked at, and when it is enough.

    In one batch of every half of the sliding window, or more often where there are more than
    `questions_per_look` questions, `tuples` tuples are drawn for each of so many questions, which take
    turns, and for agreement on keys. Such a batch costs the attributes of at most `rows_per_type` events
    of each type. Any other costs an eighth of that, and no attributes at all where no item has predicates of
    its own and its events are no partners for those of the next look, or there are enough of these. Some
    `kept_events` earlier events are kept as partners for those to come: at most twice as many, or as
    many as there are slots of all roles.

    A selectivity or an agreement counts once `least_tuples` tuples of the sliding window were looked
    at, a rate once the events span `least_covered` of that window, or there were `least_events` of its own.
    Until then, and whenever it is no longer so, the initial value holds, where there is one.
    """

    rows_per_type: int = 512
    tuples: int = 1024
    questions_per_look: int = 16
    kept_events: int = 256
    least_tuples: int = 32
    least_covered: float = 0.25
    least_events: int = 256
    epsilon: float = 0.1
    seed: int = 0


def microseconds(seconds: float) -> int:
    """Return a length of time in microseconds, at most one that is longer than all of time."""
    return int(min(round(seconds * MICROSECONDS, 0), float(LONGEST)))


def digest_of(key: object) -> str:
    """Return a short name for a key, the same in every process."""
    return hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()


def _speaks_of_whole_list(predicate: Expression) -> bool:
    return any(find(predicate, Aggregate)) or any(
        attribute.place in ("first", "last") for attribute in find(predicate, Attribute)
    )


def _places_with_previous(predicates: Iterable[Expression]) -> set[int]:
    """Return the places of the lists whose v[i-1] occurs."""
    return {
        column_number(attribute.variable)
        for predicate in predicates
        for attribute in find(predicate, Attribute)
        if attribute.place == "previous"
    }
