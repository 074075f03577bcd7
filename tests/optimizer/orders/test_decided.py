"""Plan algorithms say why a plan is as it is, and that is what decides."""

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.helpers.candidate_pairs import CandidatePairs
from tests.helpers.replies import bare_somewhere
from tests.helpers.statistics_walks import even_numbers, random_pattern, walk

from weft.cost.measured import Measured
from weft.cost.model import CostModel, PlanStep
from weft.cost.partial_matches import PartialMatches
from weft.cost.shape import MOST_EXACT, Check, ListBounds, Shape
from weft.optimizer.orders.decided import Block, Condition, Decided, Side, local_cost
from weft.optimizer.orders.exact_tree import decide_exact_tree, exact_tree
from weft.optimizer.orders.greedy_order import decide_greedy_order, greedy_order
from weft.optimizer.orders.zstream_tree import decide_zstream_tree
from weft.optimizer.trees import Tree, leaf, nodes_of, order_tree, tree_text

MODELS = [PartialMatches(), CandidatePairs(), Measured()]
NAMES = ["partial matches", "candidate pairs", "measured"]
TREES: dict[str, Callable[[Shape, CostModel], Decided]] = {
    "zstream": decide_zstream_tree,
    "exact tree": decide_exact_tree,
}
A, B, C = 0b001, 0b010, 0b100


def plan(decided: Decided) -> frozenset[int]:
    """What distinguishes a plan from others: the prefixes of an order, the nodes of a tree."""
    return frozenset(block.mask for block in decided.blocks)


def all_hold(decided: Decided, shape: Shape, model: CostModel) -> bool:
    return all(condition.holds(shape, model) for block in decided.blocks for condition in block.conditions)


def test_figure_4_step_by_step() -> None:
    """C before B and A; then B before A; then nothing is left to decide."""
    shape = Shape(rates=(100.0, 15.0, 10.0), before=(0, A, A | B), window=1.0)
    decided = decide_greedy_order(shape)
    assert decided.tree == order_tree([2, 1, 0])
    assert [block.mask for block in decided.blocks] == [C, B | C, A | B | C]
    compared = [
        [(condition.taken.steps[0].mask, condition.other.steps[0].mask) for condition in block.conditions]
        for block in decided.blocks
    ]
    assert compared == [[(C, A), (C, B)], [(B | C, A | C)], []]
    first, second, _ = decided.blocks
    assert [condition.values(shape, PartialMatches()) for condition in first.conditions] == [
        (10.0, 100.0),
        (10.0, 15.0),
    ]
    assert second.conditions[0].values(shape, PartialMatches()) == (15 * 10 / 2, 100 * 10 / 2)


@pytest.mark.parametrize("seed", range(20))
def test_the_tree_is_that_of_the_plain_algorithm(seed: int) -> None:
    dice = random.Random(seed)
    shape, model = random_pattern(dice, dice.randint(1, 6)), dice.choice(MODELS)
    assert decide_greedy_order(shape).tree == order_tree(greedy_order(shape))
    assert decide_exact_tree(shape, model).tree == exact_tree(shape, model)


@pytest.mark.parametrize("seed", range(20))
def test_given_parts_are_kept_and_not_explained(seed: int) -> None:
    dice = random.Random(seed)
    shape, model = random_pattern(dice, 6), dice.choice(MODELS)
    items = dice.sample([item for item in range(6) if item not in shape.lists] or list(range(6)), 2)
    part = bare_somewhere(dice, order_tree(items))
    assert decide_exact_tree(shape, model, [part]).tree == exact_tree(shape, model, [part])
    for decide in (decide_zstream_tree, decide_exact_tree):
        decided = decide(shape, model, [part])
        assert all_hold(decided, shape, model)
        inner = {node.mask for node in nodes_of(decided.tree) if not node.is_leaf}
        assert plan(decided) == inner - {part.mask}
    assert decide_greedy_order(shape, items).tree == order_tree(greedy_order(shape, items))
    assert len(decide_greedy_order(shape, items).blocks) == 4


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_a_tree_is_priced_node_by_node(seed: int, model: CostModel) -> None:
    dice = random.Random(seed)
    shape = random_pattern(dice, dice.randint(3, 5))
    now = list(walk(dice, shape, 3))[-1]
    for decide in TREES.values():
        decided = decide(shape, model)
        parts = {node.mask: node for node in nodes_of(decided.tree)}
        for block in decided.blocks:
            for condition in block.conditions:
                expected = local_cost(parts[block.mask], now, model)
                assert condition.taken.value(now, model) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_the_other_options_are_the_best_of_their_kind(seed: int) -> None:
    """For every other split, the best trees over its parts: no tree with that split is cheaper."""
    dice = random.Random(seed)
    shape, model = replace(random_pattern(dice, 5), lists={}), dice.choice(MODELS)
    decided = decide_exact_tree(shape, model)
    whole = decided.blocks[-1]
    assert len(whole.conditions) == 14  # of 15 ways to split five items
    for condition in whole.conditions:
        join = next(step for step in condition.other.steps if step.is_join and step.mask == 0b11111)
        best = sum(_best_over(shape, model, part) for part in (join.left, join.right))
        own = sum(
            model.node(shape, step, shape.window) for step in condition.other.steps if step.mask == 0b11111
        )
        assert condition.other.value(shape, model) == pytest.approx(best + own)


