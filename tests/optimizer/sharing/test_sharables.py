"""What patterns could share under a weaker order or for a longer window, and when the search takes it."""

import random

import pytest
from tests.helpers.workloads import MODEL, Workload, items, random_workload, rates, sequence

from weft.cost.measured import Measured
from weft.optimizer.pipeline import choose_plan
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.trees import Demands, leaf, nodes_of, pair
from weft.plan.dag import topological_order
from weft.plan.nodes import Extent, Join, Project
from weft_lab.exhaustive import cheapest_multitree

A, B, C = map(leaf, range(3))
TEN = Extent("time", 10_000_000)


def conjunction(types: str, window: int = 10) -> str:
    operands = ", ".join(f"{name} {name.lower()}" for name in types)
    return f"AND({operands}) WITHIN {window} seconds"


def weaker(texts: tuple[str, str], mask: int = -1) -> list[tuple[int, int]] | None:
    """Return the order in which the first pattern finds a part of the second, if it may use it."""
    one, other = Workload(texts).patterns.values()
    found = one.weaker(other.label(mask if mask >= 0 else other.shape.everything))
    return None if found is None else sorted((found.items[a], found.items[b]) for a, b in found.order)


def test_sequences_alone_share_what_stands_in_the_same_order() -> None:
    sharables = Workload((sequence("ABC"), sequence("BAC"))).sharables()
    assert {label.mask for label in sharables.of("P1")} == {items("AC", "ABC"), items("BC", "ABC")}
    assert sharables.unordered_pairs("P1") == []


def test_a_sequence_can_use_what_a_conjunction_has() -> None:
    workload = Workload((sequence("ABC"), conjunction("BAD")))
    sharables, (one, other) = workload.sharables(), workload.patterns.values()
    (pair_found,) = sharables.unordered_pairs("P1")
    assert pair_found.owners == {"P2": items("AB", "BAD")}
    grown = sharables.grow("P1", pair_found, random.Random(1))
    assert {key: label.mask for key, label in grown.items()} == {
        "P1": items("AB", "ABC"),
        "P2": items("AB", "BAD"),
    }
    assert grown["P1"].number == grown["P2"].number
    assert grown["P1"].order == frozenset()
    assert not one.is_own(grown["P1"], one.extent)
    assert other.is_own(grown["P2"], other.extent)
    assert sharables.components() == [["P1", "P2"]]


def test_a_conjunction_cannot_use_what_a_sequence_has() -> None:
    assert weaker((conjunction("AB"), sequence("AB"))) is None
    assert weaker((sequence("AB"), conjunction("AB"))) == []
    assert Workload((conjunction("AB"), sequence("AB"))).sharables().unordered_pairs("P1") == []


def test_any_order_serves_a_stricter_one() -> None:
    chain, branched = sequence("ABC"), "AND(SEQ(A a, C c), B b) WITHIN 10 seconds"
    assert weaker((chain, branched)) == [(0, 2)]
    assert weaker((branched, chain)) is None
    assert weaker((branched, "AND(SEQ(C c, A a), B b) WITHIN 10 seconds")) is None


def test_a_pair_grows_as_far_as_the_order_allows() -> None:
    workload = Workload(("SEQ(A a, B b, C c, D d) WITHIN 10 seconds", conjunction("ABCD")))
    sharables = workload.sharables()
    grown = {
        sharables.grow("P1", pair_found, random.Random(seed))["P1"].mask
        for pair_found in sharables.unordered_pairs("P1")
        for seed in range(20)
    }
    assert {mask.bit_count() for mask in grown} == {2, 3, 4}


def test_events_of_one_type_find_their_places() -> None:
    texts = ("SEQ(A a, A b, B c) WITHIN 10 seconds", "AND(SEQ(A x, B y), A z) WITHIN 10 seconds")
    assert weaker(texts) in ([(0, 2)], [(1, 2)])


def test_other_conditions_are_another_sub_pattern() -> None:
    same = " WHERE a.x < b.x WITHIN 10 seconds"
    assert weaker(("SEQ(A a, B b)" + same, "AND(A a, B b)" + same)) == []
    assert weaker(("SEQ(A a, B b)" + same, conjunction("AB"))) is None


def test_lists_keep_their_order() -> None:
    texts = ("SEQ(A a, B{1,2} b[], C c) WITHIN 10 seconds", "AND(A a, B{1,2} b[], C c) WITHIN 10 seconds")
    assert weaker(texts) is None
    assert weaker(texts, 0b101) == []


