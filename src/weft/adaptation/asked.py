"""Questions about tuples of events, made ready to be asked of sampled events."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from weft.expressions import Expression
from weft.runtime.columns.evaluate import Scope, evaluate, is_true
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.table import Table
from weft.runtime.measure import microseconds, places_with_previous, speaks_of_whole_list
from weft.statistics.model import ItemKey, Question


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
    return not any(map(speaks_of_whole_list, question.group.predicates))


def ready(question: Question) -> Asked:
    """Return a question with one place for each event of a tuple.

    >>> from weft.expressions import Attribute, Comparison
    >>> from weft.statistics.model import GroupKey
    >>> rises = Comparison(">", Attribute("$0", "x", "current"), Attribute("$0", "x", "previous"))
    >>> asked = ready(Question(GroupKey((ItemKey("A"),), (rises,)), window=60.0))
    >>> [item.type for item in asked.items], asked.order, asked.window
    (['A', 'A'], frozenset({(1, 0)}), 60000000)
    """
    items, order = list(question.group.items), set(question.order)
    previous: dict[int, int] = {}
    for place in sorted(places_with_previous(question.group.predicates)):
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


def digest_of(key: object) -> str:
    """Return a short name for a key, the same in every process."""
    return hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()
