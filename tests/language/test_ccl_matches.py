"""The matches of CCL statements: those of every combination by itself, on the reference and on the engine."""

import itertools
import random
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations, product

import pytest
from tests.helpers.engine import expected_outcome, is_supported, run_case
from tests.helpers.strategies import SEED_STEP, Case, event, random_case
from tests.helpers.tally import Count

from weft.errors import QueryError
from weft.pattern.nodes import Conjunction, Disjunction, Event, Negation, Pattern, Query, Sequence
from weft.reference.matcher import find_matches
from weft.reference.matches import Match
from weft.tree import find


@dataclass(frozen=True)
class Way:
    """One combination: the events required, as a pattern, and what is forbidden."""

    required: Pattern | None
    forbidden: tuple[Negation, ...] = ()

    @property
    def pattern(self) -> Pattern:
        assert self.required is not None
        return Conjunction((self.required, *self.forbidden)) if self.forbidden else self.required


@dataclass
class Writer:
    """Writes a pattern at random, along with every combination that it stands for."""

    dice: random.Random
    aliases: list[tuple[str, str]] = field(default_factory=list)  # type and alias

    def steps(self, depth: int) -> tuple[str, list[Way]]:
        form = self.dice.choice(["event", ",", "&", "|", "!", "!"]) if depth else "event"
        if form == "event":
            return self.event()
        if form == "!":
            text, ways = self.steps(depth - 1)
            while any(way.required is None for way in ways):
                text, ways = self.event()
            return f"!({text})", [Way(None, tuple(Negation(way.pattern) for way in ways))]
        parts = [self.steps(depth - 1) for _ in range(self.dice.choice([2, 2, 3]))]
        if form != "|" and self.dice.random() < 0.3:
            (text, ways), (other, forbidden) = self.event(), self.event()
            alone = [Way(None, tuple(Negation(way.pattern) for way in forbidden))]
            parts.append((f"({text} | !{other})", self.combined("|", [ways, alone])))
        return f"({form.join(text for text, _ in parts)})", self.combined(form, [ways for _, ways in parts])

    def event(self) -> tuple[str, list[Way]]:
        kind = self.dice.choice("ABCD")
        alias = f"{kind.lower()}{len(self.aliases)}"
        self.aliases.append((kind, alias))
        return alias, [Way(Event(kind, alias))]

    def combined(self, form: str, choices: list[list[Way]]) -> list[Way]:
        taken = [tuple(range(len(choices)))]
        if form == "|":
            places = range(len(choices))
            taken = [chosen for size in range(1, len(choices) + 1) for chosen in combinations(places, size)]
        found = []
        for places in taken:
            for ways in product(*(choices[place] for place in places)):
                required = tuple(way.required for way in ways if way.required is not None)
                kind = Sequence if form == "," else Conjunction
                forbidden = tuple(negation for way in ways for negation in way.forbidden)
                found.append(Way(kind(required) if required else None, forbidden))
        return found


def positive(pattern: Pattern) -> set[str]:
    match pattern:
        case Event(variable=variable):
            return {variable}
        case Negation():
            return set()
        case _:
            return {name for operand in pattern.operands for name in positive(operand)}  # type: ignore[union-attr]


@cache
def written(seed: int) -> tuple[Case, list[Way]]:
    """Return a statement at random with events, and the combinations of its pattern.

    Every statement is sound, and has matches but for one in ten, for which it is left to chance.
    """
    for drawn in itertools.count(seed, SEED_STEP):
        case, ways = drawn_statement(drawn)
        if is_sound(case) and (seed % 10 == 0 or case.n_matches):
            break
    return case, ways


def drawn_statement(seed: int) -> tuple[Case, list[Way]]:
    dice = random.Random(seed)
    while True:
        writer = Writer(dice)
        text, ways = writer.steps(depth=dice.choice([1, 2, 2, 3]))
        if len(writer.aliases) <= 6 and all(way.required is not None for way in ways):
            break
    names = [alias for _, alias in writer.aliases]
    bound = sorted(set.union(*(positive(way.pattern) for way in ways)))
    conditions = [f"{dice.choice(bound)}.x < {dice.choice(bound)}.x + 1"] if dice.random() < 0.4 else []
    if dice.random() < 0.5 and len(names) > 1:
        chained = names if dice.random() < 0.6 else sorted({*dice.sample(names, 2), bound[0]})
        conditions.append(" = ".join(f"{alias}.k" for alias in chained))
    on = f"ON {' AND '.join(conditions)}" if conditions else ""
    sources = ", ".join(f"{kind} AS {alias}" for kind, alias in writer.aliases)
    window = dice.choice(["2 sec", "4 sec", "1 min"])
    case = random_case(seed, most_queries=1, most_events=9)
    return replace(case, text=f"SELECT * FROM {sources} MATCHING [{window}: {text}] {on}"), ways


def is_sound(case: Case) -> bool:
    """Say whether the statement is free of mistakes: a condition may relate what is never there together."""
    try:
        return bool(case.queries)
    except QueryError:
        return False


def of_every_way(case: Case, query: Query, ways: list[Way]) -> set[Match]:
    return {
        match
        for way in ways
        for match in find_matches(replace(query, pattern=way.pattern), case.events, tie_break=case.tie_break)
    }


@pytest.mark.parametrize(
    ("events", "n_matches"),
    [("A0 C4 B9", 0), ("A0 B0 C4", 0), ("A0 C4 B10", 0), ("A0 C4 B11", 1), ("A1 B0 C4", 1), ("A0 B2 C4", 0)],
)
def test_a_negation_speaks_of_the_whole_interval(events: str, n_matches: int) -> None:
    arrivals = tuple(event(row, name[0], int(name[1:])) for row, name in enumerate(events.split()))
    for steps in ("A, !B, C", "A, C, !B", "!B, A, C", "(A & !B), C"):
        case = Case(f"SELECT * FROM A, B, C MATCHING [10 us: {steps}]", arrivals)
        assert len(case.expected()["ccl_1"]) == n_matches


@pytest.mark.parametrize("seed", range(150))
def test_a_statement_has_the_matches_of_every_combination(seed: int) -> None:
    case, ways = written(seed)
    (query,) = case.queries
    assert case.expected()[query.name] == of_every_way(case, query, ways)


@pytest.mark.parametrize("seed", range(15))
def test_the_engine_finds_what_the_reference_finds(seed: int) -> None:
    """Run a statement on the events for which it was drawn, beside another one and a query."""
    (case, _), (other, _) = written(seed), written(seed + 150)
    case = replace(case, text=f"{case.text};\n{other.text}\nQUERY own PATTERN SOME(A a, B b)")
    assert is_supported(case)
    assert seed % 10 == 0 or case.expected()["ccl_1"]
    assert run_case(case, n_batches=1 + seed % 3, seed=seed).matches == expected_outcome(case)


def test_most_statements_have_matches_and_many_have_negations(count: Count) -> None:
    statements = [written(seed) for seed in range(150)]
    n_matching = sum(case.n_matches > 0 for case, _ in statements)
    count(ccl_statements=150, ccl_statements_with_matches=n_matching)
    assert 135 <= n_matching < 150
    assert sum("!" in case.text for case, _ in statements) > 30
    assert sum(any(find(case.queries[0].pattern, Disjunction)) for case, _ in statements) > 10
    assert sum(len(ways) > 1 for _, ways in statements) > 30
