"""What is known comes first, then what is known of less, then stated defaults."""

import pytest

from weft.expressions import And, Attribute, Comparison, IsNull, Not, Or
from weft.statistics.model import (
    DEFAULT_AGREEMENT,
    DEFAULT_DURATION,
    DEFAULT_RATE,
    GroupKey,
    ItemKey,
    Statistics,
    default_selectivity,
)

X, Y = Attribute("$0", "x"), Attribute("$1", "x")
EQUAL, LESS = Comparison("=", X, Y), Comparison("<", X, Y)
FILTERED = ItemKey("A", (Comparison("=", X, X),))


def test_rates_of_unknown_items_follow_from_their_types() -> None:
    known = Statistics(rates={ItemKey("A"): 50.0})
    assert known.rate(FILTERED) == 50.0 * 0.1
    assert known.rate(ItemKey("B")) == DEFAULT_RATE
    assert Statistics(rates={ItemKey("A"): 50.0, FILTERED: 7.0}).rate(FILTERED) == 7.0


def test_selectivities_of_unknown_groups_follow_from_what_is_known() -> None:
    plain, filtered = (GroupKey((item, ItemKey("B")), (EQUAL,)) for item in (ItemKey("A"), FILTERED))
    known = Statistics(selectivities={plain: 0.02})
    assert known.selectivity(filtered) == 0.02
    both = GroupKey((ItemKey("A"), ItemKey("B")), (EQUAL, LESS))
    assert known.selectivity(both) == pytest.approx(0.02 / 3)
    assert Statistics(selectivities={plain: 0.02, both: 0.5}).selectivity(both) == 0.5


def test_defaults_of_predicates() -> None:
    assert default_selectivity(And((EQUAL, EQUAL))) == pytest.approx(0.01)
    assert default_selectivity(Or((EQUAL, EQUAL))) == pytest.approx(0.19)
    assert default_selectivity(Not(EQUAL)) == pytest.approx(0.9)
    assert default_selectivity(IsNull(X)) == 0.1


def test_rates_of_all_events() -> None:
    rates = {ItemKey("A"): 2.0, ItemKey("B"): 3.0, FILTERED: 1.0}
    assert Statistics(rates=rates).events_per_second == 5.0
    assert Statistics(rates=rates, total_rate=40.0).events_per_second == 40.0
    nothing = Statistics()
    assert (nothing.events_per_second, nothing.span) == (DEFAULT_RATE, DEFAULT_DURATION)
    assert nothing.agreement("user") == DEFAULT_AGREEMENT
