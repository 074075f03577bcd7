"""Two streams whose statistics change: skewed with rare, drastic changes, and even with frequent, small ones.

The settings are those of section 5.1 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event
Patterns. PVLDB 11(11), 2018, whose data are not at hand. There, rates and selectivities of the traffic are
"highly skewed and stable, with few on-the-fly changes", which "were mostly very extreme"; those of the stocks
were "nearly identical for all event types", with changes that were "highly frequent, but mostly minor". Both
streams are drawn from stated distributions, so rates and selectivities are known at every moment:

- Events of each type are a Poisson stream. An event has a number `given` in [0, 1), and wants one between
  `low` and `high`, which are apart by the width of its type; all are uniform. So the share of the pairs in
  which one event is given what the other wants is the width of the other's type, whatever else holds.
- `SKEWED`: rates and widths stand on a ladder, evenly spaced on a logarithmic scale, over two orders of
  magnitude and one. It has one rung more than there are types. Every so often, a type goes from its rung to
  the free one, which is at least half of the ladder away: its rate rises or falls, and so does a width.
- `EVEN`: rates and widths are equal in the beginning, and each takes a small step at random all the time.
  They are drawn back to where they began, so that they stay within a factor of two or three.

So the product of all rates, and of all widths, is always about the same: there are neither more matches nor
fewer, and what changes is which plan finds them with the least work.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from weft.runtime.columns.events import Array, Column, Events, StringPool
from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema(
    {"ts": TIMESTAMP, "type": STRING, "id": LONG, "given": DOUBLE, "low": DOUBLE, "high": DOUBLE}, time="ts"
)
MICROSECONDS = 1_000_000


@dataclass(frozen=True)
class Levels:
    """The rate per second and the width of each type in every epoch."""

    rates: Array
    widths: Array
    epoch_seconds: float


@dataclass(frozen=True)
class Drift:
    """How statistics begin and change, in relation to their geometric mean.

    They begin with a factor of `rate_skew` and of `width_skew` between the highest and the lowest, at
    random. After every `calm` epochs, the level of one type changes to the free one. In every epoch, the
    logarithm of each takes a step with the deviation `step`, and is drawn back by a share `pull`.
    """

    name: str
    rate_skew: float = 1.0
    width_skew: float = 1.0
    calm: int | None = None
    step: float = 0.0
    pull: float = 0.0

    def factors(self, n_epochs: int, n_types: int, seed: int = 1) -> Array:
        """Return factors for each epoch, kind (rate or width) and type.

        >>> factors = SKEWED.factors(SKEWED.calm + 1, 5)
        >>> factors.shape[1:], bool(factors[0, 0].max() > 40 * factors[0, 0].min())
        ((2, 5), True)
        >>> [int((factors[0] != factors[epoch]).sum()) for epoch in (1, SKEWED.calm)]
        [0, 2]
        >>> np.allclose(EVEN.factors(9, 5).prod(axis=2), 1.0)
        True
        """
        dice = np.random.default_rng((seed, n_types))
        rungs = np.array([ladder(skew, n_types + 1) for skew in (self.rate_skew, self.width_skew)])
        rungs, found = dice.permuted(rungs, axis=1), []
        for epoch in range(n_epochs):
            if epoch and self.calm is not None and epoch % self.calm == 0:
                rungs = np.array([_changed(levels, dice) for levels in rungs])
            if epoch and self.step:
                steps = self.step * dice.normal(size=rungs.shape)
                rungs = (1.0 - self.pull) * rungs + steps - steps[:, :-1].mean(axis=1, keepdims=True)
            found.append(rungs[:, :-1])
        return np.exp(np.array(found))


def ladder(skew: float, n_rungs: int) -> Array:
    """Return logarithms of levels that are evenly spaced, the highest `skew` times the lowest.

    >>> np.exp(ladder(100.0, 3)).round(9).tolist()
    [0.1, 1.0, 10.0]
    """
    return np.linspace(-0.5, 0.5, n_rungs) * np.log(skew)


def _changed(levels: Array, dice: np.random.Generator) -> Array:
    """Exchange the last level, which is free, with one that is far from it."""
    distances = np.abs(levels - levels[-1])
    place = dice.choice(np.flatnonzero(distances >= distances.max() / 2))
    changed = levels.copy()
    changed[[place, -1]] = levels[[-1, place]]
    return changed


SKEWED = Drift("skewed", rate_skew=100.0, width_skew=10.0, calm=4)
EVEN = Drift("even", step=0.15, pull=0.04)
DRIFTS = (SKEWED, EVEN)


def type_names(n_types: int) -> tuple[str, ...]:
    """Return the names of types.

    >>> type_names(2)
    ('T00', 'T01')
    """
    return tuple(f"T{number:02d}" for number in range(n_types))


def drawn_events(levels: Levels, seed: int = 1) -> Events:
    """Return the events of a stream, sorted, no two at the same time."""
    dice = np.random.default_rng((seed, 7))
    counts = dice.poisson(levels.rates * levels.epoch_seconds)
    epochs, codes = (np.repeat(places.ravel(), counts.ravel()) for places in np.indices(counts.shape))
    moments = (epochs + dice.random(epochs.size)) * levels.epoch_seconds * MICROSECONDS
    order = np.argsort(moments, kind="stable")
    epochs, codes = epochs[order], codes[order].astype(np.int16)
    widths = levels.widths[epochs, codes]
    low = dice.random(codes.size) * (1.0 - widths)
    return Events(
        times=moments[order].astype(np.int64) + np.arange(order.size),
        type_codes=codes,
        type_names=type_names(levels.rates.shape[1]),
        columns={
            "given": Column(DOUBLE, dice.random(codes.size)),
            "low": Column(DOUBLE, low),
            "high": Column(DOUBLE, low + widths),
        },
        ids=pa.array(np.arange(codes.size)),
        strings=StringPool(pa.array([], pa.string())),
    )
