"""A hundred patterns on real traffic: what ordering and sharing gain when statistics are estimated.

The events tell nothing in advance. Rates and selectivities are measured on them, as Weft does by itself
when it is given none. Arrivals are far from the assumptions of the cost models here: all sensors report at
the same moments, and what they report changes with the hour.
"""

from dataclasses import replace

from contest import Arena, Say, median_ratio, race
from estimates import estimated_statistics
from measures import Measure
from result_tables import report_table
from traffic import SCHEMA, traffic_events, traffic_queries, why_not
from weave100 import BASELINES, MODELS, costs_of, plan_rows, plans_of

from weft.runtime.columns.ingest import ingest
from weft.statistics.model import Statistics

N_PATTERNS, AVERAGE_SIZE = 100, 5
WINDOW_MINUTES = 60


def measure_traffic(days: float, search_seconds: float, repeat: int, say: Say) -> list[Measure]:
    """Compare the plans for the traffic of some days; without the observations, say so."""
    reason = why_not()
    if reason is not None:
        return [Measure("traffic", "the observations", reason)]
    events = traffic_events(days=days)
    text = traffic_queries(N_PATTERNS, AVERAGE_SIZE, WINDOW_MINUTES, events=events)
    say(f"traffic: {events.num_rows:,} events; measuring statistics, searching for {search_seconds:g} s")
    arena = Arena(text, SCHEMA, Statistics(), events)
    arena = replace(arena, statistics=estimated_statistics(arena.queries, ingest(arena.rows, arena.layout)))
    plans = plans_of(arena, search_seconds)
    costs = costs_of(arena, plans)
    runs = race(arena, plans, repeat, say, "traffic")
    report_table("traffic", plan_rows(f"{WINDOW_MINUTES} minutes", costs, runs))
    found = [
        Measure("traffic", "events", events.num_rows),
        Measure("traffic", "matches", sum(runs["trivial"][0].matches.values())),
    ]
    for model in MODELS:
        own, auto = costs[model], f"auto, {model}"
        what = f"{model}: auto / the better of reorder and share"
        found.append(Measure("traffic", what, own[auto] / min(own["reorder"], own["share"])))
        for name in BASELINES:
            ratio = median_ratio(runs[name], runs[auto])
            found.append(Measure("traffic", f"run time: {name} / auto, {model}", ratio))
    return found
