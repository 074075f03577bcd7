"""Oracle tests of nested queries, to level 8: every strategy finds what the reference finds."""

import random

import pytest
from tests.helpers.engine import derived_schema, expected_outcome, run_plan
from tests.helpers.strategies import Case, event
from tests.helpers.tally import seed_blocks

from weft.normalize.pipeline import normalize
from weft.optimizer.demands import demands_of
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import STRATEGIES, Planning
from weft.optimizer.rewriting.flat_query import FlatQuery
from weft.optimizer.rewriting.levels import nested_level, operator_tree
from weft.pattern.normal_form import NormalForm

TYPES = "ABCDEFGHIJKL"
SECOND = 1_000_000
OPERATORS = ("SEQ", "AND")


def nested(dice: random.Random, level: int, inner: str, names: list[str], operator: int) -> str:
    """Return a pattern of a level around another one; operators alternate, so that nothing flattens."""
    if level == 1:
        return inner
    around = [nested(dice, level - 1, inner, names, operator + 1)]
    for _ in range(1 if level > 4 or dice.random() < 0.7 else 2):
        around.insert(dice.randint(0, len(around)), names.pop())
    return f"{OPERATORS[operator % 2]}({', '.join(around)})"


def nested_case(seed: int, level: int) -> Case:
    """Return three queries with a sub-query in common at the innermost level, and events of few matches."""
    dice = random.Random(seed)
    texts = []
    inner_types = dice.sample(list(TYPES), 2)
    for number in range(3):
        names = [f"{name} v{place}" for place, name in enumerate(TYPES) if name not in inner_types]
        dice.shuffle(names)
        innermost = dice.choice(("SEQ", "AND", "SOME" if level < 5 else "AND"))
        inner = f"{innermost}({inner_types[0]} a, {inner_types[1]} b)"
        outermost = level + (innermost == "SEQ")  # so that the innermost two differ
        pattern = nested(dice, level, inner, names, outermost)
        texts.append(f"QUERY q{number} PATTERN {pattern} WITHIN {dice.choice((30, 60))} seconds")
    n_events = 60 if level < 5 else 30
    types = [dice.choice(TYPES) for _ in range(n_events)]
    events = [event(place, name, place * SECOND) for place, name in enumerate(types)]
    return Case("\n".join(texts), tuple(events))


def depth(form: NormalForm) -> int:
    """Return the nested level of the operators of a normal form."""
    own = demands_of(form).order
    tree = operator_tree(range(len(form.items)), own)
    assert isinstance(tree, FlatQuery)
    return nested_level(tree)


@pytest.mark.parametrize("level", range(2, 9))
@pytest.mark.parametrize("seeds", seed_blocks(0, 1, soak=6, block=1))
def test_every_strategy_finds_what_the_reference_finds(level: int, seeds: range) -> None:
    for seed in seeds:
        case = nested_case(100 * level + seed, level)
        expected = expected_outcome(case)
        for strategy in STRATEGIES:
            settings = Planning(plan=strategy, steps=60, seed=seed, cost="partial-matches")
            plan = choose_plan(case.queries, derived_schema(case), settings).plan
            assert run_plan(case, plan, n_batches=2, seed=seed).matches == expected, strategy


def test_the_levels_are_there_and_there_is_something_to_find() -> None:
    found = 0
    for level in range(2, 9):
        cases = [nested_case(100 * level + seed, level) for seed in range(4)]
        forms = [form for case in cases for query in case.queries for form in normalize(query)[-1:]]
        assert {depth(form) for form in forms} == {level}
        found += sum(len(matches) for case in cases for matches in expected_outcome(case).values())
    assert found > 100


@pytest.mark.parametrize("seed", range(6))
def test_nested_sequences_are_flat_ones(seed: int) -> None:
    dice = random.Random(seed)
    names = [f"{name} {name.lower()}" for name in TYPES[:5]]
    pattern = names[-1]
    for name in reversed(names[:-1]):
        pattern = f"SEQ({name}, {pattern})"
    middle = ", ".join(names[1:-1])
    texts = (pattern, f"SEQ({', '.join(names)})", f"SEQ({names[0]}, SEQ({middle}), {names[-1]})")
    events = [event(place, dice.choice(TYPES[:5]), place) for place in range(40)]
    text = "\n".join(f"QUERY q{number} PATTERN {one}" for number, one in enumerate(texts))
    case = Case(text, tuple(events))
    found = run_plan(
        case,
        choose_plan(case.queries, derived_schema(case), Planning(plan="motto", cost="partial-matches")).plan,
    ).matches
    assert found["q0"] == found["q1"] == found["q2"] == expected_outcome(case)["q0"]
