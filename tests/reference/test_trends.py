"""The worked examples of the HAMLET paper, and the shapes of patterns, counted by the reference."""

import pytest
from tests.helpers.trend_notation import (
    A,
    B,
    C,
    D,
    aggregate,
    arrivals,
    count,
    counts,
    ending_at,
    item,
    plus,
    repeated,
    rises,
    seq,
    trend_query,
    with_values,
)

from weft.expressions import Aggregate, Attribute, Comparison, Literal
from weft.pattern.nodes import Conjunction, Disjunction, Event, Kleene, Pattern, ReturnColumn
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results
from weft.reference.values import Value
from weft.schema import LONG

FIGURE_4 = arrivals("a1 a2 c1 b1 b2 b3 b4 a3 a4 c2 c3 c4 b5 b6")
FIGURE_6 = arrivals("a1 a2 c1 b1 b2 b3 b4 b5 b6 b7 b8")
SHAPES = arrivals("a1 b1 b2 c1 b3 a2 b4 c2 c3 b5")
A_THEN_BS = seq(A, plus(B))
C_THEN_BS = seq(C, plus(B))

no_edge = Comparison(
    "!=", Attribute("b", "marks", "previous", LONG), Attribute("b", "is_marked", "current", LONG)
)


def without_edge(events: list[ReferenceEvent], first: str, second: str) -> list[ReferenceEvent]:
    """Return events of which `no_edge` rejects one pair alone."""
    marking = with_values(events, "marks", [int(event.id == first) for event in events])
    return with_values(marking, "is_marked", [1 if event.id == second else 2 for event in events])


def at(*numbers: int) -> dict[str, int]:
    """Return the trends that end at b1, b2 and so on."""
    return {f"b{index}": number for index, number in enumerate(numbers, 1)}


class TestFigures:
    def test_figure_4(self) -> None:
        assert count(trend_query(A_THEN_BS), FIGURE_4) == 132
        assert count(trend_query(C_THEN_BS), FIGURE_4) == 72
        assert ending_at(trend_query(A_THEN_BS), FIGURE_4) == at(2, 4, 8, 16, 34, 68)
        assert ending_at(trend_query(C_THEN_BS), FIGURE_4) == at(1, 2, 4, 8, 19, 38)

    def test_figure_5c_where_an_edge_does_not_hold_for_one_query(self) -> None:
        events = without_edge(FIGURE_4, "b2", "b3")
        assert count(trend_query(A_THEN_BS), events) == 132
        assert count(trend_query(C_THEN_BS, no_edge), events) == 56
        assert ending_at(trend_query(C_THEN_BS, no_edge), events) == at(1, 2, 2, 6, 15, 30)

    def test_figure_6_with_two_bursts(self) -> None:
        assert count(trend_query(A_THEN_BS), FIGURE_6) == 510
        assert count(trend_query(C_THEN_BS), FIGURE_6) == 255
        assert ending_at(trend_query(A_THEN_BS), FIGURE_6) == at(2, 4, 8, 16, 32, 64, 128, 256)
        assert ending_at(trend_query(C_THEN_BS), FIGURE_6) == at(1, 2, 4, 8, 16, 32, 64, 128)

    def test_figure_6_where_an_edge_does_not_hold_for_one_query(self) -> None:
        events = without_edge(FIGURE_6, "b5", "b6")
        assert count(trend_query(A_THEN_BS), events) == 510
        assert count(trend_query(C_THEN_BS, no_edge), events) == 191
        assert ending_at(trend_query(C_THEN_BS, no_edge), events) == at(1, 2, 4, 8, 16, 16, 48, 96)

    def test_figure_6_with_three_bursts(self) -> None:
        events = arrivals("a1 a2 c1 b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 b11 b12")
        assert count(trend_query(A_THEN_BS), events) == 8190
        assert count(trend_query(C_THEN_BS), events) == 4095


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (plus(B), 31),
        (seq(A, plus(B)), 34),
        (seq(plus(B), C), 33),
        (seq(A, plus(B), C), 35),
        (plus(seq(A, plus(B))), 55),
        (plus(seq(A, plus(B), C)), 41),
        (seq(plus(A), plus(B)), 37),
    ],
    ids=["kleene only", "prefix", "suffix", "both", "nested", "nested with suffix", "two lists"],
)
def test_shapes(pattern: Pattern, expected: int) -> None:
    assert count(trend_query(pattern), SHAPES) == expected


def test_trends_end_where_they_should() -> None:
    assert ending_at(trend_query(plus(B)), SHAPES) == at(1, 2, 4, 8, 16)
    assert ending_at(trend_query(A_THEN_BS), SHAPES) == at(1, 2, 4, 9, 18)


