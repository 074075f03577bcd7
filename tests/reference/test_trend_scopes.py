"""What windows, keys and negations make of trends, and what is left of the values of their events."""

import math
from decimal import Decimal

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
    no,
    plus,
    repeated,
    seq,
    trend_query,
    with_values,
)

from weft.expressions import Aggregate, Attribute, Comparison, Equivalence, Literal
from weft.pattern.nodes import Conjunction, CountWindow, Disjunction, Negation, Pattern, Query, ReturnColumn
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results
from weft.reference.values import Value
from weft.schema import DOUBLE, LONG, Type, decimal

SHAPES = arrivals("a1 b1 b2 c1 b3 a2 b4 c2 c3 b5")


class TestWindows:
    def test_they_are_half_open_and_aligned_to_the_epoch(self) -> None:
        events = arrivals("a1@-1 a2@0 a3@9 a4@10")
        assert counts(find_trend_results(trend_query(A, length=10, slide=10), events)) == {
            -10: 1,
            0: 2,
            10: 1,
        }

    def test_without_a_slide_they_tumble(self) -> None:
        events = arrivals("a1@0 b1@9 b2@10 a2@12 b3@19")
        assert counts(find_trend_results(trend_query(seq(A, B), length=10), events)) == {0: 1, 10: 1}

    def test_there_may_be_gaps_between_them(self) -> None:
        events = arrivals("a1@0 a2@3 a3@5 a4@8")
        assert counts(find_trend_results(trend_query(A, length=3, slide=5), events)) == {0: 1, 5: 1}

    def test_the_length_need_not_be_a_multiple_of_the_slide(self) -> None:
        events = arrivals("a1@4 b1@6")
        found = counts(find_trend_results(trend_query(plus(Disjunction((A, B))), length=5, slide=2), events))
        assert found == {0: 1, 2: 3, 4: 3, 6: 1}

    def test_a_window_without_trends_has_no_result(self) -> None:
        assert find_trend_results(trend_query(seq(A, B), length=5), arrivals("a1@4 b1@6")) == {}

    def test_without_a_window_all_events_are_in_one(self) -> None:
        assert counts(find_trend_results(trend_query(seq(A, B)), arrivals("a1@0 b1@900000"))) == {None: 1}

    def test_a_window_of_events_is_refused(self) -> None:
        with pytest.raises(ValueError, match="window of time"):
            find_trend_results(Query("q", A, window=CountWindow(5)), arrivals("a1"))


class TestGroups:
    EVENTS = with_values(arrivals("a1 a2 b1 b2 b3 a3"), "k", [1, 2, 1, 2, 1, None])

    def test_the_events_of_a_trend_agree(self) -> None:
        columns = (ReturnColumn("who", Attribute("a", "k", type=LONG)),)
        query = trend_query(seq(A, plus(B)), group_by=("k",), columns=columns)
        assert find_trend_results(query, self.EVENTS) == {
            (None, (1,)): {"trends": 3, "who": 1},
            (None, (2,)): {"trends": 1, "who": 2},
        }

    def test_null_belongs_to_no_group(self) -> None:
        assert counts(find_trend_results(trend_query(A, group_by=("k",)), self.EVENTS)) == {
            (None, (1,)): 1,
            (None, (2,)): 1,
        }

    def test_equivalence_and_partitions_divide_without_a_column(self) -> None:
        assert count(trend_query(seq(A, plus(B)), Equivalence(("k",))), self.EVENTS) == 4
        partitioned = Query("q", seq(A, plus(B)), partition_by=("k",), returns=trend_query(A).returns)
        assert count(partitioned, self.EVENTS) == 4
        events = with_values(self.EVENTS, "site", [7, 7, 7, 7, 8, 7])
        together = trend_query(seq(A, plus(B)), Equivalence(("k",)), group_by=("site",))
        assert counts(find_trend_results(together, events)) == {(None, (7,)): 2}

    def test_groups_and_windows(self) -> None:
        query = trend_query(seq(A, B), length=4, slide=2, group_by=("k",))
        assert counts(find_trend_results(query, self.EVENTS)) == {
            (0, (1,)): 1,
            (2, (2,)): 1,
        }

    def test_nan_is_a_group_and_so_is_zero(self) -> None:
        events = with_values(arrivals("a1 a2 a3 a4"), "y", [math.nan, -math.nan, -0.0, 0.0])
        found = find_trend_results(trend_query(plus(A), group_by=("y",)), events)
        assert counts(found) == {(None, (math.nan,)): 3, (None, (0.0,)): 3}
        assert [str(key[1][0]) for key in found] == ["nan", "0.0"]

    def test_negated_events_agree_too(self) -> None:
        pattern = seq(A, no("C"), B)
        events = arrivals("a1 c1 b1")
        for key, expected in ((1, 0), (2, 1), (None, 1)):
            keyed = with_values(events, "k", [1, key, 1])
            assert len(find_trend_results(trend_query(pattern, group_by=("k",)), keyed)) == expected
            assert count(trend_query(pattern, Equivalence(("k",))), keyed) == expected


