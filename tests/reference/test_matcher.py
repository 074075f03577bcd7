"""What tests/cases cannot say of the reference: times of a match, and patterns that no text makes."""

import pytest
from tests.helpers.notation import query_of, stream

from weft.errors import QueryError
from weft.expressions import Attribute, Comparison
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Query, Sequence, TimeWindow
from weft.reference.matcher import find_matches
from weft.schema import LONG


def test_start_and_end_are_the_times_of_the_first_and_last_event() -> None:
    (match,) = find_matches(query_of("AND(A a, B b)"), stream("A 7; B 3"))
    assert (match.start, match.end) == (3, 7)


def test_a_repeated_group_is_refused() -> None:
    group = Kleene(Sequence((Event("A", "a"), Event("B", "b"))), 1, None)
    with pytest.raises(QueryError, match="repeated group"):
        find_matches(Query("q", group), stream("A 0"))
    with pytest.raises(QueryError, match="repeated group"):
        find_matches(Query("q", Kleene(Negation(Event("A", "a")), 0, 1)), stream("A 0"))


def test_an_optional_group_is_absent_or_present() -> None:
    group = Kleene(Sequence((Event("A", "a"), Event("B", "b"))), 0, 1)
    query = Query("q", Sequence((group, Event("C", "c"))))
    matches = find_matches(query, stream("A 0; B 1; C 2"))
    assert {len(match.bindings) for match in matches} == {1, 3}


def test_events_of_the_outer_match_count_for_a_negation_inside_a_negation() -> None:
    # the A bound outside follows B inside the window: SEQ(B, NOT A) has no match
    inner = Negation(Sequence((Event("B", "x"), Negation(Event("A", "y")))))
    query = Query("q", Conjunction((Event("A", "a"), Event("C", "c"), inner)), window=TimeWindow(10))
    assert len(find_matches(query, stream("C 0; B 1; A 2"))) == 1


def test_a_predicate_between_a_negation_and_one_inside_it_belongs_to_the_inner() -> None:
    inner = Sequence((Event("B", "x"), Negation(Event("D", "y")), Event("B", "z")))
    same = Comparison("=", Attribute("y", "k", type=LONG), Attribute("x", "k", type=LONG))
    query = Query("q", Sequence((Event("A", "a"), Negation(inner), Event("C", "c"))), (same,))
    assert len(find_matches(query, stream("A 0; B 1 k=1; D 2 k=1; B 3; C 4"))) == 1
    assert len(find_matches(query, stream("A 0; B 1 k=1; D 2 k=2; B 3; C 4"))) == 0
