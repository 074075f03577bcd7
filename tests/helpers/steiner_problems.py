"""Steiner problems drawn at random, and their optimum by trying every choice."""

import random
from itertools import chain, combinations

Edges = dict[int, dict[int, int]]


def random_problem(
    dice: random.Random, n_terminals: int, n_others: int, *, density: float = 0.4
) -> tuple[Edges, list[int]]:
    """Return edges into each vertex and the terminals; the root is 0, and vertices feed later ones."""
    n_vertices = n_terminals + n_others
    edges: Edges = {}
    for vertex in range(1, n_vertices + 1):
        edges[vertex] = {0: dice.randint(5, 60)}
        for source in range(1, vertex):
            if dice.random() < density:
                edges[vertex][source] = dice.randint(0, 40)
    return edges, sorted(dice.sample(range(1, n_vertices + 1), n_terminals))


def cheapest_cost(edges: Edges, terminals: list[int]) -> int:
    """Return the cost of the cheapest tree."""
    others = [vertex for vertex in edges if vertex not in terminals]
    choices = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    return min(_cost(edges, {0, *terminals, *choice}) for choice in choices)


def _cost(edges: Edges, chosen: set[int]) -> int:
    return sum(
        min(weight for source, weight in edges[vertex].items() if source in chosen)
        for vertex in chosen
        if vertex
    )


def workload_problem(
    dice: random.Random, n_queries: int, n_types: int, sizes: tuple[int, ...]
) -> tuple[Edges, list[int]]:
    """Return a problem as queries give it: subsequences of random lists, dearer the longer they are."""
    lists = [tuple(sorted(dice.sample(range(n_types), dice.choice(sizes)))) for _ in range(n_queries)]
    queries = sorted(set(lists), key=lambda one: (len(one), one))
    price = {one: dice.randint(20, 100) for one in range(n_types)}
    parts = {tuple(sorted(set(a) & set(b))) for a in queries for b in queries}
    parts |= {tuple(sorted(set(a) & set(b))) for a in parts for b in parts}
    vertices = sorted({one for one in parts if len(one) > 1} | set(queries), key=lambda one: (len(one), one))
    numbers = {one: number for number, one in enumerate(vertices, start=1)}

    def cost(start: tuple[int, ...], whole: tuple[int, ...]) -> int:
        mask, total = set(start), 0
        for symbol in whole:
            if symbol not in mask:
                mask.add(symbol)
                if len(mask) > 1:
                    size = 1.0
                    for one in mask:
                        size *= price[one] / 40
                    total += round(1000 * size / len(mask))
        return total

    edges: Edges = {}
    for whole in vertices:
        edges[numbers[whole]] = {0: cost((), whole)}
        for part in vertices:
            if part != whole and set(part) < set(whole):
                edges[numbers[whole]][numbers[part]] = cost(part, whole)
    return edges, [numbers[one] for one in queries]