class TestTies:
    def test_tied_events_do_not_follow_each_other(self) -> None:
        events = arrivals("a1@1 b1@2 b2@2 b3@3")
        assert count(trend_query(A_THEN_BS), events) == 5
        assert ending_at(trend_query(A_THEN_BS), events) == at(1, 1, 3)

    def test_a_tie_break_orders_them(self) -> None:
        a1, b1, b2 = arrivals("a1@1 b1@2 b2@2")
        events = [a1, *(ReferenceEvent(b.row, b.types, b.time, b.id, tie=b.row) for b in (b1, b2))]
        assert count(trend_query(A_THEN_BS), events) == 2
        assert count(trend_query(A_THEN_BS), events, tie_break=True) == 3

    def test_an_event_delivered_twice_counts_once(self) -> None:
        assert count(trend_query(A_THEN_BS), arrivals("a1@1 b1@2 b1@2")) == 1


class TestAggregates:
    EVENTS = with_values(arrivals("a1 b1 b2 a2 b3 c1 b4"), "x", [5, 3, 7, 1, 4, 9, 2])
    COLUMNS = (
        ReturnColumn("events", Aggregate("count", "b")),
        *(aggregate(function, "b") for function in ("sum", "avg", "min", "max")),
    )

    def values(self, pattern: Pattern, *where: Comparison) -> list[Value]:
        results = find_trend_results(trend_query(pattern, *where, columns=self.COLUMNS), self.EVENTS)
        return list(results[None, ()].values())

    def test_of_the_list_of_a_trend(self) -> None:
        assert self.values(A_THEN_BS) == [18, 36, 140, 140 / 36, 2, 7]
        assert self.values(seq(A, plus(B), C)) == [8, 13, 60, 60 / 13, 3, 7]

    def test_with_a_predicate_on_each_element(self) -> None:
        above = Comparison(">", Attribute("b", "x", "each", LONG), Literal(2, LONG))
        assert self.values(A_THEN_BS, above) == [8, 13, 60, 60 / 13, 3, 7]

    def test_with_a_predicate_on_adjacent_elements(self) -> None:
        assert self.values(A_THEN_BS, rises("b")) == [8, 10, 39, 3.9, 2, 7]


class TestWindows:
    EVENTS = arrivals("a1@0 b1@1 c1@2 b2@4 a2@5 b3@6 b4@8 c2@11 b5@13")

    def test_two_queries_with_a_pane_of_five(self) -> None:
        first = find_trend_results(trend_query(A_THEN_BS, length=10, slide=5), self.EVENTS)
        assert counts(first) == {-5: 3, 0: 18, 5: 7}
        second = find_trend_results(trend_query(C_THEN_BS, length=15, slide=5), self.EVENTS)
        assert counts(second) == {-10: 1, -5: 7, 0: 16, 5: 1, 10: 1}


class TestRepeatedGroups:
    def test_the_division_into_lists_is_part_of_a_trend(self) -> None:
        assert count(trend_query(plus(plus(A))), arrivals("a1")) == 1
        assert count(trend_query(plus(plus(A))), arrivals("a1 a2")) == 4  # a1, a2, a1 a2, a1 | a2
        assert count(trend_query(plus(plus(A))), arrivals("a1 a2 a3")) == 13

    def test_each_match_is_wholly_before_the_next(self) -> None:
        assert count(trend_query(repeated(seq(A, B), 2, 2)), arrivals("a1 a2 b1 b2")) == 0
        assert count(trend_query(repeated(seq(A, B), 2, 2)), arrivals("a1 b1 a2 b2")) == 1
        assert count(trend_query(repeated(seq(A, B), 2, 2)), arrivals("a1@1 b1@2 a2@2 b2@3")) == 0

    @pytest.mark.parametrize(
        ("least", "most", "expected"),
        [(1, None, 7), (2, None, 4), (3, None, 1), (2, 2, 3), (1, 2, 6), (0, 2, 6), (0, 1, 3)],
    )
    def test_bounds(self, least: int, most: int | None, expected: int) -> None:
        group = repeated(Disjunction((A, seq(B, C))), least, most)
        assert count(trend_query(group), arrivals("a1 a2 b1 c1")) == expected

    def test_a_match_of_the_group_has_an_event(self) -> None:
        optional = repeated(seq(repeated(A, 0, 1), repeated(B, 0, 1)), 2, 2)
        assert count(trend_query(optional), arrivals("a1")) == 0
        assert count(trend_query(optional), arrivals("a1 b1")) == 1

    def test_what_is_absent_is_absent_in_one_way(self) -> None:
        either = Disjunction((repeated(A, 0, 1), repeated(B, 0, None)))
        assert count(trend_query(seq(either, C)), arrivals("c1")) == 1
        assert count(trend_query(seq(repeated(plus(A), 0, None), C)), arrivals("a1 c1")) == 2

    def test_predicates_speak_of_one_match_of_the_group(self) -> None:
        group = plus(seq(A, B))
        same = Comparison("=", Attribute("a", "x", type=LONG), Attribute("b", "x", type=LONG))
        events = with_values(arrivals("a1 b1 a2 b2"), "x", [1, 1, 2, 2])
        assert count(trend_query(group, same), events) == 3  # not a1 b2
        lists = plus(seq(A, plus(B)))
        events = with_values(arrivals("a1 b1 b2 a2 b3"), "x", [0, 5, 6, 0, 1])
        # b rises within each list, not from one to the next: of a1 the lists b1, b2, b1 b2 and b3, of
        # a2 b3, and the first three with a2 b3
        assert count(trend_query(lists, rises("b")), events) == 8

    def test_aggregates_are_of_all_matches_of_the_group(self) -> None:
        events = with_values(arrivals("a1 b1 a2 b2"), "x", [1, 2, 4, 8])
        columns = (aggregate("sum", "a"), aggregate("max", "b"))
        results = find_trend_results(trend_query(repeated(seq(A, B), 2, 2), columns=columns), events)
        assert results == {(None, ()): {"trends": 1, "sum": 5, "max": 8}}


