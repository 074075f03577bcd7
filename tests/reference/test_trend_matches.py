"""Without a window and a group, the trends of a query are its matches."""

from dataclasses import replace

from tests.helpers.strategies import random_case
from tests.helpers.trend_notation import count, trend_query

from weft.expressions import Aggregate, Attribute, Equivalence, variables_of
from weft.pattern.nodes import Conjunction, Event, Negation, Query
from weft.reference.clauses import Clause, clauses_of, positive_variables
from weft.reference.matcher import find_matches
from weft.tree import find


def test_random_queries() -> None:
    n_compared = n_matched = n_negated = 0
    for seed in range(300):
        case = random_case(seed, most_events=8)
        for query in case.queries:
            query = replace(query, window=None, returns=trend_query(query.pattern).returns)
            if not is_of_trends(query):
                continue
            matches = find_matches(query, case.events, tie_break=case.tie_break)
            assert count(query, list(case.events), tie_break=case.tie_break) == len(matches), case
            n_compared += 1
            n_matched += bool(matches)
            n_negated += any(find(query.pattern, Negation))
    assert n_compared > 150
    assert n_matched > 50
    assert n_negated > 20


def is_of_trends(query: Query) -> bool:
    """Say whether negations are of single events in SEQ, and predicates of single elements and pairs."""
    positive = positive_variables(query.pattern)
    predicates = [predicate for predicate in query.where if not isinstance(predicate, Equivalence)]
    return (
        all(isinstance(negation.operand, Event) for negation in find(query.pattern, Negation))
        and not any(negates_in_and(clause) for clause in clauses_of(query.pattern))
        and not any(True for predicate in predicates for _ in find(predicate, Aggregate))
        and not any(
            attribute.place in ("first", "last")
            for predicate in predicates
            for attribute in find(predicate, Attribute)
        )
        and all(variables_of(each) <= positive or len(variables_of(each)) == 1 for each in predicates)
    )


def negates_in_and(clause: Clause) -> bool:
    return any(
        isinstance(operand, Negation)
        for conjunction in find(clause.pattern, Conjunction)
        for operand in conjunction.operands
    )
