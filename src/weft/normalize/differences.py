"""Whether values can differ as some bounds say: a system of difference constraints.

A bound on the difference of two values is an edge between them, and bounds contradict each other where the
edges around some cycle add up to less than 0 (Bellman and Ford). Values that must not differ by some number
are looked at one pair at a time, so that of whole numbers not everything is found out: what is infeasible
here is so indeed, what is not may be.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | Fraction


@dataclass(frozen=True, slots=True)
class DifferenceBound:
    """Says that `left - right` is at most `limit`, or less where it is strict; None is the number 0."""

    left: Hashable
    right: Hashable
    limit: Number
    is_strict: bool = False


def are_feasible(bounds: Sequence[DifferenceBound], unequal: Sequence[DifferenceBound] = ()) -> bool:
    """Return whether there may be numbers that keep all bounds and differ otherwise than `unequal` says.

    >>> above, below = DifferenceBound(None, "x", -3), DifferenceBound("x", None, 5)
    >>> are_feasible([above, below]), are_feasible([above, DifferenceBound("x", None, 3, is_strict=True)])
    (True, False)
    >>> are_feasible([above, DifferenceBound("x", None, 3)], [DifferenceBound("x", None, 3)])
    False
    """
    if not _keeps(bounds):
        return False
    return all(
        _keeps([*bounds, DifferenceBound(pair.left, pair.right, pair.limit, is_strict=True)])
        or _keeps([*bounds, DifferenceBound(pair.right, pair.left, -pair.limit, is_strict=True)])
        for pair in unequal
    )


def _keeps(bounds: Sequence[DifferenceBound]) -> bool:
    """Return whether some numbers keep all bounds: no cycle is shorter than 0."""
    distances: dict[Hashable, tuple[Number, int]] = {}
    for bound in bounds:
        distances[bound.left] = distances[bound.right] = (0, 0)
    for _ in range(len(distances) + 1):
        is_settled = True
        for bound in bounds:
            length, n_strict = distances[bound.right]
            reached = (length + bound.limit, n_strict - bound.is_strict)
            if reached < distances[bound.left]:
                distances[bound.left] = reached
                is_settled = False
        if is_settled:
            return True
    return False
