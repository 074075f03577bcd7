"""Merge sharing: compute a query from another one whose operands are among its own.

Idea        The operand list of the source is a substring or a subsequence of that of the beneficiary.
            Its composite events take the place of these operands; the others are joined to them.
Reference   MST in section IV-A of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     With repeated operands there are several ways, of which MOST_WAYS are looked at. The planner
            joins the rest to the places of the source by itself, with all order that is missing.
Complexity  O(n m) for lists of n and m operands where no operand occurs twice.
"""

from collections.abc import Iterator
from itertools import chain, islice

from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol

Places = tuple[int, ...]

MOST_WAYS = 8  # in which a beneficiary with repeated operands is computed from a source


def merges(source: FlatQuery, beneficiary: FlatQuery) -> Iterator[Places]:
    """Yield the places that the source's operands may have in the beneficiary, those of a substring first.

    >>> from weft.optimizer.rewriting.flat_query import sequence
    >>> list(merges(sequence("E1", "E3"), sequence("E1", "E2", "E3")))
    [(0, 2)]
    """
    if source.operator == beneficiary.operator and source.operands:
        part, whole = source.operands, beneficiary.operands
        apart = (places for places in subsequence_places(part, whole) if not is_substring(places))
        yield from islice(chain(substring_places(part, whole), apart), MOST_WAYS)


def substring_places(part: tuple[Symbol, ...], whole: tuple[Symbol, ...]) -> Iterator[Places]:
    """Yield where a list stands in another as a whole, from left to right.

    >>> list(substring_places(("b", "a"), ("a", "b", "a")))
    [(1, 2)]
    """
    for start in range(len(whole) - len(part) + 1):
        if whole[start : start + len(part)] == part:
            yield tuple(range(start, start + len(part)))


def subsequence_places(
    part: tuple[Symbol, ...], whole: tuple[Symbol, ...], start: int = 0
) -> Iterator[Places]:
    """Yield where the members of a list stand in another in the same order, early ones first.

    >>> list(subsequence_places(("a", "a"), ("a", "b", "a", "a")))
    [(0, 2), (0, 3), (2, 3)]
    """
    if not part:
        yield ()
        return
    for place in range(start, len(whole) - len(part) + 1):
        if whole[place] == part[0]:
            for others in subsequence_places(part[1:], whole, place + 1):
                yield (place, *others)


def is_substring(places: Places) -> bool:
    """Say whether places are neighbors."""
    return places[-1] - places[0] == len(places) - 1
