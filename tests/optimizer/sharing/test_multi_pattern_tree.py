"""Multi-pattern trees: the paper's figures 2, 3, 5 and 6, its theorem 4.1, and searches for prefixes."""

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations, product

import pytest
from tests.helpers.plan_costs import order_cost
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import MODEL, Workload, random_workload, rates, sequence

from weft.optimizer.orders.decided import local_cost
from weft.optimizer.orders.exact_order import exact_order
from weft.optimizer.pipeline import choose_plan, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.multi_pattern_tree import OrderPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.sub_patterns import Offer
from weft.optimizer.trees import leaf, order_of, order_tree, pair
from weft.optimizer.weave import Heuristic
from weft.plan.dag import topological_order
from weft.plan.nodes import Join, Project

Order = tuple[int, ...]


def tree_of(workload: Workload, orders: Mapping[str, Order]) -> MultiTree[str]:
    tree: MultiTree[str] = MultiTree(workload.numbers, MODEL)
    for key, order in orders.items():
        tree.add(key, workload.patterns[key], order_tree(order))
    return tree


def written(workload: Workload, key: str, types: str) -> Order:
    """Return an order given by the types of a pattern that has each of them once."""
    of = [item.type for item in workload.patterns[key].form.items]
    return tuple(of.index(name) for name in types)


def by_types(workload: Workload, **orders: str) -> MultiTree[str]:
    return tree_of(workload, {key: written(workload, key, types) for key, types in orders.items()})


def states_of(tree: MultiTree[str], key: str) -> list[int]:
    """Return the states of a pattern that its items are joined in, one for each prefix of two or more."""
    nodes = [number for number, _ in tree.patterns[key].number_nodes(tree.trees[key]).nodes]
    return [number for number in nodes if tree.numbers.priced[number][1].is_join]


def n_states(tree: MultiTree[str]) -> int:
    return len({state for key in tree.trees for state in states_of(tree, key)})


def shared_states(tree: MultiTree[str], one: str, other: str) -> int:
    return len(set(states_of(tree, one)) & set(states_of(tree, other)))


def test_figure_2_a_common_prefix_is_one_path() -> None:
    tree = by_types(Workload((sequence("ABC"), sequence("ABD"))), P1="ABC", P2="ABD")
    assert n_states(tree) == 3  # AB, ABC, ABD instead of twice two
    assert shared_states(tree, "P1", "P2") == 1


class TestFigure3:
    """A,B,C,D and A,E,C,F with B and E a little rarer than A and C, within one second."""

    workload = Workload((sequence("ABCD", 1), sequence("AECF", 1)), rates(A=10, B=9, C=11, D=100, E=9, F=100))
    waiting = 10 + 9 + 11 + 100 + 9 + 100  # events of all types, which both share

    def test_a_neither_costs_all_states_of_both_orders(self) -> None:
        for key, types in (("P1", "ABCD"), ("P2", "AECF")):
            order = written(self.workload, key, types)
            expected = 10 + 45 + 165 + 4125
            assert order_cost(self.workload.patterns[key].shape, order) == pytest.approx(expected)

    def test_b_reordering_alone_sorts_by_rate_and_shares_nothing(self) -> None:
        orders = {key: exact_order(p.shape, MODEL) for key, p in self.workload.patterns.items()}
        assert orders == {
            "P1": written(self.workload, "P1", "BACD"),
            "P2": written(self.workload, "P2", "EACF"),
        }
        tree = tree_of(self.workload, orders)
        assert shared_states(tree, "P1", "P2") == 0
        assert tree.cost == pytest.approx(self.waiting + 2 * (45 + 165 + 4125))

    def test_d_the_combination_merges_a_state_and_is_the_cheapest_of_all(self) -> None:
        tree = by_types(self.workload, P1="ACBD", P2="ACEF")
        assert shared_states(tree, "P1", "P2") == 1
        assert tree.cost == pytest.approx(self.waiting + 55 + 2 * (165 + 4125))
        best, orders = cheapest_orders(self.workload)
        assert tree.cost == best
        assert {order[:2] for order in orders.values()} <= {(0, 2), (2, 0)}  # A and C, in either order

    @pytest.mark.parametrize("heuristic", ["annealing", "tabu"])
    def test_searches_find_it(self, heuristic: Heuristic) -> None:
        settings = Planning(
            plan="mcep",
            statistics=self.workload.statistics,
            heuristic=heuristic,
            prefix_only=True,
            cost="partial-matches",
        )
        chosen = choose_plan(self.workload.queries, SCHEMA, with_steps(settings, 200))
        assert chosen.cost == pytest.approx(cheapest_orders(self.workload)[0])


def with_steps(settings: Planning, n_steps: int) -> Planning:
    return replace(settings, steps=n_steps)


def test_figure_5_a_shared_state_has_the_largest_window() -> None:
    """P1, within ten seconds, takes what it wants of A before B within twenty."""
    texts = (sequence("ABC", 10), sequence("ABD", 20))
    workload = Workload(texts, rates(A=0.1, B=0.1, C=3, D=4))
    settings = Planning(
        plan="mcep", statistics=workload.statistics, prefix_only=True, steps=300, cost="partial-matches"
    )
    nodes = topological_order(choose_plan(workload.queries, SCHEMA, settings).plan)
    pairs = [node for node in nodes if isinstance(node, Join) and not isinstance(node.left, Join | Project)]
    assert [node.extent.length for node in pairs if node.extent is not None] == [20_000_000]
    (taken,) = [node for node in nodes if isinstance(node, Project)]
    assert taken.extent is not None
    assert taken.extent.length == 10_000_000


