"""Random workloads and streams for property tests, drawn by Hypothesis or from a seed.

@given(cases())
def test_engine(case: Case) -> None: ...

case = random_case(seed=7)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias, TypeVar, cast

from hypothesis import strategies as st
from tests.helpers.identities import match_ids
from tests.helpers.random_queries import TYPES, Dice, QueryWriter

from weft.errors import QueryError
from weft.language.binder import bind
from weft.language.parser import parse
from weft.pattern.nodes import Query
from weft.reference.events import ReferenceEvent
from weft.reference.matcher import find_matches
from weft.reference.matches import Match
from weft.reference.values import Value
from weft.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    LONG,
    STRING,
    TIMESTAMP,
    Schema,
    decimal,
)

Item = TypeVar("Item")
Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]

SCHEMA = Schema(
    attributes={
        "id": LONG,
        "rank": LONG,
        "ts": TIMESTAMP,
        "k": LONG,
        "name": STRING,
        "x": LONG,
        "y": DOUBLE,
        "flag": BOOLEAN,
        "amount": decimal(2),
        "day": DATE,
        "seen": TIMESTAMP,
        "took": DURATION,
    },
    time="ts",
)
FEWEST_MATCHES = 3
SEED_STEP = 1_000_003  # from a seed without enough matches to the next
SECOND = 1_000_000
DAY = 86_400 * SECOND
VALUES: dict[str, tuple[Value, ...]] = {  # few, so that predicates hit; None is NULL
    "rank": (0, 1, 2, 3, None),
    "k": (1, 1, 1, 1, 2, 2, None),
    "name": ("ann", "ann", "ann", "bob", "bob", "a%b", "", "zoé", None),
    "x": (1, 1, 2, 2, 0, 3, -1, 2**62, None),
    "y": (0.5, 0.5, 1.5, 1.5, 0.0, -0.0, float("nan"), float("inf"), float("-inf"), None),
    "flag": (True, True, False, None),
    "amount": (*map(Decimal, ("1.25", "1.25", "0.50", "1.00", "-1.00", "99999999.99")), None),
    "day": (0, 1, 1, 19_000, None),
    "seen": (SECOND, 0, 2 * SECOND, DAY, None),
    "took": (SECOND, 0, 2 * SECOND, -SECOND, None),
}


@dataclass(frozen=True)
class Case:
    """A workload and a stream; `order_by` and `id` name the tie-break and the identity column, if any.

    The events come in order of arrival, which is not that of time, and `row` counts them. An event
    that was delivered twice has the same id and the same values twice.
    """

    text: str
    events: tuple[ReferenceEvent, ...]
    order_by: str | None = None
    id: str | None = None
    schema: Schema = SCHEMA

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The bound queries."""
        return bind(parse(self.text), self.schema, source=self.text, tie_break=self.tie_break)

    @property
    def tie_break(self) -> bool:
        return self.order_by is not None

    def expected(self) -> dict[str, set[Match]]:
        """Return the matches of each query, by the reference."""
        return self._expected

    @property
    def n_matches(self) -> int:
        """How many matches the queries have together, by the reference."""
        return sum(map(len, self._expected.values()))

    @cached_property
    def _expected(self) -> dict[str, set[Match]]:
        return {
            query.name: find_matches(
                query,
                self.events,
                tie_break=self.tie_break,
                identity=match_ids(query.name, self.events),
            )
            for query in self.queries
        }

    def __repr__(self) -> str:
        events = "".join(f"        {_event_text(event)},\n" for event in self.events)
        options = "".join(
            f"    {name}={getattr(self, name)!r},\n" for name in ("order_by", "id") if getattr(self, name)
        )
        return f'Case(\n    text=r"""\n{self.text.strip()}\n""",\n    events=(\n{events}    ),\n{options})'

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """Have Hypothesis show a failing case as it can be pasted into a test."""
        printer.text(repr(self))


def event(
    row: int, types: str, time: int, *, key: int | None = None, tie: Value = None, **attributes: Value
) -> ReferenceEvent:
    """Return an event whose types are the letters of `types`; the time is an attribute too.

    >>> event(0, "AB", 5, x=1).attributes
    {'ts': 5, 'x': 1}
    """
    return ReferenceEvent(row, frozenset(types), time, key, {"ts": time, **attributes}, tie)


def _event_text(event: ReferenceEvent) -> str:
    shown = {name: value for name, value in event.attributes.items() if name != "ts" and value is not None}
    options = {"key": event.id, "tie": event.tie}
    shown = {name: value for name, value in options.items() if value is not None} | shown
    arguments = "".join(f", {name}={_value_text(value)}" for name, value in shown.items())
    return f'event({event.row}, "{"".join(sorted(event.types))}", {event.time}{arguments})'


