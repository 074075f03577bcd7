"""The cases written as text: the reference finds what they say, and every way to run a query finds it too."""

import random
from collections.abc import Iterable

import pyarrow as pa
import pytest
from tests.helpers.case_files import (
    FOLDER,
    TextCase,
    load_cases,
    match_lines,
    read_cases,
    trend_lines,
    write_expectations,
)
from tests.helpers.engine import arrow_events, derived_schema, outcome_of, plan_of, run_plan, walked
from tests.helpers.placed import is_placeable, placed_case, run_program
from tests.helpers.placed_streams import matches_of, run_placed_stream
from tests.helpers.placed_walks import run_stages, stream_stages
from tests.helpers.random_graphs import RandomGraph
from tests.helpers.random_plans import random_plan
from tests.helpers.random_trends import results_of
from tests.helpers.strategies import SeededDice
from tests.helpers.streams import Stream, cut, deliveries, never_settled, program_of, run_stream
from tests.helpers.tally import Count
from tests.helpers.trend_streams import trends_of

from weft.normalize.template import template_of
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.trends.aggregate import Sharing, aggregate_set, aggregate_workload
from weft.runtime.trends.executor import TrendPlan

CASES = load_cases()
MATCHES = [case for case in CASES if not case.is_trend]
TRENDS = [case for case in CASES if case.is_trend]


def named(cases: Iterable[TextCase]) -> list[object]:
    return [pytest.param(case, id=f"{case.file.stem}: {case.title}") for case in cases]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_the_reference(path, request: pytest.FixtureRequest) -> None:
    """With --update, what it finds is written down; no other way to run a query writes expectations."""
    if request.config.getoption("--update"):
        write_expectations(path)
    for case in read_cases(path):
        assert case.found == case.by_reference(), case.title
        assert case.timeouts == case.timeouts_by_reference(), case.title


def test_titles_are_of_one_case_and_there_are_enough() -> None:
    titles = [(case.file, case.title, case.query, case.events) for case in CASES]
    assert len(set(titles)) == len(titles)
    assert len(MATCHES) >= 200
    assert len(TRENDS) >= 40
    assert sum(bool(case.found) for case in CASES) > len(CASES) // 2


def one_batch(case: TextCase) -> tuple[str, ...]:
    return match_lines(run_plan(case.case, plan_of(case.case)).matches["q"])


def event_by_event(case: TextCase) -> tuple[str, ...]:
    """Every event is a batch, in order of time; so far are all earlier ones known."""
    table, layout = arrow_events(case.case)
    events = ingest(table, layout)
    plan = plan_of(case.case)
    executor, found = Executor(Program(plan)), []
    for row in range(events.n_events):
        is_last = row + 1 == events.n_events
        frontier = END_OF_TIME if is_last else int(events.times[row + 1])
        found += executor.process(events.take(slice(row, row + 1)), frontier)
    return match_lines(outcome_of(plan, walked(executor, found)).matches["q"])


@pytest.mark.parametrize("case", named(MATCHES))
def test_the_engine(case: TextCase) -> None:
    assert one_batch(case) == case.found
    assert event_by_event(case) == case.found
    check_tree(case, 0)


def check_tree(case: TextCase, seed: int) -> None:
    """Run a plan of random trees, in one batch or in several."""
    outcome = run_plan(case.case, random_plan(case.case, seed), n_batches=1 + seed % 4, seed=seed)
    assert match_lines(outcome.matches["q"]) == case.found, (seed, case)


def is_stream(case: TextCase) -> bool:
    """Say whether time alone decides all matches of a case."""
    return case.bound.window is not None and not never_settled(case.case)


@pytest.mark.parametrize("case", named(filter(is_stream, MATCHES)))
def test_a_shard_with_restarts(case: TextCase) -> None:
    check_shard(case, 0)


def check_shard(case: TextCase, seed: int) -> None:
    outcome, stream = run_stream(case.case, seed)
    assert match_lines(outcome.matches.get("q", {})) == case.found, (seed, case)
    assert stream.wake is None


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 11))
def test_other_trees_and_other_deliveries(seed: int, count: Count) -> None:
    for case in MATCHES:
        check_tree(case, seed)
        if is_stream(case):
            check_shard(case, seed)
    count(cases=len(MATCHES))


@pytest.mark.parametrize(
    "case", named(case for case in MATCHES if is_placeable(case.case) and not case.bound.policy.timeouts)
)
def test_sites(case: TextCase) -> None:
    """Events arise at three sites, in a batch and, where there is a window, in a stream."""
    seed = len(case.title)
    dice = SeededDice(seed)
    placed = placed_case(case.case, dice, 3)
    program = placed.program(RandomGraph(dice, placed.network, placed.queries).build())
    if case.bound.policy.walks:
        assert match_lines(run_stages(placed, program).found.get("q", {})) == case.found
        if is_stream(case):
            assert match_lines(stream_stages(placed, program, seed).found.get("q", {})) == case.found
        return
    assert match_lines(run_program(placed, program).matches["q"]) == case.found
    if is_stream(case):
        stream = run_placed_stream(placed, program, seed)
        assert match_lines(matches_of(stream, ["q"])["q"]) == case.found


@pytest.mark.parametrize("case", named(TRENDS))
def test_trends(case: TextCase) -> None:
    """By itself, looking at all events before each, and in a workload with and without sharing."""
    table, layout = arrow_events(case.case)
    events = ingest(table, layout)
    template = template_of(case.bound, derived_schema(case.case))
    results = [*aggregate_set([template], events)[0], *aggregate_set([template], events, "pairwise")[0]]
    sharing: tuple[Sharing, ...] = ("dynamic", "static", "none")
    results += [aggregate_workload([template, template], events, one)[0][1] for one in sharing]
    for rows in results:
        assert trend_lines(case.bound, results_of(rows, events)) == case.found  # type: ignore[arg-type]


def is_trend_stream(case: TextCase) -> bool:
    return case.bound.window is not None and case.bound.policy.suppression is None


@pytest.mark.parametrize("case", named(filter(is_trend_stream, TRENDS)))
def test_a_shard_of_trends_with_restarts(case: TextCase) -> None:
    table, layout = arrow_events(case.case)
    template = template_of(case.bound, derived_schema(case.case))
    for seed in range(2):
        dice = random.Random(seed)
        delay = dice.choice([0, 1_000, 3_000])
        stream = Stream(program_of(TrendPlan((template,), "dynamic"), layout, delay=delay), dice)
        for rows in cut(deliveries(case.case.events, dice, delay), dice, dice.randint(1, 6)):
            stream.deliver(table.take(pa.array(rows, pa.int64())))
        stream.finish()
        assert trend_lines(case.bound, trends_of(stream).get("q", {})) == case.found, seed