def test_what_comes_later_and_what_goes_is_known() -> None:
    workload = Workload((sequence("ABC"), sequence("ABD"), conjunction("BC")))
    sharables = workload.sharables()
    assert len(sharables.unordered_pairs("P1")) == 1
    sharables.remove("P3")
    assert sharables.unordered_pairs("P1") == []
    sharables.add("P3", workload.patterns["P3"])
    assert len(sharables.unordered_pairs("P1")) == 1
    with pytest.raises(ValueError, match="'P3' already"):
        sharables.add("P3", workload.patterns["P3"])


class TestFigure8:
    """q2 = SEQ(E1, E3) is what an order filter leaves of q5 = CONJ(E1 & E3)."""

    workload = Workload((sequence("AC"), conjunction("AC")), rates(A=2, C=3))

    def test_the_optimum_is_one_join(self) -> None:
        _, trees = cheapest_multitree(self.workload.patterns, self.workload.numbers, MODEL)
        assert trees["P2"] == pair(A, B)
        assert trees["P1"] == pair(A, B)._replace(computed_for=Demands(frozenset(), TEN))

    @pytest.mark.parametrize("strategy", ["auto", "motto"])
    def test_the_plan_has_one_join_and_a_filter(self, strategy: str) -> None:
        settings = Planning(plan=strategy, statistics=self.workload.statistics, cost=Measured(), steps=200)
        plan = choose_plan(self.workload.queries, None, settings).plan
        nodes = topological_order(plan)
        assert sum(isinstance(node, Join) for node in nodes) == 1
        assert [node.order for node in nodes if isinstance(node, Project)] == [((0, 1),)]

    def test_the_search_without_rewriting_joins_twice(self) -> None:
        settings = Planning(plan="mcep", statistics=self.workload.statistics, cost=Measured(), steps=200)
        nodes = topological_order(choose_plan(self.workload.queries, None, settings).plan)
        assert sum(isinstance(node, Join) for node in nodes) == 2


class TestWindows:
    """A window is extended where that pays, and not where the filter would read too much."""

    def joins(self, rate: float, windows: tuple[int, int], strategy: str) -> int:
        workload = Workload(
            (sequence("ABC", windows[0]), sequence("ABD", windows[1])), rates(A=rate, B=rate, C=30, D=30)
        )
        settings = Planning(
            plan=strategy, statistics=workload.statistics, cost=Measured(fixed=200.0), steps=400
        )
        plan = choose_plan(workload.queries, None, settings).plan
        return sum(isinstance(node, Join) for node in topological_order(plan))

    @pytest.mark.parametrize("strategy", ["auto", "mcep", "motto"])
    @pytest.mark.parametrize("windows", [(10, 20), (20, 10)])
    def test_a_part_is_shared_between_similar_windows(self, strategy: str, windows: tuple[int, int]) -> None:
        assert self.joins(3.0, windows, strategy) == 3

    def test_in_pattern_order_a_much_longer_window_does_not_serve_a_short_one(self) -> None:
        assert self.joins(50.0, (1, 3600), "motto") == 4


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_what_weaker_orders_and_longer_windows_save(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, 3, (2, 3), n_types=3, windows=(10, 20))
    optimum, _ = cheapest_multitree(workload.patterns, workload.numbers, MODEL)
    weave = workload.weave()
    weave.improve(Limit(steps=600), seed=seed)
    assert weave.cost >= optimum * (1 - 1e-9)
    assert weave.cost <= optimum * 1.1


def test_a_part_for_others_is_read_through_one_filter() -> None:
    """Two sequences with one window take the same rows of a longer one: they share the filter too."""
    workload = Workload((sequence("ABC", 10), sequence("ABD", 10), sequence("ABE", 20)))
    longer = workload.patterns["P3"].extent
    wide = pair(A, B)._replace(computed_for=Demands(frozenset({(0, 1)}), longer))
    multitree = workload.multitree({"P1": pair(wide, C), "P2": pair(wide, C), "P3": pair(pair(A, B), C)})
    numbers = [dict(workload.patterns[key].number_nodes(tree).nodes) for key, tree in multitree.trees.items()]
    assert len(numbers[0].keys() & numbers[1].keys() - numbers[2].keys()) == 1
    assert all(node.computed_for is None for node in nodes_of(multitree.trees["P3"]))
