"""How far work is: jobs of a host, or a search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Progress:
    """The parts of the work at hand: how many are done, how many there are."""

    done: int
    total: int


ProgressSource: TypeAlias = Callable[[], Progress]


def no_progress() -> Progress:
    """Return the progress of work that cannot tell: nothing of nothing."""
    return Progress(0, 0)


class SearchProgress:
    """Remembers what a search told last.

    >>> search = SearchProgress()
    >>> search.tell(0.25, 1000.0)
    >>> search.now()
    Progress(done=25, total=100)
    """

    def __init__(self) -> None:
        self._used = 0.0

    def tell(self, used: float, cost: float) -> None:  # noqa: ARG002 - the cost is not shown
        """Take the share of the search that is over."""
        self._used = used

    def now(self) -> Progress:
        """Return that share as hundredths."""
        return Progress(round(100 * self._used), 100)
