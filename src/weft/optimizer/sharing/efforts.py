"""What each method of a search did: its steps, its seconds, and by how much the plan became cheaper."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.shared_nodes import SCALE, SharedNodes


@dataclass(frozen=True, slots=True)
class Effort:
    """What a method took, and what it gained, in units of the cost."""

    steps: int = 0
    seconds: float = 0.0
    gain: float = 0.0

    def plus(self, other: "Effort") -> "Effort":
        """Return both efforts as one."""
        return Effort(self.steps + other.steps, self.seconds + other.seconds, self.gain + other.gain)


class Efforts:
    """The efforts of methods by their names, in the order in which they began."""

    def __init__(self, nodes: SharedNodes) -> None:
        self.by_method: dict[str, Effort] = {}
        self._nodes = nodes

    @contextmanager
    def of(self, method: str, limit: Limit) -> Iterator[None]:
        """Count what is done under a limit as done by a method."""
        taken, started, total = limit.taken, limit.clock(), self._nodes.total
        yield
        gain = (total - self._nodes.total) / SCALE
        self.add(method, Effort(limit.taken - taken, limit.clock() - started, gain))

    def add(self, method: str, effort: Effort) -> None:
        """Count one more effort of a method."""
        self.by_method[method] = self.by_method.get(method, Effort()).plus(effort)

    def add_all(self, others: Mapping[str, Effort]) -> None:
        """Count the efforts of another part of the search."""
        for method, effort in others.items():
            self.add(method, effort)
