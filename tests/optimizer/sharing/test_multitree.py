"""Multi-pattern multitrees: figure 9, theorem C.1, and books that are always right."""

import random

import pytest
from tests.helpers.random_trees import random_tree
from tests.helpers.workloads import MODEL, Workload, items, random_workload, rates, sequence

from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.sub_patterns import Offer
from weft.optimizer.trees import Demands, Tree, leaf, order_tree, pair
from weft_lab.exhaustive import all_options, cheapest_multitree, generals_of

A, B, C, D = map(leaf, range(4))


class TestFigure9:
    """P1 shares A with C and B with D, with two patterns, though neither is best for it alone."""

    workload = Workload(
        (sequence("ABCD", 4), sequence("AECF", 4), sequence("GBHD", 4)),
        rates(A=1, B=0.9, C=1, D=0.9, E=10, F=12, G=10, H=12),
    )

    def test_the_optimum_shares_two_sub_patterns_of_one_pattern(self) -> None:
        _, trees = cheapest_multitree(self.workload.patterns, self.workload.numbers, MODEL)
        assert self.workload.shown(trees) == {
            "P1": "((a c) (b d))",
            "P2": "(((a c) e) f)",
            "P3": "((g (b d)) h)",
        }

    def test_alone_the_pattern_would_join_others(self) -> None:
        multitree = self.workload.multitree()
        assert self.workload.shown(multitree.trees)["P1"] in ("((a b) (c d))", "((a d) (b c))")
        assert multitree.n_shared() == 0

    def test_a_shared_join_costs_once(self) -> None:
        _, trees = cheapest_multitree(self.workload.patterns, self.workload.numbers, MODEL)
        multitree = self.workload.multitree(trees)
        assert multitree.n_shared() == 2
        leaves = 4 * (1 + 0.9 + 1 + 0.9 + 10 + 12 + 10 + 12)
        pairs = 4**2 * (1 * 1 + 0.9 * 0.9) / 2
        triples = 4**3 * (1 * 1 * 10 + 0.9 * 0.9 * 10) / 6
        wholes = 4**4 * (0.81 + 1 * 1 * 10 * 12 + 0.81 * 10 * 12) / 24
        assert multitree.cost == pytest.approx(leaves + pairs + triples + wholes)

    def test_the_shared_parts_of_a_pattern_are_known(self) -> None:
        _, trees = cheapest_multitree(self.workload.patterns, self.workload.numbers, MODEL)
        multitree = self.workload.multitree(trees)
        assert multitree.shared_parts("P1") == [pair(A, C), pair(B, D)]
        assert [tree.mask for tree in multitree.shared_parts("P2")] == [items("AC", "AECF")]


def test_leaves_are_shared_whatever_the_trees() -> None:
    workload = Workload((sequence("ABC", 10), sequence("ABD", 20)), rates(A=1, B=2, C=3, D=4))
    multitree = workload.multitree({"P1": pair(pair(A, C), B), "P2": pair(A, pair(B, C))})
    leaves = 20 * (1 + 2 + 4) + 10 * 3  # A and B for the longer window
    joins = 10**2 * 1 * 3 / 2 + 20**2 * 2 * 4 / 2 + 10**3 * 1 * 2 * 3 / 6 + 20**3 * 1 * 2 * 4 / 6
    assert multitree.cost == pytest.approx(leaves + joins)


def test_a_shared_join_is_kept_for_the_longest_window() -> None:
    workload = Workload((sequence("ABC", 10), sequence("ABD", 20)), rates(A=1, B=2, C=3, D=4))
    tree = pair(pair(A, B), C)
    multitree = workload.multitree({"P1": tree, "P2": tree})
    assert multitree.n_shared() == 0
    apart = multitree.cost
    longer = workload.patterns["P2"].own
    wide = pair(A, B)._replace(computed_for=Demands(frozenset({(0, 1)}), longer.extent))
    multitree.replace({"P1": pair(wide, C)})
    assert multitree.n_shared() == 1
    assert multitree.cost == pytest.approx(apart - 10**2 * 1 * 2 / 2)  # the pairs of the shorter window


def test_a_negation_is_a_node_above_the_join_so_that_the_join_is_shared() -> None:
    texts = ("SEQ(A a, NOT D n, B b, C c) WITHIN 10 seconds", sequence("ABE"))
    workload = Workload(texts)
    tree = pair(pair(A, B), C)
    assert workload.multitree({"P1": tree, "P2": tree}).n_shared() == 1
    checked, plain = (workload.patterns[key].part(pair(A, B)) for key in workload.patterns)
    assert plain.number in dict(checked.nodes)
    assert checked.number != plain.number
    bare = pair(pair(A, B)._replace(unchecked=True), C)
    assert workload.patterns["P1"].part(bare.left).number == plain.number
    assert workload.multitree({"P1": bare, "P2": tree}).n_shared() == 1


