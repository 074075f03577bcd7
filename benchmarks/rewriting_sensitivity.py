"""What sharing gains with the number of queries, their windows, and how deep they are nested.

The experiments of figure 14 in section VII-C of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for
Complex Event Processing in SAP ESP. ICDE 2017, on the stock stream: (a) with the planner's time, (c) and (d).
Its (b) is about cores, and this runs on one.
"""

from collections.abc import Mapping

from contest import Say
from measures import Measure
from plots import Panel, plot_panels
from result_tables import Row, report_table
from rewriting import BASELINE, Point, arena_of, measure_point, plan_with, point_rows
from rewriting_planning import exact_planning
from rewriting_streams import STOCKS
from rewriting_workloads import (
    N_QUERIES,
    SharingQuery,
    counts_by_type,
    mixed_workload,
    sharing_queries,
    with_windows,
)

from weft.optimizer.planning import Strategy

METHODS: tuple[Strategy, ...] = ("trivial", "lcse", "motto", "mcep", "auto")
EXACT = "motto"  # the strategy that ends when it has found the optimum
COUNTS = (10, 20, 30, 50, 75, 100)
EXACT_COUNT = 50  # queries that are to be planned exactly, or with a known gap, in the time given
LONGEST_WINDOW = 12  # seconds
WINDOWS = {"4:1": (12, 3), "2:1": (12, 6), "1:1": (12, 12), "1:2": (6, 12), "1:4": (3, 12)}
NESTING = (2, 4, 6, 8)
LONGEST_RUN = 5.0  # seconds of the trivial plan; where it would take longer, the stream is shorter
PROBE = 20  # a run on this part of the stream tells how long the whole would take


def measure_sensitivity(
    n_trades: int, search_seconds: float, exact_seconds: float, repeat: int, say: Say
) -> list[Measure]:
    """Measure all points; print four tables and draw figure 14."""
    seconds = dict.fromkeys(METHODS, search_seconds)
    exact = {method: exact_seconds if method == EXACT else search_seconds for method in METHODS}

    def measured(
        what: str, methods: Mapping[Strategy, float], workloads: Mapping[str, tuple[SharingQuery, ...]]
    ) -> Points:
        points: dict[str, Point] = {}
        rows: list[Row] = []
        for place, queries in workloads.items():
            arena = arena_of(STOCKS, queries, affordable_trades(queries, n_trades))
            points[place] = measure_point(arena, methods, repeat, say, f"{what} {place},")
            rows += point_rows({what: place}, points[place])
        report_table(f"rewriting-{what}", rows)
        return points

    counted = measured("queries", exact, {str(count): mixed_workload(STOCKS, 1.0, count) for count in COUNTS})
    basic = sharing_queries(STOCKS, counts_by_type(N_QUERIES, 1.0), window=LONGEST_WINDOW)
    sized = measured(
        "windows",
        seconds,
        {ratio: with_windows(basic, *own) for ratio, own in WINDOWS.items()},
    )
    nested = measured(
        "nesting",
        seconds,
        {str(level): sharing_queries(STOCKS, {7: N_QUERIES}, nesting=level) for level in NESTING},
    )
    panels = [
        _throughputs("(a) number of queries", "queries", counted),
        _planning("(a) planning", "queries", counted),
        _throughputs("(c) windows", "window of the sources : of the others", sized),
        _throughputs("(d) nesting", "levels", nested),
    ]
    say(plot_panels("rewriting-sensitivity", panels))
    return [
        *_planner(n_trades, exact_seconds, say),
        *_gains("queries", counted),
        *_gains("windows", sized),
        *_gains("levels", nested),
    ]


Points = Mapping[str, Point]


def affordable_trades(queries: tuple[SharingQuery, ...], n_trades: int) -> int:
    """Return as many trades as the trivial plan handles in a few seconds, and no more than given."""
    probe = arena_of(STOCKS, queries, n_trades // PROBE)
    plan, _ = plan_with(probe, BASELINE, 0.0)
    seconds = PROBE * min(probe.run(plan).seconds for _ in range(2))  # the first may compile kernels
    return n_trades if seconds <= LONGEST_RUN else int(n_trades * LONGEST_RUN / seconds)


def _planner(n_trades: int, seconds: float, say: Say) -> list[Measure]:
    """Return how long MOTTO's planner takes by itself, and how far from the optimum its plans are at most."""
    rows: list[Row] = []
    found: list[Measure] = []
    for count in sorted({*COUNTS, EXACT_COUNT}):
        own = exact_planning(arena_of(STOCKS, mixed_workload(STOCKS, 1.0, count), n_trades), seconds)
        say(f"planning {count} queries: {own}")
        rows.append(
            {
                "queries": count,
                "candidates": own.n_candidates,
                "of these computed": own.n_chosen,
                "seconds": round(own.seconds, 2),
                "optimal": "yes" if own.is_optimal else "not known",
                "gap at most, percent": round(100 * own.gap, 2),
            }
        )
        most = seconds if count == EXACT_COUNT else None
        kind = "exact" if own.is_optimal else f"gap of at most {own.gap:.2%}"
        if not own.is_complete:
            kind += " among the sub-queries looked at"
        what = f"{count} queries: planning, {kind}"
        found.append(Measure("rewriting-sensitivity", what, own.seconds, "s", at_most=most))
    report_table("rewriting-planning", rows)
    return found


def _gains(what: str, points: Points) -> list[Measure]:
    return [
        Measure("rewriting-sensitivity", f"{place} {what}: {method} / trivial", point.throughput(method))
        for place, point in points.items()
        for method in METHODS[1:]
    ]


def _throughputs(title: str, places: str, points: Points) -> Panel:
    lines = {method: [point.throughput(method) for point in points.values()] for method in METHODS}
    return Panel(title, places, "normalized throughput", tuple(points), lines)


def _planning(title: str, places: str, points: Points) -> Panel:
    lines = {method: [point.planning[method] for point in points.values()] for method in METHODS}
    return Panel(title, places, "seconds of planning", tuple(points), lines)