def _value_text(value: Value) -> str:
    is_special = isinstance(value, float) and repr(value) in ("nan", "inf", "-inf")
    return f'float("{value}")' if is_special else repr(value)


class _HypothesisDice:
    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def pick(self, options: Sequence[Item]) -> Item:
        return options[self.integer(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.integer(0, 99) >= 100 - percent  # shrinks to False

    def group(self, make: Callable[[Dice], Item]) -> Item:
        return cast(Item, self.draw(_group(make)))


@st.composite
def _group(draw: Draw, make: Callable[[Dice], Item]) -> Item:
    return make(_HypothesisDice(draw))


class SeededDice:
    """Choices that follow from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    def pick(self, options: Sequence[Item]) -> Item:
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def group(self, make: Callable[[Dice], Item]) -> Item:
        return make(self)


@st.composite
def cases(draw: Draw, *, most_queries: int = 4, most_events: int = 16) -> Case:
    """Draw cases that shrink to few queries, few events and simple values."""
    return _case(_HypothesisDice(draw), most_queries, most_events)


def random_case(
    seed: int,
    *,
    most_queries: int = 4,
    most_events: int = 16,
    with_policies: bool = False,
    writer: type[QueryWriter] = QueryWriter,
) -> Case:
    """Return the case of a seed, whose queries may say which matches count."""
    return _case(SeededDice(seed), most_queries, most_events, with_policies=with_policies, writer=writer)


def matching_case(
    seed: int,
    *,
    most_queries: int = 4,
    most_events: int = 16,
    accepts: Callable[[Case], bool] = lambda _: True,
    with_policies: bool = False,
    writer: type[QueryWriter] = QueryWriter,
) -> Case:
    """Return the first case from a seed on, in large steps, that has enough matches to tell errors by."""
    while True:
        case = random_case(
            seed,
            most_queries=most_queries,
            most_events=most_events,
            with_policies=with_policies,
            writer=writer,
        )
        if case.n_matches >= FEWEST_MATCHES and accepts(case):
            return case
        seed += SEED_STEP


def _case(
    dice: Dice,
    most_queries: int,
    most_events: int,
    *,
    with_policies: bool = False,
    writer: type[QueryWriter] = QueryWriter,
) -> Case:
    has_ids, has_ties = dice.chance(50), dice.chance(40)
    events = _stream(dice, most_events, has_ids=has_ids, has_ties=has_ties)
    counts = {name: sum(name in event.types for event in events) for name in TYPES}
    texts: list[str] = []

    def next_query(dice: Dice) -> str | None:
        if texts and not dice.chance(45):
            return None
        name = f"q{len(texts)}"
        return _query(writer(dice, counts, with_policies=with_policies), name, tie_break=has_ties)

    while len(texts) < most_queries and (text := dice.group(next_query)) is not None:
        texts.append(text)
    return Case("\n\n".join(texts), events, "rank" if has_ties else None, "id" if has_ids else None)


def _query(writer: QueryWriter, name: str, *, tie_break: bool) -> str:
    """Return the text of a query, again when the binder sees that its times can never hold."""
    for _ in range(5):
        text = writer.another().query(name)
        try:
            bind(parse(text), SCHEMA, source=text, tie_break=tie_break)
        except QueryError as error:
            if any("can never hold" not in problem.message for problem in error.problems):
                raise
        else:
            return text
    return f"QUERY {name}\nPATTERN A a0"


def _stream(dice: Dice, most_events: int, *, has_ids: bool, has_ties: bool) -> tuple[ReferenceEvent, ...]:
    ticks = dice.integer(4, 20)  # few ticks make many ties
    start = dice.pick((0, 0, -2 * SECOND))
    has_derived_types = dice.chance(25)
    events: list[ReferenceEvent] = []

    def next_event(dice: Dice) -> ReferenceEvent | None:
        row = len(events)
        if not dice.chance(96):
            return None
        if has_ids and events and dice.chance(10):
            return replace(dice.pick(events), row=row)
        types = {dice.pick(("A", "A", "A", "B", "B", "B", "C", "C", "D", "E"))}  # queries do not mention E
        if has_derived_types and dice.chance(40):
            types.add(dice.pick(TYPES))
        time = start + dice.integer(0, ticks) * (SECOND // 2)
        values = {"id": row, "ts": time, **{name: dice.pick(options) for name, options in VALUES.items()}}
        key, tie = (row if has_ids else None), (values["rank"] if has_ties else None)
        return ReferenceEvent(row, frozenset(types), time, key, values, tie)

    while len(events) < most_events and (event := dice.group(next_event)) is not None:
        events.append(event)
    return tuple(events)
