"""Figures 6 to 9: four decision functions, two streams, two algorithms, five sets of patterns, six sizes.

As in section 5.2 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns. PVLDB
11(11), 2018, the threshold and the distance are those with the highest throughput on the sequences of a
stream and an algorithm; all runs on other patterns use these. Invariants that tune theirs run too.
"""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from adaptation_observed import STREAMS, Stream
from adaptation_patterns import SETS, SIZES, PatternSet
from adaptation_runs import ALGORITHMS, AdaptiveRun, Contest, run_adaptive
from adaptation_streams import SKEWED
from contest import Say
from measures import Measure
from plots import Panel, plot_panels
from result_tables import Row, report_table

from weft.adaptation.decisions import DecisionFunction, Invariants, Static, Threshold, Unconditional

AMOUNTS = (0.01, 3.0, 30.0, 100.0, 300.0)  # events per second; selectivities are below 1
SHARES = (0.2, 0.5, 0.9, 2.0)
DISTANCES = (0.0, 0.1, 0.3, 1.0)
STATIC, UNCONDITIONAL, THRESHOLD, RELATIVE, INVARIANTS, TUNED = METHODS = (
    "static",
    "unconditional",
    "threshold",
    "threshold, relative",
    "invariants",
    "invariants, tuned",
)
LEAST_GAIN = 1.3  # of invariants over the best threshold
LARGE, LARGE_GAIN = 7, 2.0  # on the skewed stream, patterns of this size and more: several times
MOST_OVERHEAD = 1.0  # percent
N_WARM = 3  # batches

Decide = Callable[[], DecisionFunction]


@dataclass(frozen=True)
class Best:
    """What has the highest throughput on sequences, and all that was scanned.

    A threshold is the same amount for all statistics, as in the paper, or the same share of each.
    """

    threshold: float
    share: float
    distance: float
    scanned: Sequence[Row]


def functions_of(contest: Contest, best: Best) -> dict[str, Decide]:
    """Return the decision functions to compare."""
    return {
        STATIC: Static,
        UNCONDITIONAL: Unconditional,
        THRESHOLD: partial(Threshold, best.threshold, is_share=False),
        RELATIVE: partial(Threshold, best.share),
        INVARIANTS: partial(invariants, contest, best.distance),
        TUNED: partial(invariants, contest, "tuned"),
    }


def invariants(contest: Contest, distance: float | Literal["average", "tuned"]) -> Invariants:
    """Return invariants that watch all conditions of a plan.

    One for each block, as in most of the paper, misses better plans: of orders those that another condition
    tells of, of trees even more. To verify all of them takes no longer.
    """
    return Invariants(contest.model, None, distance)


def race(contest: Contest, functions: Mapping[str, Decide], repeat: int) -> dict[str, AdaptiveRun]:
    """Run all functions in turn, some rounds after one that warms the kernels; return the fastest runs.

    All find the same matches.
    """
    run_adaptive(replace(contest, batches=contest.batches[:N_WARM]), Unconditional)
    best: dict[str, AdaptiveRun] = {}
    for _ in range(repeat):
        for name, decide in functions.items():
            run = run_adaptive(contest, decide)
            if name not in best or run.seconds < best[name].seconds:
                best[name] = run
    if len({run.n_matches for run in best.values()}) != 1:
        raise RuntimeError(f"decision functions disagree on the matches of {contest.text}")
    return best


def scan(stream: Stream, algorithm: str, n_windows: int, repeat: int, say: Say) -> Best:
    """Find the best threshold and distance for a stream and an algorithm, on sequences of all sizes."""
    rows: list[Row] = []
    for size in SIZES:
        contest = stream.contest("sequence", size, n_windows, algorithm)
        functions: dict[str, Decide] = {f"t {t:g}": partial(Threshold, t, is_share=False) for t in AMOUNTS}
        functions |= {f"t {t:.0%}": partial(Threshold, t) for t in SHARES}
        functions |= {f"d {d:g}": partial(invariants, contest, d) for d in DISTANCES}
        for name, run in race(contest, functions, repeat).items():
            rows.append({"stream": stream.name, "algorithm": algorithm, "size": size, **_cells(name, run)})
    say(f"adaptation: {stream.name}, {algorithm}, scanned")
    return Best(
        max(AMOUNTS, key=lambda t: _mean_throughput(rows, f"t {t:g}")),
        max(SHARES, key=lambda t: _mean_throughput(rows, f"t {t:.0%}")),
        max(DISTANCES, key=lambda d: _mean_throughput(rows, f"d {d:g}")),
        rows,
    )


def _mean_throughput(rows: Iterable[Row], method: str) -> float:
    return statistics.geometric_mean(float(row["events/s"]) for row in rows if row["method"] == method)


def _cells(method: str, run: AdaptiveRun) -> dict[str, str | float]:
    return {
        "method": method,
        "events/s": round(run.throughput),
        "planned": run.n_planned,
        "deployed": run.n_deployed,
        "overhead %": round(100 * run.overhead, 3),
        "statistics %": round(100 * run.statistics_share, 2),
        "deployment %": round(100 * run.deployment_seconds / run.seconds, 2),
        "seconds": round(run.seconds, 3),
    }


def measure_point(
    stream: Stream, algorithm: str, kind: PatternSet, size: int, best: Best, n_windows: int, repeat: int
) -> list[Row]:
    """Return a line for every method on one pattern."""
    contest = stream.contest(kind, size, n_windows, algorithm)
    runs = race(contest, functions_of(contest, best), repeat)
    place = {"stream": stream.name, "algorithm": algorithm, "set": kind, "size": size}
    return [
        {**place, **_cells(method, run), "gain over static": round(runs[STATIC].seconds / run.seconds, 3)}
        for method, run in runs.items()
    ]


