"""Oracle tests of SOME of many single events, which one operator finds: the matches of the reference."""

import random
import time
from itertools import combinations, product

import pyarrow as pa
import pytest
from tests.adaptation.test_migration import check, various_plans
from tests.helpers.engine import (
    expected_outcome,
    is_supported,
    plan_of,
    run_case,
    run_plan,
    run_with_budget,
)
from tests.helpers.local_cases import detection_of_case
from tests.helpers.local_results import matches_of
from tests.helpers.random_plans import random_plan
from tests.helpers.random_policies import policy_case, policy_stream
from tests.helpers.random_queries import SomeWriter
from tests.helpers.strategies import Case, matching_case
from tests.helpers.streams import as_stream, counted, run_stream
from tests.helpers.tally import Count, seed_blocks

import weft
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.plan.dag import topological_order
from weft.plan.nodes import SubsetJoin
from weft.runtime.budget import Budget
from weft.runtime.matches import execute


def some_case(seed: int) -> Case:
    return matching_case(seed, most_queries=3, writer=SomeWriter)


def is_native(case: Case) -> bool:
    """Say whether some query of a case is found by the operator."""
    return any(isinstance(node, SubsetJoin) for node in topological_order(plan_of(case)))


@pytest.mark.parametrize("seeds", seed_blocks(200_000, 100, soak=5_000, block=50))
def test_batches_give_the_reference_result(seeds: range, count: Count) -> None:
    """In one batch, and in random ones that respect a frontier; ids are the same."""
    n_matches = 0
    for seed in seeds:
        case = some_case(seed)
        assert is_native(case)
        expected = expected_outcome(case)
        once = run_case(case)
        assert once.matches == expected, (seed, case)
        n_batches = random.Random(seed).randint(2, 16)
        outcome = run_case(case, n_batches=n_batches, seed=seed)
        assert outcome.matches == expected, (n_batches, seed, case)
        assert run_plan(case, random_plan(case, seed)).matches == expected, (seed, case)
        assert {name: sorted(own) for name, own in outcome.ids.items()} == {
            name: sorted(own) for name, own in once.ids.items()
        }
        n_matches += case.n_matches
    count(cases=len(seeds), matches=n_matches)


@pytest.mark.parametrize("seeds", seed_blocks(210_000, 40, soak=2_000))
def test_a_stream_gives_the_reference_result(seeds: range, count: Count) -> None:
    for seed in seeds:
        case = as_stream(matching_case(seed, most_queries=3, writer=SomeWriter, accepts=_has_events))
        outcome, stream = run_stream(case, seed)
        expected = {name: own for name, own in expected_outcome(case).items() if own}
        assert {name: own for name, own in outcome.matches.items() if own} == expected, (seed, case)
        assert stream.late == 0
        assert counted(stream) == {name: len(own) for name, own in expected.items()}
        assert stream.wake is None
    count(streams=len(seeds))


def _has_events(case: Case) -> bool:
    return bool(case.events)


