"""What placements of queries send, in random networks: figures 5 to 7 of the paper on MuSE graphs.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
section 7.2. The transmission ratio is the cost of a placement over that of centralized evaluation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
from contest import Say
from measures import Measure
from placement_networks import LARGE, Model, random_problem
from plots import Panel, plot_panels
from result_tables import Row, report_table

from weft.placement.local_search import search_draft
from weft.placement.muse_graph import central_cost
from weft.placement.pipeline import place
from weft_lab.placement.simulation import simulate

METHODS = ("single-sink", "amuse-star", "amuse", "best")
SHOWN = {"single-sink": "single sink", "amuse-star": "aMuSE*", "amuse": "aMuSE", "best": "best"}
MODEL = Model()
MODELS = (MODEL, LARGE)
RATIOS = (0.2, 0.4, 0.6, 0.8, 1.0)
SIZES = (10, 20, 40, 60, 100)
SKEWS = (1.1, 1.3, 1.5, 1.7, 2.0)
DRAWN = 1.5  # the skew of rates that are drawn for every network
SELECTIVITIES = (0.01, 0.05, 0.1, 0.15, 0.2)  # the least of all pairs
COUNTS = (2, 5, 10, 15, 20)
LARGEST = (1_000, 2_000, 5_000)  # sites of networks that are only simulated
SITES_PER_TYPE = 20  # in those
N_SKEWED = 15  # networks with the highest skew
LARGE_NETWORKS = 1  # of the experiments on scalability, at most
SMALL_RATIO, LARGE_RATIO, LEAST_GAIN, MOST_SECONDS = 0.01, 0.1, 1_000, 10.0  # targets


@dataclass(frozen=True)
class Point:
    """The transmission ratios and the seconds of each method on the networks of one kind."""

    ratios: Mapping[str, tuple[float, ...]]
    seconds: Mapping[str, tuple[float, ...]]

    def ratio(self, method: str) -> float:
        """Return the median."""
        return median(self.ratios[method])


Points = Mapping[str, Point]


def measure_placement(n_networks: int, search_seconds: float, say: Say) -> list[Measure]:
    """Measure all points; print a table for each experiment and draw the figures."""

    def sweep(what: str, models: Mapping[float, Model], n_drawn: int) -> Points:
        points = {}
        for value, model in models.items():
            point = points[f"{value:g}"] = _point(model, n_drawn, search_seconds)
            say(f"{what} {value:g}: " + ", ".join(f"{m} {point.ratio(m):.2%}" for m in METHODS))
        rows = [row for place, point in points.items() for row in _rows(what, place, point)]
        report_table(f"placement-{what}", rows)
        return points

    def both(what: str, small: Mapping[float, Model], large: Mapping[float, Model]) -> tuple[Points, Points]:
        ends = {value: large[value] for value in (min(large), max(large))}
        own = sweep(what, small, n_networks)
        return own, sweep(f"{what}-large", ends, min(n_networks, LARGE_NETWORKS))

    ratios = both("ratio", *({v: replace(m, event_node_ratio=v) for v in RATIOS} for m in MODELS))
    sweep("ratio-drawn", {v: replace(MODEL, event_node_ratio=v, skew=DRAWN) for v in RATIOS}, n_networks)
    sizes = both("sites", *({v: replace(m, n_sites=v) for v in SIZES} for m in MODELS))
    skews = both("skew", *({v: replace(m, skew=v) for v in SKEWS} for m in MODELS))
    selective = both(
        "selectivity", *({v: replace(m, least_selectivity=v) for v in SELECTIVITIES} for m in MODELS)
    )
    counts = sweep("queries", {v: replace(MODEL, n_queries=v) for v in COUNTS}, n_networks)
    axis = "transmission ratio"
    panels = [
        *_panels("(5) event-node ratio", "event-node ratio", axis, ratios),
        *_panels("(5) size of the network", "sites", axis, sizes),
        *_panels("(6) skew of the rates", "parameter of Zipf's law", axis, skews),
        *_panels("(7) selectivity", "least selectivity of a pair", axis, selective),
        _panel("(7c) size of the workload", "queries", axis, counts, Point.ratio),
        _panel("(7d) construction", "queries", "seconds", counts, _seconds),
    ]
    say(plot_panels("placement", panels))
    return [
        *_targets(ratios[0]),
        *_most_skewed(search_seconds),
        *_times(ratios[1]),
        *_simulated(say),
    ]


def _point(model: Model, n_networks: int, search_seconds: float) -> Point:
    ratios: dict[str, list[float]] = {method: [] for method in METHODS}
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    for seed in range(n_networks):
        problem = random_problem(model, seed)
        for method in METHODS:
            placed = place(problem.network, problem.queries, method, seconds=search_seconds)
            ratios[method].append(placed.ratio)
            seconds[method].append(placed.seconds)
    return Point(
        {method: tuple(own) for method, own in ratios.items()},
        {method: tuple(own) for method, own in seconds.items()},
    )


def _rows(what: str, place: str, point: Point) -> list[Row]:
    return [
        {
            what: place,
            "method": SHOWN[method],
            "transmission ratio, median %": 100 * point.ratio(method),
            "least %": 100 * min(point.ratios[method]),
            "quarter %": 100 * float(np.quantile(point.ratios[method], 0.25)),
            "three quarters %": 100 * float(np.quantile(point.ratios[method], 0.75)),
            "most %": 100 * max(point.ratios[method]),
            "seconds, median": _seconds(point, method),
        }
        for method in METHODS
    ]


def _panels(title: str, places: str, values: str, both: tuple[Points, Points]) -> list[Panel]:
    sizes = (f"{MODEL.n_sites} sites", f"{LARGE.n_sites} sites, {LARGE.n_queries} queries")
    return [
        _panel(f"{title}, {size}" if places != "sites" else title, places, values, points, Point.ratio)
        for size, points in zip(sizes, both, strict=True)
    ]


def _panel(
    title: str, places: str, values: str, points: Points, value_of: Callable[[Point, str], float]
) -> Panel:
    lines = {SHOWN[method]: [value_of(point, method) for point in points.values()] for method in METHODS}
    return Panel(title, places, values, tuple(points), lines, is_logarithmic=True)


def _seconds(point: Point, method: str) -> float:
    return median(point.seconds[method])


def _targets(ratios: Points) -> list[Measure]:
    found = []
    for value, most in ((RATIOS[0], SMALL_RATIO), (RATIOS[-1], LARGE_RATIO)):
        for method in METHODS:
            what = f"event-node ratio {value:g}: transmission ratio, median, {SHOWN[method]}"
            target = most if method == "best" else None
            found.append(Measure("placement", what, ratios[f"{value:g}"].ratio(method), at_most=target))
    return found


def _most_skewed(search_seconds: float) -> list[Measure]:
    """Compare single sinks with the best placements, and with a cost that no placement is below.

    Where that is too high, no placement is so many times below a single sink.
    """
    model = replace(MODEL, skew=SKEWS[0])
    rows: list[Row] = []
    for seed in range(N_SKEWED):
        problem = random_problem(model, seed)
        single = place(problem.network, problem.queries, "single-sink")
        best = place(problem.network, problem.queries, "best", seconds=search_seconds)
        rows.append(
            {
                "network": seed,
                "single sink, %": 100 * single.ratio,
                "best, %": 100 * best.ratio,
                "single sink / best": single.cost / max(best.cost, 1e-300),
                "single sink / lower bound": single.cost / max(best.lower_bound, 1e-300),
            }
        )
    report_table("placement-most-skewed", rows)
    gains = [float(row["single sink / best"]) for row in rows]
    limits = [float(row["single sink / lower bound"]) for row in rows]
    possible = [gain for gain, limit in zip(gains, limits, strict=True) if limit >= LEAST_GAIN]
    what = f"skew {SKEWS[0]:g}, {N_SKEWED} networks: single sink / best"
    found = [
        Measure("placement", f"{what}, most", max(gains), at_least=LEAST_GAIN),
        Measure("placement", f"{what}, median", median(gains)),
    ]
    if possible:
        still = f"{what}, median of the {len(possible)} where it may be {LEAST_GAIN:,}"
        found.append(Measure("placement", still, median(possible), at_least=LEAST_GAIN))
    return found


def _times(large: Points) -> list[Measure]:
    what = f"{LARGE.n_queries} queries of {LARGE.n_items} items on {LARGE.n_sites} sites"
    slowest = {m: max(second for point in large.values() for second in point.seconds[m]) for m in METHODS}
    return [
        Measure(
            "placement",
            f"{what}: slowest construction, {SHOWN[method]}",
            seconds,
            "s",
            at_most=MOST_SECONDS if method == "best" else None,
        )
        for method, seconds in slowest.items()
    ]


def _simulated(say: Say) -> list[Measure]:
    """Place queries in networks of thousands of sites, and compare what is predicted with what is drawn."""
    rows: list[Row] = []
    found = []
    for n_sites in LARGEST:
        problem = random_problem(
            replace(MODEL, n_sites=n_sites, event_node_ratio=SITES_PER_TYPE / n_sites), 0
        )
        draft = search_draft(problem.network, problem.queries, steps=0)
        simulated = simulate(draft)
        off = abs(float(simulated.drawn.mean()) - simulated.rows) / max(simulated.error, 1e-300)
        rows.append(
            {
                "sites": n_sites,
                "transmission ratio, %": 100 * draft.cost / central_cost(problem.network, problem.queries),
                "streams": simulated.n_channels,
                "rows predicted": simulated.rows,
                "rows drawn, mean": float(simulated.drawn.mean()),
                "standard error": simulated.error,
                "bytes predicted": simulated.bytes,
                "most rows at a site": float(simulated.received.max()),
            }
        )
        what = f"{n_sites} sites: rows drawn from rows predicted, in standard errors"
        found.append(Measure("placement", what, off, at_most=4))
    report_table("placement-simulated", rows)
    say("thousands of sites are simulated")
    return found
