"""Projections of a query: some of its items with all that the query says of them, by sets of bits."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import prod

from weft.placement.network import Network


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

    def rate(self, network: Network) -> float:
        """Return how many matches there are in a network, per unit of time."""
        return self.factor * prod(network.totals[kind] for kind in self.kinds)


class ProjectedQuery(ABC):
    """A query whose projections are given by sets of its items; bit i stands for item i.

    A projection that has all items which a negation looks at checks that negation. So does every larger
    one, which gets by with its inputs if one of them has done so; else it needs the negated events.
    """

    name: str
    kinds: Sequence[str]  # of events, for every item

    def __init__(self) -> None:
        self._projections: dict[int, Projection] = {}

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.kinds)

    @cached_property
    def whole(self) -> int:
        """All items."""
        return (1 << self.n_items) - 1

    @cached_property
    def single_items(self) -> tuple[int, ...]:
        """Every item as a set of its own."""
        return tuple(1 << number for number in range(self.n_items))

    @cached_property
    def root(self) -> Projection:
        """The projection to all items: what the query finds."""
        return self.projection(self.whole)

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
    def central(self) -> str | None:
        """What one site evaluates on all of its events, if that is so; others with the same belong to it."""
        return None

    @property
    def operators(self) -> tuple[int, ...]:
        """The items of each operator as the query is written, inner ones first; the last has all."""
        return (self.whole,)

    def implies(self, items: int, other: "ProjectedQuery", other_items: int) -> bool:
        """Whether every match of a projection is one of another, which can then be read in its place."""
        return self.projection(items).text == other.projection(other_items).text

    def checked_negations(self, items: int) -> frozenset[int]:  # noqa: ARG002 - most queries have no negation
        """Return the numbers of the negations that the projection to some items checks."""
        return frozenset()

    def negated_kinds(self, negation: int) -> tuple[str, ...]:
        """Return the kinds of events that a negation forbids."""
        raise IndexError(f"query {self.name} has no negation {negation}")

    def needed_kinds(self, items: int, inputs: Iterable[int]) -> frozenset[str]:
        """Return the kinds of negated events that a projection needs besides its inputs.

        An input of a single item is events as they arise, of which nothing has been checked.
        """
        composite = (part for part in inputs if part & part - 1)
        unchecked = self.checked_negations(items).difference(*map(self.checked_negations, composite))
        return frozenset(kind for negation in unchecked for kind in self.negated_kinds(negation))

    @cached_property
    def all_negated_kinds(self) -> frozenset[str]:
        """The kinds of all negated events."""
        return self.needed_kinds(self.whole, ())

    @cached_property
    def event_kinds(self) -> tuple[str, ...]:
        """The kinds of all events that the query looks at, negated ones too, in alphabetical order."""
        return tuple(sorted({*self.kinds, *self.all_negated_kinds}))

    def occurrences(self, projection: Projection) -> list[int]:
        """Return the sets of items that give a projection; more than one only if kinds repeat."""
        sets = self.sets_of_kinds(projection.kinds)
        if projection.is_primitive:
            return sets
        return [items for items in sets if self.projection(items).text == projection.text]

    def sets_of_kinds(self, kinds: Iterable[str]) -> list[int]:
        """Return the sets of items that have the kinds of a projection, where a list names its kind twice."""
        choices = [
            [sum(chosen) for size in range(1, count + 1) for chosen in combinations(items, size)]
            for kind, count in Counter(kinds).items()
            for items in [self._items.get(kind, ())]
        ]
        return [sum(choice) for choice in product(*choices)]

    @cached_property
    def _items(self) -> dict[str, list[int]]:
        """The bits of the items of every kind."""
        items: dict[str, list[int]] = {kind: [] for kind in self.kinds}
        for number, kind in enumerate(self.kinds):
            items[kind].append(1 << number)
        return items


Usable = dict[ProjectedQuery, dict[int, tuple[str, ...]]]


def usable_projections(queries: Sequence[ProjectedQuery]) -> Usable:
    """Return the texts of all projections, of any query, that can be read for each set of items of a query.

    Its own comes first; the whole of a query can be read for itself only as another text. Whoever reads
    AND(A, B) can tell which of its matches are of SEQ(A, B): all conditions are checked again. So a query
    with SEQ(A, B) can do with the matches of AND(A, B) that another query sends anyway.

    >>> from weft_lab.placement.example import robots
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
                if text != own and not query.checked_negations(items) and query.implies(items, other, part):
                    texts[text] = None
            usable[query][items] = tuple(texts)
    return usable
