"""The outline of random patterns: operator, size, and the one item that is negated or a list.

The proportions are those of section 6.1 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
Event Streams. SIGMOD 2019: half of the patterns are sequences and half conjunctions, a fifth has a negation
or a Kleene closure on one of its types, and sizes vary around an average. They are dealt, not drawn: ten
patterns have them as exactly as a thousand. `stocks.py` and `traffic.py` fill the outlines.
"""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from weft.language.lexer import quote_name

Operator = Literal["SEQ", "AND"]
Role = Literal["event", "negation", "list"]
Value = TypeVar("Value")

SPECIAL_SHARE = 0.2  # patterns with a negation or a list; half of these have a negation
SMALLEST_SPECIAL = 3  # a negation stands between two events, and a list beside two that are compared
LONGEST_LIST = 3  # lists of any length grow exponentially with the window, whatever the plan
SWAPPED_SHARE = 0.1  # patterns in which two neighbors stand against the order that the others follow
VARIABLES = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Shape:
    """What a pattern looks like before its types are drawn; `special` is the role of one of its items."""

    operator: Operator
    size: int
    special: Role
    window_factor: int = 1


def deal_shapes(
    n_patterns: int,
    average_size: int,
    *,
    size_spread: int = 1,
    window_factors: Sequence[int] = (1,),
    source: random.Random,
) -> list[Shape]:
    """Return shapes in random order; sizes differ from their average by at most `size_spread`.

    >>> from collections import Counter
    >>> shapes = deal_shapes(30, 5, source=random.Random(1))
    >>> sorted(Counter(shape.size for shape in shapes).items())
    [(4, 10), (5, 10), (6, 10)]
    >>> sorted(Counter(shape.special for shape in shapes).items())
    [('event', 24), ('list', 3), ('negation', 3)]
    """
    smallest = average_size - size_spread
    if smallest < 2 or average_size + size_spread > len(VARIABLES):
        raise ValueError(f"sizes are 2 to {len(VARIABLES)}, found {average_size} ± {size_spread}")
    by_distance = sorted(range(smallest, average_size + size_spread + 1), key=lambda n: abs(n - average_size))
    sizes = _deal(by_distance, n_patterns, source)
    both: tuple[Operator, ...] = ("SEQ", "AND")
    operators = _deal(both, n_patterns, source)
    factors = _deal(window_factors, n_patterns, source)
    large = [number for number, size in enumerate(sizes) if size >= SMALLEST_SPECIAL]
    special = source.sample(large, min(len(large), round(n_patterns * SPECIAL_SHARE)))
    roles: dict[int, Role] = {
        number: "list" if place % 2 else "negation" for place, number in enumerate(special)
    }
    return [
        Shape(operators[number], sizes[number], roles.get(number, "event"), factors[number])
        for number in range(n_patterns)
    ]


def _deal(values: Sequence[Value], count: int, source: random.Random) -> list[Value]:
    """Return values in random order, each equally often as far as their number allows."""
    dealt = [values[number % len(values)] for number in range(count)]
    source.shuffle(dealt)
    return dealt


def sample_alike(
    values: Sequence[Value],
    size: int,
    rate_of: Callable[[Value], float],
    most_difference: float,
    source: random.Random,
) -> list[Value]:
    """Return so many of some values, in random order, whose rates are no further apart than that.

    >>> sorted(sample_alike([1, 2, 50, 51, 99], 2, float, 1.5, random.Random(1)))
    [1, 2]
    """
    if most_difference == math.inf:
        return source.sample(values, size)
    ordered = sorted(values, key=rate_of)
    alike = [
        [one for one in ordered[place:] if rate_of(one) - rate_of(first) <= most_difference]
        for place, first in enumerate(ordered)
    ]
    return source.sample(source.choice([own for own in alike if len(own) >= size]), size)


def swap_neighbors(written: Sequence[Value], source: random.Random) -> list[Value]:
    """Return the values as they are, or, now and then, with two neighbors exchanged."""
    swapped = list(written)
    if source.random() < SWAPPED_SHARE:
        place = source.randrange(len(swapped) - 1)
        swapped[place], swapped[place + 1] = swapped[place + 1], swapped[place]
    return swapped


def roles_of(shape: Shape, rates: Sequence[float]) -> tuple[Role, ...]:
    """Return the role of each item of a pattern whose items have these rates.

    The rarest item that may be special is: a frequent one would, negated, reject every match and, as a
    list, give each match in hundreds of versions. A negation inside SEQ stands between two events.

    >>> roles_of(Shape("SEQ", 4, "negation"), [2.0, 40.0, 9.0, 30.0])
    ('event', 'event', 'negation', 'event')
    """
    places = list(range(shape.size))
    if shape.operator == "SEQ" and shape.special == "negation":
        places = places[1:-1]
    chosen = min(places, key=rates.__getitem__)
    return tuple(shape.special if place == chosen else "event" for place in range(shape.size))


def query_text(
    name: str,
    operator: Operator,
    items: Iterable[tuple[str, Role]],
    conditions: Sequence[str],
    window: str,
) -> str:
    """Return a query whose items are bound to a, b, c ... in the order written.

    >>> print(query_text("q", "SEQ", [("MSFT", "event"), ("GOOG", "list")], ["a.diff > 0"], "1 second"))
    QUERY q
    PATTERN SEQ(MSFT a, GOOG{1,3} b[])
    WHERE a.diff > 0
    WITHIN 1 second
    """
    written = ", ".join(
        _item_text(quote_name(type_name), variable, role)
        for (type_name, role), variable in zip(items, VARIABLES, strict=False)
    )
    where = f"WHERE {' AND '.join(conditions)}\n" if conditions else ""
    return f"QUERY {quote_name(name)}\nPATTERN {operator}({written})\n{where}WITHIN {window}"


def _item_text(type_name: str, variable: str, role: Role) -> str:
    match role:
        case "event":
            return f"{type_name} {variable}"
        case "negation":
            return f"NOT {type_name} {variable}"
        case "list":
            return f"{type_name}{{1,{LONGEST_LIST}}} {variable}[]"
