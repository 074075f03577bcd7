"""Real traffic: plans that follow the hours of the day against one that was made with the mean of some days.

Every sensor reports all day, but how many reports have enough vehicles for a pattern changes with the hour.
The first days serve to measure statistics, as a user would; the plans run on the days after them.
"""

from dataclasses import replace

from adaptation_workloads import HINDSIGHT, race_shared
from contest import Arena, Say
from estimates import estimated_statistics
from measures import Measure
from result_tables import report_table
from traffic import SCHEMA, traffic_events, traffic_queries, why_not

from weft.adaptation.settings import Adaptation
from weft.cost.measured import Measured
from weft.optimizer.planning import Planning
from weft.runtime.columns.ingest import ingest
from weft.statistics.model import Statistics

N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES = 10, 5, 60
KNOWN_SHARE = 0.25  # of the days, whose events are known before the plan is made
METHODS: dict[str, Adaptation | None] = {
    "static": None,
    "threshold": Adaptation("threshold"),
    "invariants": Adaptation(),
}


def measure_adaptive_traffic(days: float, search_seconds: float, say: Say) -> list[Measure]:
    """Compare plans on the traffic of some days; without the observations, say so."""
    section = "adaptation-traffic"
    reason = why_not()
    if reason is not None:
        return [Measure(section, "the observations", reason)]
    table = traffic_events(days=days)
    text = traffic_queries(N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES, events=table)
    arena = Arena(text, SCHEMA, Statistics(), table)
    events = ingest(arena.rows, arena.layout)
    n_known = int(KNOWN_SHARE * events.n_events)
    known = estimated_statistics(arena.queries, events.take(slice(0, n_known)))
    arena = replace(arena, statistics=known)
    model = Measured().at_rate(known.events_per_second)
    optimized = arena.plan(Planning(plan="auto", statistics=known, cost=model, search_seconds=search_seconds))
    after = events.take(slice(n_known, None))
    runs = race_shared(arena, optimized, after, METHODS, search_seconds, say, section)
    report_table("adaptation_traffic", [run.row(method, runs["static"]) for method, run in runs.items()])
    return [
        Measure(section, "events", runs["static"].n_events),
        Measure(section, "changes of the plan, invariants", runs["invariants"].n_changes),
        *(
            Measure(section, f"invariants / {other}", runs[other].seconds / runs["invariants"].seconds)
            for other in ("static", "threshold", HINDSIGHT)
        ),
    ]
