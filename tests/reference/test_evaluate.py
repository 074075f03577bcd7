"""Values, three-valued logic, aggregates and quantification, worked by hand."""

import math
from decimal import Decimal

import pytest

from weft.expressions import (
    Absolute,
    Aggregate,
    And,
    Arithmetic,
    Attribute,
    Cast,
    Comparison,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Negate,
    Not,
    Or,
)
from weft.reference.evaluate import evaluate, holds
from weft.reference.events import ReferenceEvent
from weft.reference.values import Value, compare, convert
from weft.schema import BOOLEAN, DATE, DOUBLE, DURATION, LONG, STRING, TIMESTAMP, Type, decimal

MOST, LEAST = 2**63 - 1, -(2**63)
NULL = None
CENTS = decimal(2)
TRUE, FALSE, UNKNOWN = (Literal(value, BOOLEAN) for value in (True, False, None))


def long(value: int | None) -> Literal:
    return Literal(value, LONG)


def double(value: float | None) -> Literal:
    return Literal(value, DOUBLE)


def cents(text: str) -> Literal:
    return Literal(Decimal(text), CENTS)


def value_of(expression: Expression) -> Value:
    return evaluate(expression, {})


def events(*values: Value, name: str = "x") -> tuple[ReferenceEvent, ...]:
    return tuple(
        ReferenceEvent(row, frozenset("A"), row, attributes={name: value}) for row, value in enumerate(values)
    )


class TestNull:
    @pytest.mark.parametrize(
        "expression",
        [
            Comparison("=", long(NULL), long(NULL)),
            Comparison("!=", long(1), long(NULL)),
            Arithmetic("+", long(NULL), long(1)),
            Arithmetic("/", double(1.0), double(NULL)),
            Negate(long(NULL)),
            Absolute(long(NULL)),
            Like(Literal(NULL, STRING), "%"),
            InList(long(NULL), (long(1),)),
            Cast(long(NULL), DOUBLE),
            Not(UNKNOWN),
        ],
    )
    def test_null_in_gives_null_out(self, expression: Expression) -> None:
        assert value_of(expression) is NULL

    @pytest.mark.parametrize(
        ("operands", "conjunction", "disjunction"),
        [
            ((TRUE, TRUE), True, True),
            ((TRUE, FALSE), False, True),
            ((FALSE, FALSE), False, False),
            ((UNKNOWN, TRUE), NULL, True),
            ((UNKNOWN, FALSE), False, NULL),
            ((UNKNOWN, UNKNOWN), NULL, NULL),
        ],
    )
    def test_and_or_are_three_valued(
        self, operands: tuple[Literal, Literal], conjunction: bool | None, disjunction: bool | None
    ) -> None:
        for order in (operands, operands[::-1]):
            assert value_of(And(order)) is conjunction
            assert value_of(Or(order)) is disjunction

    def test_is_null_is_two_valued(self) -> None:
        assert value_of(IsNull(long(NULL))) is True
        assert value_of(IsNull(long(1))) is False

    def test_a_predicate_rejects_unless_it_is_true(self) -> None:
        assert holds(TRUE, {})
        assert not holds(FALSE, {})
        assert not holds(UNKNOWN, {})
        assert not holds(Not(UNKNOWN), {})


