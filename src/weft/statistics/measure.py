"""Measure arrival rates and selectivities on a sample of events.

A selectivity is measured on tuples of events drawn at random from all those that the question is about:
within the window and in the order of the pattern. It is not that of the cross product over all time,
which trends and bursts make a different number.
"""

import zlib
from collections.abc import Iterable

import numpy as np

from weft.kernels.arrays import mix_hashes
from weft.runtime.columns.events import Array, Events
from weft.statistics.model import GroupKey, Inquiry, ItemKey, Question, Statistics
from weft.statistics.sampling import (
    ANY,
    MICROSECONDS,
    UNSEEN,
    TupleSampler,
    WeightedRows,
    agreement_question,
    is_answerable,
    prepare,
    rows_of_item,
)

ANCHORS = 8_192  # events of the rarest item around which tuples are drawn
DRAWS = (8_192, 65_536)  # tuples drawn at first, and again when hardly any of them was a hit
ENOUGH_HITS = 16
MANY = 16  # times the tuples drawn: of so many possible ones, hardly any is drawn twice
LEAST_TUPLES = 20  # with fewer, a question stays open


def measure(events: Events, inquiry: Inquiry, *, duration: float, seed: int = 0) -> Statistics:
    """Return what a sample says of items, of predicate groups and of agreement on keys.

    What the sample cannot answer is left out, so that the defaults of `Statistics` apply: groups of
    which it holds too few tuples, and predicates on the first, the last or all elements of a list.

    Parameters
    ----------
    events
        Whole stretches of time, with gaps between them or not, or a random part of their events.
    duration
        The seconds in which the complete stream has as many events as the sample.

    >>> import pyarrow as pa
    >>> from weft.runtime.columns.events import StringPool
    >>> ids = pa.array([1, 2, 3])
    >>> events = Events(np.arange(3), np.array([0, 1, 0]), ("A", "B", "C"), {}, ids, StringPool(ids))
    >>> known = measure(events, Inquiry([ItemKey("A"), ItemKey("B"), ItemKey("C")]), duration=10.0)
    >>> [known.rate(ItemKey(name)) for name in "ABC"]
    [0.2, 0.1, 0.05]
    """
    if not duration > 0:
        raise ValueError(f"the sample covers {duration} seconds; expected more than 0")
    items, window = inquiry.every_item, inquiry.largest_window
    sample = _Sample(events, items, seed)
    selectivities: dict[GroupKey, float] = {}
    for question in filter(is_answerable, inquiry.questions):
        if question.group not in selectivities:
            share = sample.share(question, repr(question.group))
            if share is not None:
                selectivities[question.group] = share
    agreements = {key: sample.share(agreement_question(key, window), key) for key in inquiry.keys}
    span = float(events.times[-1] - events.times[0]) / MICROSECONDS if events.n_events else 0.0
    return Statistics(
        {item: max(float(sample.rows[item].size), UNSEEN) / duration for item in items},
        selectivities,
        {key: share for key, share in agreements.items() if share is not None},
        total_rate=events.n_events / duration,
        duration=max(duration, span),
    )


class _Sample:
    """Events to ask, with the rows of each item in the order of time, and those of all types together."""

    def __init__(self, events: Events, items: Iterable[ItemKey], seed: int) -> None:
        self.events = events
        self.seed = seed
        self.rows: dict[ItemKey, Array] = {}
        is_wanted = np.zeros(events.n_events, np.bool_)
        for item in items:
            rows = events.rows_of_type(item.type).astype(np.int64, copy=False)
            is_wanted[rows] = True
            self.rows[item] = rows_of_item(item, rows, events)
        self.rows[ANY] = np.flatnonzero(is_wanted)

    def share(self, question: Question, name: str) -> float | None:
        """Return how often a group holds among the tuples of a question; None when these are too few.

        Each tuple counts once. The dice are those of a name, whatever else is asked.
        """
        asked = prepare(question)
        rows = [self.rows[item] for item in asked.items]
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