class TestAlternatives:
    def test_variables_make_trends(self) -> None:
        assert count(trend_query(Disjunction((Event("A", "v"), Event("A", "w")))), arrivals("a1")) == 2
        assert count(trend_query(plus(Disjunction((A, Event("A", "w"))))), arrivals("a1 a2")) == 8

    def test_a_branch_not_taken_has_no_predicates_and_no_events(self) -> None:
        above = Comparison(">", Attribute("a", "x", type=LONG), Literal(1, LONG))
        columns = (ReturnColumn("as", Aggregate("count", "a")), aggregate("sum", "a"))
        events = with_values(arrivals("a1 b1 b2"), "x", [1, 1, 1])
        results = find_trend_results(trend_query(Disjunction((A, B)), above, columns=columns), events)
        assert results == {(None, ()): {"trends": 2, "as": 0, "sum": None}}

    def test_and_takes_any_order(self) -> None:
        both = Conjunction((plus(A), seq(B, C)))
        assert count(trend_query(both), arrivals("b1 a1 c1 a2")) == 3
        assert count(trend_query(Disjunction((both, D))), arrivals("b1 a1 c1 d1")) == 2

    def test_and_binds_an_event_once(self) -> None:
        twice = [ReferenceEvent(0, frozenset("AB"), 0), ReferenceEvent(1, frozenset("A"), 0)]
        assert count(trend_query(Conjunction((A, B))), twice) == 1

    def test_lists_of_any_length(self) -> None:
        events = arrivals("a1 a2 a3 a4")
        bounds: list[tuple[Kleene, int]] = [
            (repeated(A, 0, None), 15),
            (repeated(A, 2, 2), 6),
            (repeated(A, 3, None), 5),
            (repeated(A, 2, 3), 10),
            (repeated(A, 0, 1), 4),
        ]
        for pattern, expected in bounds:
            assert count(trend_query(pattern), events) == expected


def test_a_predicate_on_two_events_that_follow_each_other() -> None:
    events = with_values(arrivals("a1 a2 b1 b2"), "x", [1, 5, 3, 9])
    less = Comparison("<", Attribute("a", "x", type=LONG), Attribute("b", "x", type=LONG))
    assert count(trend_query(seq(A, B), less), events) == 3


def test_null_satisfies_no_predicate() -> None:
    events = with_values(arrivals("a1 a2"), "x", [1, None])
    assert count(trend_query(plus(A), rises("a")), events) == 2


def test_other_types_take_no_part() -> None:
    assert find_trend_results(trend_query(plus(item("E"))), SHAPES) == {}


class TestExamplesOfTheDocument:
    def test_a_repeated_group(self) -> None:
        assert count(trend_query(plus(seq(A, plus(B)))), arrivals("a1 b1 a2 b2")) == 5

    def test_windows(self) -> None:
        results = find_trend_results(
            trend_query(A_THEN_BS, length=10, slide=5), arrivals("a1@5 b1@6 b2@9 b3@12")
        )
        assert counts(results) == {0: 3, 5: 7}

    def test_aggregates(self) -> None:
        events = with_values(arrivals("a1 b1 b2"), "x", [None, 3, 7])
        columns = (ReturnColumn("bs", Aggregate("count", "b")), aggregate("sum", "b"), aggregate("avg", "b"))
        results = find_trend_results(trend_query(A_THEN_BS, columns=columns), events)
        assert results == {(None, ()): {"trends": 3, "bs": 4, "sum": 20, "avg": 5.0}}
