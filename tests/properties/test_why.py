"""Every step of a diagnosis is counted as the reference counts it, the last one the matches of the rule."""

import json
import math
from dataclasses import replace

import pytest
from tests.helpers.engine import is_supported
from tests.helpers.local_cases import detection_of_case
from tests.helpers.strategies import Case, matching_case, random_case

from weft.diagnosis.alternative import alternatives_of
from weft.diagnosis.candidates import DISTANCE, Candidate, candidates_of
from weft.diagnosis.look import Look
from weft.diagnosis.planned_steps import planned_steps
from weft.diagnosis.relaxation import Relaxer
from weft.diagnosis.why import Why
from weft.pattern.nodes import Event, Query
from weft.pattern.policies import Policy
from weft.reference.matcher import find_matches
from weft.reference.matches import return_values
from weft.reference.values import Value

SEEDS = [*range(40), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(40, 600))]


def count(query: Query, case: Case) -> int:
    return len(find_matches(query, case.events, tie_break=case.tie_break))


def expected_counts(rule: Query, case: Case) -> list[list[int]]:
    """The matches of each step by the reference, for each alternative."""
    look = Look(case.schema)
    found = []
    for alternative in alternatives_of(rule):
        relaxer = Relaxer(alternative, look)
        types = {item.variable: item.event.type for item in alternative.items}
        counts = []
        for step in planned_steps(relaxer):
            if step.asked is not None:
                counts.append(count(relaxer.query("step", step.asked), case))
            else:
                assert step.item is not None
                assert step.alone is not None
                counts.append(count(Query("step", Event(types[step.item], step.item), step.alone), case))
        found.append(counts)
    return found


def check(case: Case) -> None:
    detection = detection_of_case(case)
    for rule in case.queries:
        why = detection.why(rule.name)
        assert [[step.count for step in funnel.steps] for funnel in why.funnels] == expected_counts(
            rule, case
        )
        assert why.matches == count(replace(rule, policy=replace(rule.policy, timeouts=False)), case)
        assert all(own is None or own >= 0 for own in counts_of(why))
        for step in why.whole:
            chosen = {"union": Policy(), "strategy": Policy(rule.policy.strategy)}.get(step.kind)
            if chosen is not None:
                assert step.count == count(replace(rule, policy=chosen), case)
        check_closest(why, rule, case)


def counts_of(why: Why) -> list[int | None]:
    return [step.count for funnel in why.funnels for step in funnel.steps] + [s.count for s in why.whole]


def check_closest(why: Why, rule: Query, case: Case) -> None:
    """A rule that matches has no miss; one that does not, has the best of those that there are."""
    assert str(why)
    assert json.loads(why.to_json())["matches"] == why.matches
    failing = [funnel.failing for funnel in why.funnels]
    if why.matches:
        assert why.closest is None
    elif len(failing) == 1 and failing[0] is not None:
        (alternative,) = alternatives_of(rule)
        relaxer = Relaxer(alternative, Look(case.schema))
        step = planned_steps(relaxer)[failing[0]]
        misses = next(
            filter(None, (misses_of(own, relaxer, case) for own in candidates_of(step, relaxer))), {}
        )
        assert (why.closest is None) == (not misses)
        if why.closest is not None:
            found = frozenset((event.variable, event.id) for event in why.closest.events)
            least = min(misses.values(), key=rank)
            assert found in misses
            assert rank(misses[found]) == rank(least)


def misses_of(
    candidate: Candidate, relaxer: Relaxer, case: Case
) -> dict[frozenset[tuple[str, object]], Value]:
    """The matches of a candidate by the reference, as variables and ids, with how far they are off."""
    query = relaxer.query("miss", candidate.asked, candidate.returns)
    ids = {event.row: event.identity for event in case.events}
    return {
        frozenset((variable, ids[row]) for variable, rows in match.bindings for row in rows): return_values(
            query, match, case.events
        ).get(DISTANCE)
        for match in find_matches(query, case.events, tie_break=case.tie_break)
    }


def rank(distance: Value) -> tuple[int, float]:
    """Smaller is closer; a distance that is no number comes last, one that is NULL after all."""
    if distance is None:
        return 2, 0.0
    number = float(distance)
    return (1, 0.0) if math.isnan(number) else (0, number)


@pytest.mark.parametrize("seed", SEEDS)
def test_steps_are_counted_as_the_reference_counts_them(seed: int) -> None:
    check(matching_case(seed, most_queries=2, most_events=10, accepts=is_supported))


@pytest.mark.parametrize("seed", SEEDS)
def test_rules_that_may_not_match(seed: int) -> None:
    case = random_case(seed, most_queries=2, most_events=10, with_policies=True)
    if is_supported(case):
        check(case)
