"""What the engine needs for a row or a pair of rows, and how well either cost tells the time of a plan.

First, plans of all strategies run with different windows and lengths of batches; the times of their nodes
are explained by what the nodes did, and the prices found are shown beside those of `weft.cost.measured`.
Then plans of every kind, also of random trees, run, and their times are compared with their costs.
"""

import random
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import combinations

import numpy as np
from contest import Arena, Say
from measures import Measure, number_text
from node_work import Work, actual_work, expected_nanoseconds, expected_work
from result_tables import Row, report_table
from stock_statistics import stock_statistics
from stocks import SCHEMA, stock_events, stock_queries

from weft.cost.measured import Measured
from weft.cost.partial_matches import PartialMatches
from weft.optimizer.pipeline import Optimized, weave_for
from weft.optimizer.planning import STRATEGIES, Planning
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Tree
from weft.plan.nodes import Join, KleeneExpand, NegationCheck
from weft.runtime.matches.execute import BATCH_EVENTS
from weft_lab.exhaustive import all_trees

WINDOWS = (0.2, 0.4, 0.8)  # seconds
BATCHES = (1, 4)  # into which a stream is cut; with more of them, what is fixed weighs more
N_PATTERNS, AVERAGE_SIZE, DENSITY = 100, 5, 0.3
SEARCH_SECONDS = 1.0
REPEAT = 3
SHORTEST = 1e6  # nanoseconds; of shorter times, the absolute error counts and not the relative one
DRAWN = ((20, 3, 0.1), (20, 4, 0.3), (50, 4, 0.15), (50, 5, 0.2), (100, 5, 0.4))  # patterns, size, window
N_RANDOM = 4  # plans of random trees for each of these; every other one shares nothing
SLOWEST = 0.05  # seconds that a plan of random trees may need for a second of the stream
MOST_DRAWS = 50
MANY = 1000  # candidates or rows; of fewer, the ratio to what was expected is chance
EXPLAINED = (Join, KleeneExpand, NegationCheck)  # the nodes to which prices for rows and pairs apply


@dataclass(frozen=True)
class Timed:
    """A node that ran: its kind, what it did and was expected to do, and how many nanoseconds it took."""

    kind: str
    work: Work
    expected: Work
    nanoseconds: float


@dataclass(frozen=True)
class Trial:
    """A plan that ran: its workload, its costs under several models, and the seconds it took."""

    workload: int
    costs: dict[str, float]
    seconds: float


def measure_costs(seconds: float, say: Say) -> list[Measure]:
    """Fit the prices, print them, and return how well costs and times agree."""
    events = stock_events(seconds)
    runs = [timed for window in WINDOWS for timed in timed_nodes(window, seconds, say)]
    timed = [one for one in runs if one.kind in {kind.__name__ for kind in EXPLAINED}]
    fitted = fitted_prices(timed)
    by_kind = {kind.__name__: [one for one in timed if one.kind == kind.__name__] for kind in EXPLAINED}
    batch_seconds = BATCH_EVENTS / (events.num_rows / seconds)
    report_table("costs", _price_rows({"all": timed, **by_kind}, batch_seconds))
    report_table("costs-kinds", _kind_rows(runs))
    times = np.array([one.nanoseconds for one in timed])
    explained = np.array([one.work.price(fitted) for one in timed])
    per_second = replace(fitted, fixed=fitted.fixed / seconds)  # the trials mostly run in one batch
    return [
        Measure("costs", "nodes measured", len(timed)),
        Measure("costs", "correlation of fitted and measured times of nodes", pearson(times, explained)),
        *_agreements(by_kind["Join"]),
        *_correlations(trials(seconds, per_second, say)),
    ]


