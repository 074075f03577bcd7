"""What long tests did, counted: how many random cases, matches and kills stand behind a green run."""

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

Count = Callable[..., None]
PREFIX = "tally "


def seed_blocks(first: int, n_seeds: int, *, soak: int = 0, block: int = 20) -> list[object]:
    """Return ranges of seeds as parameters: some for every run, and up to `soak` more for `make soak`."""
    starts = range(first, first + n_seeds + soak, block)
    limits = [(start, min(start + block, first + n_seeds + soak)) for start in starts]
    return [
        pytest.param(
            range(start, stop),
            id=f"{start}-{stop - 1}",
            marks=[pytest.mark.soak] if start >= first + n_seeds else [],
        )
        for start, stop in limits
    ]


def totals(reports: Iterable[pytest.TestReport]) -> Counter[str]:
    """Add up what tests counted, in whatever process they ran."""
    found: Counter[str] = Counter()
    for report in reports:
        for name, value in report.user_properties:
            if name.startswith(PREFIX):
                found[name.removeprefix(PREFIX)] += int(str(value))
    return found
