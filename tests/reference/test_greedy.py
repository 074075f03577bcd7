"""STRATEGY NEXT and STRICT keep what an automaton and runs without gaps find, on small forms."""

import random
from collections.abc import Callable, Sequence

import pytest
from tests.helpers.greedy_matches import (
    Found,
    SmallForm,
    next_matches,
    random_form,
    random_stream,
    strict_matches,
)
from tests.helpers.notation import query_of
from tests.helpers.tally import Count, seed_blocks

from weft.errors import QueryError
from weft.reference.events import ReferenceEvent
from weft.reference.matcher import find_matches

ORACLES: dict[str, Callable[..., set[Found]]] = {"NEXT": next_matches, "STRICT": strict_matches}


def kept(strategy: str, form: SmallForm, events: Sequence[ReferenceEvent], *, tie_break: bool) -> set[Found]:
    query = query_of(f"{form.text} STRATEGY {strategy}")
    return {match.bindings for match in find_matches(query, events, tie_break=tie_break)}


@pytest.mark.parametrize("seeds", seed_blocks(0, 500, soak=20_000, block=500))
@pytest.mark.parametrize("strategy", ["NEXT", "STRICT"])
def test_random_forms(strategy: str, seeds: range, count: Count) -> None:
    n_compared = n_matched = n_filtered = 0
    for seed in seeds:
        dice = random.Random(seed)
        tie_break = dice.random() < 0.5
        form, events = random_form(dice), random_stream(dice, tie_break=tie_break)
        try:
            found = kept(strategy, form, events, tie_break=tie_break)
        except QueryError as error:
            assert "can never hold" in str(error)
            continue
        expected = ORACLES[strategy](form, events, tie_break=tie_break)
        assert found == expected, (seed, form.text, found ^ expected)
        n_compared += 1
        n_matched += bool(found)
        n_filtered += found != kept("ANY", form, events, tie_break=tie_break)
    assert n_compared > 0.9 * len(seeds)
    assert n_matched > len(seeds) // 3
    assert n_filtered > len(seeds) // 4
    count(cases=n_compared)