def measure_adaptation(
    n_windows: int, repeat: int, say: Say, streams: Sequence[Stream] = STREAMS
) -> list[Measure]:
    """Compare the decision functions; write tables and pictures."""
    found: list[Measure] = []
    rows: list[Row] = []
    scanned: list[Row] = []
    for stream in streams:
        for algorithm in ALGORITHMS:
            best = scan(stream, algorithm, n_windows, repeat, say)
            scanned += best.scanned
            own: list[Row] = []
            for kind in SETS:
                for size in SIZES:
                    own += measure_point(stream, algorithm, kind, size, best, n_windows, repeat)
                say(f"adaptation: {stream.name}, {algorithm}, {kind}: {_summary(own, kind)}")
            rows += own
            found += measures_of(stream.name, algorithm, own, best)
            say(plot_panels(f"adaptation_{stream.name}_{algorithm}", panels_of(own)))
    report_table("adaptation_scan", scanned)
    report_table("adaptation", rows)
    for kind in SETS:
        say(plot_panels(f"adaptation_{kind}", panels_of_set([row for row in rows if row["set"] == kind])))
    return found


def _summary(rows: Sequence[Row], kind: str) -> str:
    own = [row for row in rows if row["set"] == kind]
    return ", ".join(f"{method} {_mean_throughput(own, method):,.0f}/s" for method in METHODS)


def ratios_of(rows: Sequence[Row], one: str, other: str) -> dict[tuple[str, int], float]:
    """Return how much faster one method is than another, for each set and size."""
    seconds = {(str(row["set"]), int(row["size"]), row["method"]): float(row["seconds"]) for row in rows}
    return {
        (kind, size): seconds[kind, size, other] / own
        for (kind, size, method), own in seconds.items()
        if method == one
    }


def measures_of(stream: str, algorithm: str, rows: Sequence[Row], best: Best) -> list[Measure]:
    """Return the figures of one stream and algorithm, with their targets."""
    section = f"adaptation, {stream}, {algorithm}"
    gains = ratios_of(rows, INVARIANTS, THRESHOLD)
    mean = statistics.geometric_mean
    found = [
        Measure(section, "best threshold", best.threshold),
        Measure(section, "best threshold, relative", best.share),
        Measure(section, "best distance", best.distance),
        Measure(section, "invariants / threshold", mean(gains.values()), at_least=LEAST_GAIN),
        Measure(section, "invariants / threshold, least of all patterns", min(gains.values())),
    ]
    for kind in SETS:
        own = [gain for (name, _), gain in gains.items() if name == kind]
        found.append(Measure(section, f"invariants / threshold, {kind}", mean(own), at_least=LEAST_GAIN))
    large = [gain for (_, size), gain in gains.items() if size >= LARGE]
    if large:
        what, least = f"invariants / threshold, size {LARGE} and more", LARGE_GAIN
        found.append(Measure(section, what, mean(large), at_least=least if stream == SKEWED.name else None))
    for method in (STATIC, UNCONDITIONAL, RELATIVE, TUNED):
        ratio = mean(ratios_of(rows, INVARIANTS, method).values())
        found.append(Measure(section, f"invariants / {method}", ratio))
    for method, most in ((INVARIANTS, MOST_OVERHEAD), (THRESHOLD, None), (UNCONDITIONAL, None)):
        overheads = [float(row["overhead %"]) for row in rows if row["method"] == method]
        found.append(Measure(section, f"overhead of {method}", statistics.mean(overheads), "%", at_most=most))
    shares = [float(row["statistics %"]) for row in rows if row["method"] == INVARIANTS]
    return [*found, Measure(section, "time for statistics", statistics.mean(shares), "%")]


def panels_of(rows: Sequence[Row]) -> list[Panel]:
    """Return the four panels of a figure of the paper: means over the sets, by size."""

    def panel(title: str, column: str, methods: Sequence[str]) -> Panel:
        lines = {
            method: [
                statistics.mean(
                    float(row[column]) for row in rows if row["method"] == method and row["size"] == size
                )
                for size in SIZES
            ]
            for method in methods
        }
        return Panel(title, "size of the pattern", column, tuple(map(str, SIZES)), lines)

    adaptive = METHODS[1:]
    return [
        panel("throughput", "events/s", METHODS),
        panel("gain over the static plan", "gain over static", adaptive),
        panel("plans deployed", "deployed", adaptive),
        panel("overhead", "overhead %", adaptive),
    ]


def panels_of_set(rows: Sequence[Row]) -> list[Panel]:
    """Return what figures 10 to 29 say of a set: gains over a static plan, by stream and algorithm."""
    places = dict.fromkeys((row["stream"], row["algorithm"]) for row in rows)

    def lines(own: Sequence[Row]) -> dict[str, list[float]]:
        gains = {(row["method"], row["size"]): float(row["gain over static"]) for row in own}
        return {method: [gains[method, size] for size in SIZES] for method in METHODS[1:]}

    return [
        Panel(
            f"{place[0]}, {place[1]}",
            "size of the pattern",
            "gain over static",
            tuple(map(str, SIZES)),
            lines([row for row in rows if (row["stream"], row["algorithm"]) == place]),
        )
        for place in places
    ]
