"""The two streams of MCEP's figures, stocks and traffic: workloads with one parameter varied at a time."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
import stocks
import traffic
from public_race import Workload
from scale import DENSITY, USUAL_COUNT, USUAL_SIZE, WINDOW
from traffic_weave import WINDOW_MINUTES

from weft.schema import Schema

STOCK_SECONDS, TRAFFIC_DAYS = 2000.0, 28.0  # at most; the trivial plan says how much it can take
STOCK_RATE = sum(stocks.stock_rates().values())  # events per second
TRAFFIC_RATE = traffic.N_SENSORS / traffic.MINUTES  # events per minute
WIDEST = stocks.HIGHEST_RATE - stocks.LOWEST_RATE  # difference of two rates, the paper's 45
WIDEST_SHARE = 1 - traffic.SMALLEST_SHARE


@dataclass(frozen=True)
class Point:
    """A workload: the number of its patterns, their size and window, and what appendix D of the paper varies.

    A window is in the dataset's unit of time, or a number of events where it is counted.
    """

    count: int = USUAL_COUNT
    size: int = USUAL_SIZE
    window: float = 0.0  # the usual one
    is_counted: bool = False
    density: float | None = None
    rate_difference: float = 1.0  # of the widest


@dataclass(frozen=True)
class Dataset:
    """Events and queries over them; `rate` is that of all events in the unit of its windows."""

    name: str
    schema: Schema
    rate: float
    events: Callable[[], pa.Table]
    text: Callable[[Point], str]
    sizes: tuple[int, ...]
    windows: tuple[float, ...]
    usual_window: float
    event_windows: tuple[int, ...]

    def workload(self, point: Point) -> Workload:
        """Return the events and the queries of a point."""
        if not point.is_counted:
            text = self.text(replace(point, window=point.window or self.usual_window))
        else:  # drawn as for windows that are as long on average
            drawn = self.text(replace(point, window=point.window / self.rate))
            text = re.sub(r"^WITHIN .*$", f"WITHIN {point.window:g} EVENTS", drawn, flags=re.MULTILINE)
        return Workload(text, self.schema, self.events())


def _stock_text(point: Point) -> str:
    difference = math.inf if point.rate_difference >= 1 else point.rate_difference * WIDEST
    density = DENSITY if point.density is None and difference == math.inf else point.density
    return stocks.stock_queries(
        point.count, point.size, point.window, density=density, rate_difference=difference
    )


def _traffic_text(point: Point) -> str:
    difference = math.inf if point.rate_difference >= 1 else point.rate_difference * WIDEST_SHARE
    return traffic.traffic_queries(
        point.count,
        point.size,
        round(point.window),
        events=_traffic_events(),
        density=point.density,
        share_difference=difference,
    )


@cache
def _stock_events() -> pa.Table:
    return stocks.stock_events(STOCK_SECONDS)


@cache
def _traffic_events() -> pa.Table:
    return traffic.traffic_events(days=TRAFFIC_DAYS)


STOCKS = Dataset(
    "stocks",
    stocks.SCHEMA,
    STOCK_RATE,
    _stock_events,
    _stock_text,
    sizes=(3, 4, 6, 8),
    windows=(0.1, 0.3, 0.9),
    usual_window=WINDOW,
    event_windows=(100, 300, 800),
)
TRAFFIC = Dataset(
    "traffic",
    traffic.SCHEMA,
    TRAFFIC_RATE,
    _traffic_events,
    _traffic_text,
    sizes=(4, 6, 8),
    windows=(30, 60, 90),
    usual_window=float(WINDOW_MINUTES),
    event_windows=(360, 720, 1080),
)


def datasets() -> Mapping[str, Dataset]:
    """Return the datasets whose events are there."""
    return {one.name: one for one in (STOCKS, TRAFFIC) if one is STOCKS or traffic.why_not() is None}
