"""A stream of stock prices and workloads of many patterns over it, with statistics that are exact.

The setting is that of section 6.1 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
Streams. SIGMOD 2019: every stock is an event type, arrival rates are 2 to 47 events per second, and patterns
compare `diff`, the difference of a price to the one before it, of two stocks, with selectivities of 0.003 to
0.92. The paper's stream is not at hand. This one is drawn from stated distributions, so rates, selectivities
and the expected number of partial matches (`stock_model.py`) are computed, not estimated. Its windows are
shorter than a second: with 15 minutes, as in the paper, no plan could list the matches at these rates.

Three rules make workloads like those that people write:

- Two stocks are compared in the same way in most patterns, and follow each other in the same order in most.
  So patterns have sub-patterns in common; `density` says how many do.
- Every pattern makes the most selective of its usual comparisons; the others are a matter of habit.
- A pattern that would match all the time is of no use to anybody and is drawn again (`most_matches`).
  Otherwise the matches, which no plan can avoid, outnumber the partial matches, which a good plan can.

The rules are ours, not the paper's, and the gain of a good plan depends on the last two. Expected partial
matches per event of the stream, 100 patterns of 5 types, nothing shared; means and medians of ten seeds:

| Window | Patterns drawn again | In pattern order | In the best orders | Matches | Ratio of the two orders |
| ------ | -------------------- | ---------------- | ------------------ | ------- | ----------------------- |
| 0.1 s  | yes                  | 4.8              | 0.14               | 0.03    | 33                      |
| 0.1 s  | no                   | 7.0              | 0.73               | 0.31    | 9                       |
| 0.4 s  | yes                  | 18               | 0.37               | 0.10    | 47                      |
| 0.4 s  | no                   | 181              | 66                 | 54      | 3                       |

`python benchmarks/stocks.py` shows some patterns of a workload and what is expected of all of them.
"""

import argparse
import math
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from generate import DATA, EVENTS_PER_FILE, EVENTS_PER_ROW_GROUP, START
from pattern_density import density as pattern_density
from pattern_density import nearest_count
from pattern_shapes import Shape, deal_shapes, roles_of, sample_alike, swap_neighbors
from stock_model import (
    Comparison,
    Stock,
    StockPattern,
    expected_matches,
    expected_rows_best_order,
    expected_rows_pattern_order,
    unavoidable_rows,
)

from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema

N_TYPES = 60
HIGHEST_RATE, LOWEST_RATE = 47.0, 2.0  # events per second
FARTHEST_MEAN = 2.04  # of diff, up and down, in thousandths of a dollar
NARROWEST, WIDEST = 1.0, 1.2  # deviations of diff, likewise
MOST_SELECTIVITY = 0.92  # a comparison that holds more often than this is made the other way round
REVERSED_SHARE = 0.1  # comparisons by habit that a pattern makes the other way round nevertheless
START_PRICE = 1000.0  # dollars; a price moves by less than 400 in an hour
MOST_MATCHES = 0.004  # per event of the stream, for each pattern, as in workloads.py
MOST_DRAWS = 300  # of one pattern; then the draw with the fewest matches stays
SHORTEST_WINDOW, WINDOW_STEP, N_WINDOWS = 0.01, 1.2, 40  # seconds; those that `window_for` tries
DENSITY_SAMPLE = 200  # patterns of which the density is measured when types are chosen for it
VERSION = 1  # part of the directory's name: raise it when the events change

COLUMNS = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("id", pa.int64()),
        ("price", pa.float64()),
        ("diff", pa.float64()),
    ]
)
SCHEMA = Schema({"ts": TIMESTAMP, "type": STRING, "id": LONG, "price": DOUBLE, "diff": DOUBLE}, time="ts")


