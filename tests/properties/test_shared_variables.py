"""Oracle test: branches of OR that have variables in common give the reference's matches."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.helpers.engine import expected_outcome, is_supported, run_case
from tests.helpers.strategies import FEWEST_MATCHES, SEED_STEP, Case, random_case
from tests.helpers.tally import Count, seed_blocks

MOST_DRAWS = 20


def written(dice: random.Random) -> str:
    """Return a query whose branches are made of the same three events."""
    events = ["A a", "B b", "C c"]
    branches = []
    for _ in range(dice.choice([2, 2, 3])):
        chosen = dice.sample(events, dice.choice([1, 2, 3]) if branches else 3)
        negation = [f"NOT D d{len(branches)}"] if dice.random() < 0.4 else []
        dice.shuffle(parts := chosen + negation)
        branches.append(f"{dice.choice(['SEQ', 'AND'])}({', '.join(parts)})")
    conditions = dice.sample(["a.x < b.x + 1", "[k]", "b.x != c.x", "a.x > 0", "d0.x < a.x"], 2)
    where = [part for part in conditions if "d0" not in part or "d0" in branches[0]]
    return (
        f"QUERY q PATTERN OR({', '.join(branches)}) "
        + (f"WHERE {' AND '.join(where)} " if where else "")
        + f"WITHIN {dice.choice(['2 s', '5 s', '5 EVENTS'])} RETURN a.x AS x, b.x + c.x AS y"
    )


def written_with_negations(dice: random.Random) -> str:
    """Return a query whose branches have negated events in common, alone or together in a NOT."""
    together = ["NOT SEQ(B b, C c)", "NOT AND(C c, B b)", "NOT B b", "NOT C c", "NOT SEQ(B b, NOT D d)"]
    branches = []
    for _ in range(dice.choice([2, 2, 3])):
        parts = ["A a", *dice.sample(["E e"], dice.choice([0, 1])), dice.choice(together)]
        dice.shuffle(parts)
        branches.append(f"{dice.choice(['SEQ', 'AND'])}({', '.join(parts)})")
    pattern = ", ".join(branches)
    possible = ["a.x > 0", "[k]"]
    possible += ["b.x != a.x"] if "B b" in pattern else ["c.x > 0"]
    possible += ["b.x < c.x + 1"] * 2 if "SEQ(B b, C c)" in pattern or "AND(C c, B b)" in pattern else []
    return (
        f"QUERY q PATTERN OR({pattern}) WHERE {' AND '.join(dice.sample(possible, 2))} "
        f"WITHIN {dice.choice(['2 s', '5 s', '5 EVENTS'])} RETURN a.x AS x"
    )


def case_of(seed: int, write: Callable[[random.Random], str]) -> Case:
    """Return the first case of a few draws that has enough matches, or the last of them."""
    for drawn in range(seed, seed + MOST_DRAWS * SEED_STEP, SEED_STEP):
        case = replace(random_case(drawn, most_queries=1), text=write(random.Random(drawn)))
        if case.n_matches >= FEWEST_MATCHES:
            break
    return case


@pytest.mark.parametrize("write", [written, written_with_negations])
@pytest.mark.parametrize("seeds", seed_blocks(0, 40, soak=1_000))
def test_the_engine_finds_what_the_reference_finds(
    seeds: range, write: Callable[[random.Random], str], count: Count
) -> None:
    n_matches = []
    for seed in seeds:
        case = case_of(seed, write)
        assert is_supported(case)
        assert run_case(case, n_batches=1 + seed % 3, seed=seed).matches == expected_outcome(case), case
        n_matches.append(case.n_matches)
    count(cases=len(seeds), with_matches=sum(map(bool, n_matches)), matches=sum(n_matches))
    assert sum(n >= FEWEST_MATCHES for n in n_matches) >= 0.9 * len(seeds)
