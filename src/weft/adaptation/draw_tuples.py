"""Draw tuples of sampled events at random, each of which has an event that just came.

An event that was drawn from many stands for all of them: it has a weight. A tuple is drawn with a
probability in proportion to the product of its weights, from those within the window and in order. The
first place with a new event is the anchor: places before it take earlier events only, places after it
take any. So every tuple has one anchor, and is looked at when its last event arrives.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.kernels.draw import draw_anchored
from weft.runtime.columns.events import Array, Events
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
    rows = np.concatenate([place.rows for place in wanted.places])
    weights = np.concatenate([place.weights for place in wanted.places])
    sums = np.zeros((2, rows.size + 1))
    np.cumsum(weights, out=sums[0, 1:])
    np.cumsum(np.where(is_new[rows], 0.0, weights), out=sums[1, 1:])
    n_places = len(wanted.places)
    order = np.zeros((n_places, n_places), np.bool_)
    for earlier, later in wanted.order:
        order[earlier, later] = True
    starts = np.cumsum([0, *(place.rows.size for place in wanted.places)])
    window = -1 if wanted.window is None else wanted.window
    points = generator.random((most, n_places))
    found = draw_anchored(starts, events.ranks[rows], events.times[rows], sums, order, window, points)
    tuples = rows[found]
    return np.ascontiguousarray(tuples[:, which_fit(tuples, events, wanted.order, wanted.window)])


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
