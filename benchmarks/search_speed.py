"""How long a step of the search takes, and how long it takes to plan thousands of patterns."""

import random
import time

from measures import Measure
from stock_statistics import stock_statistics
from stocks import SCHEMA, stock_queries, stocks_parquet

import weft
from weft.language.read import read_queries
from weft.optimizer.pipeline import choose_plan, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.compiled_annealing import CompiledAnnealing, compiled_annealing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.simulated_annealing import simulated_annealing
from weft.optimizer.weave import Key, Weave

N_PATTERNS, SIZE, WINDOW, DENSITY = 100, 5, 0.6, 0.3
STEPS = {"compiled": 10_000, "in Python": 1_000}  # of a turn
N_TURNS = 4
WARMTH = 0.1
COUNTS = (1_000, 3_000, 10_000)
RUN_SECONDS = 60.0  # of stocks, on which all of them run
MOST_SECONDS = 30.0  # for ten thousand patterns
MOST_MICROSECONDS = 30.0  # for a compiled step


def measure_search_speed(largest_count: int, search_seconds: float) -> list[Measure]:
    """Return the time of a step of either speed, and of planning up to ten times so many patterns."""
    found = [step for way, n_steps in STEPS.items() for step in _steps(way, n_steps)]
    counts = [count for count in COUNTS if count <= 10 * largest_count]
    return [*found, *_plannings(counts, search_seconds), *_runs(counts, search_seconds)]


def _stock_weave() -> Weave:
    """Return a hundred patterns on the loom, after their replies."""
    planning = Planning(statistics=stock_statistics(3_000.0))
    weave = weave_for(SCHEMA, planning)
    for query in read_queries(stock_queries(N_PATTERNS, SIZE, WINDOW, density=DENSITY), SCHEMA):
        weave.add(query, weave.plans.best)
    weave.reply(Limit())
    return weave


def _steps(way: str, n_steps: int) -> list[Measure]:
    """Measure turns of annealing, the first of which meets nothing that is known."""
    found = []
    for k, name in ((2, "an edge"), (4, "a vertex of 4")):
        weave, dice = _stock_weave(), random.Random(1)
        keys = max(weave.components(), key=len)
        neighborhood = Neighborhood(weave.multitree, weave.sharables, weave.plans, keys, k)
        compiled = compiled_annealing(neighborhood, Limit()) if way == "compiled" else None
        _turn(neighborhood, 1, compiled, dice)
        times = [_turn(neighborhood, n_steps, compiled, dice) for _ in range(N_TURNS)]
        target = MOST_MICROSECONDS if compiled is not None and k == 2 else None
        first, later = 1e6 * times[0] / n_steps, 1e6 * min(times) / n_steps
        found += [
            Measure("search_speed", f"step of {name}, {way}, first {n_steps:,}", first, "µs"),
            Measure("search_speed", f"step of {name}, {way}, later", later, "µs", at_most=target),
        ]
    return found


def _turn(
    neighborhood: Neighborhood[Key],
    n_steps: int,
    compiled: CompiledAnnealing[Key] | None,
    dice: random.Random,
) -> float:
    start = time.perf_counter()
    alpha = 0.001 ** (1 / n_steps)
    limit = Limit(steps=n_steps)
    simulated_annealing(neighborhood, limit, dice, compiled=compiled, alpha=alpha, warmth=WARMTH)
    return time.perf_counter() - start


def _runs(counts: list[int], search_seconds: float) -> list[Measure]:
    """Measure all that `weft.detect` does: reading texts, planning, sending plans, running them, matches."""
    planning = weft.Planning(statistics=stock_statistics(3_000.0), search_seconds=search_seconds)
    place, seconds = str(stocks_parquet(RUN_SECONDS)), []
    for count in counts:
        text = stock_queries(count, SIZE, WINDOW, size_spread=0)
        start = time.perf_counter()
        weft.detect(place, text, time="ts", type="type", id="id", planning=planning, notices=False)
        seconds.append(time.perf_counter() - start)
    found = [
        Measure(
            "search_speed",
            f"weft.detect, {count:,} patterns of {SIZE}, {RUN_SECONDS:g} s of stocks",
            own,
            "s",
        )
        for count, own in zip(counts, seconds, strict=True)
    ]
    growth, most = seconds[-1] / seconds[0], counts[-1] / counts[0]
    return [
        *found,
        Measure("search_speed", f"{counts[-1]:,} over {counts[0]:,} patterns", growth, at_most=most),
    ]


def _plannings(counts: list[int], search_seconds: float) -> list[Measure]:
    """Measure from text to the stored plan, with a search of some seconds."""
    found = []
    planning = Planning(statistics=stock_statistics(3_000.0), search_seconds=search_seconds)
    for name, density in (("all 60 types", None), (f"density {DENSITY:g}", DENSITY)):
        for count in counts:
            text = stock_queries(count, SIZE, WINDOW, density=density, size_spread=0)
            start = time.perf_counter()
            plan = choose_plan(read_queries(text, SCHEMA), SCHEMA, planning)
            plan.stored.to_json()
            target = MOST_SECONDS if count == COUNTS[-1] else None
            what = f"{count:,} patterns of {SIZE}, {name}"
            found.append(Measure("search_speed", what, time.perf_counter() - start, "s", at_most=target))
    return found