class TestArithmetic:
    @pytest.mark.parametrize(
        ("left", "operator", "right", "result"),
        [
            (MOST, "+", 1, NULL),
            (LEAST, "-", 1, NULL),
            (2**32, "*", 2**31, NULL),
            (MOST, "+", -1, MOST - 1),
            (7, "%", 3, 1),
            (-7, "%", 3, -1),
            (7, "%", -3, 1),
            (LEAST, "%", -1, 0),
            (7, "%", 0, NULL),
        ],
    )
    def test_longs(self, left: int, operator: str, right: int, result: int | None) -> None:
        assert value_of(Arithmetic(operator, long(left), long(right))) == result  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("left", "operator", "right", "result"),
        [
            (7.0, "/", 2.0, 3.5),
            (1.0, "/", 0.0, NULL),
            (1.0, "/", -0.0, NULL),
            (math.nan, "/", 0.0, NULL),
            (-7.5, "%", 2.0, -1.5),
            (7.5, "%", 0.0, NULL),
            (7.5, "%", math.inf, 7.5),
            (1e308, "*", 10.0, math.inf),
        ],
    )
    def test_doubles(self, left: float, operator: str, right: float, result: float | None) -> None:
        assert value_of(Arithmetic(operator, double(left), double(right))) == result  # type: ignore[arg-type]

    def test_a_double_that_is_not_a_number_stays_one(self) -> None:
        for expression in (
            Arithmetic("%", double(math.inf), double(2.0)),
            Arithmetic("-", double(math.inf), double(math.inf)),
            Arithmetic("+", double(math.nan), double(1.0)),
        ):
            assert math.isnan(value_of(expression))  # type: ignore[arg-type]

    def test_division_of_longs_gives_a_double(self) -> None:
        quotient = Arithmetic("/", Cast(long(7), DOUBLE), Cast(long(2), DOUBLE))
        assert value_of(quotient) == 3.5

    def test_minus_and_abs_of_the_least_long_are_null(self) -> None:
        assert value_of(Negate(long(LEAST))) is NULL
        assert value_of(Absolute(long(LEAST))) is NULL
        assert value_of(Negate(long(MOST))) == -MOST
        assert value_of(Absolute(cents("-1.25"))) == Decimal("1.25")
        assert value_of(Absolute(double(-0.5))) == 0.5
        assert value_of(Negate(Literal(5, DURATION))) == -5

    def test_decimals_are_exact(self) -> None:
        assert value_of(Arithmetic("+", cents("0.10"), cents("0.20"))) == Decimal("0.30")
        assert value_of(Arithmetic("-", cents("0.10"), cents("0.20"))) == Decimal("-0.10")

    def test_scales_add_in_a_product(self) -> None:
        product = value_of(Arithmetic("*", cents("0.15"), cents("0.15")))
        assert product == Decimal("0.0225")
        assert str(product) == "0.0225"

    def test_a_decimal_overflows_where_its_unscaled_long_does(self) -> None:
        assert value_of(Arithmetic("+", cents("92233720368547758.07"), cents("0.00"))) is not NULL
        assert value_of(Arithmetic("+", cents("92233720368547758.07"), cents("0.01"))) is NULL
        assert value_of(Arithmetic("*", cents("9999999999.99"), cents("9999999.99"))) is NULL

    def test_times_and_durations(self) -> None:
        at = [Literal(value, TIMESTAMP) for value in (100, 30)]
        lasts = Literal(7, DURATION)
        assert value_of(Arithmetic("-", *at)) == 70
        assert value_of(Arithmetic("+", at[0], lasts)) == 107
        assert value_of(Arithmetic("-", at[0], lasts)) == 93
        assert value_of(Arithmetic("+", lasts, at[0])) == 107
        assert value_of(Arithmetic("-", lasts, lasts)) == 0
        assert value_of(Arithmetic("+", Literal(MOST, TIMESTAMP), lasts)) is NULL


class TestCasts:
    @pytest.mark.parametrize(
        ("value", "source", "target", "result"),
        [
            (3, LONG, DOUBLE, 3.0),
            (Decimal("1.25"), CENTS, DOUBLE, 1.25),
            (Decimal("1.2"), decimal(1), decimal(3), Decimal("1.200")),
            (Decimal("92233720368547758.07"), CENTS, decimal(3), NULL),
            (2, DATE, TIMESTAMP, 2 * 86_400_000_000),
            (-1, DATE, TIMESTAMP, -86_400_000_000),
            (MOST, DATE, TIMESTAMP, NULL),
        ],
    )
    def test_value(self, value: Value, source: Type, target: Type, result: Value) -> None:
        assert value_of(Cast(Literal(value, source), target)) == result

    def test_other_casts_do_not_exist(self) -> None:
        with pytest.raises(ValueError, match="no cast from string to long"):
            convert("1", STRING, LONG)


