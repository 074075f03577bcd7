"""The random policies are legal, of every kind, and decide something."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from tests.helpers.engine import expected_timeouts
from tests.helpers.random_policies import policy_case
from tests.helpers.strategies import Case

from weft.pattern.nodes import Conjunction, Disjunction, Kleene, Query
from weft.pattern.policies import Policy
from weft.reference.matcher import find_matches
from weft.reference.matches import Match
from weft.tree import find

SAMPLES = 260
FEATURES = """
    next strict any to-next past-last none longest suppression per timeouts
    next-decides strict-decides to-next-decides past-last-decides longest-decides suppression-decides
    next-on-list next-on-optional next-on-OR next-on-AND
    keys-with-skip keys-with-suppression tie-break-with-skip
    next-then-skip strict-then-skip skip-then-suppression swallowed timed-out complete
"""


@cache
def samples() -> tuple[Case, ...]:
    return tuple(policy_case(seed) for seed in range(SAMPLES))


def test_every_kind_occurs_and_decides() -> None:
    seen = Counter(feature for case in samples() for feature in set(features_of(case)))
    assert {feature: seen[feature] for feature in FEATURES.split() if seen[feature] < 3} == {}


def test_most_queries_with_a_policy_keep_matches() -> None:
    found = [
        bool(case.expected()[query.name])
        for case in samples()
        for query in case.queries
        if query.policy != Policy()
    ]
    assert len(found) > SAMPLES
    assert sum(found) > 0.7 * len(found)


def test_a_seed_gives_the_same_case_every_time() -> None:
    assert repr(policy_case(5)) == repr(policy_case(5)) != repr(policy_case(6))


def features_of(case: Case) -> Iterator[str]:
    """Yield what a case has, in the words of FEATURES."""
    for query in case.queries:
        policy = query.policy
        yield policy.strategy or "nothing"
        yield (policy.skip or "nothing").replace(" ", "-")
        described = {
            "longest": policy.prefer_longest,
            "suppression": policy.suppression is not None,
            "per": policy.suppression is not None and policy.suppression.per,
            "timeouts": policy.timeouts,
            "keys-with-skip": query.keys and policy.skip,
            "keys-with-suppression": query.keys and policy.suppression,
            "tie-break-with-skip": case.tie_break and policy.skip,
            "swallowed": any(match.swallowed for match in case.expected()[query.name]),
        }
        yield from (feature for feature, is_there in described.items() if is_there)
        yield from decisions(case, query)
    for timeouts in expected_timeouts(case).values():
        yield from ("timed-out" if missing else "complete" for _, missing in timeouts)


def decisions(case: Case, query: Query) -> Iterator[str]:
    """Yield which clauses of a query leave out some matches."""
    policy = query.policy

    def found(**changes: object) -> set[Match]:
        changed = replace(query, policy=replace(policy, **changes))  # type: ignore[arg-type]
        return find_matches(changed, case.events, tie_break=case.tie_break)

    everything = found(strategy=None, skip=None, suppression=None)
    strategic = found(skip=None, suppression=None)
    skipped = found(suppression=None)
    if strategic < everything:
        yield f"{policy.strategy}-decides"
        kinds = {"list": Kleene, "OR": Disjunction, "AND": Conjunction}
        yield from (f"{policy.strategy}-on-{name}" for name, kind in kinds.items() if any(find(query, kind)))
        if any(kleene.least == 0 for kleene in find(query, Kleene)):
            yield f"{policy.strategy}-on-optional"
    if skipped < strategic:
        yield f"{policy.skip}-decides".replace(" ", "-")
        yield from [f"{policy.strategy}-then-skip"] * (strategic < everything)
        yield from ["longest-decides"] * (skipped != found(suppression=None, prefer_longest=False))
    if found() < skipped:
        yield "suppression-decides"
        yield from ["skip-then-suppression"] * (skipped < strategic)
