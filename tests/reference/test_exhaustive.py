"""The reference finds what a check of every conceivable binding finds, negations included."""

import pytest
from tests.helpers.exhaustive_matches import exhaustive, n_bindings
from tests.helpers.strategies import random_case
from tests.helpers.tally import Count, seed_blocks

from weft.pattern.nodes import Negation
from weft.reference.events import deduplicate
from weft.reference.matcher import find_matches
from weft.tree import find

MOST_BINDINGS = 3_000


@pytest.mark.parametrize("seeds", seed_blocks(0, 250, soak=5_000, block=250))
def test_random_queries_on_short_streams(seeds: range, count: Count) -> None:
    n_compared = n_matched = n_negating = 0
    for seed in seeds:
        case = random_case(seed, most_events=6)
        for query in case.queries:
            if n_bindings(query, len(case.events)) > MOST_BINDINGS:
                continue
            found = find_matches(query, case.events, tie_break=case.tie_break)
            expected = set(exhaustive(query, deduplicate(case.events), case.tie_break))
            assert {match.bindings for match in found} == expected, (query.name, case)
            n_compared += 1
            n_matched += bool(found)
            n_negating += any(find(query.pattern, Negation)) and bool(found)
    assert n_compared > len(seeds) // 2
    assert n_matched > len(seeds) // 5
    assert n_negating > len(seeds) // 20
    count(cases=n_compared)
