"""Lists that are walked from one element to the next, and those of which all are tried: the same matches."""

import random

import numpy as np
import pytest
from tests.helpers.engine import arrow_events, expected_outcome, outcome_of, plan_of
from tests.helpers.strategies import Case, event

from weft.expressions import Attribute
from weft.kernels.matches.kleene import Elements, Rows
from weft.runtime.columns import compare
from weft.runtime.columns.compare import Comparisons, Value
from weft.runtime.columns.ingest import ingest
from weft.runtime.matches.execute import Executor, Program
from weft.runtime.matches.kleene import BoundKleene
from weft.runtime.matches.list_rules import Candidates, is_strict
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.matches.table import events_table
from weft.schema import LONG

WITHIN = "WITHIN 9 microseconds"
BETWEEN = "SEQ(A a, B+ b[], C c)"
WALKED = {
    "all between two events": f"{BETWEEN} {WITHIN} STRATEGY NEXT",
    "no more than some": f"SEQ(A a, B{{2,3}} b[], C c) {WITHIN} STRATEGY NEXT",
    "with a condition on the elements": f"{BETWEEN} WHERE b.x > 1 {WITHIN} STRATEGY NEXT",
    "with a condition to what comes before": f"{BETWEEN} WHERE b.x > a.x {WITHIN} STRATEGY NEXT",
    "with a condition to what comes after": f"{BETWEEN} WHERE b.x > c.x {WITHIN} STRATEGY NEXT",
    "with a condition on neighbors": f"{BETWEEN} WHERE b[i].x >= b[i-1].x {WITHIN} STRATEGY NEXT",
    "with conditions on whole lists": f"{BETWEEN} WHERE SUM(b.x) > 3 AND LAST(b).x > FIRST(b).x {WITHIN} "
    "STRATEGY NEXT",
    "with keys": f"{BETWEEN} WHERE [k] {WITHIN} STRATEGY NEXT",
    "alone": f"B{{2,}} b[] {WITHIN} STRATEGY NEXT",
    "alone, with keys and neighbors": f"B{{2,}} b[] WHERE [k] AND b[i].x > b[i-1].x {WITHIN} STRATEGY NEXT",
    "next to an event of its type": f"AND(B d, B{{2,}} b[]) {WITHIN} STRATEGY NEXT",
    "in any order": f"AND(A a, B{{1,3}} b[]) {WITHIN} STRATEGY NEXT",
    "in a window of positions": f"{BETWEEN} WHERE [k] WITHIN 6 EVENTS PARTITION BY name STRATEGY NEXT",
    "strictly": f"SEQ(A a, B+ b[]) {WITHIN} STRATEGY STRICT",
    "strictly, with conditions": f"SEQ(A a, B+ b[]) WHERE b.x >= a.x AND b[i].x != b[i-1].x {WITHIN} "
    "STRATEGY STRICT",
    "strictly, with keys": f"SEQ(A a, B+ b[]) WHERE [k] {WITHIN} STRATEGY STRICT",
    "strictly alone, with keys": f"B{{2,}} b[] WHERE [k] {WITHIN} STRATEGY STRICT",
}
TRIED = {
    "whatever the strategy": f"SEQ(A a, B{{1,2}} b[]) {WITHIN}",
    "strictly in any order": f"AND(A a, B{{1,3}} b[]) {WITHIN} STRATEGY STRICT",
    "where part of a condition is not asked": f"{BETWEEN} WHERE NOT (b.x > 3 OR c.x > 3) {WITHIN} "
    "STRATEGY NEXT",
    "where a condition is asked of some": f"SEQ(A a, AND(B+ b[], C c)) WHERE b.x > c.x {WITHIN} "
    "STRATEGY NEXT",
    "next to another list of its type": f"AND(B{{1,2}} b[], B{{1,2}} d[]) {WITHIN} STRATEGY NEXT",
    "where a condition is not for a kernel": f"SEQ(A a, C c, B+ b[]) WHERE b.x + c.x > a.x - b.x {WITHIN} "
    "STRATEGY NEXT",
}


def case_of(text: str, dice: random.Random | None = None, *, ties: bool = True) -> Case:
    """Return a case with random events of few types and values, with or without ties."""
    if dice is None:
        return Case(f"QUERY q PATTERN {text}", ())
    n_events = 14
    times = [dice.randrange(14) for _ in range(n_events)] if ties else dice.sample(range(20), n_events)
    return Case(
        f"QUERY q PATTERN {text}",
        tuple(
            event(
                row,
                dice.choice("AABBBBBCC"),
                time,
                k=dice.choice([1, 1, 1, 2, None]),
                x=dice.choice([0, 1, 2, 3, 3, 4, None]),
                name="ann",
            )
            for row, time in enumerate(sorted(times))
        ),
    )


