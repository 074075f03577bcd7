"""Windows of trend queries: many that overlap, as users run them, and what closing one takes on a stream."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import numpy as np
from measures import Measure
from result_tables import Row, report_table
from rides import MINUTE, ride_table, rides, templates_of

import weft
from weft.runtime.budget import Budget
from weft.runtime.stages.shard_executor import Arrivals
from weft.runtime.state.segments import with_arrival
from weft.runtime.trends.aggregate import aggregate_workload
from weft.runtime.trends.executor import TrendExecutor, TrendPlan

Say = Callable[[str], None]

DISTRICTS, BURST = 4, 60.0
OVERLAPS = (1, 2, 5, 10, 30, 60)  # windows that an event is in
PER_MINUTE, MINUTES = 50_000, 10
LARGE_WINDOW, N_STEPS = 1_210_000, 22  # events of a window that closes, and the steps in which they come
QUERY = (
    "QUERY trips PATTERN SEQ(Request r, Travel+ t[], Pickup p) WHERE [district] "
    "WITHIN {length} SLIDE {slide} RETURN COUNT(*) AS trips, SUM(t.speed) AS speed"
)


def measure_windows(repeat: int, say: Say) -> list[Measure]:
    """Return how throughput depends on the overlap of windows, and what it takes to close one."""
    return [*_overlaps(repeat, say), *_closing(say)]


def _overlaps(repeat: int, say: Say) -> list[Measure]:
    table = ride_table(PER_MINUTE, MINUTES, districts=DISTRICTS, burst=BURST)
    events = rides(PER_MINUTE, MINUTES, districts=DISTRICTS, burst=BURST)
    rounds: dict[int, list[tuple[float, float]]] = {overlap: [] for overlap in OVERLAPS}
    for number in range(repeat + 1):
        for overlap in OVERLAPS:
            text = QUERY.format(length="10 minutes", slide=f"{600 // overlap} seconds")
            own = (
                _seconds(lambda text=text: _detect(table, text)),
                _seconds(lambda text=text: aggregate_workload(templates_of(text), events)),
            )
            if number:
                rounds[overlap].append(own)
    rows: list[Row] = []
    for overlap, own in rounds.items():
        public, engine = (median(times) for times in zip(*own, strict=True))
        rows.append(
            {
                "windows of an event": overlap,
                "weft.detect, events per second": round(table.num_rows / public),
                "engine": round(table.num_rows / engine),
            }
        )
        say(f"trend-windows: {rows[-1]}")
    report_table("trend-windows", rows)
    first, last = rows[0], rows[-1]
    return [
        Measure(
            "trend-windows", f"{OVERLAPS[-1]} windows over 1: {name}", last[name] / first[name], at_least=0.8
        )
        for name in ("weft.detect, events per second", "engine")
    ]


def _detect(table: object, text: str) -> None:
    weft.detect(table, text, time="ts", type="type", id="id", notices=False)  # type: ignore[arg-type]


def _seconds(run: Callable[[], object]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started


def _closing(say: Say) -> list[Measure]:
    found = []
    for slide in ("60 minutes", "1 minute"):
        steps, closing, n_bytes = _stream(QUERY.format(length="60 minutes", slide=slide))
        say(f"trend-windows, sliding by {slide}: {LARGE_WINDOW / sum(steps):,.0f} events/s, {closing:.4f} s")
        section = f"trend-windows, 60 minutes sliding by {slide}"
        found += [
            Measure(section, "events per second on a shard of a stream", LARGE_WINDOW / sum(steps)),
            Measure(section, f"closing a window of {LARGE_WINDOW:,} events", closing, "s", at_most=0.05),
            Measure(section, "bytes kept for the query", n_bytes, "B"),
        ]
    return found


def _stream(text: str) -> tuple[Sequence[float], float, int]:
    """Return the seconds of each step, of the one that closes the window, and the bytes kept before it."""
    per_minute = LARGE_WINDOW // 55
    events = with_arrival(rides(per_minute, 55, districts=DISTRICTS, burst=BURST), 1)
    executor = TrendExecutor(TrendPlan(tuple(templates_of(text))))
    executor.begin(Budget(held=10**9), {})
    cuts = np.linspace(0, events.n_events, N_STEPS + 1).astype(int)
    steps = []
    for start, stop in zip(cuts, cuts[1:], strict=False):
        arrived = Arrivals(events.take(slice(start, stop)))
        frontier = int(arrived.events.times[-1])
        steps.append(
            _seconds(lambda arrived=arrived, frontier=frontier: list(executor.step(arrived, frontier)))
        )
    n_bytes = sum(executor.holdings.bytes.values())
    nothing = Arrivals(events.take(slice(0, 0)))
    return steps, _seconds(lambda: list(executor.step(nothing, 60 * MINUTE))), n_bytes