def timed_nodes(window: float, seconds: float, say: Say) -> list[Timed]:
    """Run a workload with all strategies and lengths of batches; of each node, the shortest time counts."""
    arena = _arena(N_PATTERNS, AVERAGE_SIZE, window, seconds)
    found = []
    for strategy in STRATEGIES:
        optimized = arena.plan(
            Planning(
                plan=strategy,
                statistics=arena.statistics,
                search_seconds=SEARCH_SECONDS,
                cost="partial-matches",
            )
        )
        for n_batches in BATCHES:
            batch = -(-arena.rows.num_rows // n_batches)
            runs = [arena.run(optimized, batch_events=batch) for _ in range(REPEAT)]
            expected = expected_work(optimized, seconds)
            for node, done in actual_work(optimized.plan, runs[0].meter, n_batches).items():
                nanoseconds = min(run.meter.nanoseconds[node] for run in runs)
                found.append(Timed(type(node).__name__, done, expected[node], nanoseconds))
            fastest = min(run.execute_seconds for run in runs)
            say(f"costs: window {window:g} s, {strategy}, batches: {n_batches}, {fastest:.2f} s")
    return found


def _arena(n_patterns: int, size: int, window: float, seconds: float) -> Arena:
    text = stock_queries(n_patterns, size, window, density=DENSITY)
    return Arena(text, SCHEMA, stock_statistics(seconds), stock_events(seconds))


def fitted_prices(timed: Sequence[Timed]) -> Measured:
    """Return the prices that explain the times best; `fixed` is for a node and a batch.

    >>> nodes = [Work(1, 10, 5, 2, 0), Work(1, 0, 50, 1, 0), Work(2, 3, 1, 9, 0), Work(1, 1, 0, 0, 7)]
    >>> true = Measured(fixed=100.0, row_in=3.0, candidate=7.0, row_out=20.0, row_checked=30.0)
    >>> nodes.append(Work(3, 8, 8, 1, 1))
    >>> found = fitted_prices([Timed("Join", one, one, 1e6 * one.price(true)) for one in nodes])
    >>> [round(price / 1e6, 6) for price in astuple(found)]
    [100.0, 3.0, 7.0, 20.0, 30.0]
    """
    amounts = np.array([astuple(one.work) for one in timed], np.float64)
    times = np.array([one.nanoseconds for one in timed], np.float64)
    return Measured(*fit_nonnegative(amounts, times, 1 / np.maximum(times, SHORTEST)).tolist())


def fit_nonnegative(amounts: np.ndarray, totals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the prices, none negative, with the smallest weighted squares of what they leave unexplained.

    Least squares on each set of columns; where the best prices are zero, the column is not in the set. So
    the best of the sets without a negative price is the answer. It is for a handful of columns.

    >>> amounts = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> fit_nonnegative(amounts, np.array([5.0, 4.0, 3.0]), np.ones(3)).tolist()  # a slope of -1 is refused
    [4.0, 0.0]
    """
    n_columns = amounts.shape[1]
    scaled, target = amounts * weights[:, None], totals * weights
    best, least = np.zeros(n_columns), float(target @ target)
    for size in range(1, n_columns + 1):
        for chosen in map(list, combinations(range(n_columns), size)):
            prices = np.linalg.lstsq(scaled[:, chosen], target, rcond=None)[0]
            left = float(np.square(scaled[:, chosen] @ prices - target).sum())
            if (prices >= 0).all() and left < least:
                best, least = np.zeros(n_columns), left
                best[chosen] = prices
    return best


def trials(seconds: float, fitted: Measured, say: Say) -> list[Trial]:
    """Run plans of every kind for several workloads."""
    found = []
    for number, (n_patterns, size, window) in enumerate(DRAWN):
        arena = _arena(n_patterns, size, window, seconds)
        plans = _plans(arena, random.Random(number))
        for optimized in plans:
            fastest = min(arena.run(optimized).execute_seconds for _ in range(REPEAT))
            costs = {
                "the papers' cost": arena.cost(optimized.stored, PartialMatches()),
                "the measured cost": arena.cost(optimized.stored, Measured()),
                "the measured cost with the prices found here": arena.cost(optimized.stored, fitted),
            }
            found.append(Trial(number, costs, fastest))
        say(f"costs: {n_patterns} patterns of {size}, {window:g} s: {len(plans)} plans")
    return found


def _plans(arena: Arena, dice: random.Random) -> list[Optimized]:
    known = arena.statistics
    plans = [
        arena.plan(
            Planning(plan=strategy, statistics=known, search_seconds=SEARCH_SECONDS, cost="partial-matches")
        )
        for strategy in STRATEGIES
    ]
    for number in range(N_RANDOM):
        drawn = (_random_plan(arena, dice, is_shared=number % 2 == 0) for _ in range(MOST_DRAWS))
        fast = next((one for one in drawn if expected_nanoseconds(one) <= SLOWEST * 1e9), None)
        plans += [] if fast is None else [fast]
    return plans


def _random_plan(arena: Arena, dice: random.Random, *, is_shared: bool) -> Optimized:
    """Return a plan in which some patterns have any tree, and the others the best; else it never ends."""
    weave = weave_for(arena.schema, Planning(statistics=arena.statistics, cost="partial-matches"))
    share = dice.random()
    for query in arena.queries:
        tree_of = (lambda pattern: _random_tree(pattern, dice)) if dice.random() < share else weave.plans.best
        weave.add(query, tree_of)
    return arena.plan(
        Planning(
            plan=weave.stored_plan(is_shared=is_shared), statistics=arena.statistics, cost="partial-matches"
        )
    )


def _random_tree(pattern: Pattern, dice: random.Random) -> Tree:
    return dice.choice(list(all_trees(pattern.shape.everything, pattern.shape.list_mask)))


def pearson(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of two columns."""
    return float(np.corrcoef(one, other)[0, 1])


def spearman(one: np.ndarray, other: np.ndarray) -> float:
    """Return the correlation of the ranks of two columns without ties.

    >>> round(spearman(np.array([1.0, 5.0, 90.0]), np.array([0.1, 0.2, 0.3])), 6)
    1.0
    """
    return pearson(np.argsort(np.argsort(one)), np.argsort(np.argsort(other)))


def _correlations(found: Sequence[Trial]) -> list[Measure]:
    measures = [Measure("costs", "plans run", len(found))]
    times = np.array([one.seconds for one in found])
    for model in found[0].costs:
        costs = np.array([one.costs[model] for one in found])
        inside = [
            spearman(costs[own], times[own])
            for number in range(len(DRAWN))
            for own in [[place for place, one in enumerate(found) if one.workload == number]]
            if len(own) > 2
        ]
        measures += [
            Measure("costs", f"{model}: rank correlation with the time", spearman(costs, times)),
            Measure("costs", f"{model}: the same within a workload, mean", statistics.fmean(inside)),
            Measure(
                "costs", f"{model}: correlation of the logarithms", pearson(np.log(costs), np.log(times))
            ),
        ]
    return measures


def _agreements(joins: Sequence[Timed]) -> list[Measure]:
    """Return how much joins did of what they were expected to do."""
    found = []
    for name, what in (("candidate", "candidates examined"), ("row_out", "rows built")):
        pairs = [(getattr(one.work, name), getattr(one.expected, name)) for one in joins]
        ratios = [done / expected for done, expected in pairs if expected > MANY]
        total = sum(done for done, _ in pairs) / sum(expected for _, expected in pairs)
        found += [
            Measure("costs", f"{what} by all joins / expected", total),
            Measure("costs", f"{what} by a join / expected, median", statistics.median(ratios or [0.0])),
        ]
    return found


def _price_rows(groups: Mapping[str, Sequence[Timed]], batch_seconds: float) -> list[Row]:
    """Return a line for every price, as found for groups of nodes and as used."""
    fitted = {name: fitted_prices(own) for name, own in groups.items()}
    rows: list[Row] = [
        {"price in nanoseconds": "fixed, for a batch", "used": ""}
        | {name: own.fixed for name, own in fitted.items()},
        {"price in nanoseconds": f"fixed, for a second in batches of {batch_seconds:.0f} s"}
        | {"used": number_text(Measured().fixed)}
        | {name: own.fixed / batch_seconds for name, own in fitted.items()},
    ]
    for price in ("row_in", "candidate", "row_out", "row_checked"):
        used = {"price in nanoseconds": price, "used": number_text(getattr(Measured(), price))}
        rows.append(used | {name: getattr(own, price) for name, own in fitted.items()})
    return rows


def _kind_rows(runs: Sequence[Timed]) -> list[Row]:
    """Return which nodes the time goes to."""
    total = sum(one.nanoseconds for one in runs)
    kinds = sorted({one.kind for one in runs})
    return [
        {
            "kind of node": kind,
            "nodes": len(own),
            "share of the time": f"{100 * sum(one.nanoseconds for one in own) / total:.1f} %",
            "median microseconds": statistics.median(one.nanoseconds for one in own) / 1000,
        }
        for kind in kinds
        for own in [[one for one in runs if one.kind == kind]]
    ]
