"""Oracle tests of TIMEOUTS: the reference's rows on every path, whatever else says which matches count."""

import random

import pytest
from tests.helpers.case_files import TextCase, load_cases, match_lines, timeout_lines
from tests.helpers.engine import Outcome, expected_outcome, expected_timeouts, run_case, run_plan
from tests.helpers.placed import is_placeable, placed_case
from tests.helpers.placed_walks import StageRun, run_stages, slices_of, stream_stages
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.random_plans import random_plan
from tests.helpers.strategies import Case, SeededDice, event
from tests.helpers.streams import counted_timeouts, run_stream
from tests.helpers.tally import Count, seed_blocks
from tests.helpers.timeout_cases import filled, timeout_case

from weft.placement.pipeline import place

CASES = [case for case in load_cases() if not case.is_trend and case.bound.policy.timeouts]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.title) for case in CASES])
def test_the_cases_written_as_text(case: TextCase) -> None:
    """In one batch, event by event, with random trees, in a shard with restarts, and at sites."""
    n_events, found = len(case.case.events), []
    found.append(run_case(case.case))
    found.append(run_case(case.case, n_batches=2 * n_events, seed=1))
    found.append(run_plan(case.case, random_plan(case.case, 1), n_batches=2, seed=2))
    found.append(run_stream(case.case, 0)[0])
    placed = placed_case(case.case, SeededDice(len(case.title)), 3)
    program = placed.program(place(placed.network, placed.queries, seconds=0.1).graph)
    for run in (run_stages(placed, program), stream_stages(placed, program, 1)):
        assert timeout_lines(run.timeouts.get("q", {})) == case.timeouts
        assert match_lines(run.found.get("q", {})) == case.found
    for outcome in found:
        assert timeout_lines(outcome.timeouts.get("q", {})) == case.timeouts
        assert match_lines(outcome.matches.get("q", {})) == case.found


def test_elements_that_a_kernel_cannot_tell_apart_are_told_by_the_smallest_id() -> None:
    """Where a predicate speaks of several events at once, and where several elements come at one time."""
    text = "QUERY q PATTERN SEQ(A a, B b, C c) WHERE a.x + b.x > 3 OR b.y > 1.0 WITHIN 10 s TIMEOUTS"
    order = [(0, "A", 9, 1), (1, "B", 8, 1), (2, "B", 7, 3), (2, "B", 3, 4), (2, "B", 5, 4), (3, "B", 1, 9)]
    events = tuple(event(row, kind, at, key=key, x=x) for row, (at, kind, key, x) in enumerate(order))
    case = Case(text, events, None, "id")
    for n_batches in (1, 3, 6):
        outcome = run_case(case, n_batches=n_batches, seed=n_batches)
        assert list(outcome.timeouts["q"]) == [(frozenset({("a", (9,)), ("b", (3,))}), "c")]
        check(outcome, case)


def test_a_list_of_many_elements() -> None:
    text = "QUERY q PATTERN SEQ(A a, B{60,} b[]) WITHIN 1 second STRATEGY NEXT TIMEOUTS"
    events = tuple(event(row, "AB"[row > 0], row * 1_000) for row in range(60))
    outcome = run_case(Case(text, events, None, None), n_batches=4, seed=3)
    assert outcome.timeouts["q"] == {
        (frozenset({("a", (0,)), ("b", tuple(range(1, 60)))}), "b"): {},
    }


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


@pytest.mark.parametrize("seeds", seed_blocks(152_000, 40, soak=2_000))
def test_sites_give_the_reference_result(seeds: range, count: Count) -> None:
    """In a batch, in one cut into slices of time, and on a stream whose processes forget everything."""
    n_timeouts = 0
    for seed in seeds:
        case = timeout_case(seed)
        if not is_placeable(case):
            continue
        dice = SeededDice(seed)
        placed = placed_case(case, dice, dice.integer(1, 4))
        program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
        check_stages(run_stages(placed, program), case, seed)
        slices = slices_of(case)
        assert slices is not None
        check_stages(run_stages(placed, program, slices), case, seed, slices)
        check_stages(stream_stages(placed, program, seed), case, seed)
        n_timeouts += sum(map(len, expected_timeouts(case).values()))
    count(cases=len(seeds), timeouts=n_timeouts)


def test_alternatives_are_evaluated_together_though_one_has_all_of_its_events_at_hand() -> None:
    """Of an event that may be absent, where another site has it."""
    text = "QUERY q PATTERN SEQ(A a, B b?, A c) WITHIN 2 s TIMEOUTS"
    case = Case(text, tuple(event(row, kind, row, x=row) for row, kind in enumerate("ABA")), None, None)
    for seed in range(20):
        placed = placed_case(case, SeededDice(seed), 2)
        program = placed.program(place(placed.network, placed.queries, steps=10).graph)
        check_stages(run_stages(placed, program), case, seed)


def test_a_chain_takes_events_of_other_sites_though_there_can_be_no_match() -> None:
    """As a condition that speaks of no event never holds."""
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE 1 > 2 AND a.x > 0 WITHIN 2 s TIMEOUTS"
    case = Case(text, tuple(event(row, "AAB"[row], row, x=row) for row in range(3)), None, None)
    assert len(expected_timeouts(case)["q"]) == 1
    for seed in range(8):
        placed = placed_case(case, SeededDice(seed), 2)
        program = placed.program(place(placed.network, placed.queries, steps=10).graph)
        check_stages(run_stages(placed, program), case, seed)


def check_stages(run: StageRun, case: Case, *of: object) -> None:
    assert run.timeouts == filled(expected_timeouts(case)), (case, *of)
    assert run.found == {name: own for name, own in expected_outcome(case).items() if own}, (case, *of)
