"""The gains of figures 10, 11, 12 and 14 of MCEP through the public path: all counts, in processor time.

Section 6.2 and appendix D of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event Streams.
SIGMOD 2019: throughput over the trivial plan, one parameter varied at a time, on drawn stocks and on real
traffic (`mcep_datasets.py`). SA and TS are the paper's searches by themselves; `auto` is what Weft does by
default.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from contest import Say
from mcep_datasets import Dataset, Point, datasets
from measures import Measure
from plots import Panel, plot_panels
from public_race import BASELINE, Outcome, Workload, affordable, race
from result_tables import Row, report_table
from scale import COUNTS
from traffic import why_not

import weft

OWN = "auto"
PLANS: dict[str, weft.Planning] = {
    "trivial": weft.Planning(plan="trivial"),
    "SH": weft.Planning(plan="share"),
    "RE": weft.Planning(plan="reorder"),
    "SH-RR": weft.Planning(plan="spass"),
    "SH-MDT": weft.Planning(plan="motto"),
    "SA edge": weft.Planning(heuristic="annealing", neighborhood="edge"),
    "SA vertex-4": weft.Planning(heuristic="annealing", neighborhood="vertex", k=4),
    "SA edge, prefixes": weft.Planning(heuristic="annealing", neighborhood="edge", prefix_only=True),
    "TS edge": weft.Planning(heuristic="tabu", neighborhood="edge"),
    "TS vertex-4": weft.Planning(heuristic="tabu", neighborhood="vertex", k=4),
    OWN: weft.Planning(),
}
SEARCHES = ("SA edge", "SA vertex-4", "SA edge, prefixes", "TS edge", "TS vertex-4", OWN)
RIVALS = ("SH", "RE", "SH-RR", "SH-MDT", OWN)
EDGES = ("SA edge", "TS edge", OWN)
MOST_PATTERNS = 300
LIMITS = (0.1, 0.5, 2.0, 8.0)  # seconds of search
DENSITIES = (0.05, 0.15, 0.4)
DIFFERENCES = (0.1, 0.3, 1.0)  # of two rates in a pattern, at most, as a share of the widest


@dataclass(frozen=True)
class Axis:
    """What is varied, the workloads of each dataset along it, and the groups of methods, a panel for each."""

    name: str
    label: str
    points: Callable[[Dataset], Mapping[str, Point]]
    groups: Mapping[str, Sequence[str]]

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys([BASELINE, *(name for group in self.groups.values() for name in group)]))


PATTERNS = Axis(
    "mcep-patterns",
    "patterns",
    lambda _: {str(count): Point(count=count) for count in COUNTS if count <= MOST_PATTERNS},
    {"10": SEARCHES, "12a, e": RIVALS},
)
SIZES = Axis(
    "mcep-sizes",
    "average size of a pattern",
    lambda data: {str(size): Point(size=size) for size in data.sizes},
    {"11a": EDGES, "12b, f": RIVALS},
)
WINDOWS = Axis(
    "mcep-windows",
    "window, seconds of stocks or minutes of traffic",
    lambda data: {f"{window:g}": Point(window=window) for window in data.windows},
    {"11c": EDGES, "12c, g": RIVALS},
)
EVENT_WINDOWS = Axis(
    "mcep-event-windows",
    "window, events",
    lambda data: {str(n): Point(window=n, is_counted=True) for n in data.event_windows},
    {"11d": EDGES, "12d, h": RIVALS},
)
DENSITY = Axis(
    "mcep-density",
    "density of the multi-pattern graph",
    lambda _: {f"{density:g}": Point(density=density) for density in DENSITIES},
    {"14a, b": ("SH", "RE", *EDGES)},
)
RATES = Axis(
    "mcep-rates",
    "largest difference of two rates in a pattern, of the widest",
    lambda _: {f"{share:g}": Point(rate_difference=share) for share in DIFFERENCES},
    {"14c, d": ("SH", "RE", *EDGES)},
)
SEARCH = "mcep-search"
WIDE = 20  # times that the largest gain is the smallest, from which on an axis is logarithmic


@dataclass(frozen=True)
class Effort:
    """Processor seconds that the trivial plan runs for, about; seconds of a search; runs of each plan."""

    run_seconds: float
    search_seconds: float
    rounds: int

    def methods(self, names: Sequence[str]) -> dict[str, weft.Planning]:
        """Return how methods plan; those that end by themselves or know no limit have none to keep."""
        return {name: replace(PLANS[name], search_seconds=self.search_seconds) for name in names}


def measure_axis(axis: Axis, effort: Effort, say: Say) -> list[Measure]:
    """Race the methods at all points of an axis; print a table and draw its figure."""
    rows: list[Row] = []
    for data in datasets().values():
        for place, point in axis.points(data).items():
            workload = cut(data.workload(point), effort.run_seconds)
            name = f"{axis.name}, {data.name}, {place}"
            found = race(workload, effort.methods(axis.methods), effort.rounds, say, name)
            rows += outcome_rows({"dataset": data.name, axis.label: place}, workload, found)
    return finish(axis.name, axis.label, axis.groups, rows, say)


def measure_search(effort: Effort, say: Say) -> list[Measure]:
    """Race the searches with more and more time, on one workload of each dataset: figure 11b."""
    label, rows = "seconds of search", list[Row]()
    for data in datasets().values():
        workload = cut(data.workload(Point()), effort.run_seconds)
        methods = effort.methods([BASELINE])
        methods |= {
            f"{name} {limit:g}": replace(PLANS[name], search_seconds=limit)
            for limit in LIMITS
            for name in EDGES
        }
        found = race(workload, methods, effort.rounds, say, f"{SEARCH}, {data.name}")
        for limit in LIMITS:
            own = {name: found[f"{name} {limit:g}"] for name in EDGES}
            place = {"dataset": data.name, label: f"{limit:g}"}
            rows += outcome_rows(place, workload, {BASELINE: found[BASELINE], **own})
    return finish(SEARCH, label, {"11b": EDGES}, rows, say)


def cut(workload: Workload, seconds: float) -> Workload:
    """Return as much of a workload as the trivial plan handles in so many seconds, about."""
    return replace(workload, events=workload.events.slice(0, affordable(workload, seconds)))


def outcome_rows(place: Row, workload: Workload, found: Mapping[str, Outcome]) -> list[Row]:
    """Return a line for each method: seconds, and gains over the trivial plan."""
    base = found[BASELINE]
    return [
        {
            **place,
            "method": method,
            "events": workload.events.num_rows,
            "matches": sum(own.matches.values()),
            "planning": round(own.planning.processor, 3),
            "planning, by the clock": round(own.planning.clock, 3),
            "running": round(own.running, 3),
            "running, by the clock": round(min(run.clock for run in own.runs), 3),
            "everything": round(base.everything / own.everything, 2),
            "without planning": round(base.running / own.running, 2),
            "expected cost": round(base.cost / own.cost, 2),
        }
        for method, own in found.items()
    ]


def finish(
    name: str, label: str, groups: Mapping[str, Sequence[str]], rows: Sequence[Row], say: Say
) -> list[Measure]:
    """Keep the table, draw a panel for each dataset and group without planning, and return the own gains."""
    report_table(name, rows)
    names = list(dict.fromkeys(str(row["dataset"]) for row in rows))
    panels = [
        _panel(f"{number}: {dataset}{what}", label, [row for row in rows if row["dataset"] == dataset], own)
        for dataset in names
        for number, group in groups.items()
        for what, own in _drawn(group, is_alone=len(groups) == 1)
    ]
    say(plot_panels(name, panels))
    found = [
        Measure(name, f"{row['dataset']}, {row[label]}: trivial / {OWN}, {what}", row[what], "times")
        for row in rows
        if row["method"] == OWN
        for what in ("everything", "without planning", "expected cost")
    ]
    return found + ([] if why_not() is None else [Measure(name, "the observations", why_not() or "")])


def _drawn(group: Sequence[str], *, is_alone: bool) -> list[tuple[str, tuple[Sequence[str], str]]]:
    """Return what is drawn of a group: the gain on the clock and, where there is room, in expected cost."""
    drawn: list[tuple[str, tuple[Sequence[str], str]]] = [("", (group, "without planning"))]
    return [*drawn, (", expected cost", (group, "expected cost"))] if is_alone else drawn


def _panel(title: str, label: str, rows: Sequence[Row], drawn: tuple[Sequence[str], str]) -> Panel:
    methods, what = drawn
    lines = {method: [float(row[what]) for row in rows if row["method"] == method] for method in methods}
    places = tuple(dict.fromkeys(str(row[label]) for row in rows))
    gains = [gain for line in lines.values() for gain in line]
    is_wide = max(gains) > WIDE * min(gains)
    return Panel(title, label, "gain over the trivial plan", places, lines, is_logarithmic=is_wide)
