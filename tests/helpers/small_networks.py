"""Small placement problems, drawn or enumerated, and costs worked out slowly from plain graphs."""

import random
from collections.abc import Iterator
from itertools import product
from math import prod

import numpy as np

from weft.placement.muse_graph import MuseGraph, Vertex
from weft_lab.placement.problem_file import PlacementProblem, problem_of

ROBOTS = {  # figure 2 of the paper, with the rates of the reference problem
    "sites": {"1": ["C", "F"], "2": ["C", "L"], "3": ["L"], "4": ["F"]},
    "rates": {"C": 1000.0, "F": 1.0, "L": 1000.0},
    "queries": ["SEQ(AND(C, L), F)"],
    "selectivities": {"CL": 0.0001, "CF": 0.01, "FL": 0.01},
}


def random_tree(rng: random.Random, types: list[str], operator: str) -> str:
    """Return an operator tree over types in the order given."""
    if len(types) <= 2 or rng.random() < 0.5:
        return f"{operator}({', '.join(types)})"
    cut = rng.randint(1, len(types) - 2) if len(types) > 2 else 1
    inner = random_tree(rng, types[cut:], "AND" if operator == "SEQ" else "SEQ")
    return f"{operator}({', '.join(types[:cut])}, {inner})"


def random_problem(
    seed: int, *, n_sites: int, n_types: int, n_queries: int = 1, n_items: int = 3, links: bool = False
) -> PlacementProblem:
    """Return a problem in which every type arises somewhere, at rates from 1 to 1000."""
    rng = random.Random(seed)
    types = [chr(ord("A") + number) for number in range(n_types)]
    sites: dict[str, list[str]] = {str(site): [] for site in range(n_sites)}
    for kind in types:
        for site in rng.sample(sorted(sites), rng.randint(1, n_sites)):
            sites[site].append(kind)
    document = {
        "sites": sites,
        "rates": {kind: round(10 ** rng.uniform(0, 3), 2) for kind in types},
        "selectivities": {
            f"{one}{other}": rng.choice([1.0, 0.1, 0.01, 0.001])
            for place, one in enumerate(types)
            for other in types[place + 1 :]
        },
        "queries": [
            random_tree(rng, rng.sample(types, n_items), rng.choice(["SEQ", "AND"])) for _ in range(n_queries)
        ],
    }
    if links:
        document["links"] = {
            one: {other: round(rng.uniform(0.5, 3), 2) for other in sites if other != one} for one in sites
        }
    return problem_of(document)


def slow_cost(problem: PlacementProblem, graph: MuseGraph) -> float:
    """Return the cost of a graph by the rule as it is written: binding by binding, stream by stream."""
    paid: dict[tuple[str, int, int], float] = {}
    for vertex, inputs in graph.inputs.items():
        for read in inputs:
            if read.site != vertex.site:
                rate = sum(
                    prod(float(graph.network.rates[kind][site]) for kind, site in binding)
                    for binding in bindings_found(graph, read)
                )
                distance = 1.0 if graph.network.links is None else graph.network.links[read.site, vertex.site]
                stream = (read.projection.text, read.site, vertex.site)
                paid[stream] = rate * slow_factor(problem, read.projection.text) * float(distance)
    return sum(paid.values())


def bindings_found(graph: MuseGraph, vertex: Vertex) -> Iterator[tuple[tuple[str, int], ...]]:
    """Yield the bindings that a vertex covers (definition 4), found by walking back along all paths."""
    reached, waiting = set(), [vertex]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting.extend(graph.inputs[one])
    sources = {(one.projection.text, one.site) for one in reached if not graph.inputs[one]}
    kinds = slow_types(vertex.projection.text)
    places = ([(kind, site) for text, site in sorted(sources) if text == kind] for kind in kinds)
    return product(*places)


def slow_types(text: str) -> list[str]:
    """Return the types of a text without negated ones; B1 and B2 are of type B."""
    name, operands = _split(text)
    if not operands:
        return [name[0]]
    return [kind for one in operands if not one.startswith("NOT ") for kind in slow_types(one)]


def slow_factor(problem: PlacementProblem, text: str) -> float:
    """Return how often a projection finds the product of its rates: operators and selectivities."""
    types = slow_types(text)
    pairs = [(one, other) for place, one in enumerate(types) for other in types[place + 1 :]]
    selectivities = problem.queries[0].selectivities
    return _operators(text) * prod(selectivities.get(frozenset(pair), 1.0) for pair in pairs)


def _operators(text: str) -> float:
    name, operands = _split(text)
    positive = [one for one in operands if not one.startswith("NOT ")]
    factor = prod(_operators(one) for one in positive)
    return factor * len(positive) if name == "AND" else factor


def _split(text: str) -> tuple[str, list[str]]:
    """Return the operator of a text and its operands; none for a type."""
    if "(" not in text:
        return text, []
    name, inner = text[: text.index("(")], text[text.index("(") + 1 : -1]
    operands, depth, start = [], 0, 0
    for place, sign in enumerate(inner):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            operands.append(inner[start:place].strip())
            start = place + 1
    return name, [*operands, inner[start:].strip()]


def same(one: float, other: float) -> bool:
    """Whether two costs are equal but for rounding."""
    return bool(np.isclose(one, other, rtol=1e-9, atol=1e-9))
