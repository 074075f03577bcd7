"""What the random cases cover: every operator and predicate, and enough matches to tell errors by."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

import tests.helpers.strategies
from hypothesis import HealthCheck, given, settings
from tests.helpers.notation import without_negations
from tests.helpers.strategies import Case, cases, matching_case, random_case

from weft.expressions import Aggregate, Arithmetic, Attribute, Equivalence, variables_of
from weft.pattern.nodes import Conjunction, Disjunction, Event, Kleene, Negation, Pattern, Query, Sequence
from weft.reference.clauses import clauses_of
from weft.reference.matcher import find_matches
from weft.tree import find, walk

SAMPLES = 300

FEATURES = """
    Event Sequence Conjunction Disjunction Some Negation Kleene
    {1,None} {0,None} {0,1} {2,2} {2,None} {1,2} {1,3} {2,3} {0,2}
    depth-1 depth-2 depth-3 one-type-twice
    NOT-first NOT-last NOT-between NOT-in-AND NOT-Event NOT-Kleene
    NOT-Sequence NOT-Conjunction NOT-Disjunction NOT-Some NOT-in-NOT NOT-in-OR predicate-on-NOT NOT-with-match
    TimeWindow CountWindow NoneType PARTITION-BY Equivalence
    Comparison And Or Not IsNull InList Like Cast Literal Arithmetic Negate Absolute Aggregate Attribute
    + - * / %
    count sum avg min max
    each current previous first last
    constant one-variable two-variables ReturnColumn
    tie-break ids duplicates derived-types null equal-times several-queries no-events
"""


@cache
def samples() -> tuple[Case, ...]:
    return tuple(random_case(seed) for seed in range(SAMPLES))


def test_every_feature_occurs() -> None:
    seen = Counter(feature for case in samples() for feature in set(features_of(case)))
    assert {feature: seen[feature] for feature in FEATURES.split() if seen[feature] < 3} == {}


def test_enough_queries_match_and_enough_matches_are_negated() -> None:
    n_queries = n_matched = n_with_negation = n_rejected = 0
    for case in samples():
        for query in case.queries:
            matches = case.expected()[query.name]
            assert len(matches) <= 20_000
            n_queries += 1
            n_matched += bool(matches)
            if any(find(query.pattern, Negation)):
                allowed = find_matches(without_negations(query), case.events, tie_break=case.tie_break)
                n_with_negation += 1
                n_rejected += not allowed <= matches
    assert n_matched > 0.35 * n_queries
    assert n_rejected > 0.15 * n_with_negation


def test_cases_that_are_to_have_matches_have_some() -> None:
    """Every case has at least three, and most queries of a case have some."""
    cases = [matching_case(seed) for seed in range(100)]
    assert min(case.n_matches for case in cases) >= 3
    found = [bool(matches) for case in cases for matches in case.expected().values()]
    assert len(found) > 150
    assert sum(found) > 0.7 * len(found)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
)
@given(cases())
def test_the_text_of_a_case_makes_the_case(case: Case) -> None:
    copy = eval(repr(case), vars(tests.helpers.strategies))
    assert repr(copy) == repr(case)
    assert copy.expected() == case.expected()


def test_a_seed_gives_the_same_case_every_time() -> None:
    assert repr(random_case(5)) == repr(random_case(5))
    assert repr(random_case(5)) != repr(random_case(6))


def features_of(case: Case) -> Iterator[str]:
    """Yield what a case has, in the words of FEATURES."""
    queries = case.queries
    times = [event.time for event in case.events]
    ids = [event.id for event in case.events if event.id is not None]
    described = {
        "tie-break": case.tie_break,
        "ids": bool(ids),
        "duplicates": len(set(ids)) < len(ids),
        "derived-types": any(len(event.types) > 1 for event in case.events),
        "null": any(value is None for event in case.events for value in event.attributes.values()),
        "equal-times": len(set(times)) < len(times),
        "several-queries": len(queries) > 1,
        "no-events": not case.events,
    }
    yield from (feature for feature, is_there in described.items() if is_there)
    for query in queries:
        yield from query_features(query)
        yield from pattern_features(query.pattern)


def query_features(query: Query) -> Iterator[str]:
    negated = {
        event.variable for negation in find(query.pattern, Negation) for event in find(negation, Event)
    }
    yield type(query.window).__name__
    if query.partition_by:
        yield "PARTITION-BY"
    for node in walk(query):
        yield type(node).__name__
        if isinstance(node, Arithmetic):
            yield node.operator
        if isinstance(node, Aggregate):
            yield node.function
        if isinstance(node, Attribute):
            yield node.place
    for predicate in query.where:
        if not isinstance(predicate, Equivalence):
            mentioned = variables_of(predicate)
            yield ("constant", "one-variable", "two-variables")[min(len(mentioned), 2)]
            if mentioned & negated:
                yield "predicate-on-NOT"
            if mentioned & negated and mentioned - negated:
                yield "NOT-with-match"


def pattern_features(pattern: Pattern) -> Iterator[str]:
    yield f"depth-{depth_of(pattern)}"
    types = [event.type for event in find(pattern, Event)]
    if len(set(types)) < len(types):
        yield "one-type-twice"
    yield from (f"{{{kleene.least},{kleene.most}}}" for kleene in find(pattern, Kleene))
    for disjunction in find(pattern, Disjunction):
        if any(isinstance(operand, Negation) for operand in disjunction.operands):
            yield "NOT-in-OR"
    for negation in find(pattern, Negation):
        yield f"NOT-{type(negation.operand).__name__}"
        if any(find(negation.operand, Negation)):
            yield "NOT-in-NOT"
    for clause in clauses_of(pattern):
        for operator in find(clause.pattern, Sequence) if clause.pattern is not None else ():
            yield from sequence_features(operator)
        for conjunction in find(clause.pattern, Conjunction) if clause.pattern is not None else ():
            if any(isinstance(operand, Negation) for operand in conjunction.operands):
                yield "NOT-in-AND"


def sequence_features(sequence: Sequence) -> Iterator[str]:
    positive = [index for index, each in enumerate(sequence.operands) if not isinstance(each, Negation)]
    for index, operand in enumerate(sequence.operands):
        if isinstance(operand, Negation) and positive:
            yield (
                "NOT-first" if index < positive[0] else "NOT-last" if index > positive[-1] else "NOT-between"
            )


def depth_of(pattern: Pattern) -> int:
    """Return how deep the operators nest."""
    match pattern:
        case Event():
            return 0
        case Kleene(operand=operand) | Negation(operand=operand):
            return depth_of(operand)
        case _:
            return 1 + max(depth_of(operand) for operand in pattern.operands)