def _best_over(shape: Shape, model: CostModel, mask: int) -> float:
    options = _trees_over([leaf(item) for item in range(5) if mask >> item & 1])
    return min(local_cost(tree, shape, model) for tree in options)


def _trees_over(units: list[Tree]) -> list[Tree]:
    if len(units) == 1:
        return units
    found = []
    for chosen in range(1, (1 << len(units)) - 1, 2):
        left = [unit for place, unit in enumerate(units) if chosen >> place & 1]
        right = [unit for place, unit in enumerate(units) if not chosen >> place & 1]
        found += [Tree(a.mask | b.mask, a, b) for a in _trees_over(left) for b in _trees_over(right)]
    return found


@pytest.mark.parametrize("decide", TREES.values(), ids=TREES)
def test_parts_come_before_the_whole(decide: Callable[[Shape, CostModel], Decided]) -> None:
    for seed in range(10):
        decided = decide(random_pattern(random.Random(seed), 6), PartialMatches())
        inner = [node.mask for node in nodes_of(decided.tree) if not node.is_leaf]
        assert [block.mask for block in decided.blocks] == inner


@pytest.mark.parametrize("path", [walk, even_numbers])
@pytest.mark.parametrize("seed", range(60))
def test_all_conditions_of_a_greedy_order_hold_if_and_only_if_it_stays(
    seed: int, path: Callable[..., object]
) -> None:
    """Theorem 2. Where many options cost the same, it depends on who wins ties."""
    dice = random.Random(seed)
    first, *later = list(path(dice, random_pattern(dice, dice.randint(1, 6)), 8))
    decided = decide_greedy_order(first)
    assert all_hold(decided, first, Measured())  # whatever the cost model is
    for shape in later:
        assert all_hold(decided, shape, Measured()) == (greedy_order(shape) == greedy_order(first))


def _block(decided: Decided, mask: int) -> Block:
    return next(block for block in decided.blocks if block.mask == mask)


def _taken(block: Block) -> frozenset[PlanStep]:
    return frozenset(block.conditions[0].taken.steps) if block.conditions else frozenset()


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("path", [walk, even_numbers])
def test_what_all_conditions_of_a_dynamic_program_say(
    name: str, model: CostModel, path: Callable[..., object]
) -> None:
    """A violation means another plan. Another plan means a violation, if it was among the options."""
    n_violated = 0
    for seed in range(12):
        dice = random.Random(seed)
        first, *later = list(path(dice, random_pattern(dice, dice.randint(1, 5)), 5))
        decided = TREES[name](first, model)
        assert all_hold(decided, first, model)
        for shape in later:
            now = TREES[name](shape, model)
            if not all_hold(decided, shape, model):
                n_violated += 1
                assert plan(now) != plan(decided)
                continue
            for mask in plan(decided) & plan(now):
                found = _taken(_block(now, mask))
                for condition in _block(decided, mask).conditions:
                    if frozenset(condition.other.steps) == found:  # then it costs the same
                        values = condition.values(shape, model)
                        assert values[0] == pytest.approx(values[1], rel=1e-8)
    assert n_violated > 0


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("decide", TREES.values(), ids=TREES)
def test_all_conditions_of_a_tree_of_three_hold_if_and_only_if_it_stays(
    decide: Callable[[Shape, CostModel], Decided], model: CostModel
) -> None:
    for seed in range(40):
        dice = random.Random(seed)
        first, *later = list(walk(dice, replace(random_pattern(dice, 3), lists={}), 5))
        decided = decide(first, model)
        for shape in later:
            assert all_hold(decided, shape, model) == (decide(shape, model).tree == decided.tree)


