"""Draw tuples of sampled events at random, each of which has an event that just came.

An event that was drawn from many stands for all of them: it has a weight. A tuple is drawn with a
probability in proportion to the product of its weights, from those within the window and in order. The
first place with a new event is the anchor: places before it take earlier events only, places after it
take any. So every tuple has one anchor, and is looked at when its last event arrives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.runtime.columns import Array, Events
from weft.runtime.measure import which_fit


@dataclass(frozen=True, slots=True)
class Weighted:
    """Rows of events in ascending order, and how many events each of them stands for."""

    rows: Array
    weights: Array

    def take(self, selected: Array) -> "Weighted":
        return Weighted(self.rows[selected], self.weights[selected])


NOTHING = Weighted(np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True, slots=True)
class Wanted:
    """The tuples to draw: events for each place, pairs (earlier place, later place), the window."""

    places: Sequence[Weighted]
    order: frozenset[tuple[int, int]]
    window: int | None


def draw_tuples(
    wanted: Wanted, events: Events, is_new: Array, most: int, generator: np.random.Generator
) -> Array:
    """Return tuples of event rows, one row of the result for each place.

    As many are drawn as there are in the stream, by their weights, but at most `most`; those whose
    events do not fit each other are dropped.
    """
    anchored = [_anchored(wanted, events, is_new, anchor) for anchor in range(len(wanted.places))]
    weights = np.concatenate([one.weights for one in anchored])
    possible = float(weights.sum())
    if possible <= 0:
        return np.empty((len(wanted.places), 0), np.int64)
    n_draws = min(most, int(np.ceil(possible)))
    counts = generator.multinomial(n_draws, weights / possible)
    parts = []
    start = 0
    for anchor, one in enumerate(anchored):
        own = counts[start : start + one.weights.size]
        start += one.weights.size
        if own.any():
            parts.append(_filled(anchor, one, np.repeat(np.arange(own.size), own), generator))
    tuples = np.concatenate(parts, axis=1)
    return np.ascontiguousarray(tuples[:, which_fit(tuples, events, wanted.order, wanted.window)])


@dataclass(frozen=True)
class _Partners:
    """The rows of a place, the sums of their weights, and from where to where each anchor may choose."""

    rows: Array
    sums: Array
    start: Array
    stop: Array

    @property
    def weights(self) -> Array:
        return np.asarray(self.sums[self.stop] - self.sums[self.start])


@dataclass(frozen=True)
class _Anchored:
    """New events at one place, the weight of all tuples around each, and its partners at other places."""

    rows: Array
    weights: Array
    partners: dict[int, _Partners]


def _anchored(wanted: Wanted, events: Events, is_new: Array, anchor: int) -> _Anchored:
    own = wanted.places[anchor]
    own = own.take(np.flatnonzero(is_new[own.rows]))
    weights, partners = own.weights, {}
    for place, candidates in enumerate(wanted.places):
        if place != anchor:
            if place < anchor:
                candidates = candidates.take(np.flatnonzero(~is_new[candidates.rows]))
            partners[place] = _partners(wanted, events, own.rows, anchor, place, candidates)
            weights = weights * partners[place].weights
    return _Anchored(own.rows, weights, partners)


def _partners(
    wanted: Wanted, events: Events, anchors: Array, anchor: int, place: int, candidates: Weighted
) -> _Partners:
    rows, window = candidates.rows, wanted.window
    ranks, times = events.ranks[rows], events.times[rows]
    start, stop = np.zeros(anchors.size, np.int64), np.full(anchors.size, rows.size, np.int64)
    if window is not None:
        start = np.searchsorted(times, events.times[anchors] - window, side="left")
        stop = np.searchsorted(times, events.times[anchors] + window, side="right")
    if (anchor, place) in wanted.order:
        start = np.searchsorted(ranks, events.ranks[anchors], side="right")
    if (place, anchor) in wanted.order:
        stop = np.searchsorted(ranks, events.ranks[anchors], side="left")
    sums = np.concatenate([[0.0], np.cumsum(candidates.weights)])
    return _Partners(rows, sums, start, np.maximum(start, stop))


def _filled(anchor: int, one: _Anchored, chosen: Array, generator: np.random.Generator) -> Array:
    tuples = np.empty((len(one.partners) + 1, chosen.size), np.int64)
    tuples[anchor] = one.rows[chosen]
    for place, partners in one.partners.items():
        start, stop = partners.start[chosen], partners.stop[chosen]
        points = partners.sums[start] + generator.random(chosen.size) * partners.weights[chosen]
        found = np.searchsorted(partners.sums, points, side="right") - 1
        tuples[place] = partners.rows[np.clip(found, start, stop - 1)]
    return tuples


def resampled(weights: Array, n_wanted: int, generator: np.random.Generator) -> tuple[Array, Array]:
    """Return at most `n_wanted` places, chosen in proportion to weights, and weights with the same sum.

    >>> resampled(np.array([1.0, 2.0, 1.0]), 3, np.random.default_rng(0))
    (array([0, 1, 2]), array([1., 2., 1.]))
    >>> resampled(np.array([1.0, 1.0, 6.0]), 2, np.random.default_rng(0))
    (array([2]), array([8.]))
    """
    if weights.size <= n_wanted:
        return np.arange(weights.size), weights
    sums = np.cumsum(weights)
    points = (np.arange(n_wanted) + generator.random()) * (sums[-1] / n_wanted)
    found = np.minimum(np.searchsorted(sums, points, side="right"), weights.size - 1)
    places, counts = np.unique(found, return_counts=True)
    return places, counts * (sums[-1] / n_wanted)
