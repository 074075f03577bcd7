"""Operators with operands, as the queries of `rewriting_workloads.py` have them, and what they match."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

Operator = Literal["SEQ", "AND", "SOME"]


@dataclass(frozen=True)
class Operation:
    """An operator over event types and other operations; no type occurs twice.

    >>> Operation("SEQ", ("A", Operation("AND", ("B", "C")))).text
    'SEQ(A, AND(B, C))'
    """

    operator: Operator
    operands: tuple["Operand", ...]

    @property
    def text(self) -> str:
        inner = (one if isinstance(one, str) else one.text for one in self.operands)
        return f"{self.operator}({', '.join(inner)})"

    @property
    def types(self) -> tuple[str, ...]:
        """The event types, from left to right."""
        parts = ((one,) if isinstance(one, str) else one.types for one in self.operands)
        return tuple(name for part in parts for name in part)

    @property
    def meaning(self) -> object:
        """What two operations have in common that match the same: AND and SOME know no order."""
        parts = [one if isinstance(one, str) else one.meaning for one in self.operands]
        return self.operator, tuple(parts) if self.operator == "SEQ" else frozenset(parts)

    @property
    def innermost(self) -> "Operation":
        """The operation that has no other below it, where each level has at most one."""
        inner = [one for one in self.operands if isinstance(one, Operation)]
        return inner[0].innermost if inner else self

    @property
    def levels(self) -> int:
        return 1 + max((one.levels for one in self.operands if isinstance(one, Operation)), default=0)


Operand: TypeAlias = str | Operation


def n_orders(operand: Operand) -> int:
    """Return in how many orders of all its types an operand of SEQ and AND matches.

    >>> n_orders(Operation("AND", ("A", Operation("SEQ", ("B", "C")))))
    3
    """
    if isinstance(operand, str):
        return 1
    own = math.prod(map(n_orders, operand.operands))
    if operand.operator == "SEQ":
        return own
    sizes = [1 if isinstance(one, str) else len(one.types) for one in operand.operands]
    return own * math.factorial(sum(sizes)) // math.prod(map(math.factorial, sizes))


def expected_matches(pattern: Operation, rates: Mapping[str, float], window: float) -> float:
    """Return how many matches in a second a Poisson stream has.

    >>> expected_matches(Operation("AND", ("A", "B")), {"A": 0.5, "B": 0.25}, 10)
    2.5
    >>> expected_matches(Operation("SOME", ("A", "B")), {"A": 0.5, "B": 0.25}, 10)
    3.25
    """
    if pattern.operator == "SOME":
        sizes = range(1, len(pattern.operands) + 1)
        subsets = (subset for size in sizes for subset in combinations(pattern.operands, size))
        return sum(expected_matches(Operation("AND", subset), rates, window) for subset in subsets)
    n_free = len(pattern.types) - 1
    product = math.prod(rates[name] for name in pattern.types)
    return n_orders(pattern) * product * window**n_free / math.factorial(n_free)


def is_subsequence(short: Sequence[str], long: Sequence[str]) -> bool:
    """Return whether a list is what is left of another, with gaps or without.

    >>> is_subsequence("AC", "ABC"), is_subsequence("CA", "ABC")
    (True, False)
    """
    rest = iter(long)
    return all(one in rest for one in short)


def is_substring(short: Sequence[str], long: Sequence[str]) -> bool:
    """Return whether a list is a part of another, without gaps.

    >>> is_substring("BC", "ABC"), is_substring("AC", "ABC")
    (True, False)
    """
    starts = range(len(long) - len(short) + 1)
    return any(tuple(long[start : start + len(short)]) == tuple(short) for start in starts)


def longest_common_substring(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest part that two lists have in common.

    >>> longest_common_substring("XABY", "ABZ")
    2
    """
    starts = range(len(one))
    parts = (one[start:stop] for start in starts for stop in range(start + 1, len(one) + 1))
    return max((len(part) for part in parts if is_substring(part, other)), default=0)
