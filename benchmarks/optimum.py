"""How near the search comes to the optimum, on workloads so small that all plans can be looked at.

On most of them the best tree of each pattern alone is optimal already: rates and selectivities differ by so
much that one sub-pattern makes up most of the cost. Such a workload says nothing about a search. So workloads
are drawn until there are as many on which that start costs more than 1 % too much, and these are reported
on their own.
"""

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, product

from measures import Measure
from pattern_shapes import Operator, Role, Shape, query_text, roles_of
from result_tables import Row, report_table

from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import item_keys, questions_of
from weft.optimizer.sharing.best_reply import best_reply
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.weave import Heuristic, Weave
from weft.pattern.nodes import Query
from weft.schema import DOUBLE, TIMESTAMP, Schema
from weft.statistics.model import ItemKey, Statistics
from weft_lab.exhaustive import cheapest_multitree

SCHEMA = Schema({"x": DOUBLE, "ts": TIMESTAMP}, time="ts")
TYPES = "ABCDE"  # so few that patterns overlap
SIZES = (2, 3, 4)
N_PATTERNS = (2, 3, 4, 5)
WINDOWS = (5, 5, 10)  # seconds
SEQUENCES = (0.1, 0.5, 0.9)  # shares of the patterns that are no conjunctions: a workload has one of these
IN_USUAL_ORDER, SPECIAL = 0.9, 0.2  # shares of the patterns
COMPARED, LESS = 0.95, 0.95  # shares of the pairs of events, and of the comparisons
LOWEST_RATE, HIGHEST_RATE = 2.0, 47.0
LEAST_SELECTIVITY, MOST_SELECTIVITY = 0.003, 0.92
STEPS = 2_000  # of the search; what ends it on these workloads is mostly its patience
NEAR = 1.01  # times the optimum
MOST_DRAWS = 20  # for each workload that is wanted

Name = tuple[str, str, str]  # meta-heuristic, k, and what surrounds it
START: Name = ("none", "", "best trees, each alone")
REPLY: Name = ("none", "", "best reply alone")
DEFAULT: Name = ("annealing", "2", "with best reply")
Search = Callable[[Weave], None]
WAYS: dict[Heuristic, tuple[str, str]] = {
    "replies": ("annealing", "with best reply"),
    "annealing": ("annealing", "as in the paper"),
    "tabu": ("tabu", "as in the paper"),
}


@dataclass(frozen=True)
class Small:
    """A workload, and what is known of its events."""

    queries: tuple[Query, ...]
    statistics: Statistics

    def weave(self) -> Weave:
        """Return all queries with the tree that is best for each alone."""
        weave = weave_for(SCHEMA, Planning(statistics=self.statistics, cost="partial-matches"))
        for query in self.queries:
            weave.add(query, weave.plans.best)
        return weave


def small_workload(seed: int) -> Small:
    """Draw patterns, rates and selectivities; numbers are log-uniform.

    >>> first = small_workload(1)
    >>> len(first.queries) in N_PATTERNS, first == small_workload(1)
    (True, True)
    """
    dice = random.Random(seed)
    rates = {name: _log_uniform(LOWEST_RATE, HIGHEST_RATE, dice) for name in TYPES}
    sequences = dice.choice(SEQUENCES)
    texts = [_pattern(f"q{number}", sequences, rates, dice) for number in range(dice.choice(N_PATTERNS))]
    queries = tuple(read_queries("\n\n".join(texts), SCHEMA))
    forms = [form for query in queries for form in normalize(query)]
    keys = dict.fromkeys(key for form in forms for key in item_keys(form))
    groups = dict.fromkeys(question.group for form in forms for question in questions_of(form, None))
    return Small(
        queries,
        Statistics(
            rates={ItemKey(key.type): rates[key.type] for key in keys},
            selectivities={
                group: _log_uniform(LEAST_SELECTIVITY, MOST_SELECTIVITY, dice) for group in groups
            },
        ),
    )


def _log_uniform(low: float, high: float, dice: random.Random) -> float:
    return float(low * (high / low) ** dice.random())


def _pattern(name: str, sequences: float, rates: Mapping[str, float], dice: random.Random) -> str:
    operator: Operator = "SEQ" if dice.random() < sequences else "AND"
    types = dice.sample(TYPES, dice.choice(SIZES))
    if dice.random() < IN_USUAL_ORDER:
        types.sort()
    is_special = len(types) > 2 and dice.random() < SPECIAL
    special: Role = dice.choice(("negation", "list")) if is_special else "event"
    roles = roles_of(Shape(operator, len(types), special), [rates[one] for one in types])
    single = [place for place, role in enumerate(roles) if role == "event"]
    conditions = []
    for pair in combinations(single, 2):
        if dice.random() < COMPARED:
            a, b = sorted(pair, key=lambda place: types[place])
            conditions.append(f"{'abcd'[a]}.x {'<' if dice.random() < LESS else '>'} {'abcd'[b]}.x")
    items = list(zip(types, roles, strict=True))
    return query_text(name, operator, items, conditions, f"{dice.choice(WINDOWS)} seconds")


