"""The books of a shared plan are exact whatever was added and removed."""

import random
from collections.abc import Iterable

import pytest

from weft.optimizer.sharing.shared_nodes import SCALE, SharedNodes

PRICES = [random.Random(node).uniform(0, 1e9) / 7 for node in range(30)]


def price(node: int, window: float) -> float:
    return PRICES[node] * window * window


def needed(nodes: list[int], window: float) -> list[tuple[int, float]]:
    return [(node, window) for node in nodes]


def ledger_of(plans: Iterable[tuple[list[int], float]]) -> SharedNodes:
    ledger = SharedNodes(price)
    for nodes, window in plans:
        ledger.add(needed(nodes, window))
    return ledger


@pytest.mark.parametrize("seed", range(20))
def test_the_cost_after_any_changes_is_that_of_new_books(seed: int) -> None:
    dice = random.Random(seed)
    ledger = SharedNodes(price)
    plans: list[tuple[list[int], float]] = []
    for _ in range(200):
        if plans and dice.random() < 0.48:
            plan = plans.pop(dice.randrange(len(plans)))
            ledger.remove(needed(*plan))
        else:
            plan = (dice.choices(range(30), k=dice.randint(1, 6)), dice.choice([1.0, 2.5, 10.0]))
            plans.append(plan)
            ledger.add(needed(*plan))
        anew = ledger_of(dice.sample(plans, len(plans)))
        assert ledger.total == anew.total
        assert ledger.n_nodes == anew.n_nodes
    for plan in plans:
        ledger.remove(needed(*plan))
    assert ledger.total == 0
    assert ledger.n_nodes == 0


def test_a_node_costs_once_for_the_longest_window_that_needs_it() -> None:
    ledger = SharedNodes(lambda node, window: node * window)
    ledger.add(needed([1, 2], 10.0))
    ledger.add(needed([2, 3], 20.0))
    ledger.add(needed([2], 5.0))
    assert ledger.cost == 1 * 10 + 2 * 20 + 3 * 20
    ledger.remove(needed([2, 3], 20.0))
    assert ledger.cost == 1 * 10 + 2 * 10
    assert 3 not in ledger
    ledger.remove(needed([1, 2], 10.0))
    assert ledger.cost == 2 * 5


def test_a_node_that_is_needed_twice_with_one_window_stays_after_one_goes() -> None:
    ledger = ledger_of([([4], 10.0), ([4], 10.0)])
    once = ledger.total
    ledger.remove(needed([4], 10.0))
    assert ledger.total == once
    assert 4 in ledger


def test_a_plan_may_use_a_node_twice() -> None:
    ledger = ledger_of([([5, 5], 10.0)])
    assert ledger.total == ledger_of([([5], 10.0)]).total
    ledger.remove(needed([5, 5], 10.0))
    assert ledger.total == 0


def test_sums_of_very_different_numbers_are_exact() -> None:
    ledger = SharedNodes(lambda node, window: (1e30, 0.25)[node])
    ledger.add(needed([1], 1.0))
    ledger.add(needed([0], 1.0))
    ledger.remove(needed([0], 1.0))
    assert ledger.total == SCALE // 4
