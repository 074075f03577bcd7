"""The points of figures 6 to 9: a pattern, a stream that drifts, and an algorithm for plans."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from adaptation_patterns import WINDOW_SECONDS, PatternSet, n_types_of, pattern_text, width_for
from adaptation_runs import Contest
from adaptation_streams import MICROSECONDS, Drift, Levels, drawn_events, type_names

from weft.cost.measured import Measured
from weft.optimizer.shape_of import questions_of
from weft.runtime.columns.events import Events
from weft.statistics.model import GroupKey, ItemKey, Statistics

EVENTS_PER_WINDOW = 20_000


@dataclass(frozen=True)
class Drawn:
    """A stream that is drawn for each pattern."""

    drift: Drift

    @property
    def name(self) -> str:
        return self.drift.name

    def contest(self, kind: PatternSet, size: int, n_windows: int, algorithm: str) -> Contest:
        """Return a pattern of a set and a size, on so many windows of the stream."""
        return Point(self.drift, kind, size, n_windows).contest(algorithm)


@dataclass(frozen=True)
class Point:
    """A pattern of a set and a size on a stream; an epoch of the stream is a window, and so is a batch."""

    drift: Drift
    kind: PatternSet
    size: int
    n_windows: int
    seed: int = 1
    checks_per_window: int = 1

    @cached_property
    def levels(self) -> Levels:
        """The rates and widths; a window has the same number of events on average, whatever the size."""
        n_types = n_types_of(self.kind, self.size)
        factors = self.drift.factors(self.n_windows, n_types, self.seed)
        per_window = EVENTS_PER_WINDOW / float(factors[:, 0].sum(axis=1).mean())
        width = width_for(self.kind, self.size, per_window)
        rates = per_window / WINDOW_SECONDS * factors[:, 0]
        return Levels(rates, np.minimum(width * factors[:, 1], 1.0), WINDOW_SECONDS)

    @cached_property
    def batches(self) -> list[Events]:
        """The events between two checks."""
        events = drawn_events(self.levels, self.seed)
        length = WINDOW_SECONDS * MICROSECONDS / self.checks_per_window
        edges = np.searchsorted(events.times, np.arange(self.n_windows * self.checks_per_window + 1) * length)
        pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        return [events.take(slice(start, stop)) for start, stop in pairs if stop > start]

    def contest(self, algorithm: str) -> Contest:
        """Return the contest of decision functions with an algorithm; what is known first is exact."""
        names = type_names(n_types_of(self.kind, self.size))
        rates = dict(zip(map(ItemKey, names), self.levels.rates[0].tolist(), strict=True))
        total = sum(rates.values())
        known = Statistics(rates, total_rate=total)
        text = pattern_text(self.kind, self.size)
        contest = Contest(text, algorithm, self.batches, known, Measured().at_rate(total))
        groups = [question.group for form in contest.forms for question in questions_of(form, WINDOW_SECONDS)]
        return replace(contest, initial=replace(known, selectivities=dict(map(self._share, groups))))

    def _share(self, group: GroupKey) -> tuple[GroupKey, float]:
        later = max(item.type for item in group.items)  # it wants what the other is given
        return group, float(self.levels.widths[0, int(later[1:])])
