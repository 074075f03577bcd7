"""Merge sharing: compute a query from another one whose operands are among its own.

Idea        The operand list of the source is a substring or a subsequence of that of the beneficiary.
            Its composite events take the place of these operands; the others are joined to them.
Reference   MST in section IV-A of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     With repeated operands there are several ways, of which MOST_WAYS are looked at. The planner
            joins the rest to the places of the source by itself; the merged query is there as the paper
            writes it.
Complexity  O(n m) for lists of n and m operands where no operand occurs twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol

Case = Literal["substring", "subsequence"]
Places = tuple[int, ...]

MOST_WAYS = 8  # in which a beneficiary with repeated operands is computed from a source


@dataclass(frozen=True)
class Merge:
    """How a beneficiary uses a source: the places that the source's operands have in the beneficiary."""

    source: FlatQuery
    beneficiary: FlatQuery
    places: Places

    @property
    def case(self) -> Case:
        return "substring" if _is_substring(self.places) else "subsequence"

    @property
    def rest(self) -> tuple[Symbol, ...]:
        """The operands that are joined to the source."""
        taken = set(self.places)
        return tuple(one for place, one in enumerate(self.beneficiary.operands) if place not in taken)

    @property
    def query(self) -> FlatQuery:
        """What takes the composite events of the source as an operand.

        Its matches are those of the beneficiary, once they are in the `order` that it does not say itself.
        """
        operands, rest = self.beneficiary.operands, self.rest
        if not rest:
            return self.source
        if self.source.operator == "SEQ" and self.case == "substring":
            joined = (*operands[: self.places[0]], self.source, *operands[self.places[-1] + 1 :])
            return FlatQuery("SEQ", joined)
        operator = "CONJ" if self.source.operator == "SEQ" else self.source.operator
        return FlatQuery(operator, (self.source, *rest))

    @property
    def order(self) -> tuple[Symbol, ...]:
        """The order in which the matches of `query` have to be, empty where they are."""
        is_open = self.source.operator == "SEQ" and self.case == "subsequence"
        return self.beneficiary.operands if is_open else ()


def merges(source: FlatQuery, beneficiary: FlatQuery) -> Iterator[Merge]:
    """Yield the ways to compute the beneficiary from the source, those of a substring first.

    >>> from weft.optimizer.rewriting.flat_query import sequence
    >>> (merged,) = merges(sequence("E1", "E3"), sequence("E1", "E2", "E3"))
    >>> merged.case, str(merged.query), merged.order
    ('subsequence', 'CONJ(E2 & SEQ(E1, E3))', ('E1', 'E2', 'E3'))
    """
    if source.operator == beneficiary.operator and source.operands:
        part, whole = source.operands, beneficiary.operands
        apart = (places for places in subsequence_places(part, whole) if not _is_substring(places))
        for places in islice(chain(substring_places(part, whole), apart), MOST_WAYS):
            yield Merge(source, beneficiary, places)


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


def _is_substring(places: Places) -> bool:
    return places[-1] - places[0] == len(places) - 1