@cache
def market(n_types: int = N_TYPES) -> tuple[Stock, ...]:
    """Return the stocks; rates are log-uniform, and rates, means, spreads and names are independent.

    >>> sorted(round(stock.rate, 1) for stock in market(4))
    [2.0, 5.7, 16.4, 47.0]
    """
    source = random.Random(1)
    steps = [number / (n_types - 1) for number in range(n_types)]
    rates = [HIGHEST_RATE * (LOWEST_RATE / HIGHEST_RATE) ** step for step in steps]
    # The root moves means away from zero: more pairs are far apart, so more comparisons are selective.
    means = [math.copysign(math.sqrt(abs(2 * step - 1)), step - 0.5) * FARTHEST_MEAN for step in steps]
    spreads = [NARROWEST + (WIDEST - NARROWEST) * step for step in steps]
    for values in (rates, means, spreads):
        source.shuffle(values)
    digits = len(str(n_types - 1))
    return tuple(
        Stock(f"STOCK{number:0{digits}d}", *values)
        for number, values in enumerate(zip(rates, means, spreads, strict=True))
    )


def stock_rates(n_types: int = N_TYPES) -> dict[str, float]:
    """Return the events per second of each type."""
    return {stock.name: stock.rate for stock in market(n_types)}


def stock_selectivities(n_types: int = N_TYPES) -> dict[tuple[str, str, Literal["<", ">"]], float]:
    """Return, for types and operator (a, b, "<"), the share of their pairs with a.diff < b.diff."""
    operators: tuple[Literal["<", ">"], ...] = ("<", ">")
    stocks = market(n_types)
    compared = (Comparison(a, operator, b) for a in stocks for b in stocks for operator in operators)
    return {(one.left.name, one.right.name, one.operator): one.selectivity for one in compared}


def stock_events(seconds: float, n_types: int = N_TYPES, seed: int = 1) -> pa.Table:
    """Return Poisson arrivals in order of time; no two events have the same time.

    The stocks are the same for every seed.

    >>> events = stock_events(100, n_types=4)
    >>> abs(events.num_rows / 100 - sum(stock_rates(4).values())) < 3
    True
    """
    stocks = market(n_types)
    source = np.random.default_rng((seed, n_types))
    counts = source.poisson([stock.rate * seconds for stock in stocks])
    codes = np.repeat(np.arange(n_types), counts)
    times = source.integers(0, round(seconds * 1e6), codes.size)
    times = times[np.lexsort((times, codes))]  # in order for each stock
    means, spreads = (
        np.repeat([getattr(one, name) for one in stocks], counts) for name in ("mean", "spread")
    )
    moves = np.rint(source.normal(means, spreads) * 1000).astype(np.int64)  # millionths of a dollar
    levels = np.concatenate([np.cumsum(part) for part in np.split(moves, np.cumsum(counts)[:-1])])
    order = np.argsort(times, kind="stable")
    columns = [
        pa.array(START + _distinct(times[order])).cast(pa.timestamp("us", "UTC")),
        pa.array([stock.name for stock in stocks]).take(pa.array(codes[order])),
        pa.array(np.arange(codes.size)),
        pa.array(START_PRICE + levels[order] / 1e6),
        pa.array(moves[order] / 1e6),
    ]
    return pa.Table.from_arrays(columns, schema=COLUMNS)


def _distinct(times: np.ndarray) -> np.ndarray:
    """Move each of some sorted times behind the one before it where it is not."""
    places = np.arange(times.size)
    return np.maximum.accumulate(times - places) + places