def searches() -> dict[Name, Search]:
    """Return all ways to search."""
    found: dict[Name, Search] = {
        START: lambda _: None,
        REPLY: _reply_only,
    }
    for (heuristic, (meta, way)), k in product(WAYS.items(), (2, 4, 8)):
        found[meta, str(k), way] = partial(_improve, heuristic=heuristic, k=k)
    return found


def _improve(weave: Weave, heuristic: Heuristic, k: int) -> None:
    weave.improve(Limit(steps=STEPS), heuristic=heuristic, sizes=(k,))


def _reply_only(weave: Weave) -> None:
    keys = list(weave.multitree.trees)
    best_reply(weave.multitree, weave.sharables, weave.plans, keys, Limit(steps=STEPS))


@dataclass(frozen=True)
class Outcome:
    """The costs of the plans of all searches, and that of the cheapest plan.

    Where negations are involved, a search may find what the exhaustive one does not look at: parts of a
    tree that leave a check to their readers. The cheapest plan is then the one that was found.
    """

    costs: Mapping[Name, float]
    exhaustive: float

    @property
    def optimum(self) -> float:
        return min(self.exhaustive, *self.costs.values())

    def ratio(self, name: Name) -> float:
        return self.costs[name] / self.optimum


def outcome_of(small: Small, wanted: Mapping[Name, Search]) -> Outcome:
    """Run searches, and look at all trees."""
    costs = {}
    for name, search in wanted.items():
        weave = small.weave()
        search(weave)
        costs[name] = weave.cost
    weave = small.weave()
    bound = min(costs.values()) * (1 + 1e-9)
    return Outcome(costs, cheapest_multitree(weave.multitree.patterns, weave.numbers, weave.model, bound)[0])


def measure_optimum(n_workloads: int, say: Callable[[str], None]) -> list[Measure]:
    """Return how often the default search is near the optimum; print the same for all ways to search."""
    every, hard = draw_outcomes(n_workloads, say)
    report_table("optimum", [_row(name, every, hard) for name in searches()])
    return [
        Measure("optimum", "workloads", len(every)),
        Measure("optimum", "within 1 % of the optimum", _near(DEFAULT, every), "%", at_least=95),
        Measure("optimum", "largest ratio to the optimum", _largest(DEFAULT, every)),
        Measure("optimum", "workloads on which the start is not optimal", len(hard)),
        Measure("optimum", "of these within 1 % of the optimum", _near(DEFAULT, hard), "%", at_least=95),
        Measure("optimum", "of these, largest ratio to the optimum", _largest(DEFAULT, hard)),
    ]


def draw_outcomes(n_workloads: int, say: Callable[[str], None]) -> tuple[list[Outcome], list[Outcome]]:
    """Return the outcomes on the first workloads, and on as many on which the start is not optimal."""
    every: list[Outcome] = []
    hard: list[Outcome] = []
    quick = {name: searches()[name] for name in (START, REPLY)}
    for seed in range(MOST_DRAWS * n_workloads):
        if len(hard) == n_workloads and len(every) == n_workloads:
            break
        small = small_workload(seed)
        is_hard = outcome_of(small, quick).ratio(START) > NEAR
        if len(every) < n_workloads or is_hard:
            outcome = outcome_of(small, searches())
            if len(every) < n_workloads:
                every.append(outcome)
            if is_hard and len(hard) < n_workloads:
                hard.append(outcome)
        if (seed + 1) % 50 == 0:
            say(f"optimum: {seed + 1} workloads, the start is not optimal on {len(hard)}")
    return every, hard


def _near(name: Name, outcomes: Sequence[Outcome]) -> float:
    return 100 * statistics.fmean(one.ratio(name) <= NEAR for one in outcomes) if outcomes else 100.0


def _largest(name: Name, outcomes: Sequence[Outcome]) -> float:
    return max((one.ratio(name) for one in outcomes), default=1.0)


def _row(name: Name, every: Sequence[Outcome], hard: Sequence[Outcome]) -> Row:
    heuristic, k, way = name
    row = {"meta-heuristic": heuristic, "k": k, "way": way}
    for heading, outcomes in (("all", every), ("hard", hard)):
        row[f"{heading}: within 1 %"] = f"{_near(name, outcomes):.1f} %"
        row[f"{heading}: largest ratio"] = f"{_largest(name, outcomes):.3f}"
    return row
