"""Figure 5 and table 1: what the distance of invariants does, and how good distances are that nobody chose.

The estimate of section 3.4 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns.
PVLDB 11(11), 2018, is the average relative difference of all conditions of a plan ("average"). Ours begins
with the gain from which a change is worth while, and learns from what changes gained ("tuned").
"""

import statistics
from collections.abc import Sequence
from functools import partial

from adaptation_contests import Point
from adaptation_patterns import SIZES
from adaptation_runs import ALGORITHMS
from adaptation_streams import DRIFTS
from contest import Say
from measures import Measure
from result_tables import Row, report_table

from adaptation import invariants, race

DISTANCES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
CHOSEN = ("average", "tuned")
LEAST_SHARE = 0.9


def measure_distance(n_windows: int, repeat: int, say: Say) -> list[Measure]:
    """Compare the throughput with a distance that was chosen with that of the best one of a scan."""
    rows: list[Row] = []
    found: list[Measure] = []
    for drift in DRIFTS:
        for algorithm in ALGORITHMS:
            own: list[Row] = []
            for size in SIZES:
                contest = Point(drift, "sequence", size, n_windows).contest(algorithm)
                functions = {str(d): partial(invariants, contest, d) for d in (*DISTANCES, *CHOSEN)}
                runs = race(contest, functions, repeat)
                best = min(run.seconds for name, run in runs.items() if name not in CHOSEN)
                own += [
                    {
                        "stream": drift.name,
                        "algorithm": algorithm,
                        "size": size,
                        "distance": name,
                        "events/s": round(run.throughput),
                        "share of the best": round(best / run.seconds, 3),
                        "planned": run.n_planned,
                        "deployed": run.n_deployed,
                    }
                    for name, run in runs.items()
                ]
            rows += own
            found += [_measure(drift.name, algorithm, rule, own) for rule in CHOSEN]
            say(f"adaptation-distance: {drift.name}, {algorithm}: {found[-1].what} {found[-1].shown}")
    report_table("adaptation_distance", rows)
    return found


def _measure(stream: str, algorithm: str, rule: str, rows: Sequence[Row]) -> Measure:
    shares = [float(row["share of the best"]) for row in rows if row["distance"] == rule]
    least = LEAST_SHARE if rule == "tuned" else None
    what = f"throughput with the {rule} distance / with the best one"
    return Measure(
        f"adaptation-distance, {stream}, {algorithm}", what, statistics.geometric_mean(shares), at_least=least
    )
