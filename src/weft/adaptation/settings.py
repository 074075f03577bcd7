"""How a stream adapts its plan; little is imported here, because it travels to the workers of Spark."""

from dataclasses import dataclass
from typing import Literal

from weft.errors import WeftError

Decider = Literal["invariants", "threshold", "unconditional", "off"]
DECIDERS: tuple[Decider, ...] = ("invariants", "threshold", "unconditional", "off")


@dataclass(frozen=True, slots=True)
class Adaptation:
    """When a stream plans anew, and when it takes the new plan.

    `decide` is the decision function: `invariants` with the `k` tightest conditions of each part of the
    plan and a distance, `threshold` with a share by which a statistic may differ, `unconditional`, or
    `off`. Watching takes at most the share `watching` of a run, as its time is reckoned from the events and
    the plan; steps that are not watched merely count events, and with 1 all are watched. A search takes at
    most `steps`. A new plan must save the share `least_gain` of the cost, and more in `horizon` sliding
    windows than it costs to switch. Where all work of that time takes less than planning does, `planning`
    nanoseconds for each query, the plan stays. `way` forces how to switch.

    >>> Adaptation(decide="invariant")
    Traceback (most recent call last):
    weft.errors.WeftError: adapt is 'invariant'; expected 'invariants', 'threshold', 'unconditional', 'off'
    """

    decide: Decider = "invariants"
    k: int = 1
    distance: float | Literal["average", "tuned"] = "tuned"
    threshold: float = 0.5
    steps: int = 200
    least_gain: float = 0.05
    horizon: float = 4.0
    planning: float = 1e7
    watching: float = 0.01
    way: Literal["parallel", "rebuild"] | None = None

    def __post_init__(self) -> None:
        if self.decide not in DECIDERS:
            raise WeftError(f"adapt is {self.decide!r}; expected {', '.join(map(repr, DECIDERS))}")
        for name in ("k", "steps"):
            if getattr(self, name) < 1:
                raise WeftError(f"{name} of the adaptation is {getattr(self, name)}; it must be at least 1")
        for name in ("threshold", "least_gain", "horizon", "planning", "watching"):
            if getattr(self, name) < 0:
                raise WeftError(f"{name} of the adaptation is {getattr(self, name)}; it is not negative")
