"""How long a search may take: until a time, a number of steps, or a word from outside."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

Progress = Callable[[float, float], None]  # share of the limit that is used, cost of the best plan


@dataclass
class Limit:
    """Stops a search; with `steps` alone, the same seed gives the same plan.

    >>> limit = Limit(steps=2)
    >>> [limit.allows_step() for _ in range(3)]
    [True, True, False]
    """

    seconds: float | None = None
    steps: int | None = None
    is_cancelled: Callable[[], bool] = lambda: False
    progress: Progress | None = None
    whole: "Limit | None" = None  # of which this is a part
    taken: int = 0
    is_reached: bool = False  # whether a step was refused, as the limit was used up
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        for name in ("seconds", "steps"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} is {value}; a limit is not negative")

    def allows_step(self) -> bool:
        """Count a step, and say whether it may be taken."""
        limit: Limit | None = self
        if self.is_cancelled() or self.used_share() >= 1.0:
            while limit is not None:
                limit.is_reached, limit = True, limit.whole
            return False
        while limit is not None:
            limit.taken, limit = limit.taken + 1, limit.whole
        return True

    def used_share(self) -> float:
        """Return the share of the limit that is used up."""
        shares = [0.0]
        if self.steps is not None:
            shares.append(self.taken / self.steps if self.steps else 1.0)
        if self.seconds is not None:
            elapsed = time.perf_counter() - self.started
            shares.append(elapsed / self.seconds if self.seconds else 1.0)
        return max(shares)

    def tell(self, cost: float) -> None:
        """Report how far the search is."""
        if self.progress is not None:
            self.progress(min(self.used_share(), 1.0), cost)

    def at_most(self, seconds: float) -> "Limit":
        """Return a limit that ends after so many seconds if this one does not end before."""
        left = (
            seconds
            if self.seconds is None
            else min(seconds, self.seconds * (1.0 - min(self.used_share(), 1.0)))
        )
        steps = None if self.steps is None else self.steps - self.taken
        return Limit(left, steps, self.is_cancelled, self.progress)

    def part(self, share: float) -> "Limit":
        """Return a limit for a share of what is left; steps taken under it count here too."""
        base = min(self.used_share(), 1.0)
        seconds = None if self.seconds is None else self.seconds * (1.0 - base) * share
        steps = None if self.steps is None else round((self.steps - self.taken) * share)

        def tell(used: float, cost: float) -> None:
            if self.progress is not None:
                self.progress(base + (1.0 - base) * share * used, cost)

        return Limit(seconds, steps, self.is_cancelled, tell, whole=self)
