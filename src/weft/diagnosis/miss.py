"""The closest miss: the events that nearly match a rule, and what they lack."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class MissedEvent:
    """An event of a closest miss, with the attributes that tell why it is one.

    A `blocker` is not bound: it is what a NOT of the rule forbids.
    """

    variable: str
    type: str
    time: datetime
    id: int | str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    is_blocker: bool = False


@dataclass(frozen=True)
class ClosestMiss:
    """The partial match that gets furthest: its events, the condition that fails, and what was found."""

    condition: str
    found: str
    events: tuple[MissedEvent, ...]

    @property
    def text(self) -> str:
        """The condition and what was found instead.

        >>> ClosestMiss("t.amount > 1000", "was 999.0", ()).text
        't.amount > 1000: was 999.0'
        """
        return f"{self.condition}: {self.found}" if self.found else self.condition
