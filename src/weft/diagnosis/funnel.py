"""How many events and partial matches each step of a rule leaves."""

from dataclasses import dataclass
from typing import Literal

StepKind = Literal[
    "events", "condition", "join", "key", "window", "list", "negation", "union", "strategy", "skip"
]


@dataclass(frozen=True)
class FunnelStep:
    """One step: what is asked for in addition, and how many events or partial matches are left.

    A step on the events of one item alone has that item's variable as `item`, and `is_alone`. The count
    is None where it was not found out; the note says why, or what may be meant.
    """

    kind: StepKind
    text: str
    count: int | None
    item: str | None = None
    is_alone: bool = False
    note: str = ""


@dataclass(frozen=True)
class Funnel:
    """The steps of one alternative of a rule, in the order of its pattern."""

    pattern: str
    steps: tuple[FunnelStep, ...]

    @property
    def failing(self) -> int | None:
        """The number of the first step that leaves nothing.

        >>> steps = (FunnelStep("events", "A a", 3), FunnelStep("condition", "a.x > 1", 0))
        >>> Funnel("A a", steps).failing
        1
        """
        return next((number for number, step in enumerate(self.steps) if step.count == 0), None)

    @property
    def reach(self) -> tuple[int, float]:
        """How far the alternative gets: the items that it reaches, and its part of all steps."""
        done = self.steps[: self.failing]
        items = {step.item for step in done if not step.is_alone or step.item == self.steps[0].item}
        return len(items), len(done) / len(self.steps)

    @property
    def most_selective(self) -> int | None:
        """The number of the step that leaves the smallest part of what the step before it left."""
        shares = [
            (after.count / before.count, number)
            for number, (before, after) in enumerate(zip(self.steps, self.steps[1:], strict=False), start=1)
            if before.count and after.count is not None and after.kind not in ("events", "join")
        ]
        smallest = min(shares, default=None)
        return None if smallest is None or smallest[0] >= 1 else smallest[1]
