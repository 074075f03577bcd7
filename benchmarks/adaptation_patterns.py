"""The five sets of patterns of section 5.1 of "Efficient Adaptive Detection of Complex Event Patterns".

Sequences; sequences with a negated event; conjunctions; sequences with an event under Kleene closure; and
disjunctions of three sequences. Sizes count events without the negated one, of a disjunction those of one of
its sequences. Of neighbors, the earlier one is given what the later one wants.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from adaptation_streams import type_names

Link = Callable[[Sequence[str]], list[str]]
PatternSet = Literal["sequence", "negation", "conjunction", "kleene", "composite"]
SETS: tuple[PatternSet, ...] = ("sequence", "negation", "conjunction", "kleene", "composite")
SIZES = (3, 4, 5, 6, 7, 8)
LONGEST_LIST = 2
WINDOW_SECONDS = 10
MATCHES = 1.0  # expected in a window, were all rates and widths equal


def n_types_of(kind: PatternSet, size: int) -> int:
    """Return how many types a pattern names."""
    return size + {"negation": 1, "composite": 4}.get(kind, 0)


def pattern_text(
    kind: PatternSet,
    size: int,
    given: Sequence[str] = (),
    link: Link | None = None,
    alone: Callable[[str, str], list[str]] = lambda type_name, variable: [],  # noqa: ARG005
    window: str = f"{WINDOW_SECONDS} seconds",
) -> str:
    """Return the pattern of a set and a size, as a query.

    Its types are those drawn, unless others are given, `link` has the conditions between neighbors and
    `alone` those on the events of a type.

    >>> print(pattern_text("negation", 3))
    QUERY negation_3
    PATTERN SEQ(T00 a0, T01 a1, NOT T03 n, T02 a2)
    WHERE a1.low <= a0.given AND a0.given < a1.high AND a2.low <= a1.given AND a1.given < a2.high
    WITHIN 10 seconds
    >>> print(pattern_text("kleene", 3))
    QUERY kleene_3
    PATTERN SEQ(T00 a0, T01{1,2} a1[], T02 a2)
    WHERE a2.low <= a0.given AND a0.given < a2.high
    WITHIN 10 seconds
    """
    types, link = given or type_names(n_types_of(kind, size)), link or chain
    variables = [f"a{place}" for place in range(size)]
    items = [f"{name} {variable}" for name, variable in zip(types, variables, strict=False)]
    middle = size // 2
    filters = [one for pair in zip(types, variables, strict=False) for one in alone(*pair)]
    if kind == "composite":
        parts, conditions = [], []
        for letter, first in zip("abc", (0, 2, 4), strict=True):
            own = [f"{letter}{place}" for place in range(size)]
            parts.append(f"SEQ({', '.join(f'{types[first + n]} {name}' for n, name in enumerate(own))})")
            conditions += link(own)
            conditions += [one for n, name in enumerate(own) for one in alone(types[first + n], name)]
        return _query(kind, size, f"OR({', '.join(parts)})", conditions, window)
    if kind == "negation":
        items.insert(middle + 1, f"NOT {types[-1]} n")
        filters += alone(types[-1], "n")
    if kind == "kleene":
        items[middle] = f"{types[middle]}{{1,{LONGEST_LIST}}} {variables.pop(middle)}[]"
    operator = "AND" if kind == "conjunction" else "SEQ"
    return _query(kind, size, f"{operator}({', '.join(items)})", [*link(variables), *filters], window)


def chain(variables: Sequence[str]) -> list[str]:
    """Return the conditions that each event is given what the next one wants."""
    return [
        f"{following}.low <= {one}.given AND {one}.given < {following}.high"
        for one, following in pairwise(variables)
    ]


def _query(kind: PatternSet, size: int, pattern: str, conditions: Sequence[str], window: str) -> str:
    where = " AND ".join(conditions)
    return f"QUERY {kind}_{size}\nPATTERN {pattern}\nWHERE {where}\nWITHIN {window}"


def width_for(kind: PatternSet, size: int, per_window: float) -> float:
    """Return the width with which about as many matches are found, `per_window` events of each type.

    >>> width_for("conjunction", 3, 100.0)
    0.001
    """
    n_orders = 1 if kind == "conjunction" else math.factorial(size)
    n_conditions = size - (2 if kind == "kleene" else 1)
    return float((MATCHES * n_orders / per_window**size) ** (1.0 / n_conditions))
