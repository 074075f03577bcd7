"""Projections of a query: some of its items with all that the query says of them, by sets of bits."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Projection:
    """What a part of a query finds; parts of different queries with equal texts are the same.

    `kinds` are the kinds of events of its items, and of its matches there are `factor` times the product of
    their rates.
    """

    text: str
    kinds: tuple[str, ...] = field(compare=False)
    factor: float = field(compare=False, default=1.0)

    def __hash__(self) -> int:
        return hash(self.text)  # which a string remembers

    @property
    def is_primitive(self) -> bool:
        """Whether a match is a single event as it arises."""
        return len(self.kinds) == 1 and self.text == self.kinds[0]


class ProjectedQuery(ABC):
    """A query whose projections are given by sets of its items; bit i stands for item i.

    A projection that has all items which a negation looks at checks that negation. So does every larger
    one, which gets by with its inputs if one of them has done so; else it needs the negated events.
    """

    name: str
    n_items: int

    def __init__(self) -> None:
        self._projections: dict[int, Projection] = {}

    @cached_property
    def whole(self) -> int:
        """All items."""
        return (1 << self.n_items) - 1

    def projection(self, items: int) -> Projection:
        """Return the projection to some items."""
        projection = self._projections.get(items)
        if projection is None:
            projection = self._projections[items] = self._project(items)
        return projection

    @abstractmethod
    def _project(self, items: int) -> Projection:
        """Work out a projection."""

    @property
    def operators(self) -> tuple[int, ...]:
        """The items of each operator as the query is written, inner ones first; the last has all."""
        return (self.whole,)

    def implies(self, items: int, other: "ProjectedQuery", other_items: int) -> bool:
        """Whether every match of a projection is one of another, which can then be read in its place."""
        return self.projection(items).text == other.projection(other_items).text

    def checked(self, items: int) -> frozenset[int]:  # noqa: ARG002 - most queries have no negation
        """Return the numbers of the negations that the projection to some items checks."""
        return frozenset()

    def negated_kinds(self, negation: int) -> tuple[str, ...]:
        """Return the kinds of events that a negation forbids."""
        raise IndexError(f"query {self.name} has no negation {negation}")

    def needed_kinds(self, items: int, inputs: tuple[int, ...]) -> frozenset[str]:
        """Return the kinds of negated events that a projection needs besides its inputs."""
        unchecked = self.checked(items).difference(*map(self.checked, inputs))
        return frozenset(kind for negation in unchecked for kind in self.negated_kinds(negation))


Usable = dict[ProjectedQuery, dict[int, tuple[str, ...]]]


def usable_projections(queries: Sequence[ProjectedQuery]) -> Usable:
    """Return the texts of all projections, of any query, that can be read for each set of items of a query.

    Its own comes first; the whole of a query can be read for itself only as another text. Whoever reads
    AND(A, B) can tell which of its matches are of SEQ(A, B): all conditions are checked again. So a query
    with SEQ(A, B) can do with the matches of AND(A, B) that another query sends anyway.

    >>> from weft.placement.example import robots
    >>> _, (first, second) = robots("SEQ(C c, F f)", "SEQ(C c, F f, C d)")
    >>> usable = usable_projections([first, second])
    >>> usable[second][0b011], usable[second][0b111]
    (('SEQ(C, F) WITHIN 1 second',), ())
    """
    alike: dict[tuple[str, ...], list[tuple[ProjectedQuery, int]]] = {}
    for query in queries:
        for items in range(1, query.whole + 1):
            kinds = tuple(sorted(query.projection(items).kinds))
            alike.setdefault(kinds, []).append((query, items))
    usable: Usable = {query: {} for query in queries}
    for group in alike.values():
        for query, items in group:
            own = query.projection(items).text
            texts = dict.fromkeys([own] if items != query.whole else [])
            for other, part in group:
                text = other.projection(part).text
                if text != own and not query.checked(items) and query.implies(items, other, part):
                    texts[text] = None
            usable[query][items] = tuple(texts)
    return usable
