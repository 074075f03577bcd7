"""One key for a predicate group, however a query names and orders its items."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, permutations, product

from weft.expressions import Aggregate, Attribute, Expression
from weft.pattern.canonical import renamed
from weft.statistics.model import GroupKey, ItemKey
from weft.tree import find

MOST_PERMUTED = 6  # equal items whose orders are all tried; more of them keep the order given

Canonical = Callable[[Expression], Expression]


def group_key(items: Sequence[ItemKey], predicates: Iterable[Expression], canonical: Canonical) -> GroupKey:
    """Return the key of predicates that speak of `$0`, `$1` ..., the items at these places.

    The items are sorted; among equal ones, the order that gives the smallest predicates counts.

    >>> from weft.expressions import Comparison
    >>> less = Comparison("<", Attribute("$0", "x"), Attribute("$1", "x"))
    >>> key = group_key([ItemKey("B"), ItemKey("A")], [less], lambda expression: expression)
    >>> [item.type for item in key.items], key.predicates[0].left.variable
    (['A', 'B'], '$1')
    """
    listed = list(predicates)

    def rank(place: int) -> tuple[str, str]:
        return (items[place].type, repr(items[place].predicates))

    places = sorted(range(len(items)), key=rank)
    ties = [tuple(tie) for _, tie in groupby(places, key=rank)]
    options = []
    for choice in product(*map(_orders, ties)):
        numbers = {f"${place}": f"${number}" for number, place in enumerate(sum(choice, ()))}
        found = {canonical(renamed(predicate, numbers)): None for predicate in listed}
        options.append(tuple(sorted(found, key=repr)))
    return GroupKey(tuple(items[place] for place in places), min(options, key=repr))


def _orders(tie: tuple[int, ...]) -> Iterable[tuple[int, ...]]:
    return permutations(tie) if len(tie) <= MOST_PERMUTED else (tie,)


def attributes_of(keys: Iterable[object]) -> set[str]:
    """Return the attributes that occur in keys of items and groups.

    >>> sorted(attributes_of([ItemKey("A", (Attribute("$0", "x"),)), ItemKey("B")]))
    ['x']
    """
    names: set[str] = set()
    for key in keys:
        names |= {attribute.name for attribute in find(key, Attribute)}
        names |= {aggregate.name for aggregate in find(key, Aggregate) if aggregate.name is not None}
    return names
