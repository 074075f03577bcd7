"""Compare placements with the best costs known for reference problems, and time a large problem.

The problems are no part of the project. They are read from `vectors/muse.json` (`outside.py`), if it exists,
in the format of `weft place`, each with the best cost that the code of the paper's authors, a single-sink
search and a beam search found, and the processor seconds of the former. Akili, Weidlich. MuSE Graphs for
Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021. Ours are processor seconds as
well, so that other processes do not count: of the search for the best, with the checks of its graph.
"""

import statistics
import time
from dataclasses import replace

from contest import Say
from measures import Measure
from outside import outside, why_missing
from placement_networks import LARGE, random_problem
from result_tables import Row, report_table

from weft.errors import PlacementError
from weft.placement.checks import check_graph
from weft.placement.local_search import search_draft
from weft.placement.muse_graph import central_cost
from weft.placement.pipeline import place
from weft_lab.placement.problem_file import PlacementProblem, read_problems

PROBLEMS = outside("vectors/muse.json")
ROUNDING = 1e-9
CHEAPER = 1 - 1e-6  # what is called lower is so by more than rounding
TIMES_FASTER, LONG, MOST_SECONDS = 10, 1.0, 10.0
SECTION = "placement-reference"
LARGE_SEEDS = (1, 2, 3)
RUNS = 5  # of a search, of which the median counts: the machine's speed varies from second to second


def measure_reference(say: Say) -> list[Measure]:
    """Place all reference problems by all algorithms, and a large one by the search."""
    return [*_reference_measures(say), *_large_measures(say)]


def _reference_measures(say: Say) -> list[Measure]:
    if reason := why_missing(PROBLEMS, "benchmarks/placement_reference.py"):
        return [Measure(SECTION, "reference problems", reason)]
    problems = read_problems(PROBLEMS)
    rows = [_row(problem, say) for problem in problems]
    report_table(SECTION, rows)
    ratios = [float(row["ratio"]) for row in rows]
    seconds = [float(row["seconds"]) for row in rows]
    faster = [
        min(recorded) / second
        for problem, second in zip(problems, seconds, strict=True)
        if (
            recorded := [
                one for one in (problem.amuse_seconds, problem.amuse_star_seconds) if one and one > LONG
            ]
        )
    ]
    n_lower = sum(ratio < CHEAPER for ratio in ratios)
    return [
        Measure(SECTION, "largest cost over the best known", max(ratios), at_most=1 + ROUNDING),
        Measure(SECTION, "problems with a lower cost", n_lower, at_least=len(problems) / 4),
        Measure(SECTION, "smallest cost over the best known", min(ratios)),
        Measure(SECTION, "least speedup over recorded seconds", min(faster), "x", at_least=TIMES_FASTER),
        Measure(SECTION, "longest search", max(seconds), "s", at_most=MOST_SECONDS),
    ]


def _row(problem: PlacementProblem, say: Say) -> Row:
    costs: dict[str, float | str] = {}
    for algorithm in ("central", "single-sink", "amuse", "amuse-star"):
        try:
            costs[algorithm] = place(problem.network, problem.queries, algorithm).cost
        except PlacementError as error:
            costs[algorithm] = str(error)
    placed = place(problem.network, problem.queries)
    seconds = statistics.median(_search_seconds(problem) for _ in range(RUNS))
    say(f"{problem.name}: {placed.cost:g}, best known {problem.best_known_cost:g}, {seconds:.2f} s")
    best_known = problem.best_known_cost or placed.cost
    recorded = [one for one in (problem.amuse_seconds, problem.amuse_star_seconds) if one is not None]
    return {
        "problem": problem.name,
        **costs,
        "best": placed.cost,
        "best known": best_known,
        "ratio": placed.cost / best_known,
        "of central": placed.ratio,
        "seconds": seconds,
        "recorded seconds": min(recorded, default=0.0),
        "lower bound": placed.lower_bound,
    }


def _search_seconds(problem: PlacementProblem) -> float:
    started = time.process_time()
    found = search_draft(problem.network, problem.queries)
    check_graph(found.graph(problem.queries), problem.queries)
    return time.process_time() - started


def _large_measures(say: Say) -> list[Measure]:
    """Time the search for 15 queries of 8 items each on 50 sites."""
    model = replace(LARGE, spread=0)
    seconds, ratios = [], []
    for seed in LARGE_SEEDS:
        problem = random_problem(model, seed)
        started = time.process_time()
        found = search_draft(problem.network, problem.queries)
        seconds.append(time.process_time() - started)
        ratios.append(found.cost / central_cost(problem.network, problem.queries))
        say(f"15 queries of 8 items on 50 sites: {ratios[-1]:.2%}, {seconds[-1]:.1f} s")
    return [
        Measure(SECTION, "15 queries of 8 items on 50 sites", max(seconds), "s", at_most=MOST_SECONDS),
        Measure(SECTION, "their largest cost, of the central one", max(ratios)),
    ]
