"""Questions about tuples of events, made ready to be asked of sampled events."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from weft.expressions import Aggregate, Attribute, Expression
from weft.runtime.columns import Array, Events
from weft.runtime.evaluate import Scope, column_number, evaluate, is_true
from weft.runtime.table import Table
from weft.statistics.model import ItemKey, Question
from weft.tree import find

MICROSECONDS = 1_000_000
LONGEST = 1 << 59  # microseconds: more than from year 1 to year 9999, and far from overflow


@dataclass(frozen=True)
class Asked:
    """A question made ready: the item at each place, which place is before which, and the window.

    A list's v[i-1] is an event more, which comes before v[i]; `previous` says where it stands.
    """

    question: Question
    items: tuple[ItemKey, ...]
    order: frozenset[tuple[int, int]]
    window: int | None
    previous: Mapping[int, int]
    digest: str


def is_answerable(question: Question) -> bool:
    """Say whether tuples of single events answer a question: none of them is a whole list."""
    predicates = question.group.predicates
    places = {attribute.place for one in predicates for attribute in find(one, Attribute)}
    return not places & {"first", "last"} and not any(any(find(one, Aggregate)) for one in predicates)


def ready(question: Question) -> Asked:
    """Return a question with one place for each event of a tuple.

    >>> from weft.expressions import Comparison
    >>> from weft.statistics.model import GroupKey
    >>> rises = Comparison(">", Attribute("$0", "x", "current"), Attribute("$0", "x", "previous"))
    >>> asked = ready(Question(GroupKey((ItemKey("A"),), (rises,)), window=60.0))
    >>> [item.type for item in asked.items], asked.order, asked.window
    (['A', 'A'], frozenset({(1, 0)}), 60000000)
    """
    items, order = list(question.group.items), set(question.order)
    previous: dict[int, int] = {}
    for place in sorted(_places_with_previous(question.group.predicates)):
        previous[place] = len(items)
        order |= {(a, len(items)) for a, b in question.order if b == place} | {(len(items), place)}
        items.append(items[place])
    window = None if question.window is None else microseconds(question.window)
    digest = digest_of((question.group, sorted(question.order), question.window))
    return Asked(question, tuple(items), frozenset(order), window, previous, digest)


def holds_all(
    tuples: Array, events: Events, predicates: Iterable[Expression], previous: Mapping[int, int]
) -> Array:
    """Return which tuples satisfy all predicates."""
    table = Table(tuple(tuples), reduce(np.minimum, tuples), reduce(np.maximum, tuples))
    scope = Scope(events, table, previous={place: tuples[number] for place, number in previous.items()})
    holds = np.ones(tuples.shape[1], np.bool_)
    for predicate in predicates:
        holds &= is_true(evaluate(predicate, scope))
    return holds


def microseconds(seconds: float) -> int:
    """Return a length of time in microseconds, at most one that is longer than all of time."""
    return int(min(round(seconds * MICROSECONDS, 0), float(LONGEST)))


def digest_of(key: object) -> str:
    """Return a short name for a key, the same in every process."""
    return hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()


def attributes_of(keys: Iterable[object]) -> set[str]:
    """Return the attributes that occur in keys of items and groups."""
    names: set[str] = set()
    for key in keys:
        names |= {attribute.name for attribute in find(key, Attribute)}
        names |= {aggregate.name for aggregate in find(key, Aggregate) if aggregate.name is not None}
    return names


def _places_with_previous(predicates: Iterable[Expression]) -> set[int]:
    attributes = (one for predicate in predicates for one in find(predicate, Attribute))
    return {column_number(one.variable) for one in attributes if one.place == "previous"}
