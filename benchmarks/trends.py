"""Trend queries on rides: shared, not shared, in GRETA's quadratic way, and by building the trends."""

import statistics
import time
from collections.abc import Callable, Sequence

import numpy as np
from measures import Measure
from numba import njit
from result_tables import Row, report_table
from rides import SCHEMA, alike_queries, diverse_queries, rides, templates_of

from weft.kernels.trends.benefit import best_merged
from weft.language.read import read_queries
from weft.optimizer.pipeline import optimize
from weft.plan.template import Template
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program
from weft.runtime.trends.aggregate import Sharing, aggregate_set, aggregate_workload
from weft.runtime.trends.numbers import Rounded

Say = Callable[[str], None]

DISTRICTS, BURST = 4, 60.0
RATES = (10_000, 20_000, 30_000, 40_000)  # events per minute
N_ALIKE, N_SCANNED = 50, 2  # queries, and how many of them are run in the quadratic way, on one district
DIVERSE_COUNTS, DIVERSE_RATES, DIVERSE_MINUTES = (20, 50, 100), (2_000, 4_000), 20
TWO_STEP_EVENTS = (24, 40, 56, 72)  # in less than a minute; a quarter of them in each district
BUDGET = Budget(partial_matches=50_000_000, held=50_000_000)


def measure_trends(repeat: int, say: Say) -> list[Measure]:
    """Return what sharing gains for queries that are alike, and for ones that are not."""
    return [*_alike(repeat, say), *_diverse(repeat, say), *_two_steps(say)]


