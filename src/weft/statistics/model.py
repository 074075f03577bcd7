"""Arrival rates and selectivities as pure data, with stated defaults for what is not known.

A key never names a user's variable: in its predicates the variable `$1` is the item at place 1.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from weft.expressions import (
    Aggregate,
    And,
    Attribute,
    Comparison,
    Expression,
    InList,
    IsNull,
    Like,
    Not,
    Or,
)
from weft.pattern.canonical import column_variable, exchanges, in_columns
from weft.pattern.normal_form import EVERY_TYPE, NormalForm
from weft.tree import find

DEFAULT_RATE = 1.0  # events of a type in a second
DEFAULT_DURATION = 3_600.0  # seconds that queries without a window can look back
DEFAULT_AGREEMENT = 0.01  # that two events agree on a key: a hundred keys, equally frequent
SELECTIVITY_OF = {"=": 0.1, "!=": 0.9, "<": 1 / 3, "<=": 1 / 3, ">": 1 / 3, ">=": 1 / 3}
DEFAULT_SELECTIVITY = 0.5  # of any predicate that is no comparison
MOST_PERMUTED = 6  # equal items whose orders are all tried; more of them keep the order given


@dataclass(frozen=True, slots=True)
class ItemKey:
    """Events of a type that satisfy predicates on them alone; their variable is `$0`."""

    type: str
    predicates: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupKey:
    """All predicates that speak of exactly these items together, with one selectivity."""

    items: tuple[ItemKey, ...]
    predicates: tuple[Expression, ...]


def group_key(items: Sequence[ItemKey], predicates: Iterable[Expression]) -> GroupKey:
    """Return the key of predicates that speak of `$0`, `$1` ..., the items at these places.

    The items are sorted; among equal ones, the order that gives the smallest predicates counts.

    >>> less = Comparison("<", Attribute("$0", "x"), Attribute("$1", "x"))
    >>> key = group_key([ItemKey("B"), ItemKey("A")], [less])
    >>> [item.type for item in key.items], key.predicates[0].operator
    (['A', 'B'], '>')
    """

    def rank(place: int) -> tuple[str, str]:
        return (items[place].type, repr(items[place].predicates))

    about, places = list(predicates), sorted(range(len(items)), key=rank)
    ties: list[tuple[int, ...]] = []
    for tie in (tuple(equal) for _, equal in groupby(places, key=rank)):
        ties += [tie] if len(tie) <= MOST_PERMUTED else [(place,) for place in tie]
    options = (in_columns(about, list(map(column_variable, order))) for order in exchanges(ties))
    return GroupKey(tuple(items[place] for place in places), min(options, key=repr))


@dataclass(frozen=True, slots=True)
class PatternKey:
    """A sub-pattern: its name, and some items of a form that has it; the name alone tells it from others."""

    name: str
    form: NormalForm = field(compare=False, repr=False)
    variables: tuple[str, ...] = field(compare=False)


class PatternCount(NamedTuple):
    """How many partial matches were found, and how many each of them stands for."""

    n_found: int
    weight: float = 1.0

    @property
    def rows(self) -> float:
        return self.n_found * self.weight


@dataclass(frozen=True, slots=True)
class Question:
    """Ask how often a group holds among events in a given order, at most `window` seconds apart.

    `order` holds pairs (earlier place, later place). Without a window, any distance counts.
    """

    group: GroupKey
    order: frozenset[tuple[int, int]] = frozenset()
    window: float | None = None


class Inquiry(NamedTuple):
    """What a plan would like to know of items, predicate groups and keys.

    Of the sub-patterns of `forms`, it is asked how many partial matches they have.
    `longest` is a window in seconds; agreement on keys is asked for within it, or within the largest window
    of a question where that is longer. Of several questions about one group, the first with an answer counts.

    >>> less = GroupKey(
    ...     (ItemKey("A"), ItemKey("B")), (Comparison("<", Attribute("$0", "x"), Attribute("$1", "x")),)
    ... )
    >>> inquiry = Inquiry([ItemKey("A")], [Question(less, window=60.0)], ["user"])
    >>> [item.type for item in inquiry.every_item], sorted(inquiry.attributes), inquiry.largest_window
    (['A', 'B'], ['user', 'x'], 60.0)
    """

    items: Sequence[ItemKey] = ()
    questions: Sequence[Question] = ()
    keys: Sequence[str] = ()
    longest: float | None = None
    forms: Sequence[NormalForm] = ()

    @property
    def every_item(self) -> tuple[ItemKey, ...]:
        """The items, and those of the questions, each once."""
        asked = (item for question in self.questions for item in question.group.items)
        return tuple(dict.fromkeys((*self.items, *asked)))

    @property
    def attributes(self) -> set[str]:
        """The attributes that items, questions and keys speak of."""
        names = set(self.keys)
        for key in (*self.items, *(question.group for question in self.questions)):
            names |= {attribute.name for attribute in find(key, Attribute)}
            names |= {aggregate.name for aggregate in find(key, Aggregate) if aggregate.name is not None}
        return names

    @property
    def largest_window(self) -> float | None:
        """The largest of the window and those of the questions, in seconds; None when there is none."""
        windows = (self.longest, *(question.window for question in self.questions))
        return max((window for window in windows if window is not None), default=None)


@dataclass(frozen=True)
class Statistics:
    """Rates of items, selectivities of predicate groups and agreement on keys; how far these are off.

    `rates` are events in a second. A selectivity is the share of the tuples of events, within the
    window and in the order that the pattern asks for, that satisfy the group. `agreements` are the
    shares of the pairs of events that agree on an attribute. `corrections` say how many times as many
    partial matches a sub-pattern has as these numbers let expect: more where events come in bursts, or where
    conditions go together. `total_rate` counts events of all types;
    `duration` is the time that the events span, in seconds.

    >>> known = Statistics(rates={ItemKey("A"): 47.0})
    >>> known.rate(ItemKey("A")), known.rate(ItemKey("B"))
    (47.0, 1.0)
    """

    rates: Mapping[ItemKey, float] = field(default_factory=dict)
    selectivities: Mapping[GroupKey, float] = field(default_factory=dict)
    agreements: Mapping[str, float] = field(default_factory=dict)
    total_rate: float | None = None
    duration: float | None = None
    corrections: Mapping[PatternKey, float] = field(default_factory=dict)

    def rate(self, item: ItemKey) -> float:
        """Return how many events of an item arrive in a second."""
        if item in self.rates:
            return self.rates[item]
        if item.type == EVERY_TYPE:
            return self.events_per_second
        if not item.predicates:
            return DEFAULT_RATE
        return self.rate(ItemKey(item.type)) * math.prod(map(default_selectivity, item.predicates))

    def selectivity(self, group: GroupKey) -> float:
        """Return how often the predicates of a group hold together.

        What is not known of the items with their own predicates is asked of their types alone; what
        is not known of the group is the product over its predicates.
        """
        if group in self.selectivities:
            return self.selectivities[group]
        plain = replace(group, items=tuple(ItemKey(item.type) for item in group.items))
        if plain in self.selectivities:
            return self.selectivities[plain]
        if len(group.predicates) > 1:
            return math.prod(self.selectivity(replace(group, predicates=(p,))) for p in group.predicates)
        return default_selectivity(group.predicates[0])

    def agreement(self, attribute: str) -> float:
        """Return how often two events agree on an attribute."""
        return self.agreements.get(attribute, DEFAULT_AGREEMENT)

    @property
    def events_per_second(self) -> float:
        """The rate of all events, which turns a count window into a time window."""
        if self.total_rate is not None:
            return self.total_rate
        known = sum(rate for item, rate in self.rates.items() if not item.predicates)
        return known or DEFAULT_RATE

    @property
    def span(self) -> float:
        """How far in seconds a query without a window looks."""
        return DEFAULT_DURATION if self.duration is None else self.duration


def default_selectivity(predicate: Expression) -> float:
    """Return the selectivity of a predicate of which nothing is known.

    >>> from weft.expressions import Attribute
    >>> default_selectivity(Comparison("=", Attribute("$0", "x"), Attribute("$1", "x")))
    0.1
    """
    match predicate:
        case Comparison(operator=operator):
            return SELECTIVITY_OF[operator]
        case And(operands=operands):
            return math.prod(map(default_selectivity, operands))
        case Or(operands=operands):
            return 1 - math.prod(1 - default_selectivity(operand) for operand in operands)
        case Not(operand=operand):
            return 1 - default_selectivity(operand)
        case InList(values=values):
            return min(DEFAULT_SELECTIVITY, SELECTIVITY_OF["="] * len(values))
        case IsNull() | Like():
            return SELECTIVITY_OF["="]
    return DEFAULT_SELECTIVITY
