"""Oracle tests of TIMEOUTS: the reference's rows on every path, whatever else says which matches count."""

import random
from dataclasses import replace

import pytest
from tests.helpers.engine import Outcome, Timeouts, expected_timeouts, is_supported, run_case, run_plan
from tests.helpers.mutations import queries_in, with_window
from tests.helpers.random_plans import random_plan
from tests.helpers.random_policies import may_time_out
from tests.helpers.strategies import SEED_STEP, Case, random_case
from tests.helpers.streams import counted_timeouts, run_stream
from tests.helpers.tally import Count, seed_blocks

STRATEGIES = ("ANY", "NEXT", "NEXT", "STRICT")


def timeout_case(seed: int) -> Case:
    """Return the first case from a seed on, in large steps, with timeouts.

    All of its queries ask for them that may, others are left out; each has a strategy.
    """
    while True:
        case = random_case(seed, most_queries=4, most_events=16)
        dice = random.Random(seed)
        texts = []
        for text in queries_in(case.text):
            timed = text if "\nWITHIN " in text else with_window(text, dice.choice(["1 second", "5 seconds"]))
            (query,) = replace(case, text=timed).queries
            if may_time_out(query):
                clauses, returned, columns = timed.partition("\nRETURN ")
                texts.append(f"{clauses}\nSTRATEGY {dice.choice(STRATEGIES)}\nTIMEOUTS{returned}{columns}")
        if texts:
            case = replace(case, text="\n\n".join(texts))
            if is_supported(case) and any(expected_timeouts(case).values()):
                return case
        seed += SEED_STEP


def filled(timeouts: dict[str, Timeouts]) -> dict[str, Timeouts]:
    return {name: own for name, own in timeouts.items() if own}


def check(outcome: Outcome, case: Case, *of: object) -> None:
    assert filled(outcome.timeouts) == filled(expected_timeouts(case)), (case, *of)


@pytest.mark.parametrize("seeds", seed_blocks(150_000, 100, soak=4_000))
def test_batches_give_the_reference_result(seeds: range, count: Count) -> None:
    """In one batch, in random batches that respect a frontier, and with random trees."""
    n_timeouts = n_complete = 0
    for seed in seeds:
        case = timeout_case(seed)
        check(run_case(case), case)
        n_batches = random.Random(seed).randint(2, 6)
        check(run_case(case, n_batches=n_batches, seed=seed), case, n_batches)
        check(run_plan(case, random_plan(case, seed), n_batches=n_batches, seed=seed), case, n_batches)
        missing = [missing for own in expected_timeouts(case).values() for _, missing in own]
        n_timeouts += len(missing)
        n_complete += missing.count(None)
    assert 0 < n_complete < n_timeouts
    count(cases=len(seeds), timeouts=n_timeouts)


@pytest.mark.parametrize("seeds", seed_blocks(151_000, 40, soak=2_000))
def test_a_stream_gives_the_reference_result(seeds: range, count: Count) -> None:
    """In pieces, out of order, twice, with retries and restarts, with plans that change."""
    n_steps = n_timeouts = 0
    for seed in seeds:
        case = timeout_case(seed)
        outcome, stream = run_stream(case, seed)
        check(outcome, case, seed)
        assert stream.late == 0
        assert stream.wake is None
        expected = {name: len(own) for name, own in filled(expected_timeouts(case)).items()}
        assert counted_timeouts(stream) == expected
        n_steps += len(stream.outcomes)
        n_timeouts += sum(expected.values())
    count(streams=len(seeds), steps=n_steps, timeouts=n_timeouts)
