"""The canonical form of sub-patterns: what is equal becomes equal, and nothing else does."""

import random

import pytest

from weft.expressions import Aggregate, And, Attribute, Comparison, Expression, Literal, Not, Or
from weft.pattern.canonical import (
    MOST_LABELLINGS,
    canonical,
    exchanges,
    in_columns,
    least_labelling,
    own_predicates,
)
from weft.pattern.normal_form import Item, NormalForm
from weft.schema import LONG


def x(variable: str) -> Attribute:
    return Attribute(variable, "x", type=LONG)


def less(a: str, b: str) -> Comparison:
    return Comparison("<", x(a), x(b))


def text_of(conditions: list[Expression], items: tuple[str, ...]) -> str:
    return repr(in_columns(conditions, items))


@pytest.mark.parametrize("seed", range(30))
def test_names_and_order_do_not_matter(seed: int) -> None:
    """A random graph of conditions over items that look the same, told with other names in another order."""
    dice = random.Random(seed)
    names = [f"v{number}" for number in range(4)]
    conditions: list[Expression] = [less(*dice.sample(names, 2)) for _ in range(4)]
    others = dict(zip(names, dice.sample(["a", "b", "c", "d"], 4), strict=True))
    told: list[Expression] = [
        Comparison(">", x(others[c.right.variable]), x(others[c.left.variable]))
        for c in dice.sample(conditions, 4)
        if isinstance(c, Comparison) and isinstance(c.left, Attribute) and isinstance(c.right, Attribute)
    ]
    description, items = least_labelling(exchanges([names]), lambda items: text_of(conditions, items))
    again, other = least_labelling(exchanges(["abcd"]), lambda items: text_of(told, items))
    assert description == again
    assert text_of(conditions, items) == text_of(told, other) == description


def test_what_differs_stays_different() -> None:
    chain, fork = [less("a", "b"), less("b", "c")], [less("a", "b"), less("a", "c")]
    found = [
        least_labelling(exchanges(["abc"]), lambda items, told=told: text_of(told, items))[0]
        for told in (chain, fork)
    ]
    assert found[0] != found[1]


def test_only_ties_are_exchanged_and_only_so_many() -> None:
    assert {items[:1] for items in exchanges(["a", "bc"])} == {("a",)}
    seen: list[tuple[str, ...]] = []
    least_labelling(exchanges(["abcde"]), lambda items: str(seen.append(items)))
    assert len(seen) == MOST_LABELLINGS


def test_one_spelling() -> None:
    a, one = x("a"), Literal(1, LONG)
    assert canonical(Comparison("<", one, a)) == Comparison(">", a, one)
    assert canonical(Not(Or((less("a", "b"), less("b", "c"))))) == canonical(
        And((Comparison(">=", x("b"), x("c")), Not(less("a", "b"))))
    )
    assert in_columns([less("a", "b"), Comparison(">", x("b"), x("a"))], "ab") == (less("$0", "$1"),)


def test_predicates_on_one_item() -> None:
    a, b = Item("a", "A"), Item("b", "B", is_list=True, most=None)
    about_events, about_list = Comparison("<", x("b"), Literal(1, LONG)), Aggregate("count", "b")
    many = Comparison(">", about_list, Literal(2, LONG))
    constant = Comparison("=", Literal(1, LONG), Literal(2, LONG))
    form = NormalForm((a, b), frozenset(), (less("a", "b"), about_events, many, constant))
    assert own_predicates(a, form) == [constant]
    assert own_predicates(b, form) == [about_events]
