"""Oracle tests: every plan of every algorithm gives the reference's matches."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.helpers.engine import derived_schema, expected_outcome, run_plan
from tests.helpers.mutations import WINDOWS, is_valid, mutated, queries_in, renamed, with_window
from tests.helpers.random_plans import random_plan, random_statistics, woven
from tests.helpers.strategies import Case, event, matching_case, random_case
from tests.helpers.tally import Count, seed_blocks

from weft.optimizer.pipeline import choose_plan, plan_of_weave
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.dag import readers, topological_order
from weft.plan.nodes import Join, KleeneExpand, Plan

BATCHES = (1, 1, 2, 3, 4)


def agrees(case: Case, plan: Plan, seed: int, queries: Sequence[Query] | None = None) -> bool:
    """Say whether a plan finds what the reference finds, in one batch or in several."""
    expected = expected_outcome(case)
    names = [query.name for query in (case.queries if queries is None else queries)]
    n_batches = random.Random(seed).choice(BATCHES)
    found = run_plan(case, plan, n_batches=n_batches, seed=seed).matches
    return found == {name: expected[name] for name in names}


@pytest.mark.parametrize("seeds", seed_blocks(0, 80, soak=2_000))
def test_random_trees_find_what_the_reference_finds(seeds: range, count: Count) -> None:
    cases = [matching_case(seed) for seed in seeds]
    for seed, case in zip(seeds, cases, strict=True):
        assert agrees(case, random_plan(case, seed), seed), case
    count(cases=len(cases), matches=sum(case.n_matches for case in cases))


SETTINGS: dict[str, Planning] = {
    "replies": Planning(plan="auto", cost="partial-matches"),
    "annealing": Planning(plan="mcep", heuristic="annealing", cost="partial-matches"),
    "tabu search of 4 patterns": Planning(
        plan="auto", heuristic="tabu", neighborhood="vertex", k=4, cost="partial-matches"
    ),
    "prefixes": Planning(
        plan="mcep",
        prefix_only=True,
        heuristic="annealing",
        neighborhood="vertex",
        k=4,
        cost="partial-matches",
    ),
    "pattern order": Planning(plan="trivial", cost="partial-matches"),
    "reordering": Planning(plan="reorder", cost="partial-matches"),
    "reordering of orders": Planning(plan="reorder", prefix_only=True, cost="partial-matches"),
    "sharing": Planning(plan="share", cost="partial-matches"),
    "the search without rewriting": Planning(plan="mcep", cost="partial-matches"),
    "rewriting": Planning(plan="motto", cost="partial-matches"),
    "merging": Planning(plan="mst", cost="partial-matches"),
    "sub-expressions": Planning(plan="lcse", cost="partial-matches"),
    "latency": Planning(plan="auto", objective="latency", cost="partial-matches"),
    "latency and throughput": Planning(plan="mcep", objective=0.5, cost="partial-matches"),
    "latency of orders": Planning(
        plan="mcep", objective=0.9, prefix_only=True, heuristic="tabu", cost="partial-matches"
    ),
    "redundancy": Planning(plan="spass", cost="partial-matches"),
}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seeds", seed_blocks(1_000, 8, soak=80, block=8))
def test_every_strategy_finds_what_the_reference_finds(seeds: range, name: str, count: Count) -> None:
    """Whatever the statistics say; a plan that was stored and read again is the same plan."""
    n_matches = 0
    for seed in seeds:
        case = matching_case(seed + 100 * list(SETTINGS).index(name))
        dice = random.Random(seed)
        told = {"statistics": random_statistics(dice), "steps": 40, "seed": seed}
        chosen = choose_plan(case.queries, derived_schema(case), replace(SETTINGS[name], **told))
        assert agrees(case, chosen.plan, seed), case
        stored = StoredPlan.from_json(chosen.stored.to_json())
        again = choose_plan(case.queries, derived_schema(case), Planning(plan=stored, cost="partial-matches"))
        assert again.plan == chosen.plan
        n_matches += case.n_matches
    count(cases=len(seeds), matches=n_matches)


@pytest.mark.parametrize("seed", range(25))
def test_a_stored_plan_of_random_trees_finds_what_the_reference_finds(seed: int) -> None:
    """Queries that the stored plan does not know are added to it."""
    case, dice = matching_case(2_000 + seed), random.Random(seed)
    choice = woven(case, dice).stored_plan(is_shared=dice.random() < 0.8)
    known = {name: trees for name, trees in choice.trees.items() if dice.random() < 0.8}
    stored = StoredPlan.from_json(StoredPlan(known, choice.is_shared).to_json())
    chosen = choose_plan(case.queries, derived_schema(case), Planning(plan=stored, cost="partial-matches"))
    assert agrees(case, chosen.plan, seed)


@pytest.mark.parametrize("seed", range(20))
def test_queries_that_come_and_go_leave_a_right_plan(seed: int) -> None:
    dice = random.Random(seed)
    case = _together(matching_case(3_000 + seed), random_case(13_000 + seed, most_queries=2))
    weave = woven(case, dice, dice.sample(case.queries, dice.randint(0, len(case.queries))))
    for _ in range(6):
        query = dice.choice(case.queries)
        if query.name in weave.queries:
            weave.remove(query.name)
        else:
            weave.add(query)
        if dice.random() < 0.3:
            weave.improve(Limit(steps=20), heuristic=dice.choice(["replies", "annealing", "tabu"]), seed=seed)
    present = [query for query in case.queries if query.name in weave.queries]
    assert agrees(case, plan_of_weave(weave, present, derived_schema(case)), seed, present)


def _together(case: Case, other: Case) -> Case:
    """Return the queries of both cases over the events of the first, where they can be bound."""
    added = [renamed(query, f"r{number}") for number, query in enumerate(queries_in(other.text))]
    valid = [query for query in added if is_valid(query, tie_break=case.tie_break)]
    return replace(case, text="\n\n".join([case.text, *valid]))


@pytest.mark.parametrize("seed", range(25))
def test_queries_with_other_windows_share_one_plan(seed: int) -> None:
    """The matches of a short window are those of a longer one that fit it."""
    dice = random.Random(seed)
    case = matching_case(4_000 + seed, most_queries=2)
    texts = queries_in(case.text)
    for number in range(2):
        query = with_window(dice.choice(texts), dice.choice([None, *WINDOWS]))
        texts.append(renamed(query, f"w{number}"))
    case = replace(case, text="\n\n".join(texts))
    assert agrees(case, shared_plan(case, dice), seed)


def shared_plan(case: Case, dice: random.Random) -> Plan:
    """Return a plan that shares much: trees that are alike, or as much sharing as can be."""
    weave = woven(case, dice)
    if dice.random() < 0.5:
        weave.multitree.replace(maximal_sharing(weave.sharables.graph, weave.multitree.patterns))
    return plan_of_weave(weave, case.queries, derived_schema(case))


def with_mutants(seed: int) -> Case:
    """Return a case with copies of its queries that differ in one detail each."""
    dice = random.Random(seed)
    case = matching_case(seed, most_queries=2, most_events=12)
    texts = queries_in(case.text)
    copies = [
        mutated(dice.choice(texts), f"m{number}", dice, tie_break=case.tie_break) for number in range(2)
    ]
    return replace(case, text="\n\n".join([*texts, *copies]))


@pytest.mark.parametrize("seeds", seed_blocks(5_000, 80, soak=2_000))
def test_a_query_that_differs_in_one_detail_is_never_taken_for_the_other(seeds: range, count: Count) -> None:
    cases = [with_mutants(seed) for seed in seeds]
    plans = [shared_plan(case, random.Random(seed)) for seed, case in zip(seeds, cases, strict=True)]
    for seed, case, plan in zip(seeds, cases, plans, strict=True):
        assert agrees(case, plan, seed), case
    assert sum(n_joins_of_several(plan) > 0 for plan in plans) > len(plans) // 3, "plans share joins"
    count(cases=len(cases), matches=sum(case.n_matches for case in cases))


def n_joins_of_several(plan: Plan) -> int:
    """Return how many joins and lists are read more than once."""
    found = readers(plan)
    outputs = [branch.node for output in plan.outputs for branch in output.branches]
    return sum(
        isinstance(node, Join | KleeneExpand) and len(found[node]) + outputs.count(node) > 1
        for node in topological_order(plan)
    )


def test_a_not_inside_a_not_looks_at_events_of_the_same_key() -> None:
    events = (event(0, "D", 0, k=1), event(1, "A", 3, k=2), event(2, "B", 7, k=1))
    case = Case("QUERY q PATTERN SEQ(D d, NOT SEQ(NOT A a, B b)) WHERE [k] WITHIN 1 minute", events)
    assert not expected_outcome(case)["q"]
    assert agrees(case, random_plan(case, 0), 0)


def test_the_comparison_sees_a_plan_of_another_query() -> None:
    events = (event(0, "A", 0), event(1, "B", 5))
    case = Case("QUERY q PATTERN SEQ(A a, B b)", events)
    other = Case("QUERY q PATTERN SEQ(B b, A a)", events)
    assert agrees(case, random_plan(case, 0), 0)
    assert not agrees(case, random_plan(other, 0), 0)
