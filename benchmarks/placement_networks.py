"""Random networks and queries as in section 7.1 of the paper on MuSE graphs, for experiments on placement.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021.
Rates are those that the authors' code has for its experiments, draws of Zipf's law; with a skew they are
drawn for every problem. What the paper leaves open is chosen here: a site emits a type with the chance of the
event-node ratio, and every type has a site; a query has distinct types, up to two more or fewer than average.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft_lab.placement.problem_file import PlacementProblem, problem_of

RATES = (1154, 125, 1, 2, 74, 1, 1, 19, 1, 1, 3, 1, 2, 1, 20)  # of the authors, for 15 types
LARGE_RATES = (2, 71, 1, 168, 1717781, 24, 1, 2574, 4, 4, 39, 1, 6, 59, 9, 154, 2370, 7, 2, 4)  # for 20
FLAT = 0.4  # how often an operator has no other inside it


@dataclass(frozen=True, slots=True)
class Model:
    """What a random problem is like; the defaults are those of the paper.

    With a skew, the parameter of Zipf's law, `rates` are drawn for every problem; there are as many types.
    """

    n_sites: int = 20
    rates: tuple[int, ...] = RATES
    event_node_ratio: float = 0.5
    skew: float | None = None
    n_queries: int = 5
    n_items: int = 6
    spread: int = 2  # items that a query has more or fewer than the average, at most
    least_selectivity: float = 0.01
    most_selectivity: float = 0.2


LARGE = Model(n_sites=50, rates=LARGE_RATES, n_queries=15, n_items=8)  # for scalability


def random_problem(model: Model, seed: int) -> PlacementProblem:
    """Return the problem that a model and a seed give.

    >>> problem = random_problem(Model(n_sites=4, n_queries=2, n_items=4), seed=1)
    >>> len(problem.network.sites), len(problem.queries)
    (4, 2)
    """
    random = np.random.default_rng(seed)
    types = [f"T{number}" for number in range(len(model.rates))]
    emits = random.random((model.n_sites, len(types))) < model.event_node_ratio
    for number in np.flatnonzero(~emits.any(axis=0)):
        emits[random.integers(model.n_sites), number] = True
    rates = list(model.rates) if model.skew is None else random.zipf(model.skew, len(types)).tolist()
    return problem_of(
        {
            "name": f"seed {seed}",
            "sites": {
                str(site): [types[number] for number in np.flatnonzero(row)] for site, row in enumerate(emits)
            },
            "rates": dict(zip(types, rates, strict=True)),
            "queries": [_query(random, types, model) for _ in range(model.n_queries)],
            "selectivities": {
                f"{a},{b}": random.uniform(model.least_selectivity, model.most_selectivity)
                for place, a in enumerate(types)
                for b in types[place + 1 :]
            },
        }
    )


def _query(random: np.random.Generator, types: Sequence[str], model: Model) -> str:
    size = int(random.integers(max(2, model.n_items - model.spread), model.n_items + model.spread + 1))
    chosen = random.permutation(len(types))[: min(size, len(types))]
    return _operator(random, [types[number] for number in chosen], is_sequence=bool(random.integers(2)))


def _operator(random: np.random.Generator, types: Sequence[str], *, is_sequence: bool) -> str:
    n_operands = len(types) if random.random() < FLAT else int(random.integers(2, len(types) + 1))
    cuts = np.sort(random.permutation(len(types) - 1)[: n_operands - 1]) + 1
    bounds = [0, *cuts.tolist(), len(types)]
    operands = [types[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    texts = [
        own[0] if len(own) == 1 else _operator(random, own, is_sequence=not is_sequence) for own in operands
    ]
    return f"{'SEQ' if is_sequence else 'AND'}({', '.join(texts)})"