def test_the_trees_of_others_can_be_used() -> None:
    workload = Workload((sequence("ABCD"), sequence("AECF")))
    trees = {"P1": pair(pair(A, C), pair(B, D)), "P2": order_tree([0, 1, 2, 3])}
    multitree, sharables = workload.multitree(trees), workload.sharables()
    assert multitree.existing("P2", sharables.of("P2")) == {0b0101: Offer(pair(A, C))}
    assert multitree.existing("P1", sharables.of("P1")) == {}


def test_a_tree_is_added_once() -> None:
    workload = Workload((sequence("AB"),))
    multitree = workload.multitree()
    with pytest.raises(ValueError, match="'P1' already"):
        multitree.add("P1", workload.patterns["P1"], pair(A, B))


@pytest.mark.parametrize("seed", range(20))
def test_the_cost_after_any_changes_is_that_of_a_new_multitree(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(
        dice, 5, (2, 3, 4), n_types=4, windows=(5, 10, 20), has_lists=True, has_negations=True
    )
    multitree: MultiTree[str] = MultiTree(workload.numbers, MODEL)
    for _ in range(40):
        key = dice.choice(list(workload.patterns))
        pattern = workload.patterns[key]
        if key not in multitree.trees:
            multitree.add(key, pattern, random_tree(pattern, dice))
        elif dice.random() < 0.4:
            tree = multitree.trees[key]
            assert multitree.remove(key) == tree
        else:
            _replaces_exactly(multitree, workload, dice)
        anew: MultiTree[str] = MultiTree(workload.numbers, MODEL)
        for other in dice.sample(list(multitree.trees), len(multitree.trees)):
            anew.add(other, workload.patterns[other], multitree.trees[other])
        assert multitree.nodes.total == anew.nodes.total
        assert multitree.nodes.n_nodes == anew.nodes.n_nodes
    for key in list(multitree.trees):
        multitree.remove(key)
    assert multitree.nodes.total == 0
    assert multitree.nodes.n_nodes == 0


def _replaces_exactly(multitree: MultiTree[str], workload: Workload, dice: random.Random) -> None:
    """Replace some trees, and see that the difference is that of the costs, and is undone exactly."""
    keys = dice.sample(list(multitree.trees), dice.randint(1, len(multitree.trees)))
    before = {key: multitree.trees[key] for key in keys}
    total = multitree.nodes.total
    delta = multitree.replace({key: random_tree(workload.patterns[key], dice) for key in keys})
    assert delta == multitree.nodes.total - total
    if dice.random() < 0.5:
        assert multitree.replace(before) == -delta
        assert multitree.nodes.total == total


ORDERS = {
    "a check in patterns of two sizes": (
        "SEQ(A a, NOT D n, B b, C c) WITHIN 10 seconds",
        "SEQ(A a, NOT D n, B b, C c, E e) WITHIN 10 seconds",
    ),
    "a list alone and next to an event": (
        "AND(A{1,2} a[], B{1,2} b[]) WITHIN 10 seconds",
        "AND(A{1,2} a[], C c) WITHIN 10 seconds",
    ),
}


@pytest.mark.parametrize("texts", ORDERS.values(), ids=ORDERS)
def test_a_plan_costs_the_same_whichever_pattern_came_first(texts: tuple[str, str]) -> None:
    costs = set()
    for ordered in (texts, texts[::-1]):
        workload = Workload(ordered, rates(D=0.3))
        trees = {key: order_tree(range(pattern.n_items)) for key, pattern in workload.patterns.items()}
        costs.add(workload.multitree(trees).nodes.total)
    assert len(costs) == 1


def own_cost(workload: Workload, key: str, tree: Tree) -> int:
    """Return what a tree costs alone, in the ledger's units."""
    multitree: MultiTree[str] = MultiTree(workload.numbers, MODEL)
    multitree.add(key, workload.patterns[key], tree)
    return multitree.nodes.total


def numbers_of(workload: Workload, key: str, tree: Tree) -> set[int]:
    """Return the numbers of the nodes of a tree."""
    pattern = workload.patterns[key]
    return {number for number, _ in pattern.number_nodes(pattern.simplify(tree)).nodes}


@pytest.mark.parametrize("seed", range(30))
def test_theorem_c_1_every_tree_is_the_best_of_those_with_its_shared_sub_trees(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, dice.randint(2, 4), (3, 4), n_types=5, windows=(10, 20), has_lists=True)
    _, trees = cheapest_multitree(workload.patterns, workload.numbers, MODEL)
    generals = generals_of(workload.patterns)
    for key, tree in trees.items():
        pattern = workload.patterns[key]
        others = {
            node for other in trees if other != key for node in numbers_of(workload, other, trees[other])
        }
        shared = numbers_of(workload, key, tree) & others
        options = all_options(pattern, generals[key])
        best = min(
            own_cost(workload, key, option)
            for option in options
            if shared <= numbers_of(workload, key, option)
        )
        assert own_cost(workload, key, tree) == best