class TestComparisons:
    def test_nan_equals_itself_and_is_greatest(self) -> None:
        assert value_of(Comparison("=", double(math.nan), double(math.nan))) is True
        assert value_of(Comparison(">", double(math.nan), double(math.inf))) is True
        assert value_of(Comparison("<", double(math.nan), double(math.nan))) is False
        assert value_of(Comparison("!=", double(math.nan), double(1.0))) is True

    def test_negative_zero_equals_zero(self) -> None:
        assert value_of(Comparison("=", double(-0.0), double(0.0))) is True
        assert value_of(Comparison("<", double(-0.0), double(0.0))) is False

    def test_strings_compare_by_code_point(self) -> None:
        # UTF-16 order would put the second one first: its first unit is a surrogate
        assert compare("\uffff", "\U00010000") == -1
        assert compare("Z", "a") == -1
        assert compare("a", "ab") == -1

    def test_longs_compare_exactly(self) -> None:
        assert value_of(Comparison("<", long(2**53), long(2**53 + 1))) is True

    def test_decimals_compare_by_value(self) -> None:
        assert value_of(Comparison("=", cents("1.50"), cents("1.5"))) is True

    def test_in_list(self) -> None:
        assert value_of(InList(double(math.nan), (double(1.0), double(math.nan)))) is True
        assert value_of(InList(long(3), (long(1), long(2)))) is False

    @pytest.mark.parametrize(
        ("text", "pattern", "result"),
        [
            ("gate", "gate", True),
            ("gate", "Gate", False),
            ("gate", "g%", True),
            ("gate", "g_te", True),
            ("gate", "g_e", False),
            ("gate", "at", False),
            ("", "%", True),
            ("", "_", False),
            ("a%b", r"a\%b", True),
            ("axb", r"a\%b", False),
            ("a_b", r"a\_b", True),
            ("a\\b", r"a\\b", True),
            ("a.b", "a.b", True),
            ("axb", "a.b", False),
            ("a\nb", "a%b", True),
            ("é", "_", True),
        ],
    )
    def test_like(self, text: str, pattern: str, result: bool) -> None:
        assert value_of(Like(Literal(text, STRING), pattern)) is result


def aggregate(function: str, values: tuple[Value, ...], kind: Type = LONG) -> Value:
    node = Aggregate(function, "v", "x", kind)  # type: ignore[arg-type]
    return evaluate(node, {"v": events(*values)})


class TestAggregates:
    def test_count_of_a_variable_counts_events_and_of_an_attribute_values(self) -> None:
        assert evaluate(Aggregate("count", "v"), {"v": events(1, NULL, 3)}) == 3
        assert aggregate("count", (1, NULL, 3)) == 2

    def test_nulls_are_skipped(self) -> None:
        assert aggregate("sum", (1, NULL, 3)) == 4
        assert aggregate("avg", (1, NULL, 4)) == 2.5
        assert aggregate("min", (NULL, 2, 1)) == 1
        assert aggregate("max", (NULL, 2, 1)) == 2

    @pytest.mark.parametrize("function", ["sum", "avg", "min", "max"])
    @pytest.mark.parametrize("values", [(), (NULL,), (NULL, NULL)])
    def test_nothing_to_aggregate_gives_null(self, function: str, values: tuple[None, ...]) -> None:
        assert aggregate(function, values) is NULL

    def test_the_count_of_nothing_is_zero(self) -> None:
        assert evaluate(Aggregate("count", "v"), {"v": ()}) == 0
        assert evaluate(Aggregate("count", "v"), {}) == 0
        assert aggregate("count", ()) == 0

    def test_doubles_are_added_in_list_order(self) -> None:
        assert aggregate("sum", (1e16, 1.0, -1e16), DOUBLE) == 0.0
        assert aggregate("sum", (1e16, -1e16, 1.0), DOUBLE) == 1.0

    def test_a_sum_that_overflows_on_the_way_is_null(self) -> None:
        assert aggregate("sum", (MOST, 1, -5)) is NULL
        assert aggregate("sum", (MOST, -5, 1)) == MOST - 4

    def test_an_average_adds_doubles_and_cannot_overflow(self) -> None:
        assert aggregate("avg", (MOST, MOST)) == float(MOST)
        assert aggregate("avg", (Decimal("0.50"), Decimal("1.00")), CENTS) == 0.75

    def test_decimals_and_durations_have_sums(self) -> None:
        assert aggregate("sum", (Decimal("0.10"), Decimal("0.20")), CENTS) == Decimal("0.30")
        assert aggregate("sum", (5, 7), DURATION) == 12

    def test_nan_is_the_greatest(self) -> None:
        assert math.isnan(aggregate("max", (1.0, math.nan, math.inf), DOUBLE))  # type: ignore[arg-type]
        assert aggregate("min", (math.nan, 1.0), DOUBLE) == 1.0

    def test_texts_and_times_have_a_least_and_a_greatest(self) -> None:
        assert aggregate("min", ("bob", "ann"), STRING) == "ann"
        assert aggregate("max", (3, 9), TIMESTAMP) == 9