class TestNegation:
    def test_shapes_of_the_paper(self) -> None:
        assert count(trend_query(seq(A, plus(B), no("C"))), SHAPES) == 18
        assert count(trend_query(seq(A, no("C"), plus(B))), SHAPES) == 26

    @pytest.mark.parametrize(
        ("pattern", "first", "last"),
        [
            (seq(A, no("C"), B), 13, 16),
            (seq(no("C"), A, B), 10, 11),
            (seq(A, B, no("C")), 18, 19),
            (seq(A, no("C"), repeated(D, 0, 1), B), 13, 16),
            (seq(A, B, no("C"), repeated(D, 0, 1)), 18, 19),
            (seq(A, seq(no("C"), B)), 13, 16),
            (seq(A, Disjunction((seq(no("C"), B), D))), 13, 16),
            (plus(seq(A, no("C"), B)), 13, 16),
            (Conjunction((seq(no("C"), A), B)), 10, 11),
        ],
    )
    def test_scopes(self, pattern: Pattern, first: int, last: int) -> None:
        """A and B are at 12 and 17, in the window from 10 to 20."""
        rejecting = [
            time
            for time in range(5, 25)
            if 10
            not in counts(
                find_trend_results(trend_query(pattern, length=10), arrivals(f"a1@12 b1@17 c1@{time}"))
            )
        ]
        assert rejecting == list(range(first, last + 1))

    def test_each_window_is_a_scope_of_its_own(self) -> None:
        events = arrivals("a1@6 c1@11")
        found = find_trend_results(trend_query(seq(A, no("C")), length=10, slide=5), events)
        assert counts(found) == {0: 1}

    def test_without_a_window_the_scope_has_no_end(self) -> None:
        assert count(trend_query(seq(no("C"), A)), arrivals("c1@-900 a1@5")) == 0
        assert count(trend_query(seq(A, no("C"))), arrivals("a1@5 c1@900")) == 0

    def test_in_a_group_each_match_has_its_own_scope(self) -> None:
        group = repeated(seq(A, no("C"), B), 2, 2)
        assert count(trend_query(group), arrivals("a1 b1 c1 a2 b2")) == 1
        assert count(trend_query(group), arrivals("a1 b1 a2 c1 b2")) == 0

    def test_before_a_group(self) -> None:
        pattern = seq(A, no("C"), plus(seq(B, D)))
        assert count(trend_query(pattern), arrivals("a1 b1 c1 d1")) == 1
        assert count(trend_query(pattern), arrivals("a1 c1 b1 d1")) == 0

    def test_a_negated_event_satisfies_its_predicates(self) -> None:
        above = Comparison(">", Attribute("c", "x", type=LONG), Literal(1, LONG))
        for value, expected in ((1, 1), (2, 0), (None, 1)):
            events = with_values(arrivals("a1 c1 b1"), "x", [0, value, 0])
            assert count(trend_query(seq(A, no("C"), B), above), events) == expected

    def test_a_negated_event_is_not_bound(self) -> None:
        pattern = Conjunction((seq(A, Negation(C), B), plus(D)))
        both = ReferenceEvent(1, frozenset("CD"), 2)
        a1, b1 = ReferenceEvent(0, frozenset("A"), 1), ReferenceEvent(2, frozenset("B"), 3)
        assert count(trend_query(pattern), [a1, both, b1]) == 1

    def test_strict_in_the_order_of_the_tie_break(self) -> None:
        ties = [ReferenceEvent(row, frozenset(letter), 5, tie=row) for row, letter in enumerate("ACB")]
        assert count(trend_query(seq(A, no("C"), B)), ties, tie_break=True) == 0
        ties[1] = ReferenceEvent(1, frozenset("C"), 5, tie=0)
        assert count(trend_query(seq(A, no("C"), B)), ties, tie_break=True) == 1

    def test_in_and_from_the_first_event_to_the_end_of_the_window(self) -> None:
        query = trend_query(Conjunction((plus(B), no("C"))))
        assert count(query, arrivals("b1 b2")) == 3
        assert count(query, arrivals("c0 b1 b2")) == 3
        assert count(query, arrivals("b1 c1 b2")) == 1
        assert count(query, arrivals("b1 b2 c9")) == 0

    def test_what_has_no_meaning_is_refused(self) -> None:
        with pytest.raises(ValueError, match="single events only"):
            count(trend_query(seq(A, Negation(plus(C)))), arrivals("a1"))
        mixed = Comparison("<", Attribute("c", "x", type=LONG), Attribute("a", "x", type=LONG))
        with pytest.raises(ValueError, match="conditions of its own"):
            count(trend_query(seq(A, no("C")), mixed), arrivals("a1"))


