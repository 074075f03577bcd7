"""What is planned anew is searched for as the first plan was: the options of a planning are obeyed."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from weft.adaptation.decisions import Unconditional
from weft.adaptation.watched_component import Watch, WatchedComponent
from weft.cost.measured import Measured
from weft.language.read import read_queries
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.schema import DOUBLE, TIMESTAMP, Schema
from weft.statistics.model import ItemKey, Statistics

SCHEMA = Schema({"ts": TIMESTAMP, "x": DOUBLE}, time="ts")
TEXT = """
QUERY p PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 2 seconds
QUERY q PATTERN SEQ(B b, A a, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 2 seconds
QUERY r PATTERN AND(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 2 seconds
"""


def replans(**options: Any) -> Iterator[Any]:
    """Yield the trees of plans for rates that change, each searched for from the one before."""
    queries, dice = read_queries(TEXT, SCHEMA), random.Random(1)
    planning = Planning(**options)
    known = Statistics({ItemKey(name): 10.0 for name in "ABCD"})
    first = choose_plan(queries, SCHEMA, Planning(**options, statistics=known, steps=20))
    watch = Watch(SCHEMA, Measured(), Unconditional, is_shared=True, planning=planning)
    component = WatchedComponent(queries, watch, first.stored.trees, known, {})
    for _ in range(6):
        yield from component.trees.values()
        known = Statistics({ItemKey(name): 10 ** dice.uniform(0, 2) for name in "ABCD"})
        alarm = component.alarm(known)
        assert alarm is not None
        replan = component.replan(alarm, known, Limit(steps=40))
        component = component.adopt(replan, is_taken=True, statistics=known, variances={})
    yield from component.trees.values()


def is_weakened(tree: Any) -> bool:
    """Say whether a tree has a part that is computed for others, in a weaker order."""
    return isinstance(tree, dict) or (isinstance(tree, list) and any(map(is_weakened, tree)))


def is_order(tree: Any) -> bool:
    """Say whether single items are joined one after the other; a join has no sides."""
    return isinstance(tree, str) or (any(isinstance(part, str) for part in tree) and all(map(is_order, tree)))


@pytest.mark.parametrize(("plan", "weakens"), [("auto", True), ("mcep", False)])
def test_parts_of_other_orders_are_shared_only_where_the_first_plan_could_have_them(
    plan: str, weakens: bool
) -> None:
    assert any(is_weakened(tree) for own in replans(plan=plan) for tree in own) == weakens


@pytest.mark.parametrize("prefix_only", [True, False])
def test_orders_stay_orders(prefix_only: bool) -> None:
    found = [tree for own in replans(plan="mcep", prefix_only=prefix_only) for tree in own]
    assert all(map(is_order, found)) == prefix_only
