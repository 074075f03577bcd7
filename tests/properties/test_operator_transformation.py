"""SEQ and AND are filters of what SOME finds: the rules by which one operator is computed from another."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.helpers.strategies import Case, random_case

from weft.expressions import Equivalence
from weft.pattern.nodes import Conjunction, Event, Kleene, Pattern, Query, Sequence, Some
from weft.reference.events import ReferenceEvent, is_before
from weft.reference.matcher import find_matches
from weft.reference.matches import Match

Filter = Callable[[Match], bool]

SEEDS = range(60)


def operands_of(dice: random.Random) -> tuple[Pattern, ...]:
    """Return two to four operands: events, lists, and small patterns."""

    def operand(name: str) -> Pattern:
        event = Event(dice.choice("ABCD"), name)
        form = dice.choice(["event", "event", "event", "list", "sequence", "conjunction"])
        if form == "list":
            return Kleene(event, 1, 2)
        if form == "event":
            return event
        operator = Sequence if form == "sequence" else Conjunction
        return operator((event, Event(dice.choice("ABCD"), f"{name}_too")))

    return tuple(operand(f"v{place}") for place in range(dice.choice([2, 2, 3])))


def workload(seed: int) -> tuple[Case, tuple[Pattern, ...], Query]:
    """Return events, operands, and a query of which window and keys are taken."""
    case = random_case(seed, most_queries=1, most_events=10)
    query = case.queries[0]
    keys = tuple(part for part in query.where if isinstance(part, Equivalence))
    return case, operands_of(random.Random(seed)), replace(query, where=keys, returns=())


def matches(case: Case, query: Query, pattern: Pattern) -> set[Match]:
    return find_matches(replace(query, pattern=pattern), case.events, tie_break=case.tie_break)


def variables_of(pattern: Pattern) -> frozenset[str]:
    match pattern:
        case Event(variable=variable):
            return frozenset({variable})
        case Kleene(operand=operand):
            return variables_of(operand)
        case _:
            return frozenset[str]().union(*map(variables_of, pattern.operands))  # type: ignore[union-attr]


def in_order(case: Case, operands: tuple[Pattern, ...]) -> Filter:
    """Return the filter that keeps matches whose operands follow one another."""
    events = {event.row: event for event in case.events}

    def bound(match: Match, operand: Pattern) -> list[ReferenceEvent]:
        return [events[row] for variable in variables_of(operand) for row in match.rows[variable]]

    def keeps(match: Match) -> bool:
        return all(
            is_before(one, other, tie_break=case.tie_break)
            for place, operand in enumerate(operands)
            for later in operands[place + 1 :]
            for one in bound(match, operand)
            for other in bound(match, later)
        )

    return keeps


def complete(operands: tuple[Pattern, ...]) -> Filter:
    """Return the filter that keeps matches which bind every operand."""
    wanted = frozenset[str]().union(*map(variables_of, operands))
    return lambda match: match.rows.keys() == wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sequence_is_the_part_of_the_conjunction_in_order(seed: int) -> None:
    case, operands, query = workload(seed)
    every = matches(case, query, Conjunction(operands))
    expected = matches(case, query, Sequence(operands))
    assert set(filter(in_order(case, operands), every)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_a_conjunction_is_the_part_of_the_combinations_that_is_complete(seed: int) -> None:
    case, operands, query = workload(seed)
    every = matches(case, query, Some(operands))
    assert set(filter(complete(operands), every)) == matches(case, query, Conjunction(operands))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_sequence_is_the_part_of_the_combinations_that_is_complete_and_in_order(seed: int) -> None:
    case, operands, query = workload(seed)
    every = filter(complete(operands), matches(case, query, Some(operands)))
    assert set(filter(in_order(case, operands), every)) == matches(case, query, Sequence(operands))


def test_the_filters_have_something_to_do() -> None:
    sizes = []
    for seed in SEEDS:
        case, operands, query = workload(seed)
        sizes.append([len(matches(case, query, kind(operands))) for kind in (Sequence, Conjunction, Some)])
    assert sum(some > both > ordered > 0 for ordered, both, some in sizes) > len(SEEDS) // 6
