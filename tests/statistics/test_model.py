"""Keys do not depend on names, order and spelling; what is known comes first, then stated defaults."""

from itertools import permutations

import pytest

from weft.expressions import (
    And,
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    IsNull,
    Not,
    Or,
)
from weft.pattern.canonical import rename_variables
from weft.schema import LONG
from weft.statistics.model import (
    DEFAULT_AGREEMENT,
    DEFAULT_DURATION,
    DEFAULT_RATE,
    MOST_PERMUTED,
    GroupKey,
    ItemKey,
    Statistics,
    default_selectivity,
    group_key,
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


def attribute(place: int, name: str = "x") -> Attribute:
    return Attribute(f"${place}", name, type=LONG)


def compared(operator: ComparisonOperator, left: int, right: int, name: str = "x") -> Expression:
    return Comparison(operator, attribute(left, name), attribute(right, name))


def positive(variable: str = "$0") -> Expression:
    return Comparison(">", Attribute(variable, "x", type=LONG), Attribute(variable, "y", type=LONG))


def test_spelling_does_not_matter() -> None:
    items = [ItemKey("A"), ItemKey("B")]
    expected = group_key(items, [compared("<", 0, 1)])
    for spelled in (compared(">", 1, 0), Not(compared(">=", 0, 1)), Not(Not(compared("<", 0, 1)))):
        assert group_key(items, [spelled, spelled]) == expected
    assert group_key(items, [compared(">", 0, 1)]) != expected


def test_items_are_sorted_by_type_and_predicates() -> None:
    plain, filtered, other = ItemKey("A"), ItemKey("A", (positive(),)), ItemKey("B")
    given = [plain, filtered, other]
    predicates = [compared("<", 0, 1), compared("=", 1, 2, "y")]
    expected = group_key(given, predicates)
    assert expected.items[2] == other
    for order in permutations(range(3)):
        places = {f"${place}": f"${number}" for number, place in enumerate(order)}
        moved = [rename_variables(predicate, places) for predicate in predicates]
        assert group_key([given[place] for place in order], reversed(moved)) == expected


@pytest.mark.parametrize("n_items", [2, 3, 4])
def test_equal_items_are_interchangeable(n_items: int) -> None:
    """A chain x0 < x1 < ... is one group whichever of the equal items is called first."""
    items = [ItemKey("A")] * n_items
    keys = set()
    for order in permutations(range(n_items)):
        chain = [compared("<", a, b) for a, b in zip(order, order[1:], strict=False)]
        keys.add(group_key(items, chain))
    assert len(keys) == 1
    star = [compared("<", 0, place) for place in range(1, n_items)]
    assert (group_key(items, star) in keys) == (n_items == 2)


def test_many_equal_items_take_no_time() -> None:
    n_items = MOST_PERMUTED + 6
    chain = [compared("<", place, place + 1) for place in range(n_items - 1)]
    key = group_key([ItemKey("A")] * n_items, chain)
    assert len(key.predicates) == n_items - 1


def test_renaming_reaches_every_variable() -> None:
    names = {"$0": "$5", "$1": "$0"}
    assert rename_variables(compared("<", 0, 1), names) == compared("<", 5, 0)