def lists_in(program: Program) -> list[BoundKleene]:
    return [bound for bound in program.bound.values() if isinstance(bound, BoundKleene)]


def matches_of(case: Case, *, walks: bool, n_batches: int = 1) -> set[object]:
    """Run a case, with its lists walked where they can be, or all tried."""
    plan = plan_of(case)
    program = Program(plan)
    for bound in () if walks else lists_in(program):
        bound.__dict__["_next_lists"] = None
    table, layout = arrow_events(case)
    events, executor = ingest(table, layout), Executor(program)
    cuts = [round(events.n_events * number / n_batches) for number in range(n_batches + 1)]
    found = []
    for start, stop in zip(cuts, cuts[1:], strict=False):
        frontier = int(events.times[stop]) if stop < events.n_events else END_OF_TIME
        found += executor.process(events.take(slice(start, stop)), frontier)
    return set(outcome_of(plan, found).matches["q"])


@pytest.mark.parametrize("text", WALKED.values(), ids=WALKED)
def test_lists_are_walked(text: str) -> None:
    bound = lists_in(Program(plan_of(case_of(text))))
    assert bound
    for own in bound:
        assert own._next_lists is not None
        assert own._next_lists.is_nearest
        assert is_strict(own.node) == ("STRICT" in text)


@pytest.mark.parametrize("text", TRIED.values(), ids=TRIED)
def test_all_lists_are_tried(text: str) -> None:
    bound = lists_in(Program(plan_of(case_of(text))))
    assert bound
    assert any(own._next_lists is None for own in bound)


@pytest.mark.parametrize("ties", [True, False], ids=["ties", "no ties"])
@pytest.mark.parametrize("text", {**WALKED, **TRIED}.values(), ids={**WALKED, **TRIED})
def test_both_ways_find_the_matches_of_the_reference(text: str, ties: bool) -> None:
    dice, n_matches = random.Random(11), 0
    for _ in range(20):
        case = case_of(text, dice, ties=ties)
        expected = set(expected_outcome(case)["q"])
        assert matches_of(case, walks=True) == expected, case
        assert matches_of(case, walks=False) == expected, case
        assert matches_of(case, walks=True, n_batches=5) == expected, case
        n_matches += len(expected)
    assert n_matches >= 5


def candidates(
    ranks: list[int], hashes: list[int], values: list[int] | None = None, *, is_growing: bool = True
) -> Candidates:
    """Return the candidates of no rows: elements with ranks, in runs by hash, with one value each."""
    none, size = np.empty(0, np.int64), len(ranks)
    pairs = np.empty((0, 2), np.int64)
    flags = np.zeros(size, np.bool_)
    return Candidates(
        events_table(none),
        Rows(pairs, pairs, pairs, none, np.empty((1, 0), np.int64), np.empty(0, np.bool_)),
        np.arange(size),
        Elements(np.array(ranks), np.array(ranks), np.array([values or [0] * size]), flags),
        np.array(hashes),
        is_growing,
    )


def equal(operator: str = "=") -> Comparisons:
    value = Value(Attribute("$0", "k", type=LONG))
    return Comparisons((compare.Test(value, operator, value),), (), ())  # type: ignore[arg-type]


def test_candidates_are_runs_where_each_may_follow_the_one_before() -> None:
    assert candidates([1, 2, 3], [7, 7, 7]).are_runs(equal())
    assert candidates([1, 2, 2], [7, 7, 9]).are_runs(equal())  # a tie, of two runs
    assert candidates([1, 2, 3], [7, 7, 9], [5, 5, 6]).are_runs(equal())
    assert candidates([1], [7]).are_runs(equal())


def test_candidates_are_no_runs_where_some_may_not_follow() -> None:
    assert not candidates([1, 2, 2], [7, 7, 7]).are_runs(equal())  # a tie
    assert not candidates([1, 2, 3], [7, 7, 7], [5, 5, 6]).are_runs(equal())  # hashes that collide
    assert not candidates([1, 2, 3], [7, 7, 7]).are_runs(equal("<="))
    assert not candidates([1, 2, 3], [7, 7, 7], is_growing=False).are_runs(equal())


def test_a_list_ends_at_the_first_that_is_broken() -> None:
    broken = np.array([False, True, False, False, True, False])
    assert candidates([0] * 6, [0] * 6).ends(broken).tolist() == [1, 1, 4, 4, 4, 6]
