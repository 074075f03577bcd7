"""Keys do not depend on the names, the order and the spelling that a query happens to have."""

from itertools import permutations

import pytest

from weft.expressions import Attribute, Comparison, ComparisonOperator, Expression, Not
from weft.pattern.canonical import canonical, renamed
from weft.schema import LONG
from weft.statistics.keys import MOST_PERMUTED, group_key
from weft.statistics.model import ItemKey


def attribute(place: int, name: str = "x") -> Attribute:
    return Attribute(f"${place}", name, type=LONG)


def compared(operator: ComparisonOperator, left: int, right: int, name: str = "x") -> Expression:
    return Comparison(operator, attribute(left, name), attribute(right, name))


def positive(variable: str = "$0") -> Expression:
    return Comparison(">", Attribute(variable, "x", type=LONG), Attribute(variable, "y", type=LONG))


def test_spelling_does_not_matter() -> None:
    items = [ItemKey("A"), ItemKey("B")]
    expected = group_key(items, [compared("<", 0, 1)], canonical)
    for spelled in (compared(">", 1, 0), Not(compared(">=", 0, 1)), Not(Not(compared("<", 0, 1)))):
        assert group_key(items, [spelled, spelled], canonical) == expected
    assert group_key(items, [compared(">", 0, 1)], canonical) != expected


def test_items_are_sorted_by_type_and_predicates() -> None:
    plain, filtered, other = ItemKey("A"), ItemKey("A", (positive(),)), ItemKey("B")
    given = [plain, filtered, other]
    predicates = [compared("<", 0, 1), compared("=", 1, 2, "y")]
    expected = group_key(given, predicates, canonical)
    assert expected.items[2] == other
    for order in permutations(range(3)):
        places = {f"${place}": f"${number}" for number, place in enumerate(order)}
        moved = [renamed(predicate, places) for predicate in predicates]
        assert group_key([given[place] for place in order], reversed(moved), canonical) == expected


@pytest.mark.parametrize("n_items", [2, 3, 4])
def test_equal_items_are_interchangeable(n_items: int) -> None:
    """A chain x0 < x1 < ... is one group whichever of the equal items is called first."""
    items = [ItemKey("A")] * n_items
    keys = set()
    for order in permutations(range(n_items)):
        chain = [compared("<", a, b) for a, b in zip(order, order[1:], strict=False)]
        keys.add(group_key(items, chain, canonical))
    assert len(keys) == 1
    star = [compared("<", 0, place) for place in range(1, n_items)]
    assert (group_key(items, star, canonical) in keys) == (n_items == 2)


def test_many_equal_items_take_no_time() -> None:
    n_items = MOST_PERMUTED + 6
    chain = [compared("<", place, place + 1) for place in range(n_items - 1)]
    key = group_key([ItemKey("A")] * n_items, chain, canonical)
    assert len(key.predicates) == n_items - 1


def test_renaming_reaches_every_variable() -> None:
    names = {"$0": "$5", "$1": "$0"}
    assert renamed(compared("<", 0, 1), names) == compared("<", 5, 0)