def test_figure_6_adding_and_removing_an_order_touches_its_own_states() -> None:
    texts = (sequence("ABC"), sequence("ABD"), sequence("ABCE"))
    workload = Workload(texts, rates(A=1, B=2, C=3, D=4, E=5))
    tree = by_types(workload, P1="ABC", P2="ABD")
    assert n_states(tree) == 3
    tree.add("P3", workload.patterns["P3"], order_tree(written(workload, "P3", "ABCE")))
    assert n_states(tree) == 4  # only ABCE is new: P1 ends inside the path of P3
    before = {key: states_of(tree, key) for key in ("P2", "P3")}
    tree.remove("P1")
    assert n_states(tree) == 4
    assert {key: states_of(tree, key) for key in ("P2", "P3")} == before
    assert tree.cost == by_types(workload, P2="ABD", P3="ABCE").cost


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
    assert shared_states(tree, "P1", "P2") == 0


def test_a_predicate_on_three_items_tells_states_apart() -> None:
    texts = tuple(f"SEQ(A a, B b, C c) WHERE a.x + b.x {sign} c.x" for sign in "<>")
    tree = by_types(Workload(texts), P1="ABC", P2="ABC")
    assert shared_states(tree, "P1", "P2") == 1


def cheapest_orders(workload: Workload) -> tuple[float, dict[str, Order]]:
    """Return the cheapest orders of all patterns together, by looking at all of them."""
    keys = list(workload.patterns)
    options = [permutations(range(workload.patterns[key].n_items)) for key in keys]
    tree = tree_of(workload, {key: tuple(range(workload.patterns[key].n_items)) for key in keys})
    best: tuple[int, dict[str, Order]] | None = None
    for chosen in product(*map(list, options)):
        tree.replace({key: order_tree(order) for key, order in zip(keys, chosen, strict=True)})
        if best is None or tree.nodes.total < best[0]:
            best = (tree.nodes.total, dict(zip(keys, chosen, strict=True)))
    assert best is not None
    return tree_of(workload, best[1]).cost, best[1]


@pytest.mark.parametrize("seed", range(30))
def test_theorem_4_1_what_is_not_shared_is_the_best_continuation_of_what_is(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, dice.choice([2, 3]), (3,), n_types=4)
    _, orders = cheapest_orders(workload)
    tree = tree_of(workload, orders)
    for key, order in orders.items():
        others = {state for other in orders if other != key for state in states_of(tree, other)}
        n_shared = sum(state in others for state in states_of(tree, key))
        start = order[: n_shared + 1] if n_shared else ()
        shape = workload.patterns[key].shape
        best = exact_order(shape, MODEL, start)
        found, least = (local_cost(order_tree(one), shape, MODEL) for one in (order, best))
        assert found <= least * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_a_part_has_its_best_order(seed: int) -> None:
    dice = random.Random(seed)
    pattern = random_workload(dice, 1, (4, 5)).patterns["P1"]
    for _ in range(5):
        items = dice.sample(range(pattern.n_items), dice.randint(2, pattern.n_items))
        found = OrderPlans(MODEL).part(pattern, sum(1 << item for item in items))
        best = min(order_cost(pattern.shape, order) for order in permutations(items))
        first, second = order_of(found)[:2]  # which of them comes first, the tree does not tell
        orders = [order_of(found), (second, first, *order_of(found)[2:])]
        assert sorted(orders[0]) == sorted(items)
        assert min(order_cost(pattern.shape, order) for order in orders) == pytest.approx(best)


def test_a_reply_begins_with_what_is_there_where_that_pays() -> None:
    pattern = Workload((sequence("ABC", 1),), rates(A=10, B=9, C=11)).patterns["P1"]
    plans, offered = OrderPlans(MODEL), pair(leaf(0), leaf(2))
    assert plans.reply(pattern, {0b101: Offer(offered)}) == pair(offered, leaf(1))
    assert plans.reply(pattern, {0b101: Offer(offered, cost=1e9)}) == plans.best(pattern)
    assert plans.reply(pattern, {}, [offered]) == pair(offered, leaf(1))


@pytest.mark.parametrize("heuristic", ["replies", "annealing", "tabu"])
@pytest.mark.parametrize("seed", range(5))
def test_searches_for_prefixes_keep_to_orders(seed: int, heuristic: Heuristic) -> None:
    workload = random_workload(
        random.Random(seed), 6, (3, 4), n_types=4, windows=(1, 2), has_lists=True, has_negations=True
    )
    weave = weave_for(
        SCHEMA,
        Planning(plan="mcep", statistics=workload.statistics, prefix_only=True, cost="partial-matches"),
    )
    for query in workload.queries:
        weave.add(query, weave.plans.best)
    alone = weave.cost
    weave.improve(Limit(steps=200), heuristic=heuristic, sizes=(2, 3), seed=seed)
    assert weave.cost <= alone
    assert all(order_of(tree) is not None for tree in weave.multitree.trees.values())