def attribute(variable: str, place: str = "each", name: str = "x") -> Attribute:
    return Attribute(variable, name, place, LONG)  # type: ignore[arg-type]


class TestQuantification:
    def test_a_predicate_on_a_list_holds_for_every_element(self) -> None:
        positive = Comparison(">", attribute("v"), long(0))
        assert holds(positive, {"v": events(1, 2)})
        assert not holds(positive, {"v": events(1, 0)})

    def test_with_another_variable_for_every_combination(self) -> None:
        less = Comparison("<", attribute("v"), attribute("w"))
        assert holds(less, {"v": events(1, 2), "w": events(3, 4)})
        assert not holds(less, {"v": events(1, 3), "w": events(3, 4)})

    def test_two_mentions_of_a_list_speak_of_one_element(self) -> None:
        same = Comparison("=", attribute("v"), attribute("v"))
        assert holds(same, {"v": events(1, 2)})

    def test_previous_goes_through_consecutive_pairs(self) -> None:
        rises = Comparison(">", attribute("v", "current"), attribute("v", "previous"))
        assert holds(rises, {"v": events(1, 2, 3)})
        assert not holds(rises, {"v": events(1, 3, 2)})
        assert holds(rises, {"v": events(1)})

    def test_current_without_previous_is_each(self) -> None:
        positive = Comparison(">", attribute("v", "current"), long(0))
        assert not holds(positive, {"v": events(0, 1)})

    def test_each_beside_previous_is_current(self) -> None:
        rises = Comparison(">", attribute("v"), attribute("v", "previous"))
        assert holds(rises, {"v": events(1, 2)})
        assert not holds(rises, {"v": events(2, 1)})

    def test_pairs_with_another_list(self) -> None:
        step = Arithmetic("-", attribute("v", "current"), attribute("v", "previous"))
        below = Comparison("<", step, attribute("w"))
        assert holds(below, {"v": events(1, 2, 4), "w": events(3, 5)})
        assert not holds(below, {"v": events(1, 2, 4), "w": events(3, 2)})

    def test_first_and_last_speak_of_the_whole_list(self) -> None:
        grows = Comparison("<", attribute("v", "first"), attribute("v", "last"))
        assert holds(grows, {"v": events(1, 9, 2)})
        assert not holds(grows, {"v": events(1, 9, 1)})
        assert holds(grows, {"v": events(1, 2)})

    def test_elements_against_the_first(self) -> None:
        not_below = Comparison(">=", attribute("v"), attribute("v", "first"))
        assert holds(not_below, {"v": events(1, 3, 2)})
        assert not holds(not_below, {"v": events(2, 3, 1)})

    def test_what_is_said_of_the_elements_of_an_empty_list_holds(self) -> None:
        assert holds(Comparison(">", attribute("v"), long(0)), {"v": ()})
        assert holds(Comparison("<", attribute("v"), attribute("w")), {"v": (), "w": events(1)})

    def test_what_is_said_of_an_empty_list_as_a_whole_is_null_or_zero(self) -> None:
        assert not holds(Comparison(">", attribute("v", "first"), long(0)), {"v": ()})
        assert not holds(Comparison(">", attribute("v", "last"), long(0)), {"v": ()})
        assert holds(Comparison("=", Aggregate("count", "v"), long(0)), {"v": ()})
        assert holds(IsNull(Aggregate("sum", "v", "x", LONG)), {"v": ()})

    def test_one_unknown_combination_rejects(self) -> None:
        assert not holds(Comparison(">", attribute("v"), long(0)), {"v": events(1, NULL)})

    def test_time_is_the_event_time_unless_a_column_has_that_name(self) -> None:
        time = Attribute("v", "time", "first", TIMESTAMP)
        assert evaluate(time, {"v": (ReferenceEvent(0, frozenset("A"), 7),)}) == 7
        assert evaluate(time, {"v": (ReferenceEvent(0, frozenset("A"), 7, attributes={"time": 3}),)}) == 3