def _timed(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _times(
    templates: Sequence[Template], events: Events, modes: Sequence[Sharing], repeat: int
) -> dict[Sharing, float]:
    """Return the median time of each mode, run by turns; all find the same."""
    rounds: dict[Sharing, list[float]] = {mode: [] for mode in modes}
    expected: list[int | Rounded] = []
    for _ in range(repeat):
        for mode in modes:
            started = time.perf_counter()
            rows, _ = aggregate_workload(templates, events, mode)
            rounds[mode].append(time.perf_counter() - started)
            counts = [count for one in rows for count in one.numbers(0)]
            if expected and not _are_equal(counts, expected):
                raise RuntimeError(f"{mode} finds other trends")
            expected = counts
    return {mode: statistics.median(own) for mode, own in rounds.items()}


def _are_equal(counts: Sequence[int | Rounded], expected: Sequence[int | Rounded]) -> bool:
    """Whether counts are the same: exact ones in all digits, rounded ones in nine."""
    return all(
        one == other if isinstance(one, int) else abs(one.divided_by(other).as_double(0) - 1) < 1e-9
        for one, other in zip(counts, expected, strict=True)
    )


def _alike(repeat: int, say: Say) -> list[Measure]:
    templates = templates_of(alike_queries(N_ALIKE, "1 minute", "1 minute"))
    warm = rides(2_000, 1, districts=DISTRICTS, burst=BURST)
    _times(templates, warm, ("dynamic", "none"), 1)
    aggregate_set(templates[:1], warm, "pairwise")
    rows: list[Row] = []
    for rate in RATES:
        events = rides(rate, 2, districts=DISTRICTS, burst=BURST)
        own = _times(templates, events, ("dynamic", "none"), repeat)
        quadratic = _quadratic_seconds(templates, events)
        rows.append(
            {
                "events per minute": rate,
                "shared, events per second": round(events.n_events / own["dynamic"]),
                "not shared": round(events.n_events / own["none"]),
                "quadratic": round(events.n_events / quadratic, 1),
                "shared / not shared": round(own["none"] / own["dynamic"], 1),
                "shared / quadratic": round(quadratic / own["dynamic"]),
            }
        )
        say(f"trends: {rows[-1]}")
    report_table("trends-alike", rows)
    _, counters = aggregate_workload(templates, events)
    first, last = rows[0], rows[-1]
    return [
        Measure("trends", "40,000 a minute: shared / quadratic", last["shared / quadratic"], at_least=1000),
        Measure("trends", "10,000 a minute: shared / quadratic", first["shared / quadratic"]),
        Measure("trends", "40,000 a minute: shared / not shared", last["shared / not shared"], at_least=10),
        Measure("trends", "10,000 a minute: shared / not shared", first["shared / not shared"]),
        Measure("trends", "numbers kept per query and window of a group", counters.numbers / N_ALIKE),
        Measure("trends", "events of such a window", events.n_events / 2 / DISTRICTS),
        Measure("trends", "bytes per query and window of a group", counters.bytes / N_ALIKE, "B"),
    ]


def _quadratic_seconds(templates: Sequence[Template], events: Events) -> float:
    """Return how long looking at all pairs of events takes, from some queries on one district.

    Queries and districts have nothing to do with each other here, so that is multiplied.
    """
    one = events.take(np.flatnonzero(events.columns["district"].values == 0))
    started = time.perf_counter()
    for template in templates[:N_SCANNED]:
        aggregate_set([template], one, "pairwise")
    return (time.perf_counter() - started) * DISTRICTS * len(templates) / N_SCANNED


def _diverse(repeat: int, say: Say) -> list[Measure]:
    rows: list[Row] = []
    for count in DIVERSE_COUNTS:
        templates = templates_of(diverse_queries(count))
        _times(templates, rides(500, 20, districts=DISTRICTS, burst=BURST), ("dynamic", "static", "none"), 1)
        for rate in DIVERSE_RATES:
            events = rides(rate, DIVERSE_MINUTES, districts=DISTRICTS, burst=BURST)
            own = _times(templates, events, ("dynamic", "static", "none"), repeat)
            _, dynamic = aggregate_workload(templates, events, "dynamic")
            _, static = aggregate_workload(templates, events, "static")
            rows.append(
                {
                    "queries": count,
                    "events per minute": rate,
                    "dynamic, events per second": round(events.n_events / own["dynamic"]),
                    "dynamic / always share": round(own["static"] / own["dynamic"], 2),
                    "dynamic / never share": round(own["none"] / own["dynamic"], 2),
                    "snapshots at event level, dynamic": dynamic.event_snapshots,
                    "always share": static.event_snapshots,
                    "bursts": dynamic.bursts,
                    "graphlets": dynamic.graphlets,
                    "deciding, percent of the time": round(
                        100 * _deciding(dynamic.bursts, count) / own["dynamic"], 2
                    ),
                }
            )
            say(f"trends: {rows[-1]}")
    report_table("trends-diverse", rows)
    gains = [
        Measure(
            "trends",
            f"{row['queries']} queries, {row['events per minute']:,} a minute: dynamic / {other} share",
            row[f"dynamic / {other} share"],
            at_least=1.2,
        )
        for row in rows
        for other in ("always", "never")
    ]
    deciding = max(row["deciding, percent of the time"] for row in rows)
    return [*gains, Measure("trends", "deciding, percent of the time", deciding, at_most=1)]


def _deciding(n_bursts: int, n_queries: int) -> float:
    """Return the time of so many decisions, on bursts of the usual length that five classes divide."""
    rng = np.random.default_rng(1)
    matched = rng.integers(1, 32, 60).astype(np.uint64)
    weights = np.zeros(64, np.int64)
    weights[:5] = n_queries // 5
    _decide(matched, weights, 1)
    return _timed(lambda: _decide(matched, weights, n_bursts))


@njit
def _decide(matched: Array, weights: Array, times: int) -> int:
    found = np.uint64(0)
    for _ in range(times):
        found |= best_merged(matched, 0, matched.size, np.uint64(31), weights)
    return found


def _two_steps(say: Say) -> list[Measure]:
    """Compare with building the trends by a match query, and counting them."""
    pattern = "PATTERN Travel+ t[] WHERE [district] WITHIN 1 minute"
    trend = templates_of(f"QUERY q {pattern} RETURN COUNT(*)")
    (match,) = read_queries(f"QUERY q {pattern}", SCHEMA)
    program = Program(optimize([match], SCHEMA))
    rows: list[Row] = []
    for n_events in TWO_STEP_EVENTS:
        events = rides(n_events, 0.99, districts=DISTRICTS, burst=BURST)
        rounds = []
        for _ in range(2):  # the first warms up
            started = time.perf_counter()
            built = sum(found.table.n_rows for found in Executor(program, BUDGET).run(events))
            middle = time.perf_counter()
            (found,), _ = aggregate_workload(trend, events)
            rounds.append((middle - started, time.perf_counter() - middle))
        if built != sum(found.numbers(0)):
            raise RuntimeError("building the trends finds others")
        two_steps, online = rounds[1]
        rows.append({"events": n_events, "trends": built, "two steps / online": round(two_steps / online, 1)})
        say(f"trends: {rows[-1]}")
    report_table("trends-two-steps", rows)
    last = rows[-1]
    return [Measure("trends", f"{last['trends']:,} trends: building them / not", last["two steps / online"])]
