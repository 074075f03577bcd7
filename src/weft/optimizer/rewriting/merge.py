"""Merge sharing: compute a query from another one whose operands are among its own.

Idea        The operand list of the source is a substring or a subsequence of that of the beneficiary.
            Its composite events take the place of these operands; the others are joined to them.
Reference   MST in section IV-A of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     Nothing.
Complexity  O(n m) for lists of n and m operands; O(n + m) where no operand occurs twice.
"""

from dataclasses import dataclass
from typing import Literal

from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol

Case = Literal["substring", "subsequence"]


@dataclass(frozen=True)
class Merge:
    """How a beneficiary uses a source: the places of the source's operands, and the operands that remain.

    `query` takes the composite events of the source as an operand. Its matches are those of the
    beneficiary, once they are in the `order` that is given where the query does not say it.
    """

    case: Case
    places: tuple[int, ...]
    rest: tuple[Symbol, ...]
    query: FlatQuery
    order: tuple[Symbol, ...] = ()


def merge(source: FlatQuery, beneficiary: FlatQuery) -> Merge | None:
    """Return how the beneficiary is computed from the source, None where it cannot be.

    >>> from weft.optimizer.rewriting.flat_query import sequence
    >>> merged = merge(sequence("E1", "E3"), sequence("E1", "E2", "E3"))
    >>> merged.case, str(merged.query), merged.order
    ('subsequence', 'CONJ(E2 & SEQ(E1, E3))', ('E1', 'E2', 'E3'))
    """
    if source.operator != beneficiary.operator or not source.operands:
        return None
    case: Case = "substring"
    places = substring_places(source.operands, beneficiary.operands)
    if places is None:
        case, places = "subsequence", subsequence_places(source.operands, beneficiary.operands)
    if places is None:
        return None
    operands = beneficiary.operands
    rest = tuple(operands[place] for place in range(len(operands)) if place not in set(places))
    if not rest:
        return Merge(case, places, rest, source)
    if case == "subsequence" and source.operator == "SEQ":
        return Merge(case, places, rest, FlatQuery("CONJ", (source, *rest)), operands)
    if source.operator == "SEQ":
        joined = (*operands[: places[0]], source, *operands[places[-1] + 1 :])
        return Merge(case, places, rest, FlatQuery("SEQ", joined))
    return Merge(case, places, rest, FlatQuery(source.operator, (source, *rest)))


def substring_places(part: tuple[Symbol, ...], whole: tuple[Symbol, ...]) -> tuple[int, ...] | None:
    """Return where a list stands in another as a whole, first from the left.

    >>> substring_places(("b", "a"), ("a", "b", "a"))
    (1, 2)
    """
    for start in range(len(whole) - len(part) + 1):
        if whole[start : start + len(part)] == part:
            return tuple(range(start, start + len(part)))
    return None


def subsequence_places(part: tuple[Symbol, ...], whole: tuple[Symbol, ...]) -> tuple[int, ...] | None:
    """Return where the members of a list stand in another in the same order, each as early as possible.

    >>> subsequence_places(("a", "a"), ("a", "b", "a", "a"))
    (0, 2)
    """
    places: list[int] = []
    for place, symbol in enumerate(whole):
        if len(places) < len(part) and symbol == part[len(places)]:
            places.append(place)
    return tuple(places) if len(places) == len(part) else None