def test_a_better_tree_that_was_no_option_violates_nothing() -> None:
    """First a b c is best as (a b) c. When c becomes rare, (a (b c)) d is best, and no condition knows it."""
    shape, model = Shape((1.0, 4.0, 4.0, 3.0), (0,) * 4, 1.0), PartialMatches()
    decided = decide_zstream_tree(shape, model)
    now = replace(shape, rates=(1.0, 4.0, 0.5, 3.0))
    assert tree_text(decided.tree, "abcd") == "((a b) (c d))"
    assert all_hold(decided, now, model)
    assert tree_text(decide_zstream_tree(now, model).tree, "abcd") == "((a (b c)) d)"


def test_the_first_of_equals_wins_ties() -> None:
    shape, model = Shape((3.0,) * 3, (0,) * 3, 1.0), PartialMatches()
    for decided in (decide_greedy_order(shape), decide_zstream_tree(shape, model)):
        assert all_hold(decided, shape, model)
        assert all(condition.wins_ties for block in decided.blocks for condition in block.conditions)
    first = decide_greedy_order(replace(shape, rates=(3.0, 3.0, 2.0))).blocks[0]
    assert first.mask == C
    assert [condition.wins_ties for condition in first.conditions] == [False, False]
    (later,) = decide_zstream_tree(replace(shape, rates=(4.0, 3.0, 2.0)), model).blocks[-1].conditions
    assert later.wins_ties is True
    (later,) = decide_zstream_tree(replace(shape, rates=(2.0, 3.0, 4.0)), model).blocks[-1].conditions
    assert later.wins_ties is False


def test_lists_are_no_option_for_the_first_position() -> None:
    shape = Shape((0.1, 5.0, 7.0), (0, 0, 0), 1.0, lists={0: ListBounds(1, None)})
    first, second, _ = decide_greedy_order(shape).blocks
    assert [condition.other.steps[0].mask for condition in first.conditions] == [0b100]
    assert [condition.other.steps[0].mask for condition in second.conditions] == [0b110]
    assert [len(block.conditions) for block in decide_zstream_tree(shape, PartialMatches()).blocks] == [0, 0]


def test_a_negation_is_a_further_step_above_the_join() -> None:
    shape = Shape((2.0, 3.0, 5.0), (0, 0, 0), 1.0, checks=(Check(0b011, 0.5),))
    whole = decide_zstream_tree(shape, Measured()).blocks[-1]
    assert PlanStep(0b011, 0b011, 0, 0) in whole.conditions[0].taken.steps
    assert PlanStep(0b111, 0b001, 0b110, 0) in whole.conditions[0].other.steps
    assert PlanStep(0b111, 0b111, 0, 0) in whole.conditions[0].other.steps


def test_beyond_the_exact_limit_the_better_of_two_algorithms_is_explained() -> None:
    n_items = MOST_EXACT + 1
    chosen = set()
    for seed in range(6):
        dice = random.Random(seed)
        shape = random_pattern(dice, n_items)
        for model in (PartialMatches(), Measured()):
            decided = decide_exact_tree(shape, model)
            assert decided.tree == exact_tree(shape, model)
            assert all_hold(decided, shape, model)
            assert decided.blocks[-1].mask == shape.everything
            chosen.add(
                decided.blocks[0].conditions[0].counts_matches if decided.blocks[0].conditions else False
            )
            assert all_hold(decide_greedy_order(shape), shape, model)
    assert chosen == {True, False}


def test_rounding_is_no_violation() -> None:
    exact = Condition(Side((), 1.0), Side((), 1.0), wins_ties=False)
    rounded = replace(exact, rounding=1e-9)
    assert not exact.allows(1.0, 1.0)
    assert rounded.allows(1.0, 1.0)
    assert rounded.allows(1.0 + 1e-12, 1.0)
    assert not rounded.allows(1.0 + 1e-6, 1.0)
    assert rounded.allows(0.0, 0.0)


def test_a_distance_allows_the_option_taken_to_be_dearer() -> None:
    condition = Condition(Side((), 1.0), Side((), 1.0), wins_ties=False)
    assert condition.allows(1.1, 1.0, distance=0.2)
    assert not condition.allows(1.3, 1.0, distance=0.2)
