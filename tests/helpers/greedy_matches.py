"""STRATEGY NEXT and STRICT of small forms, found without looking at the set of all matches.

Written apart from the reference, whose filters they are compared with. NEXT of a SEQ is what an automaton
finds that reads the stream moment by moment and takes what it can; STRICT is read off runs of moments
without a gap.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, pairwise, product
from typing import TypeAlias

from tests.helpers.strategies import event

from weft.reference.events import ReferenceEvent

Lists: TypeAlias = Mapping[str, tuple[ReferenceEvent, ...]]
Found: TypeAlias = frozenset[tuple[str, tuple[int, ...]]]

QUANTIFIERS = {"": (1, 1), "+": (1, None), "*": (0, None), "?": (0, 1), "{2}": (2, 2), "{1,2}": (1, 2)}


@dataclass(frozen=True)
class Operand:
    """An event, or a list of them when it has a quantifier."""

    variable: str
    type: str
    quantifier: str = ""

    @property
    def least(self) -> int:
        return QUANTIFIERS[self.quantifier][0]

    def may_have(self, n_elements: int) -> bool:
        most = QUANTIFIERS[self.quantifier][1]
        return most is None or n_elements <= most

    @property
    def text(self) -> str:
        return f"{self.type}{self.quantifier} {self.variable}"


@dataclass(frozen=True)
class SmallForm:
    """A SEQ or AND of operands, with predicates of few kinds."""

    operator: str
    operands: tuple[Operand, ...]
    window: int  # microseconds
    has_key: bool = False  # [k]
    limits: tuple[tuple[str, int], ...] = ()  # v.x >= n
    rising: tuple[str, ...] = ()  # v[i].x >= v[i-1].x
    less: tuple[tuple[str, str], ...] = ()  # v.x <= w.x
    firsts: tuple[tuple[str, str], ...] = ()  # FIRST(v).x <= w.x
    counts: tuple[tuple[str, int], ...] = ()  # COUNT(v) >= n

    @property
    def text(self) -> str:
        """The form as a query without a name."""
        conjuncts = [
            *(["[k]"] if self.has_key else []),
            *(f"{v}.x >= {n}" for v, n in self.limits),
            *(f"{v}[i].x >= {v}[i-1].x" for v in self.rising),
            *(f"{v}.x <= {w}.x" for v, w in self.less),
            *(f"FIRST({v}).x <= {w}.x" for v, w in self.firsts),
            *(f"COUNT({v}) >= {n}" for v, n in self.counts),
        ]
        where = f" WHERE {' AND '.join(conjuncts)}" if conjuncts else ""
        operands = ", ".join(operand.text for operand in self.operands)
        return f"{self.operator}({operands}){where} WITHIN {self.window} microseconds"


def random_form(dice: random.Random) -> SmallForm:
    operator = dice.choice(["SEQ", "SEQ", "SEQ", "AND"])
    n_operands = dice.choice([2, 3, 3, 4]) if operator == "SEQ" else dice.choice([2, 2, 3])
    quantifiers = ["", "", "+", "*", "?", "{2}", "{1,2}"] if operator == "SEQ" else ["", "", "{2}", "{1,2}"]
    operands = [
        Operand(f"v{place}", dice.choice("AABC"), dice.choice(quantifiers)) for place in range(n_operands)
    ]
    anchor = dice.randrange(n_operands)
    operands[anchor] = Operand(f"v{anchor}", dice.choice("ABC"))
    lists = [operand for operand in operands if operand.quantifier]
    names = [operand.variable for operand in operands]
    filled = [operand.variable for operand in lists if operand.least][:1]
    pairs = [(v, w) for v in names for w in names if v != w]
    return SmallForm(
        operator,
        tuple(operands),
        dice.choice([4, 6, 9, 20]),
        has_key=dice.random() < 0.3,
        limits=((dice.choice(names), 1),) if dice.random() < 0.4 else (),
        rising=(dice.choice(lists).variable,) if lists and dice.random() < 0.4 else (),
        less=(dice.choice(pairs),) if dice.random() < 0.5 else (),
        firsts=tuple((v, w) for v in filled for w in names[names.index(v) + 1 :][-1:] if dice.random() < 0.4),
        counts=((dice.choice(lists).variable, dice.choice([1, 2])),) if lists and dice.random() < 0.2 else (),
    )


def random_stream(dice: random.Random, *, tie_break: bool) -> list[ReferenceEvent]:
    return [
        event(
            row,
            dice.choice(["A", "A", "B", "B", "C", "D", "AB", "BC"]),
            dice.randint(0, 9),
            tie=dice.choice([1, 2, 3]) if tie_break else None,
            x=dice.choice([0, 1, 1, 2, 2, 3, 3, None]),
            k=dice.choice([1, 1, 1, 1, 2, None]),
        )
        for row in range(dice.randint(7, 12))
    ]


def moments_of(events: Sequence[ReferenceEvent], *, tie_break: bool) -> list[list[ReferenceEvent]]:
    """Return the events in order, those that are tied together."""
    moments: dict[tuple[int, object], list[ReferenceEvent]] = {}
    for one in events:
        moments.setdefault((one.time, (one.tie or 0) if tie_break else 0), []).append(one)
    return [moments[key] for key in sorted(moments)]  # type: ignore[type-var]


def at_most(left: object, right: object) -> bool:
    return isinstance(left, int) and isinstance(right, int) and left <= right


def value(one: ReferenceEvent) -> object:
    return one.attributes["x"]


def agrees(form: SmallForm, one: ReferenceEvent, other: ReferenceEvent) -> bool:
    keys = {one.attributes["k"], other.attributes["k"]}
    return not form.has_key or (len(keys) == 1 and None not in keys)


def is_true(form: SmallForm, lists: Lists) -> bool:
    """Say whether all predicates hold of a whole match."""
    values = {operand.variable: [*map(value, lists.get(operand.variable, ()))] for operand in form.operands}
    return (
        all(at_most(n, x) for v, n in form.limits for x in values[v])
        and all(at_most(*pair) for v in form.rising for pair in pairwise(values[v]))
        and all(at_most(x, y) for v, w in form.less for x in values[v] for y in values[w])
        and all(at_most(values[v][0], y) for v, w in form.firsts for y in values[w])
        and all(len(values[v]) >= n for v, n in form.counts)
    )


def is_fit(form: SmallForm, one: ReferenceEvent, operand: Operand, earlier: Lists, starts: Lists) -> bool:
    """Say whether an event is of an operand's type and true to what is known when it comes.

    `earlier` are the elements that its list has by then, and the lists that are complete; `starts` are those
    that have begun.
    """
    v, x = operand.variable, value(one)
    others = {name: [*map(value, bound)] for name, bound in earlier.items() if name != v}
    return (
        operand.type in one.types
        and all(at_most(n, x) for name, n in form.limits if name == v)
        and all(at_most(value(earlier[v][-1]), x) for name in form.rising if name == v and earlier.get(v))
        and all(at_most(y, x) for low, high in form.less if high == v for y in others.get(low, ()))
        and all(at_most(x, y) for low, high in form.less if low == v for y in others.get(high, ()))
        and all(
            at_most(value(starts[low][0]), x) for low, high in form.firsts if high == v and starts.get(low)
        )
    )


def found(lists: Lists) -> Found:
    return frozenset((v, tuple(one.row for one in bound)) for v, bound in lists.items() if bound)


def next_matches(form: SmallForm, events: Sequence[ReferenceEvent], *, tie_break: bool) -> set[Found]:
    """Return the matches that STRATEGY NEXT keeps."""
    moments = moments_of(events, tie_break=tie_break)
    if form.operator == "SEQ":
        kept = Automaton(form, moments).run()
    else:
        kept = (lists for lists in conjunctions(form, moments) if not may_be_earlier(form, lists, moments))
    return {found(lists) for lists in kept if is_true(form, lists)}


@dataclass(frozen=True)
class Automaton:
    """Reads a stream for the operands of a SEQ, one after the other."""

    form: SmallForm
    moments: Sequence[Sequence[ReferenceEvent]]

    def run(self) -> Iterator[Lists]:
        for now, moment in enumerate(self.moments):
            for one in moment:
                for state, operand in enumerate(self.form.operands):
                    begins = self.may_pass(0, state) and agrees(self.form, one, one)
                    if begins and is_fit(self.form, one, operand, {}, {}):
                        yield from self.go_on(one, state, {operand.variable: (one,)}, now)

    def may_pass(self, start: int, stop: int) -> bool:
        return all(operand.least == 0 for operand in self.form.operands[start:stop])

    def go_on(self, first: ReferenceEvent, state: int, lists: Lists, now: int) -> Iterator[Lists]:
        """Yield the matches that begin with these lists, of which the last event came at a moment."""
        operands = self.form.operands
        n_elements = len(lists[operands[state].variable])
        is_complete = n_elements >= operands[state].least
        if is_complete and self.may_pass(state + 1, len(operands)):
            yield lists
        missed: set[int] = set()  # the operands that could have taken an event since
        for then in range(now + 1, len(self.moments)):
            could: set[int] = set()
            for one in self.moments[then]:
                if one.time - first.time > self.form.window or not agrees(self.form, first, one):
                    continue
                for target in range(state, len(operands)):
                    operand = operands[target]
                    is_open = operand.may_have(n_elements + 1) if target == state else is_complete
                    if not is_open or not self.may_pass(state + 1, target):
                        continue
                    if is_fit(self.form, one, operand, lists, lists):
                        could.add(target)
                        if not missed & set(range(state, target + 1)):
                            bound = (*lists.get(operand.variable, ()), one)
                            yield from self.go_on(first, target, {**lists, operand.variable: bound}, then)
            missed |= could


def conjunctions(form: SmallForm, moments: Sequence[Sequence[ReferenceEvent]]) -> Iterator[Lists]:
    """Yield all ways to bind the operands of an AND."""
    place = {one.row: now for now, moment in enumerate(moments) for one in moment}
    events = [one for moment in moments for one in moment]

    def choices(operand: Operand) -> Iterator[tuple[ReferenceEvent, ...]]:
        able = [one for one in events if operand.type in one.types]
        for size in range(operand.least, 3):
            if operand.may_have(size):
                for chosen in combinations(able, size):
                    if all(place[a.row] < place[b.row] for a, b in pairwise(chosen)):
                        yield chosen

    for choice in product(*map(choices, form.operands)):
        bound = [one for chosen in choice for one in chosen]
        times = [one.time for one in bound]
        if (
            len({one.row for one in bound}) == len(bound)
            and max(times) - min(times) <= form.window
            and all(agrees(form, bound[0], one) for one in bound)
        ):
            yield dict(zip([operand.variable for operand in form.operands], choice, strict=True))


def may_be_earlier(form: SmallForm, lists: Lists, moments: Sequence[Sequence[ReferenceEvent]]) -> bool:
    """Say whether some event of an AND could have been an earlier one."""
    place = {one.row: now for now, moment in enumerate(moments) for one in moment}
    bound = [one for chosen in lists.values() for one in chosen]
    begin = min(place[one.row] for one in bound)
    taken = {one.row for one in bound}
    for operand in form.operands:
        before: tuple[ReferenceEvent, ...] = ()
        for element in lists[operand.variable]:
            after = place[before[-1].row] if before else begin
            for now in range(max(after, begin) + 1, place[element.row]):
                earlier = {v: chosen for v, chosen in lists.items() if place[chosen[-1].row] < now}
                starts = {v: chosen for v, chosen in lists.items() if place[chosen[0].row] < now}
                earlier[operand.variable] = before
                for one in moments[now]:
                    is_free = one.row not in taken and agrees(form, bound[0], one)
                    if is_free and is_fit(form, one, operand, earlier, starts):
                        return True
            before = (*before, element)
    return False


MOST_IN_AND = 6  # elements that the operands of a random AND have at most


def strict_matches(form: SmallForm, events: Sequence[ReferenceEvent], *, tie_break: bool) -> set[Found]:
    """Return the matches that STRATEGY STRICT keeps: ways to divide a run of moments among the operands."""
    values = {one.attributes["k"] for one in events} - {None} if form.has_key else {None}
    kept: set[Found] = set()
    for key in values:
        own = [one for one in events if not form.has_key or one.attributes["k"] == key]
        moments = moments_of(own, tie_break=tie_break)
        for start, stop in combinations(range(len(moments) + 1), 2):
            if moments[stop - 1][0].time - moments[start][0].time <= form.window:
                for run in runs(form, moments[start:stop]):
                    kept |= {found(lists) for lists in divisions(form, run) if is_true(form, lists)}
    return kept


def runs(
    form: SmallForm, moments: Sequence[Sequence[ReferenceEvent]]
) -> Iterator[list[tuple[int, ReferenceEvent]]]:
    """Yield the ways to choose events of every moment, of a SEQ one each; with each event, its moment."""
    most = 1 if form.operator == "SEQ" else MOST_IN_AND
    if form.operator == "AND" and len(moments) > MOST_IN_AND:
        return
    subsets = [[c for n in range(1, most + 1) for c in combinations(moment, n)] for moment in moments]
    for chosen in product(*subsets):
        run = [(now, one) for now, subset in enumerate(chosen) for one in subset]
        if form.operator == "SEQ" or len(run) <= MOST_IN_AND:
            yield run


def divisions(form: SmallForm, run: Sequence[tuple[int, ReferenceEvent]]) -> Iterator[Lists]:
    """Yield the ways to give every event of a run to an operand, of a SEQ in their order."""
    places = range(len(form.operands))
    is_sequence = form.operator == "SEQ"
    ways = (
        combinations_with_replacement(places, len(run)) if is_sequence else product(places, repeat=len(run))
    )
    for way in ways:
        parts = [[pair for pair, taker in zip(run, way, strict=True) if taker == place] for place in places]
        if all(
            operand.least <= len(part)
            and operand.may_have(len(part))
            and all(operand.type in one.types for _, one in part)
            and all(earlier < later for (earlier, _), (later, _) in pairwise(part))
            for operand, part in zip(form.operands, parts, strict=True)
        ):
            yield {
                operand.variable: tuple(one for _, one in part)
                for operand, part in zip(form.operands, parts, strict=True)
            }
