"""Multi-pattern trees: the paper's figures 2, 3, 5 and 6, and its theorem 4.1."""

import random
from collections.abc import Mapping
from itertools import permutations, product

import pytest
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.cost.partial_matches import order_cost
from weft.cost.shape import Shape
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.sharing.multi_pattern_tree import MultiPatternTree

Order = tuple[int, ...]


def tree_of(workload: Workload, orders: Mapping[str, Order]) -> MultiPatternTree[str]:
    tree: MultiPatternTree[str] = MultiPatternTree(workload.numbers, MODEL)
    for key, order in orders.items():
        tree.add(key, workload.patterns[key], order)
    return tree


def written(workload: Workload, key: str, types: str) -> Order:
    """Return an order given by the types of a pattern that has each of them once."""
    of = [item.type for item in workload.patterns[key].form.items]
    return tuple(of.index(name) for name in types)


def by_types(workload: Workload, **orders: str) -> MultiPatternTree[str]:
    return tree_of(workload, {key: written(workload, key, types) for key, types in orders.items()})


def states_of(tree: MultiPatternTree[str], key: str) -> list[int]:
    return tree.states(tree.patterns[key], tree.orders[key])


def shared_states(tree: MultiPatternTree[str], one: str, other: str) -> int:
    return len(set(states_of(tree, one)) & set(states_of(tree, other)))


def test_figure_2_a_common_prefix_is_one_path() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD")))
    tree = by_types(workload, P1="ABC", P2="ABD")
    assert tree.n_states == 4  # A, AB, ABC, ABD instead of twice three
    assert shared_states(tree, "P1", "P2") == 2


class TestFigure3:
    """A,B,C,D and A,E,C,F with B and E a little rarer than A and C, within one second."""

    workload = Workload((sequence("ABCD", 1), sequence("AECF", 1)), rates(A=10, B=9, C=11, D=100, E=9, F=100))

    def unshared(self, key: str, types: str) -> float:
        return order_cost(self.workload.patterns[key].shape, written(self.workload, key, types))

    def test_a_neither_costs_all_states_of_both_orders(self) -> None:
        assert self.unshared("P1", "ABCD") == pytest.approx(10 + 45 + 165 + 4125)
        assert self.unshared("P1", "ABCD") == self.unshared("P2", "AECF")

    def test_b_reordering_alone_sorts_by_rate_and_shares_nothing(self) -> None:
        orders = {key: exact_order(p.shape, MODEL) for key, p in self.workload.patterns.items()}
        assert orders == {
            "P1": written(self.workload, "P1", "BACD"),
            "P2": written(self.workload, "P2", "EACF"),
        }
        tree = tree_of(self.workload, orders)
        assert shared_states(tree, "P1", "P2") == 0
        assert tree.cost == pytest.approx(2 * (9 + 45 + 165 + 4125))

    def test_c_sharing_alone_merges_the_first_state(self) -> None:
        tree = by_types(self.workload, P1="ABCD", P2="AECF")
        assert shared_states(tree, "P1", "P2") == 1
        assert tree.n_states == 7
        assert tree.cost == pytest.approx(10 + 2 * (45 + 165 + 4125))

    def test_d_the_combination_merges_two_states_and_is_the_cheapest_of_all(self) -> None:
        tree = by_types(self.workload, P1="ACBD", P2="ACEF")
        assert shared_states(tree, "P1", "P2") == 2
        assert tree.cost == pytest.approx(10 + 55 + 2 * (165 + 4125))
        best, orders = cheapest_orders(self.workload)
        assert tree.cost == best
        assert {order[:2] for order in orders.values()} <= {(0, 2), (2, 0)}  # A and C, in either order


FIGURE_5 = Workload((sequence("ABC", 10), sequence("ABD", 20)), rates(A=1, B=2, C=3, D=4))


@pytest.mark.parametrize(
    ("first", "second", "n_states", "n_shared", "windows"),
    [
        ("ABC", "ABD", 4, 2, ([20, 20, 10], [20, 20, 20])),
        ("BCA", "BAD", 5, 1, ([20, 10, 10], [20, 20, 20])),
        ("CBA", "ADB", 6, 0, ([10, 10, 10], [20, 20, 20])),
    ],
)
def test_figure_5_a_shared_state_has_the_largest_window(
    first: str, second: str, n_states: int, n_shared: int, windows: tuple[list[int], list[int]]
) -> None:
    tree = by_types(FIGURE_5, P1=first, P2=second)
    assert tree.n_states == n_states
    assert shared_states(tree, "P1", "P2") == n_shared
    for key, expected in zip(("P1", "P2"), windows, strict=True):
        assert [tree.ledger.window(state) for state in states_of(tree, key)] == expected


def test_figure_5_a_shared_state_costs_what_it_holds_in_the_largest_window() -> None:
    shared = 1 * 20 + 1 * 2 * 20**2 / 2  # A and AB, for twenty seconds
    tree = by_types(FIGURE_5, P1="ABC", P2="ABD")
    assert tree.cost == pytest.approx(shared + 1 * 2 * 3 * 10**3 / 6 + 1 * 2 * 4 * 20**3 / 6)


FIGURE_6 = Workload((*FIGURE_5.texts, sequence("ACE", 10)), rates(A=1, B=2, C=3, D=4, E=5))


def test_figure_6_adding_and_removing_an_order_touches_its_own_states() -> None:
    tree = by_types(FIGURE_6, P1="ABC", P2="ABD")
    assert tree.n_states == 4
    tree.add("P3", FIGURE_6.patterns["P3"], written(FIGURE_6, "P3", "ACE"))
    assert tree.n_states == 6  # AC and ACE are new, A is shared by all three
    assert len(set.intersection(*(set(states_of(tree, key)) for key in tree.orders))) == 1
    before = {key: states_of(tree, key) for key in ("P2", "P3")}
    tree.remove("P1")
    assert tree.n_states == 5  # only ABC goes
    assert {key: states_of(tree, key) for key in ("P2", "P3")} == before
    assert tree.cost == by_types(FIGURE_6, P2="ABD", P3="ACE").cost


