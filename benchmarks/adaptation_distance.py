"""Figure 5 and table 1: what the distance of invariants does, and how good distances are that nobody chose.

The estimate of section 3.4 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns.
PVLDB 11(11), 2018, is the average relative difference of all conditions of a plan ("average"). Ours begins
with the gain from which a change is worth while, and learns from what changes gained ("tuned").
"""

import statistics
from collections.abc import Sequence
from functools import partial

from adaptation_observed import STREAMS, Stream
from adaptation_patterns import SIZES
from adaptation_runs import ALGORITHMS
from contest import Say
from measures import Measure
from plots import Panel, plot_panels
from result_tables import Row, report_table

from adaptation import invariants, race

DISTANCES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
CHOSEN = ("average", "tuned")
LEAST_SHARE = 0.9


def measure_distance(
    n_windows: int, repeat: int, say: Say, streams: Sequence[Stream] = STREAMS
) -> list[Measure]:
    """Compare the throughput with a distance that was chosen with that of the best one of a scan."""
    rows: list[Row] = []
    found: list[Measure] = []
    for stream in streams:
        for algorithm in ALGORITHMS:
            own: list[Row] = []
            for size in SIZES:
                contest = stream.contest("sequence", size, n_windows, algorithm)
                functions = {str(d): partial(invariants, contest, d) for d in (*DISTANCES, *CHOSEN)}
                runs = race(contest, functions, repeat)
                best = min(run.seconds for name, run in runs.items() if name not in CHOSEN)
                own += [
                    {
                        "stream": stream.name,
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
            found += [_measure(stream.name, algorithm, rule, own) for rule in CHOSEN]
            say(f"adaptation-distance: {stream.name}, {algorithm}: {found[-1].what} {found[-1].shown}")
    report_table("adaptation_distance", rows)
    say(plot_panels("adaptation_distance", panels_of(rows)))
    return found


def panels_of(rows: Sequence[Row]) -> list[Panel]:
    """Return figure 5: for each stream and algorithm, throughput by distance, a line for each size."""
    places = dict.fromkeys((str(row["stream"]), str(row["algorithm"])) for row in rows)
    ticks = (*map(str, DISTANCES), *CHOSEN)

    def lines(stream: str, algorithm: str) -> dict[str, list[float]]:
        own = {
            (row["size"], row["distance"]): float(row["events/s"])
            for row in rows
            if (row["stream"], row["algorithm"]) == (stream, algorithm)
        }
        return {f"size {size}": [own[size, tick] for tick in ticks] for size in SIZES}

    return [
        Panel(f"{one}, {other}", "distance", "events/s", ticks, lines(one, other)) for one, other in places
    ]


def _measure(stream: str, algorithm: str, rule: str, rows: Sequence[Row]) -> Measure:
    shares = [float(row["share of the best"]) for row in rows if row["distance"] == rule]
    least = LEAST_SHARE if rule == "tuned" else None
    what = f"throughput with the {rule} distance / with the best one"
    return Measure(
        f"adaptation-distance, {stream}, {algorithm}", what, statistics.geometric_mean(shares), at_least=least
    )
