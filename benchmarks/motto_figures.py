"""MOTTO's planner, exact beside annealing alone, and its plans on one and two cores, through the public path.

Figures 14(a) and 14(b) in section VII-C of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex
Event Processing in SAP ESP. ICDE 2017, on the drawn stocks of `rewriting_streams.py`, all queries basic. Weft
bounds what it has not searched and anneals when time ends; annealing alone, as in the paper, is put in its
place here.
"""

import os
import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from unittest.mock import patch

from contest import Say
from mcep_figures import cut, outcome_rows
from measures import Measure
from plots import Panel, plot_panels
from public_race import BASELINE, Outcome, Workload, race
from result_tables import Row, report_table
from rewriting_sensitivity import COUNTS
from rewriting_streams import SCHEMA, STOCKS, scenario_events
from rewriting_workloads import mixed_workload, workload_text

import weft
import weft.optimizer.rewriting.rewrite_plan
from weft.optimizer.rewriting.selection import VertexSelection, anneal
from weft.optimizer.rewriting.steiner_instance import Weight, instance_of
from weft.optimizer.rewriting.steiner_tree import SteinerTree
from weft.optimizer.sharing.limits import Limit

SECTION = "motto-figures"
EXACT, ANNEALED = "exact", "annealing"
ANNEALING_SECONDS = 2.0  # the paper's 20 s; ours is the time of Planning(search_seconds=...)
CORE_PLANS = ("trivial", "lcse", "motto", "auto")
CORE_COUNT, CORE_TRADES = 100, 4  # queries, and times as many trades as for planning: the paper's 2 million
CORES = (1, 2)


def annealed_tree(
    into: Mapping[int, Mapping[int, Weight]],
    terminals: Iterable[int],
    limit: Limit,
    *,
    root: int = 0,
    seed: int = 0,
) -> SteinerTree:
    """Return a Steiner tree from annealing alone, without reductions, bounds or branches.

    >>> edges = {1: {0: 4}, 2: {0: 3, 1: 1}, 3: {0: 3, 1: 1}, 4: {0: 3, 1: 2}}
    >>> annealed_tree(edges, [2, 3, 4], Limit(steps=1000)).cost
    8
    """
    edges = {vertex: dict(weights) for vertex, weights in into.items()}
    wanted = set(terminals)
    instance = instance_of(edges, sorted(wanted), edges, root)
    chosen = wanted | anneal(VertexSelection(instance), limit, random.Random(seed))
    sources: dict[int, int] = {}
    for vertex in sorted(chosen):
        sources[vertex] = min((w, one) for one, w in edges[vertex].items() if one in chosen or one == root)[1]
    while idle := set(sources) - wanted - set(sources.values()):
        for vertex in idle:
            del sources[vertex]
    cost = sum(edges[vertex][source] for vertex, source in sources.items())
    return SteinerTree(sources, cost, 0)


def solver(method: str) -> AbstractContextManager[object]:
    """Return in what a method plans: the planner's own search, or annealing in its place."""
    if method != ANNEALED:
        return nullcontext()
    return patch.object(weft.optimizer.rewriting.rewrite_plan, "steiner_tree", annealed_tree)


@contextmanager
def on_cores(n_cores: int) -> Iterator[None]:
    """Let this thread, and those that it starts, use so many cores: the local host has as many threads."""
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(own)[:n_cores])
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def measure_motto(
    n_trades: int, exact_seconds: float, run_seconds: float, rounds: int, say: Say
) -> list[Measure]:
    """Measure both figures; print two tables and draw them."""
    planned = {
        str(count): _planned(count, n_trades, exact_seconds, run_seconds, rounds, say) for count in COUNTS
    }
    cores, core_rows = _cores(n_trades, rounds, say)
    report_table("motto-planning", [row for rows in planned.values() for row in rows])
    report_table("motto-cores", core_rows)
    methods = (EXACT, ANNEALED, "auto")
    places = tuple(planned)

    def panel(title: str, what: str, label: str) -> Panel:
        lines = {
            method: [float(row[what]) for rows in planned.values() for row in rows if row["method"] == method]
            for method in methods
        }
        return Panel(title, "queries", label, places, lines)

    speeds = {plan: [cores[plan, n] for n in CORES] for plan in CORE_PLANS}
    say(
        plot_panels(
            SECTION,
            [
                panel("(a) throughput", "without planning", "normalized throughput"),
                panel("(a) planning", "planning", "processor seconds of planning"),
                panel("(a) expected cost", "expected cost", "cost of trivial / this"),
                Panel("(b) cores", "threads", "events per second", tuple(map(str, CORES)), speeds),
            ],
        )
    )
    found = [
        Measure(SECTION, f"{row['queries']} queries: {row['method']}, {what}", row[what])
        for rows in planned.values()
        for row in rows
        if row["method"] in (EXACT, ANNEALED)
        for what in ("planning", "without planning", "expected cost")
    ]
    for plan, (one, two) in speeds.items():
        found.append(Measure(SECTION, f"{plan}: two threads over one, by the clock", two / one, "times"))
    return found


def _planned(
    count: int, n_trades: int, exact_seconds: float, run_seconds: float, rounds: int, say: Say
) -> list[Row]:
    workload = cut(_workload(count, n_trades), run_seconds)
    methods = {
        BASELINE: weft.Planning(plan=BASELINE),
        EXACT: weft.Planning(plan="motto", search_seconds=exact_seconds),
        ANNEALED: weft.Planning(plan="motto", search_seconds=ANNEALING_SECONDS),
        "auto": weft.Planning(search_seconds=ANNEALING_SECONDS),
    }
    found = race(workload, methods, rounds, say, f"{SECTION}, {count} queries", within=solver)
    return outcome_rows({"queries": str(count)}, workload, found)


def _cores(n_trades: int, rounds: int, say: Say) -> tuple[dict[tuple[str, int], float], list[Row]]:
    """Return the events per second of each plan on so many cores, by the clock, and a table."""
    available = len(os.sched_getaffinity(0))
    workload = _workload(CORE_COUNT, CORE_TRADES * n_trades)
    speeds: dict[tuple[str, int], float] = {}
    rows: list[Row] = []
    plans = {plan: weft.Planning(plan=plan, search_seconds=ANNEALING_SECONDS) for plan in CORE_PLANS}
    methods = {f"{plan}, {n}": own for plan, own in plans.items() for n in CORES}

    def within(method: str) -> AbstractContextManager[object]:
        return on_cores(int(method.split(", ")[1]))

    found: dict[str, Outcome] = race(workload, methods, rounds, say, f"{SECTION}, cores", within)
    for plan in CORE_PLANS:
        for n_cores in CORES:
            own = found[f"{plan}, {n_cores}"]
            clock = min(run.clock for run in own.runs)
            speeds[plan, n_cores] = workload.events.num_rows / clock
            rows.append(
                {
                    "plan": plan,
                    "threads": min(n_cores, available),
                    "events": workload.events.num_rows,
                    "matches": sum(own.matches.values()),
                    "running, by the clock": round(clock, 3),
                    "running": round(own.running, 3),
                    "events per second": round(speeds[plan, n_cores]),
                    "over one thread": round(speeds[plan, n_cores] / speeds[plan, CORES[0]], 2),
                }
            )
    return speeds, rows


def _workload(count: int, n_trades: int) -> Workload:
    queries = mixed_workload(STOCKS, 1.0, count)
    return Workload(workload_text(queries), SCHEMA, scenario_events(STOCKS, n_trades))