def test_a_final_state_may_be_inside_the_path_of_another_pattern() -> None:
    workload = Workload((sequence("ABC"), sequence("AB")))
    tree = by_types(workload, P1="ABC", P2="AB")
    assert tree.n_states == 3
    assert states_of(tree, "P2") == states_of(tree, "P1")[:2]


DIFFERENT = {
    "another order in time": ("SEQ(A a, B b)", "SEQ(B b, A a)"),
    "no order in time": ("SEQ(A a, B b)", "AND(A a, B b)"),
    "another predicate between them": (
        "SEQ(A a, B b) WHERE a.x < b.x",
        "SEQ(A a, B b) WHERE a.x <= b.x",
    ),
    "a predicate on one event": ("SEQ(A a, B b) WHERE b.x = 1", "SEQ(A a, B b) WHERE b.x = 2"),
    "a key": ("SEQ(A a, B b) WHERE [k]", "SEQ(A a, B b)"),
    "a list": ("SEQ(A a, B b)", "SEQ(A a, B+ b[])"),
    "a count window": ("SEQ(A a, B b) WITHIN 5 EVENTS", "SEQ(A a, B b) WITHIN 5 seconds"),
}


@pytest.mark.parametrize("texts", DIFFERENT.values(), ids=DIFFERENT)
def test_states_with_other_conditions_are_not_shared(texts: tuple[str, str]) -> None:
    tree = by_types(Workload(texts), P1="AB", P2="AB")
    assert states_of(tree, "P1")[1] != states_of(tree, "P2")[1]


def test_a_predicate_on_three_items_tells_states_apart() -> None:
    texts = tuple(f"SEQ(A a, B b, C c) WHERE a.x + b.x {sign} c.x" for sign in "<>")
    tree = by_types(Workload(texts), P1="ABC", P2="ABC")
    assert shared_states(tree, "P1", "P2") == 2


def test_an_order_is_added_once_and_names_every_item() -> None:
    tree = by_types(FIGURE_5, P1="ABC")
    with pytest.raises(ValueError, match="already"):
        tree.add("P1", FIGURE_5.patterns["P1"], (0, 1, 2))
    for order in ((0, 1), (0, 1, 1), (0, 1, 2, 3)):
        with pytest.raises(ValueError, match="no order of 3 items"):
            tree.add("P2", FIGURE_5.patterns["P2"], order)
    assert list(tree.orders) == ["P1"]


@pytest.mark.parametrize("seed", range(10))
def test_the_cost_after_any_changes_is_that_of_a_new_tree(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, 5, (2, 3, 4), windows=(5, 10, 20), has_lists=True, has_negations=True)
    tree: MultiPatternTree[str] = MultiPatternTree(workload.numbers, MODEL)
    for _ in range(40):
        key = dice.choice(list(workload.patterns))
        pattern = workload.patterns[key]
        order = tuple(dice.sample(range(pattern.n_items), pattern.n_items))
        before = tree.ledger.total
        if key not in tree.orders:
            tree.add(key, pattern, order)
        elif dice.random() < 0.5:
            expected = tree.orders[key]
            assert tree.remove(key) == expected
        else:
            assert tree.replace({key: order}) == tree.ledger.total - before
        anew = tree_of(workload, tree.orders)
        assert tree.ledger.total == anew.ledger.total
        assert tree.n_states == anew.n_states


def test_a_state_costs_the_same_whichever_pattern_came_first() -> None:
    texts = ("SEQ(A a, NOT D n, B b, C c) WITHIN 10 seconds", sequence("ABE"))
    costs = set()
    for ordered in (texts, texts[::-1]):
        workload = Workload(ordered)
        costs.add(tree_of(workload, dict.fromkeys(workload.patterns, (0, 1, 2))).ledger.total)
    assert len(costs) == 1


def cheapest_orders(workload: Workload) -> tuple[float, dict[str, Order]]:
    """Return the cheapest multi-pattern tree, by looking at all of them."""
    keys = list(workload.patterns)
    options = [permutations(range(workload.patterns[key].n_items)) for key in keys]
    tree = tree_of(workload, {key: tuple(range(workload.patterns[key].n_items)) for key in keys})
    best: tuple[int, dict[str, Order]] | None = None
    for chosen in product(*map(list, options)):
        tree.replace(dict(zip(keys, chosen, strict=True)))
        if best is None or tree.ledger.total < best[0]:
            best = (tree.ledger.total, dict(tree.orders))
    assert best is not None
    return tree_of(workload, best[1]).cost, best[1]


@pytest.mark.parametrize("seed", range(30))
def test_theorem_4_1_what_is_not_shared_is_the_best_continuation_of_what_is(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, dice.choice([2, 3]), (3,), n_types=4, windows=(10, 20))
    _, orders = cheapest_orders(workload)
    tree = tree_of(workload, orders)
    for key, order in orders.items():
        others = {state for other in orders if other != key for state in states_of(tree, other)}
        n_shared = sum(state in others for state in states_of(tree, key))
        shape = workload.patterns[key].shape
        best = exact_order(shape, MODEL, order[:n_shared])
        assert rest(shape, order, n_shared) <= rest(shape, best, n_shared) + 1e-6 * order_cost(shape, best)


def rest(shape: Shape, order: Order, n_shared: int) -> float:
    """Return what an order costs besides its shared prefix."""
    return order_cost(shape, order) - (order_cost(shape, order[:n_shared]) if n_shared else 0.0)