class TestValues:
    def aggregated(self, type: Type, values: list[Value]) -> dict[str, Value]:
        """Return the aggregates of single events."""
        events = with_values(
            [ReferenceEvent(row, frozenset("A"), row) for row in range(len(values))], "x", values
        )
        columns = (
            *(aggregate(function, "a", "x", type) for function in ("sum", "avg", "min", "max")),
            ReturnColumn("known", Aggregate("count", "a", "x", type)),
            ReturnColumn("events", Aggregate("count", "a")),
        )
        return find_trend_results(trend_query(A, columns=columns), events)[None, ()]

    def test_null_is_left_out(self) -> None:
        assert self.aggregated(LONG, [4, None, 1]) == {
            "trends": 3,
            "sum": 5,
            "avg": 2.5,
            "min": 1,
            "max": 4,
            "known": 2,
            "events": 3,
        }
        assert self.aggregated(LONG, [None]) == {
            "trends": 1,
            "sum": None,
            "avg": None,
            "min": None,
            "max": None,
            "known": 0,
            "events": 1,
        }

    def test_sums_of_longs_are_exact(self) -> None:
        most = 2**63 - 1
        assert self.aggregated(LONG, [most, most, 1])["sum"] == 2**64 - 1
        assert self.aggregated(LONG, [2**53, 2**53 + 1, 2**53 + 2])["avg"] == float(2**53 + 1)

    def test_sums_of_decimals_are_exact(self) -> None:
        large, small = Decimal("9999999999999999.99"), Decimal("0.01")
        found = self.aggregated(decimal(2), [large] * 10 + [small])
        assert str(found["sum"]) == "99999999999999999.91"
        assert self.aggregated(decimal(1), [Decimal("0.1"), Decimal("0.2")])["avg"] == 0.15

    def test_sums_of_doubles_are_rounded_once(self) -> None:
        assert self.aggregated(DOUBLE, [0.1] * 10)["sum"] == 1.0
        assert self.aggregated(DOUBLE, [1e16, 1.0, -1e16])["sum"] == 1.0
        assert self.aggregated(DOUBLE, [1e308, 1e308, -1e308])["sum"] == 1e308

    def test_sums_beyond_all_doubles(self) -> None:
        found = self.aggregated(DOUBLE, [1e308, 1e308])
        assert (found["sum"], found["avg"]) == (math.inf, 1e308)
        assert self.aggregated(DOUBLE, [-1e308, -1e308])["sum"] == -math.inf
        assert self.aggregated(DOUBLE, [math.inf, 1.0])["avg"] == math.inf
        assert str(self.aggregated(DOUBLE, [math.inf, -math.inf])["sum"]) == "nan"
        assert str(self.aggregated(DOUBLE, [math.nan, 1.0])) == str(
            {
                "trends": 2,
                "sum": math.nan,
                "avg": math.nan,
                "min": 1.0,
                "max": math.nan,
                "known": 2,
                "events": 2,
            }
        )

    def test_other_columns_are_refused(self) -> None:
        column = ReturnColumn("x", Attribute("a", "x", type=LONG))
        with pytest.raises(ValueError, match="not a column"):
            find_trend_results(trend_query(A, columns=(column,)), arrivals("a1"))
