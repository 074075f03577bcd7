"""Slices of time as shards: which of them a row goes to, and which owns a match."""

from dataclasses import dataclass

import numpy as np

from weft.runtime.columns.events import Array
from weft.runtime.stages.shard_executor import Result

SLICE_LENGTHS = 16  # how many windows long a slice is: neighbors share one row in so many
SHORTEST_SLICE, HALF_HOUR = 1_000_000, 1_800_000_000  # microseconds


@dataclass(frozen=True, slots=True)
class TimeSlices:
    """Time cut into slices of `width` microseconds from the epoch, dealt in turn to `n_shards` shards.

    Each shard sees `lead` microseconds before its slices and `reach` after them. A slice is much longer than
    both, so slices that are not neighbors have nothing to do with each other and may run together. Dealing
    them in turn needs no knowledge of the data, and spreads bursts over the shards.
    """

    width: int
    n_shards: int
    reach: int = 0
    lead: int = 0

    def shard_of(self, times: Array) -> Array:
        """Return the shard that owns the matches which begin at the given times."""
        return np.asarray(times // self.width % self.n_shards)

    def keep_owned(self, result: Result, shards: Array) -> Result:
        """Keep what begins in a slice of the given shards; the rest belongs to a neighbor."""
        moments = result.moments
        if moments is None:
            return result
        return result.take(np.flatnonzero(np.isin(self.shard_of(moments), shards)))

    def copies(self, times: Array) -> tuple[Array, Array]:
        """Return rows, and for each a shard that has to see what begins at its time; the owners come first.

        >>> rows, shards = TimeSlices(10, 4, reach=2, lead=1).copies(np.array([5, 19, 21]))
        >>> rows.tolist(), shards.tolist()
        ([0, 1, 2, 2, 1], [0, 1, 2, 1, 2])
        """
        home, first, last = map(self.shard_of, (times, times - self.reach, times + self.lead))
        earlier, later = np.flatnonzero(first != home), np.flatnonzero(last != home)
        rows = np.concatenate([np.arange(times.size), earlier, later])
        return rows, np.concatenate([home, first[earlier], last[later]])

    def groups(self, shards: Array) -> list[Array]:
        """Divide shards into groups without neighbors, to be run together.

        >>> [group.tolist() for group in TimeSlices(10, 6).groups(np.array([0, 1, 2, 5]))]
        [[0, 2], [1, 5]]
        """
        if self.n_shards % 2:
            return [shards[place : place + 1] for place in range(shards.size)]
        return [group for group in (shards[shards % 2 == 0], shards[shards % 2 == 1]) if group.size]


def slice_time(reach: int, lead: int, n_shards: int) -> TimeSlices:
    """Choose slices so long that the rows which two of them share stay few.

    Slices of less than half an hour are twice as long: of these there are many in any case.

    >>> slice_time(reach=1_000_000, lead=0, n_shards=8)
    TimeSlices(width=32000000, n_shards=8, reach=1000000, lead=0)
    """
    least = SLICE_LENGTHS * (reach + lead)
    return TimeSlices(max(least, min(2 * least, HALF_HOUR), SHORTEST_SLICE), n_shards, reach, lead)
