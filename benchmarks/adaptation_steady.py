"""What it costs to watch a stream that does not drift: the same plan with checks and without."""

import statistics
from functools import partial

from adaptation_contests import Point
from adaptation_patterns import SIZES
from adaptation_runs import ALGORITHMS
from adaptation_streams import Drift
from contest import Say
from measures import Measure
from result_tables import Row, report_table

from adaptation import invariants, race
from weft.adaptation.decisions import Static

STEADY = (Drift("skewed", rate_skew=100.0, width_skew=10.0), Drift("even"))


def measure_steady(n_windows: int, repeat: int, say: Say) -> list[Measure]:
    """Compare invariants that tune their distance with a plan that stays, on sequences of all sizes."""
    rows: list[Row] = []
    found: list[Measure] = []
    for drift in STEADY:
        for algorithm in ALGORITHMS:
            costs = []
            for size in SIZES:
                contest = Point(drift, "sequence", size, n_windows).contest(algorithm)
                functions = {"static": Static, "invariants": partial(invariants, contest, "tuned")}
                runs = race(contest, functions, repeat)
                watched, plain = runs["invariants"], runs["static"]
                costs.append(watched.seconds / plain.seconds)
                rows.append(
                    {
                        "stream": drift.name,
                        "algorithm": algorithm,
                        "size": size,
                        "static events/s": round(plain.throughput),
                        "time with invariants / without": round(costs[-1], 3),
                        "statistics %": round(100 * watched.statistics_share, 2),
                        "overhead %": round(100 * watched.overhead, 3),
                        "deployed": watched.n_deployed,
                    }
                )
            section = f"adaptation-steady, {drift.name}, {algorithm}"
            found.append(Measure(section, "time with invariants / without", statistics.geometric_mean(costs)))
            say(f"{section}: {found[-1].shown}")
    report_table("adaptation_steady", rows)
    return found
