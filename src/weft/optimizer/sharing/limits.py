"""How long a search may take: until a time, a number of steps, or a word from outside."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Progress = Callable[[float, float], None]  # share of the limit that is used, cost of the best plan
StoppedBy = Literal["steps", "seconds", "cancelled"]


@dataclass
class Limit:
    """Stops a search; with `steps` alone, the same seed gives the same plan.

    >>> limit = Limit(steps=2)
    >>> [limit.allows_step() for _ in range(3)]
    [True, True, False]
    >>> limit.stopped_by
    'steps'
    """

    seconds: float | None = None
    steps: int | None = None
    is_cancelled: Callable[[], bool] = lambda: False
    progress: Progress | None = None
    whole: "Limit | None" = None  # of which this is a part
    taken: int = 0
    stopped_by: StoppedBy | None = None  # what refused a step
    clock: Callable[[], float] = time.perf_counter
    started: float = math.nan  # by the clock; now, unless it is given
    chain: tuple["Limit", ...] = field(
        init=False, repr=False
    )  # this limit, its whole, the whole of that, ...

    def __post_init__(self) -> None:
        for name in ("seconds", "steps"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}; a limit is not negative")
        if math.isnan(self.started):
            self.started = self.clock()
        self.chain = (self, *(() if self.whole is None else self.whole.chain))

    def allows_step(self) -> bool:
        """Count a step, and say whether it may be taken."""
        if self.is_over():
            return False
        self.count(1)
        return True

    def n_allowed(self, most: int) -> int:
        """Return how many steps may be taken now before one looks again, at most so many; none is counted."""
        if self.is_over():
            return 0
        return min([most, *(part.steps - part.taken for part in self.chain if part.steps is not None)])

    def count(self, n_steps: int) -> None:
        """Count steps that were taken."""
        for limit in self.chain:
            limit.taken += n_steps

    def is_over(self) -> bool:
        """Say whether no further step is allowed; if so, note what stops the limit and its parts."""
        for place in reversed(range(len(self.chain))):
            reason = self.chain[place].refusal()
            if reason is not None:
                for stopped in self.chain[: place + 1]:
                    stopped.stopped_by = reason
                return True
        return False

    def refusal(self) -> StoppedBy | None:
        """Return what allows no further step, whatever the whole allows."""
        if self.is_cancelled():
            return "cancelled"
        if self.steps is not None and self.taken >= self.steps:
            return "steps"
        return "seconds" if self.seconds is not None and self.seconds_left() <= 0 else None

    @property
    def is_timed(self) -> bool:
        """Whether time is a limit, so that a search cannot be repeated exactly."""
        return any(part.seconds is not None for part in self.chain)

    def seconds_left(self) -> float:
        """Return the seconds until the end; infinity where time is no limit."""
        if self.seconds is None:
            return math.inf
        return max(0.0, self.seconds - (self.clock() - self.started))

    def time_left(self) -> float:
        """Return the seconds until the end of this limit or of what it is a part of."""
        return min(part.seconds_left() for part in self.chain)

    def used_share(self) -> float:
        """Return the share of the limit that is used up."""
        shares = [0.0]
        if self.steps is not None:
            shares.append(self.taken / self.steps if self.steps else 1.0)
        if self.seconds is not None:
            elapsed = self.clock() - self.started
            shares.append(elapsed / self.seconds if self.seconds else 1.0)
        return max(shares)

    def tell(self, cost: float) -> None:
        """Report how far the search is."""
        if self.progress is not None:
            self.progress(min(self.used_share(), 1.0), cost)

    def part(self, share: float) -> "Limit":
        """Return a limit for a share of what is left; steps taken under it count here too."""
        base = min(self.used_share(), 1.0)
        seconds = None if self.seconds is None else self.seconds_left() * share
        steps = None if self.steps is None else round((self.steps - self.taken) * share)

        def tell(used: float, cost: float) -> None:
            if self.progress is not None:
                self.progress(base + (1.0 - base) * share * used, cost)

        return Limit(seconds, steps, self.is_cancelled, tell, whole=self, clock=self.clock)

    def turn(self, steps: int) -> "Limit":
        """Return a limit for so many steps, however many are left; those taken under it count here too.

        So what is done in a turn does not depend on the whole, which only cuts it short.
        """
        return Limit(None, steps, self.is_cancelled, lambda _, cost: self.tell(cost), self, clock=self.clock)
