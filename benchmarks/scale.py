"""What a good plan gains over the trivial one, with the number of patterns and with their size.

The experiments of figures 10, 11(a), 12(a) and 12(b) in section 6.2 of Kolchinsky, Schuster. Real-Time
Multi-Pattern Detection over Event Streams. SIGMOD 2019, on the stock stream. The paper takes the mean of ten
workloads for each point, this the median of a few.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median

from contest import Arena, Say, check_matches
from measures import Measure
from node_work import expected_nanoseconds
from plots import plot_gains
from result_tables import report_table
from stock_statistics import stock_statistics
from stocks import SCHEMA, stock_events, stock_queries

from weft.optimizer.pipeline import Optimized
from weft.optimizer.planning import Planning

COUNTS = (10, 30, 100, 300, 1000)
SIZES = (3, 4, 5, 6, 7, 8)
USUAL_COUNT, USUAL_SIZE = 100, 5
WINDOW, DENSITY = 0.6, 0.3
LONGEST_STREAM, SHORTEST_STREAM = 3000.0, 2.0  # seconds
MATCH_NANOSECONDS = 1000.0
BEST = "mixed"  # the method that Weft uses

METHODS: dict[str, Planning] = {
    "trivial": Planning(plan="trivial", cost="partial-matches"),
    "SH": Planning(plan="share", cost="partial-matches"),
    "RE": Planning(plan="reorder", cost="partial-matches"),
    "edge prefix": Planning(plan="auto", neighborhood="edge", prefix_only=True, cost="partial-matches"),
    "edge": Planning(plan="auto", neighborhood="edge", cost="partial-matches"),
    "mixed": Planning(plan="auto", cost="partial-matches"),
    "vertex-4": Planning(plan="auto", neighborhood="vertex", k=4, cost="partial-matches"),
    "vertex-8": Planning(plan="auto", neighborhood="vertex", k=8, cost="partial-matches"),
    "tabu edge": Planning(plan="auto", heuristic="tabu", cost="partial-matches"),
}
MAIN_METHODS = ("trivial", "SH", "RE", BEST)  # those that all workloads of a point are planned with


@dataclass(frozen=True)
class Point:
    """The gains of one method on one workload: in the papers' cost, and in events per second."""

    patterns: int
    size: int
    draw: int
    method: str
    cost: float
    cost_gain: float
    stream_seconds: float
    run_seconds: float
    events_per_second: float
    run_gain: float


def measure_scale(
    search_seconds: float, run_seconds: float, draws: int, largest_count: int, largest_size: int, say: Say
) -> list[Measure]:
    """Measure all points; print them as a table and draw them."""
    places = [(count, USUAL_SIZE) for count in COUNTS if count <= largest_count]
    places += [(USUAL_COUNT, size) for size in SIZES if size <= largest_size and size != USUAL_SIZE]
    points: list[Point] = []
    for count, size in places:
        for draw in range(1, draws + 1):
            methods = tuple(METHODS) if draw == 1 else MAIN_METHODS
            points += measure_point(count, size, draw, methods, search_seconds, run_seconds, say)
    report_table("scale", [asdict(point) for point in points])
    plot_series(points, say)
    found = []
    for count, size in places:
        own = [p for p in points if (p.patterns, p.size, p.method) == (count, size, BEST)]
        for what, field in (("gain in cost", "cost_gain"), ("gain in run time", "run_gain")):
            gains = [getattr(point, field) for point in own]
            found.append(Measure("scale", f"{count} patterns of {size}: {what}", median(gains)))
    return found


def plot_series(points: Sequence[Point], say: Say) -> None:
    """Draw the gains over the number of patterns and over their size."""
    by_count = [(point.patterns, point) for point in points if point.size == USUAL_SIZE]
    by_size = [(point.size, point) for point in points if point.patterns == USUAL_COUNT]
    axes = (
        ("scale-patterns", "number of patterns", by_count),
        ("scale-sizes", "average size of a pattern", by_size),
    )
    for name, label, placed in axes:
        gains = {"in cost": _series(placed, "cost_gain"), "in run time": _series(placed, "run_gain")}
        say(plot_gains(name, label, gains))


def _series(placed: Sequence[tuple[int, Point]], field: str) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, dict[int, list[float]]] = {}
    for place, point in placed:
        if point.method != "trivial":
            label = point.method if point.method in MAIN_METHODS else f"{point.method}, first workload"
            found.setdefault(label, {}).setdefault(place, []).append(getattr(point, field))
    return {
        method: [(place, median(gains)) for place, gains in sorted(by_place.items())]
        for method, by_place in found.items()
    }


def measure_point(
    count: int,
    size: int,
    draw: int,
    methods: Sequence[str],
    search_seconds: float,
    run_seconds: float,
    say: Say,
) -> list[Point]:
    """Plan and run a workload with some methods.

    What counts is events per second, so every plan gets as much of the stream as it is expected to handle in
    `run_seconds`: a fast one gets more, as the time should be spent on events and not on starting. All
    plans run on the shortest stream as well, and must find the same matches there.
    """
    text = stock_queries(count, size, WINDOW, density=DENSITY, seed=draw)
    known = stock_statistics(LONGEST_STREAM)
    arena = Arena(text, SCHEMA, known, stock_events(LONGEST_STREAM))
    plans, lengths = {}, {}
    for name in methods:
        settings = replace(METHODS[name], statistics=known, search_seconds=search_seconds)
        plans[name] = arena.plan(settings)
        work = expected_nanoseconds(plans[name]) + emitting(plans[name])
        lengths[name] = stream_seconds(work, run_seconds)
    n_rows = {name: round(arena.rows.num_rows * length / LONGEST_STREAM) for name, length in lengths.items()}
    shortest = min(n_rows.values())
    checked = {name: arena.run(plan, shortest) for name, plan in plans.items()}
    check_matches(checked)
    runs = {name: arena.run(plan, n_rows[name]) for name, plan in plans.items()}
    rate = arena.events.num_rows / LONGEST_STREAM
    speeds = {name: rate * lengths[name] / run.seconds for name, run in runs.items()}
    points = [
        Point(
            count,
            size,
            draw,
            name,
            cost=plan.cost,
            cost_gain=plans["trivial"].cost / plan.cost,
            stream_seconds=lengths[name],
            run_seconds=runs[name].seconds,
            events_per_second=speeds[name],
            run_gain=speeds[name] / speeds["trivial"],
        )
        for name, plan in plans.items()
    ]
    say(f"scale, {count} patterns of {size}, draw {draw}: {_shown(points)}")
    return points


def emitting(chosen: Optimized) -> float:
    """Return the nanoseconds that it takes to emit the matches of a second, roughly."""
    roots = [branch.node for output in chosen.plan.outputs for branch in output.branches]
    return MATCH_NANOSECONDS * sum(chosen.expected.get(node, 0.0) for node in roots)


def stream_seconds(nanoseconds_per_second: float, time_box: float) -> float:
    """Return how much of the stream a plan is expected to handle in a time, within limits.

    >>> stream_seconds(2e8, time_box=10.0), stream_seconds(1e3, time_box=10.0)
    (50.0, 3000.0)
    """
    return min(LONGEST_STREAM, max(SHORTEST_STREAM, time_box * 1e9 / nanoseconds_per_second))


def _shown(points: Sequence[Point]) -> str:
    gains = ", ".join(f"{point.method} {point.run_gain:.1f}" for point in points[1:])
    return f"trivial {points[0].run_seconds:.1f} s for {points[0].stream_seconds:.0f} s; gains: {gains}"