@pytest.mark.parametrize("seeds", seed_blocks(220_000, 100, soak=2_000, block=50))
def test_walks_of_combinations(seeds: range, count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    """With clauses for which matches count; with a strategy, each combination is a pattern of its own."""
    n_native = 0
    for seed in seeds:
        case = policy_case(seed, most_queries=2, writer=SomeWriter)
        expected = expected_outcome(case)
        n_batches = random.Random(seed).randint(2, 6)
        assert run_case(case).matches == expected, (seed, case)
        assert run_case(case, n_batches=n_batches, seed=seed).matches == expected, (n_batches, seed, case)
        with monkeypatch.context() as patched:
            patched.setattr(execute, "BATCH_EVENTS", 3)
            assert run_case(case).matches == expected, (seed, case)
        n_native += is_native(case)
    assert n_native > len(seeds) // 6
    count(cases=len(seeds))


@pytest.mark.parametrize("seeds", seed_blocks(250_000, 20, soak=1_000))
def test_a_plan_that_changes_finds_the_same(seeds: range) -> None:
    for seed in seeds:
        case = as_stream(matching_case(seed, most_queries=3, writer=SomeWriter, accepts=_has_events))
        check(case, various_plans(case, seed), seed)


@pytest.mark.parametrize("seeds", seed_blocks(260_000, 40, soak=1_000))
def test_slices_and_keys_of_a_batch_give_the_reference_result(seeds: range) -> None:
    """By keys or slices of time, with clauses for which matches count, from Arrow to Arrow."""
    for seed in seeds:
        case = policy_case(seed, most_queries=2, writer=SomeWriter, accepts=is_supported)
        partitions = random.Random(seed).choice((None, 1, 2, 7))
        detection = detection_of_case(case, partitions=partitions, planning=Planning(steps=20))
        assert matches_of(detection) == expected_outcome(case), (seed, case)


@pytest.mark.parametrize("seeds", seed_blocks(230_000, 40, soak=2_000))
def test_walks_of_combinations_in_a_stream(seeds: range, count: Count) -> None:
    for seed in seeds:
        case = policy_stream(seed, most_queries=2, writer=SomeWriter)
        outcome, stream = run_stream(case, seed)
        expected = {name: own for name, own in expected_outcome(case).items() if own}
        assert {name: own for name, own in outcome.matches.items() if own} == expected, (seed, case)
        assert stream.late == 0
    count(streams=len(seeds))


@pytest.mark.parametrize("seeds", seed_blocks(240_000, 40, soak=500))
def test_a_small_budget_splits_steps_or_refuses_but_never_lies(seeds: range) -> None:
    outcomes = []
    for seed in seeds:
        case = some_case(seed)
        outcome = run_with_budget(case, Budget(partial_matches=20 + seed % 200))
        assert outcome is None or outcome.matches == expected_outcome(case), case
        outcomes.append(outcome)
    assert any(outcome is not None for outcome in outcomes)
    assert any(outcome is None for outcome in outcomes)


N_MANY = 18
MANY = [f"T{number}" for number in range(N_MANY)]


def many_events(dice: random.Random) -> list[tuple[int, str, int, int]]:
    """Return seconds, types, keys and values; some at the same time."""
    return [
        (second, dice.choice(MANY), dice.randrange(2), dice.randrange(6))
        for second in sorted(dice.randrange(200) for _ in range(150))
    ]


def brute_force(events: list[tuple[int, str, int, int]], seconds: int) -> set[frozenset[tuple[str, int]]]:
    """Return all sets of events of different types that fit: by trying them, the smaller sets first."""
    numbers = {name: number for number, name in enumerate(MANY)}
    found: set[frozenset[int]] = {frozenset({row}) for row in range(len(events))}
    smaller = set(found)
    while smaller:
        larger = {
            own | {row}
            for own, row in product(smaller, range(len(events)))
            if all(_fits(events[a], events[row], numbers, seconds) for a in own)
        }
        found |= larger
        smaller = larger
    return {frozenset((f"v{numbers[events[row][1]]}", row) for row in own) for own in found}


def _fits(
    a: tuple[int, str, int, int], b: tuple[int, str, int, int], numbers: dict[str, int], seconds: int
) -> bool:
    """Say whether two events may be in one match: operands that follow each other want growing values."""
    first, second = sorted([a, b], key=lambda own: numbers[own[1]])
    apart = numbers[second[1]] - numbers[first[1]]
    grows = apart != 1 or first[3] <= second[3]
    return apart > 0 and a[2] == b[2] and abs(a[0] - b[0]) <= seconds and grows


def test_some_of_eighteen_operands() -> None:
    """Twice: without conditions among events, and with some."""
    events = many_events(random.Random(18))
    second, types, keys, values = zip(*events, strict=True)
    table = pa.table(
        {
            "ts": pa.array([own * 1_000_000 for own in second]).cast(pa.timestamp("us", "UTC")),
            "type": types,
            "id": range(len(events)),
            "k": keys,
            "x": values,
        }
    )
    operands = ", ".join(f"{name} v{number}" for number, name in enumerate(MANY))
    among = " AND ".join(f"v{number}.x <= v{number + 1}.x" for number in range(N_MANY - 1))
    text = f"QUERY q PATTERN SOME({operands}) WHERE [k] AND {among} WITHIN 12 seconds"
    started = time.perf_counter()
    detection = weft.prepare(table, text, time="ts", type="type", id="id", notices=False)
    found = weft.detect(table, text, time="ts", type="type", id="id", notices=False).to_pylist()
    matches = {frozenset((own["variable"], own["id"]) for own in one["events"]) for one in found}
    assert len(found) == len(matches)
    assert matches == brute_force(events, 12)
    assert max(map(len, matches)) > 5
    assert "combinations with equal k" in detection.explain()
    assert time.perf_counter() - started < 60


def test_the_brute_force_finds_what_the_combinations_of_each_size_say() -> None:
    events = [(0, "T0", 0, 1), (1, "T1", 0, 2), (1, "T1", 0, 0), (2, "T5", 0, 0), (9, "T7", 1, 0)]
    fitting = [
        own
        for size in range(1, 4)
        for own in combinations(range(5), size)
        if {4} == set(own) or (4 not in own and not {1, 2} <= set(own) and not {0, 2} <= set(own))
    ]
    assert len(brute_force(events, 12)) == len(fitting) == 10


def test_many_operands_are_planned_at_once() -> None:
    operands = ", ".join(f"A a{number}" for number in range(40))
    pairs = " AND ".join(f"a{number}.x < a{number + 1}.x" for number in range(39))
    case = Case(f"QUERY q PATTERN SOME({operands}) WHERE [k] AND {pairs} WITHIN 1 minute", ())
    queries = case.queries
    started = time.perf_counter()
    chosen = choose_plan(queries, case.schema, Planning())
    assert time.perf_counter() - started < 1
    assert len(chosen.plan.outputs[0].branches) == 1
    assert chosen.cost > 0
