"""What panes do to the trends of one automaton, piece by piece, and the windows that are made of them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from weft.kernels.arrays import as_own
from weft.kernels.trends.compose import Composition, PaneMaps, compose_windows, join_panes
from weft.kernels.trends.panes import pane_starts
from weft.kernels.trends.results import Kept, scale_results
from weft.plan.template import START, Automaton
from weft.runtime.columns.events import Array
from weft.runtime.matches.table import offsets_of, ranges
from weft.runtime.trends.measures import Lane, Measures, Part
from weft.runtime.trends.rows import Results, chain, results_of, room_for
from weft.runtime.trends.selection import count_windows

POWERS: Mapping[Part, int] = {"positive": 1, "negative": 1, "square": 2}  # of a value, in a lane
ROUNDED_LIMBS = 4  # beyond these and those of a value, numbers are rounded: all that a decimal holds is exact


@dataclass(frozen=True)
class TrendMaps:
    """Squares of rows, one for each piece of a pane that has events, in order of partition and time.

    Results have what each square does: as many rows as the automaton has sources, squared. The values of an
    attribute are naturals times two to its exponent, of so many limbs at most.
    """

    automaton: Automaton
    span: tuple[int, int]
    partitions: Array
    panes: Array
    kept: Kept
    best: Array
    has: Array
    measures: Measures
    exponents: Mapping[str, int]
    value_limbs: int

    @staticmethod
    def of_results(
        found: Results,
        automaton: Automaton,
        span: tuple[int, int],
        measures: Measures,
        exponents: Mapping[str, int],
        value_limbs: int,
    ) -> "TrendMaps":
        """Return the maps that a kernel found, square by square."""
        each = slice(None, None, len(automaton.sources) ** 2)
        return TrendMaps(
            automaton,
            span,
            as_own(found.partitions[each]),
            as_own(found.windows[each]),
            found.kept,
            as_own(found.best),
            as_own(found.has),
            measures,
            exponents,
            value_limbs,
        )

    @property
    def n_maps(self) -> int:
        return int(self.panes.size)

    @property
    def n_bytes(self) -> int:
        """How much room the maps take."""
        return sum(array.nbytes for array in (*self.kept, self.partitions, self.panes, self.best, self.has))

    @property
    def width(self) -> int:
        """The numbers of a row."""
        return 1 + len(self.measures.lanes)

    @property
    def most(self) -> int:
        """Up to how many limbs numbers are exact."""
        return ROUNDED_LIMBS + self.value_limbs

    @property
    def starts(self) -> Array:
        """The time at which the pane of each map begins."""
        starts: Array = pane_starts(self.panes, *self.span)
        return starts

    @property
    def last_time(self) -> int:
        """The last time at which a window that has one of the panes is open."""
        length, slide = self.span
        return int((self.starts // slide * slide).max()) + length - 1

    def compose(self, windows: tuple[int, int]) -> Results:
        """Return the trends of windows, from the first to the last one of those given."""
        sources, ends = self.automaton.sources, self.automaton.ends
        wanted = Composition(
            *self.span,
            *windows,
            np.array([place for place, own in enumerate(sources) if own.position == START], np.int64),
            np.array([end.source for end in ends], np.int64),
            np.array([end.ways for end in ends], np.int64),
        )
        is_first = np.ones(self.n_maps, np.bool_)
        is_first[1:] = np.diff(self.partitions) != 0
        n_windows = count_windows(self.starts, is_first, self.span, windows)
        room = room_for(n_windows, self.width, self.best.shape[1])
        limbs = compose_windows(self._arrays, wanted, self.width, self.most, room)
        return results_of(room, limbs, 0, self.width, self.best.shape[1])

    @property
    def _arrays(self) -> PaneMaps:
        size = len(self.automaton.sources)
        return PaneMaps(self.partitions, self.panes, self.kept, self.best, self.has, size)

    def take(self, chosen: Array) -> "TrendMaps":
        """Return some of the maps, in the order given."""
        square = len(self.automaton.sources) ** 2
        rows = (chosen[:, None] * square + np.arange(square)).reshape(-1)
        numbers = (rows[:, None] * self.width + np.arange(self.width)).reshape(-1)
        return replace(
            self,
            partitions=self.partitions[chosen],
            panes=self.panes[chosen],
            kept=take_numbers(self.kept, numbers),
            best=self.best[rows],
            has=self.has[rows],
        )

    def followed_by(self, later: "TrendMaps") -> "TrendMaps":
        """Return these maps and later ones, whose partitions have the same numbers."""
        lanes = tuple(dict.fromkeys([*self.measures.lanes, *later.measures.lanes]))
        names = {*self.exponents, *later.exponents}
        exponents = {
            name: min(own.exponents[name] for own in (self, later) if name in own.exponents) for name in names
        }
        parts = [own.with_lanes(lanes, exponents) for own in (self, later)]
        partitions = np.concatenate([self.partitions, later.partitions])
        panes = np.concatenate([self.panes, later.panes])
        both = replace(
            self,
            partitions=partitions,
            panes=panes,
            kept=chain([part.kept for part in parts]),
            best=np.concatenate([self.best, later.best]),
            has=np.concatenate([self.has, later.has]),
            measures=Measures(lanes, self.measures.extremes),
            exponents=exponents,
            value_limbs=max(part.value_limbs for part in parts),
        )
        return both.in_order()

    def in_order(self) -> "TrendMaps":
        """Return the maps by partition and pane; those of one pane keep their order."""
        return self.take(np.lexsort((self.panes, self.partitions)))

    def with_lanes(self, lanes: tuple[Lane, ...], exponents: Mapping[str, int]) -> "TrendMaps":
        """Return the same maps with more lanes, which are zero, and for lower exponents."""
        if lanes == self.measures.lanes and exponents == self.exponents:
            return self
        own = {lane: 1 + place for place, lane in enumerate(self.measures.lanes)}
        places = np.array([0, *(own.get(lane, -1) for lane in lanes)])
        rows = np.arange(self.best.shape[0])[:, None]
        numbers = np.where(places < 0, -1, rows * self.width + places).reshape(-1)
        lifts = {name: self.exponents.get(name, exponent) - exponent for name, exponent in exponents.items()}
        shift = [lifts.get(lane.name or "", 0) * POWERS.get(lane.part, 0) for lane in lanes]
        value_limbs = self.value_limbs + max(shift, default=0) // 32 + bool(any(shift))
        shifts = np.tile(np.array([0, *shift], np.int64), rows.size)
        kept = scale_results(take_numbers(self.kept, numbers), shifts, ROUNDED_LIMBS + value_limbs)
        measures = Measures(lanes, self.measures.extremes)
        return replace(self, kept=kept, measures=measures, exponents=exponents, value_limbs=value_limbs)

    def joined(self) -> "TrendMaps":
        """Return one map for each pane that came in pieces."""
        square = len(self.automaton.sources) ** 2
        room = room_for(self.n_maps * square, self.width, self.best.shape[1])
        limbs = join_panes(self._arrays, self.width, self.most, room)
        whole = results_of(room, limbs, 0, self.width, self.best.shape[1])
        return TrendMaps.of_results(
            whole, self.automaton, self.span, self.measures, self.exponents, self.value_limbs
        )


def take_numbers(kept: Kept, numbers: Array) -> Kept:
    """Return some of the numbers, zero for those at -1."""
    is_there = numbers >= 0
    places = np.where(is_there, numbers, 0)
    if not kept.mantissas.size:
        nothing = np.zeros(numbers.size, np.int64)
        return Kept(offsets_of(nothing), kept.limbs, nothing.astype(np.float64), nothing)
    sizes = np.where(is_there, kept.offsets[places + 1] - kept.offsets[places], 0)
    return Kept(
        offsets_of(sizes),
        kept.limbs[ranges(kept.offsets[places], sizes)],
        np.where(is_there, kept.mantissas[places], 0.0),
        np.where(is_there, kept.exponents[places], 0),
    )