def stocks_parquet(seconds: float, n_types: int = N_TYPES, seed: int = 1) -> Path:
    """Return the directory with the events, after writing them where they are missing."""
    place = DATA / f"stocks-{seconds:g}s-{n_types}types-seed{seed}-v{VERSION}"
    if place.exists():
        return place
    unfinished = place.with_name(f"{place.name}.tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    table = stock_events(seconds, n_types, seed)
    for number, first in enumerate(range(0, table.num_rows, EVENTS_PER_FILE)):
        target = unfinished / f"part-{number:05d}.parquet"
        pq.write_table(table.slice(first, EVENTS_PER_FILE), target, row_group_size=EVENTS_PER_ROW_GROUP)
    unfinished.rename(place)
    return place


def stock_queries(n_patterns: int, average_size: int, window_seconds: float, **options: Any) -> str:
    """Return the workload of `stock_patterns`, with its options, in Weft's language."""
    patterns = stock_patterns(n_patterns, average_size, window_seconds, **options)
    return "\n\n".join(pattern.text for pattern in patterns)


def stock_patterns(
    n_patterns: int,
    average_size: int,
    window_seconds: float,
    *,
    n_types: int = N_TYPES,
    seed: int = 1,
    density: float | None = None,
    size_spread: int = 1,
    window_factors: Sequence[int] = (1,),
    most_matches: float = MOST_MATCHES,
    rate_difference: float = math.inf,
) -> tuple[StockPattern, ...]:
    """Return a workload of patterns that differ from each other, as far as there are so many.

    Sizes differ from their average by at most `size_spread`. A pattern of n types has n // 2 comparisons, or
    (n - 1) // 2 where one type is negated or a list; no two comparisons share an event. Windows are
    `window_seconds` times one of the factors. Without a density, patterns draw from all types; with one, from
    as many, evenly spread over the rates, as come nearest to it. It stays below one half, because a sequence
    and a conjunction have nothing in common. A pattern that is expected to match more than `most_matches`
    times per event of the stream is drawn again; with `math.inf`, none is. The rates in a pattern differ by
    no more than `rate_difference`.
    """
    shapes = deal_shapes(
        n_patterns,
        average_size,
        size_spread=size_spread,
        window_factors=window_factors,
        source=random.Random(seed),
    )
    by_rate = sorted(market(n_types), key=lambda stock: stock.rate)
    most_rows = most_matches * sum(stock.rate for stock in by_rate)

    def filled(some: Sequence[Shape], stocks: Sequence[Stock]) -> tuple[StockPattern, ...]:
        """Draw patterns from some of the stocks."""
        return _fill(some, stocks, window_seconds, most_rows, seed, rate_difference)

    if density is None:
        return filled(shapes, market(n_types))

    def spread(count: int) -> list[Stock]:
        """Return so many stocks, evenly spread over the rates."""
        return [by_rate[round(place)] for place in np.linspace(0, n_types - 1, count)]

    count = nearest_count(
        density,
        max(shape.size for shape in shapes),
        n_types,
        lambda count: graph_density(filled(shapes[:DENSITY_SAMPLE], spread(count))),
    )
    return filled(shapes, spread(count))


def graph_density(patterns: Sequence[StockPattern]) -> float:
    """Return with which share of the other patterns one has two events in common, on average.

    In common means: of the same types, in the same order or both in any order, compared in the same way or
    both not at all. This is the density of the multi-pattern graph in appendix D of the paper.
    """
    return pattern_density(_pairs(pattern) for pattern in patterns)


def _pairs(pattern: StockPattern) -> set[tuple[object, ...]]:
    compared = {frozenset((one.left, one.right)): one for one in pattern.comparisons}
    return {
        (pair if pattern.operator == "SEQ" else frozenset(pair), compared.get(frozenset(pair)))
        for pair in combinations(pattern.events, 2)
    }


def _fill(
    shapes: Sequence[Shape],
    stocks: Sequence[Stock],
    window_seconds: float,
    most_rows: float,
    seed: int,
    rate_difference: float,
) -> tuple[StockPattern, ...]:
    """Draw types and comparisons for each shape until they are new and do not match all the time."""
    source = random.Random(seed)
    taken: set[StockPattern] = set()
    patterns: list[StockPattern] = []
    for shape in shapes:
        drawn: list[tuple[bool, float, StockPattern]] = []
        for _ in range(MOST_DRAWS):
            window = window_seconds * shape.window_factor
            pattern = _draw(shape, stocks, window, source, rate_difference)
            drawn.append((pattern in taken, unavoidable_rows(pattern), pattern))
            if pattern not in taken and drawn[-1][1] <= most_rows:
                break
        else:
            pattern = min(drawn, key=lambda one: one[:2])[2]
        taken.add(pattern)
        patterns.append(replace(pattern, name=f"p{len(patterns):03d}"))
    return tuple(patterns)


def _draw(
    shape: Shape,
    stocks: Sequence[Stock],
    window_seconds: float,
    source: random.Random,
    rate_difference: float,
) -> StockPattern:
    # Names give the order that most patterns follow, and say nothing about rates.
    chosen = sample_alike(stocks, shape.size, lambda stock: stock.rate, rate_difference, source)
    by_name = sorted(chosen, key=lambda stock: stock.name)
    written = swap_neighbors(by_name, source)
    roles = roles_of(shape, [stock.rate for stock in written])
    events = [stock for stock, role in zip(written, roles, strict=True) if role == "event"]
    comparisons = _comparisons(events, len(events) // 2, source)
    return StockPattern("", shape.operator, tuple(written), roles, comparisons, window_seconds)


def _comparisons(events: list[Stock], count: int, source: random.Random) -> tuple[Comparison, ...]:
    """Return the most selective of the usual comparisons, then those made most often."""
    by_name = sorted(events, key=lambda stock: stock.name)
    habits = sorted((_habit(*pair) for pair in combinations(by_name, 2)), key=lambda habit: habit[0])
    chosen = [min((usual for _, usual in habits), key=lambda usual: usual.selectivity)]
    used = {chosen[0].left, chosen[0].right}
    for _, usual in habits:
        if len(chosen) < count and not used & {usual.left, usual.right}:
            used |= {usual.left, usual.right}
            is_exception = source.random() < REVERSED_SHARE
            is_exception &= usual.reversed.selectivity <= MOST_SELECTIVITY
            chosen.append(usual.reversed if is_exception else usual)
    return tuple(chosen)


@cache
def _habit(first: Stock, second: Stock) -> tuple[float, Comparison]:
    """Return how two stocks are usually compared, after a number that is low when they often are."""
    source = random.Random(f"{first.name} {second.name}")
    usual = Comparison(first, source.choice(("<", ">")), second)
    return source.random(), usual if usual.selectivity <= MOST_SELECTIVITY else usual.reversed


def window_for(
    rows_per_event: float,
    n_patterns: int,
    average_size: int,
    *,
    n_types: int = N_TYPES,
    seed: int = 1,
    density: float | None = None,
    size_spread: int = 1,
) -> float:
    """Return the longest window, in seconds, for which a workload builds no more rows in pattern order.

    Rows are partial matches of two and more events, of all patterns, nothing shared, per event of the stream.
    Windows of 10 ms, 12 ms, 14.4 ms ... are tried; the longer ones make every workload heavier, but not every
    pattern, since patterns that match too often are drawn again.
    """
    events_per_second = sum(stock_rates(n_types).values())
    windows = [round(SHORTEST_WINDOW * WINDOW_STEP**step, 4) for step in range(N_WINDOWS)]
    low, high = 0, N_WINDOWS - 1
    while low < high:
        middle = (low + high + 1) // 2
        patterns = stock_patterns(
            n_patterns,
            average_size,
            windows[middle],
            n_types=n_types,
            seed=seed,
            density=density,
            size_spread=size_spread,
        )
        built = sum(sum(expected_rows_pattern_order(pattern)) for pattern in patterns)
        low, high = (middle, high) if built <= rows_per_event * events_per_second else (low, middle - 1)
    return windows[low]


def main() -> None:
    """Show some patterns of a workload and what is expected of all of them."""
    arguments = argparse.ArgumentParser(description=main.__doc__)
    arguments.add_argument("--patterns", type=int, default=100)
    arguments.add_argument("--size", type=int, default=5, help="average number of types in a pattern")
    arguments.add_argument("--window", type=float, default=0.4, help="seconds")
    arguments.add_argument("--density", type=float, help="of the multi-pattern graph")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument(
        "--most-matches",
        type=float,
        default=MOST_MATCHES,
        help="per event and pattern; inf keeps all patterns",
    )
    arguments.add_argument("--show", type=int, default=5, help="patterns to print")
    given = arguments.parse_args()
    patterns = stock_patterns(
        given.patterns,
        given.size,
        given.window,
        seed=given.seed,
        density=given.density,
        most_matches=given.most_matches,
    )
    for pattern in patterns[: given.show]:
        print(pattern.text, end="\n\n")
    per_second = sum(stock_rates().values())
    built = sum(sum(expected_rows_pattern_order(pattern)) for pattern in patterns)
    fewest = sum(map(expected_rows_best_order, patterns))
    print(f"types             {len({stock for pattern in patterns for stock in pattern.stocks})}")
    print(f"density           {graph_density(patterns):.3f}")
    print(f"events per second {per_second:.0f}")
    print(f"rows per event    {built / per_second:.2f} in pattern order, nothing shared")
    print(f"                  {fewest / per_second:.2f} in the best order of each pattern, nothing shared")
    print(f"matches per event {sum(map(expected_matches, patterns)) / per_second:.3f}")


if __name__ == "__main__":
    main()
