"""Oracle test: branches of OR that have variables in common give the reference's matches."""

import random
from dataclasses import replace

import pytest
from tests.engine import expected_outcome, is_supported, run_case
from tests.strategies import random_case


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


@pytest.mark.parametrize("seed", range(40))
def test_the_engine_finds_what_the_reference_finds(seed: int) -> None:
    case = replace(random_case(seed, most_queries=1), text=written(random.Random(seed)))
    assert is_supported(case)
    assert run_case(case, n_batches=1 + seed % 3, seed=seed).matches == expected_outcome(case)
