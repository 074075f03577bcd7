"""Steiner trees against all choices."""

import random

import pytest
from tests.helpers.steiner_problems import cheapest_cost, random_problem, workload_problem

from weft.optimizer.rewriting.dual_ascent import dual_ascent
from weft.optimizer.rewriting.selection import VertexSelection, anneal
from weft.optimizer.rewriting.steiner_instance import instance_of
from weft.optimizer.rewriting.steiner_tree import steiner_tree
from weft.optimizer.sharing.limits import Limit


@pytest.mark.parametrize("seed", range(60))
def test_the_search_finds_the_optimum(seed: int) -> None:
    dice = random.Random(seed)
    density = dice.choice([0.2, 0.4, 0.8])
    edges, terminals = random_problem(dice, dice.randint(1, 5), dice.randint(0, 8), density=density)
    tree = steiner_tree(edges, terminals, Limit(steps=10_000))
    assert tree.cost == cheapest_cost(edges, terminals) == tree.bound
    assert tree.cost == sum(edges[vertex][source] for vertex, source in tree.sources.items())
    assert set(terminals) <= set(tree.sources)
    assert set(tree.sources.values()) <= {0, *tree.sources}


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_is_one(seed: int) -> None:
    dice = random.Random(seed)
    edges, terminals = random_problem(dice, 4, 6, density=0.6)
    instance = instance_of(edges, terminals, edges, root=0)
    dual = dual_ascent(instance)
    optimum = cheapest_cost(edges, terminals)
    assert 0 < dual.bound <= optimum
    additions = dual.least_additions(instance)
    for vertex in instance.open:
        if dual.bound + additions.get(vertex, optimum) > optimum:
            without = {
                other: {source: weight for source, weight in weights.items() if source != vertex}
                for other, weights in edges.items()
                if other != vertex
            }
            assert cheapest_cost(without, terminals) == optimum


@pytest.mark.parametrize("seed", range(30))
def test_reductions_keep_the_optimum(seed: int) -> None:
    dice = random.Random(seed)
    edges, terminals = random_problem(dice, 4, 7, density=0.5)
    instance = instance_of(edges, terminals, edges, root=0)
    instance.reduce()
    optimum = cheapest_cost(edges, terminals)
    for _ in range(100):
        chosen = {vertex for vertex in instance.open if dice.random() < 0.5}
        assert VertexSelection(instance, chosen).cost >= optimum
    parts = instance.parts()
    assert not any(a.into.keys() & b.into.keys() for a in parts for b in parts if a is not b)


@pytest.mark.parametrize("seed", range(20))
def test_changes_of_a_selection_are_worked_out_right(seed: int) -> None:
    dice = random.Random(seed)
    edges, terminals = random_problem(dice, 4, 8, density=0.5)
    instance = instance_of(edges, terminals, edges, root=0)
    selection = VertexSelection(instance)
    for _ in range(30):
        vertex = dice.choice(sorted(instance.open))
        expected = selection.cost + selection.change_by_flipping(vertex)
        selection.flip(vertex)
        assert selection.cost == expected == VertexSelection(instance, selection.chosen).cost


def test_annealing_finds_good_trees_and_the_same_ones_again() -> None:
    n_optimal = 0
    for seed in range(20):
        edges, terminals = random_problem(random.Random(seed), 4, 7, density=0.6)
        instance = instance_of(edges, terminals, edges, root=0)
        found = [anneal(VertexSelection(instance), Limit(steps=3_000), random.Random(5)) for _ in range(2)]
        assert found[0] == found[1]
        n_optimal += VertexSelection(instance, found[0]).cost == cheapest_cost(edges, terminals)
    assert n_optimal >= 18


def test_a_workload_of_fifty_queries_is_solved() -> None:
    edges, terminals = workload_problem(random.Random(50), 50, 12, (3, 4, 5))
    assert len(edges) > 140
    tree = steiner_tree(edges, terminals, Limit(steps=5_000))
    assert tree.is_optimal
    assert tree.cost < 0.7 * sum(edges[vertex][0] for vertex in terminals)


def test_when_the_limit_ends_the_search_the_gap_is_told_and_annealing_goes_on() -> None:
    edges, terminals = workload_problem(random.Random(100), 100, 15, (3, 4, 5, 6))
    trees = [steiner_tree(edges, terminals, Limit(steps=20), seed=1) for _ in range(2)]
    assert trees[0] == trees[1]
    assert 0 < trees[0].gap < 0.05
    assert not trees[0].is_optimal
    assert trees[0].bound < trees[0].cost


def test_no_limit_left_gives_a_tree_too() -> None:
    edges, terminals = random_problem(random.Random(3), 5, 9, density=0.8)
    tree = steiner_tree(edges, terminals, Limit(steps=0))
    assert tree.bound <= cheapest_cost(edges, terminals) <= tree.cost


def test_free_edges() -> None:
    tree = steiner_tree({1: {0: 5}, 2: {0: 5, 1: 0}, 3: {0: 7, 2: 0}}, [1, 2, 3], Limit(steps=10))
    assert (tree.sources, tree.cost) == ({1: 0, 2: 1, 3: 2}, 5)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ({1: {2: 1}, 2: {0: 1}}, "no edge leads from the root 0 to vertex 1"),
        ({1: {0: 1, 2: 1}, 2: {0: 1, 1: 1}}, "form a cycle"),
        ({1: {0: 1, 3: 1}}, "the source 3"),
        ({1: {0: -1}}, "weighs -1"),
        ({0: {0: 1}, 1: {0: 1}}, "is the root"),
        ({2: {0: 1}}, r"terminals \[1\]"),
    ],
)
def test_a_graph_that_is_not_one(edges: dict[int, dict[int, float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        steiner_tree(edges, [1], Limit(steps=1))
