"""Measure arrival rates and selectivities on a sample of events.

A selectivity is measured on tuples of events drawn at random from all those that the question is about:
within the window and in the order of the pattern. It is not that of the cross product over all time,
which trends and bursts make a different number.
"""

import zlib
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from weft.kernels.arrays import mix_hashes
from weft.runtime.columns.events import Array, Events
from weft.statistics.model import ItemKey, Question, Statistics
from weft.statistics.sampling import (
    MICROSECONDS,
    UNSEEN,
    SampledQuestion,
    TupleSampler,
    WeightedRows,
    agreement_question,
    is_answerable,
    largest_window,
    prepare,
    rows_of_item,
)

ANCHORS = 8_192  # events of the rarest item around which tuples are drawn
DRAWS = (8_192, 65_536)  # tuples drawn at first, and again when hardly any of them was a hit
ENOUGH_HITS = 16
MANY = 16  # times the tuples drawn: of so many possible ones, hardly any is drawn twice
LEAST_TUPLES = 20  # with fewer, a question stays open


def measure(
    events: Events,
    items: Iterable[ItemKey],
    questions: Iterable[Question],
    keys: Iterable[str],
    *,
    duration: float,
    window: float | None = None,
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
        total_rate=events.n_events / duration,
        duration=max(duration, sample.span),
    )


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
            self._rows[item] = rows_of_item(item, rows, self.events)
        return self._rows[item]

    def selectivity(self, question: Question) -> float | None:
        """Return how often a group holds among the tuples of a question; None when that stays open."""
        if not is_answerable(question):
            return None
        asked = prepare(question)
        rows = [self.rows_of(item) for item in asked.items]
        return self._share(asked, rows, repr(question.group))

    def agreement(self, key: str, types: Iterable[str], window: float | None) -> float | None:
        """Return how often two events of some types agree on an attribute."""
        is_wanted = np.zeros(self.events.n_events, np.bool_)
        for name in types:
            is_wanted[self.events.rows_of_type(name)] = True
        rows = np.flatnonzero(is_wanted)
        return self._share(prepare(agreement_question(key, window)), [rows, rows], key)

    def _share(self, asked: SampledQuestion, rows: list[Array], name: str) -> float | None:
        """Return the share of the tuples that hold, each of which counts once; None when they are too few.

        The dice are those of a name, whatever else is asked.
        """
        dice = np.random.default_rng((self.seed, zlib.crc32(name.encode())))
        sampler = TupleSampler(_with_few_anchors(rows, dice), asked.order, asked.window, self.events)
        n_tuples = n_hits = 0
        for n_draws in DRAWS:
            tuples = sampler.draw(n_draws, dice)
            if sampler.weight <= MANY * n_draws:  # else hardly any of them twice
                _, first = np.unique(mix_hashes(tuples), return_index=True)
                tuples = tuples[:, first]
            n_tuples = tuples.shape[1]
            if not n_tuples:
                return None
            n_hits = int(np.count_nonzero(asked.holds(tuples, self.events)))
            if n_hits >= ENOUGH_HITS:
                break
        return (n_hits + 0.5) / (n_tuples + 1) if n_tuples >= LEAST_TUPLES else None


def _with_few_anchors(rows: list[Array], dice: np.random.Generator) -> list[WeightedRows]:
    """Return the events for each place; of the rarest, around which tuples are drawn, a limited number."""
    rarest = min(range(len(rows)), key=lambda place: rows[place].size)
    if rows[rarest].size > ANCHORS:
        rows = list(rows)
        rows[rarest] = np.sort(dice.choice(rows[rarest], ANCHORS, replace=False))
    return [WeightedRows(own, np.ones(own.size)) for own in rows]
