"""Patterns over road traffic in Aarhus, Denmark: where more vehicles drive faster, or fewer drive slower.

The setting is the second one of section 6.1 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
Event Streams. SIGMOD 2019. Every sensor is an event type; an event tells the vehicles of the last five
minutes and their average speed. More vehicles should mean less speed. Patterns look for violations: three or
more observations, at different sensors, with an increase of both numbers from each to the next, or a decline.

The observations are no part of the project. They are read from `data/aarhus_traffic.parquet` (`outside.py`)
where that is present, with the columns `ts`, `sensor`, `avg_speed` and `vehicles` (open data of the city of
Aarhus, as collected for CityBench). `why_not` tells whether they can be used.

What was chosen, and why:

- **Equal times.** All sensors report at the same times, every five minutes. SEQ is strict, so the events of a
  sequence are at least five minutes apart, which suits traffic that moves from sensor to sensor; those of a
  conjunction may have equal times. There is no tie-break, since no order of the sensors means anything. A
  sequence of n events therefore needs a window of at least 5 (n - 1) minutes; shorter ones are refused.
- **Rates.** All sensors report equally often. The events of a sensor must reach a number of vehicles, the
  same in all patterns, and a share of its observations do: all, or fewer, down to 2 in 47. That is the ratio
  of the rates in the paper, and the observations stay as they are.
- **Sensors.** The busiest are taken: nearly half of all observations have no vehicle.
- **Comparisons.** As in the paper, about half of a pattern: of n sensors the n // 2 + 1 busiest, but no fewer
  than three, form the increase or decline. The other events need only have enough vehicles.
- **Selectivities.** Each step of an increase or decline holds for a share of 0.003 to 0.92 of the pairs of
  observations, as in the paper. A pattern with another, or one that would match all the time, is drawn again.
- **Negations and lists.** Their events need enough vehicles and nothing else.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from outside import outside, why_missing
from pattern_density import density as pattern_density
from pattern_density import nearest_count
from pattern_shapes import (
    LONGEST_LIST,
    VARIABLES,
    Operator,
    Role,
    Shape,
    deal_shapes,
    query_text,
    roles_of,
    sample_alike,
    swap_neighbors,
)

from weft.schema import LONG, STRING, TIMESTAMP, Schema

OBSERVATIONS = outside("data/aarhus_traffic.parquet")
FIRST_DAY = datetime(2014, 8, 18, tzinfo=UTC)  # a Monday after the holidays; few observations are missing
N_SENSORS = 60
MINUTES = 5  # between two observations of a sensor
SMALLEST_SHARE = 2 / 47  # of the observations of a sensor that have enough vehicles
LEAST_SELECTIVITY, MOST_SELECTIVITY = 0.003, 0.92  # of a step
MOST_MATCHES = 10  # expected of a pattern in five minutes of its busiest hour
MOST_DRAWS = 1000  # of one pattern; then the one with the fewest matches stays
SAMPLE = 300  # observations of each sensor that are compared to estimate a selectivity

COLUMNS = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("id", pa.int64()),
        ("vehicles", pa.int64()),
        ("avg_speed", pa.int64()),
    ]
)
SCHEMA = Schema({"ts": TIMESTAMP, "type": STRING, "id": LONG, "vehicles": LONG, "avg_speed": LONG}, time="ts")


@dataclass(frozen=True)
class Sensor:
    """An event type, with the least vehicles of its events and the share of observations that have them.

    `busy_share` is that share in the busiest hour of the day. `total` counts all vehicles; `sample` has the
    vehicles and the speed of some events.
    """

    name: str
    least_vehicles: int
    share: float
    busy_share: float
    total: int
    sample: np.ndarray = field(compare=False, repr=False)


@dataclass(frozen=True)
class TrafficPattern:
    """SEQ or AND of sensors, as written; the numbers of those in `chain` rise (<) or fall (>)."""

    name: str
    operator: Operator
    sensors: tuple[Sensor, ...]
    roles: tuple[Role, ...]
    chain: tuple[Sensor, ...]
    direction: Literal["<", ">"]
    window_minutes: int

    @property
    def text(self) -> str:
        """The query in Weft's language."""
        variable = dict(zip(self.sensors, VARIABLES, strict=False))
        enough = [
            f"{variable[sensor]}.vehicles >= {sensor.least_vehicles}"
            for sensor in self.sensors
            if sensor.least_vehicles > 0
        ]
        steps = [
            f"{variable[one]}.{attribute} {self.direction} {variable[following]}.{attribute}"
            for one, following in pairwise(self.chain)
            for attribute in ("vehicles", "avg_speed")
        ]
        items = [(sensor.name, role) for sensor, role in zip(self.sensors, self.roles, strict=True)]
        return query_text(self.name, self.operator, items, enough + steps, f"{self.window_minutes} minutes")


def why_not() -> str | None:
    """Return why these workloads cannot run, or None where they can."""
    return why_missing(OBSERVATIONS, "benchmarks/traffic.py")


def traffic_events(
    *,
    days: float = 7,
    first_day: datetime = FIRST_DAY,
    n_sensors: int = N_SENSORS,
    observations: Path = OBSERVATIONS,
) -> pa.Table:
    """Return the observations of the busiest sensors in a stretch of time, in order of time and sensor.

    The type of an event is S and the number of the sensor. Times, which have no zone in the file, are UTC.
    """
    first, end = (moment.replace(tzinfo=None) for moment in (first_day, first_day + timedelta(days=days)))
    table = pq.read_table(
        observations,
        columns=["ts", "sensor", "vehicles", "avg_speed"],
        filters=(pc.field("ts") >= first) & (pc.field("ts") < end),
    )
    table = table.group_by(table.column_names).aggregate([])  # a few are in the file twice or more
    totals = table.group_by("sensor").aggregate([("vehicles", "sum")])
    busiest = totals.sort_by([("vehicles_sum", "descending"), ("sensor", "ascending")])["sensor"]
    table = table.filter(pc.is_in(table["sensor"], busiest[:n_sensors].combine_chunks()))
    table = table.sort_by([("ts", "ascending"), ("sensor", "ascending")])
    columns = [
        table["ts"].cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        pc.binary_join_element_wise("S", table["sensor"].cast(pa.string()), ""),
        pa.array(np.arange(table.num_rows)),
        table["vehicles"].cast(pa.int64()),
        table["avg_speed"].cast(pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=COLUMNS)


def sensors_of(events: pa.Table) -> tuple[Sensor, ...]:
    """Return the sensors of a stretch of time; the shares are log-uniform, in random order."""
    types, vehicles, speeds = (np.asarray(events[name]) for name in ("type", "vehicles", "avg_speed"))
    hours = np.asarray(pc.hour(events["ts"]))
    names = sorted(set(types.tolist()))
    shares = [SMALLEST_SHARE ** (place / max(1, len(names) - 1)) for place in range(len(names))]
    random.Random(1).shuffle(shares)
    sensors = []
    for name, share in zip(names, shares, strict=True):
        own = types == name
        sensors.append(_sensor(name, share, hours[own], vehicles[own], speeds[own]))
    return tuple(sensors)


def _sensor(name: str, share: float, hours: np.ndarray, vehicles: np.ndarray, speeds: np.ndarray) -> Sensor:
    """Return a sensor of which about a share of the observations have enough vehicles.

    >>> sensor = _sensor("S7", 0.25, np.arange(1000) // 100, np.arange(1000), np.arange(1000))
    >>> sensor.least_vehicles, sensor.share, sensor.busy_share
    (750, 0.25, 1.0)
    """
    counts, firsts = np.unique(np.sort(vehicles), return_index=True)
    shares = 1 - firsts / vehicles.size  # of the observations with at least so many
    least = int(counts[np.argmin(np.abs(np.log(shares / share)))]) if share < 1 else 0
    is_enough = vehicles >= least
    by_hour = np.bincount(hours, is_enough) / np.maximum(1, np.bincount(hours))
    enough = np.flatnonzero(is_enough)
    chosen = np.random.default_rng(1).choice(enough, min(SAMPLE, enough.size), replace=False)
    sample = np.stack([vehicles[chosen], speeds[chosen]])
    return Sensor(name, least, float(is_enough.mean()), float(by_hour.max()), int(vehicles.sum()), sample)


def traffic_queries(
    n_patterns: int, average_size: int, window_minutes: int, *, events: pa.Table, **options: Any
) -> str:
    """Return the workload of `traffic_patterns`, with its options, in Weft's language."""
    sensors = sensors_of(events)
    patterns = traffic_patterns(n_patterns, average_size, window_minutes, sensors=sensors, **options)
    return "\n\n".join(pattern.text for pattern in patterns)


def traffic_patterns(
    n_patterns: int,
    average_size: int,
    window_minutes: int,
    *,
    sensors: Sequence[Sensor],
    seed: int = 1,
    size_spread: int = 1,
    density: float | None = None,
    share_difference: float = math.inf,
) -> tuple[TrafficPattern, ...]:
    """Return a workload; sizes differ from their average by at most `size_spread`, and are three or more.

    With a density, patterns draw from as many sensors, evenly spread over the shares, as come nearest to it.
    The shares of the sensors of a pattern differ by no more than `share_difference`.
    """
    longest = MINUTES * (average_size + size_spread - 1)
    if window_minutes < longest or average_size - size_spread < 3:
        raise ValueError(
            f"patterns have 3 or more events, found {average_size} ± {size_spread}, "
            f"and {longest} minutes or more, found {window_minutes}"
        )
    source = random.Random(seed)
    shapes = deal_shapes(n_patterns, average_size, size_spread=size_spread, source=source)
    by_share = sorted(sensors, key=lambda sensor: sensor.share)

    def filled(chosen: Sequence[Sensor]) -> tuple[TrafficPattern, ...]:
        """Draw patterns from some of the sensors."""
        return _fill(shapes, chosen, window_minutes, random.Random(f"{seed}"), share_difference)

    if density is None:
        return _fill(shapes, sensors, window_minutes, source, share_difference)

    def spread(count: int) -> list[Sensor]:
        """Return so many sensors, evenly spread over the shares."""
        return [by_share[round(place)] for place in np.linspace(0, len(sensors) - 1, count)]

    fewest = max(shape.size for shape in shapes)
    count = nearest_count(density, fewest, len(sensors), lambda count: traffic_density(filled(spread(count))))
    return filled(spread(count))


def traffic_density(patterns: Sequence[TrafficPattern]) -> float:
    """Return with which share of the others a pattern has two events in common, on average."""
    return pattern_density(_pairs(pattern) for pattern in patterns)


def _pairs(pattern: TrafficPattern) -> set[object]:
    steps = {frozenset(step): (step, pattern.direction) for step in pairwise(pattern.chain)}
    events = [one for one, role in zip(pattern.sensors, pattern.roles, strict=True) if role == "event"]
    return {
        (pair if pattern.operator == "SEQ" else frozenset(pair), steps.get(frozenset(pair)))
        for pair in combinations(events, 2)
    }


def _fill(
    shapes: Sequence[Shape],
    sensors: Sequence[Sensor],
    window_minutes: int,
    source: random.Random,
    share_difference: float,
) -> tuple[TrafficPattern, ...]:
    """Draw sensors for each shape until its steps are fit and it does not match all the time."""
    patterns: list[TrafficPattern] = []
    for shape in shapes:
        drawn: list[tuple[bool, float, TrafficPattern]] = []
        for _ in range(MOST_DRAWS):
            pattern = _draw(f"p{len(patterns):03d}", shape, sensors, window_minutes, source, share_difference)
            steps = _selectivities(pattern)
            drawn.append((not _are_fit(steps), busy_matches(pattern), pattern))
            if _are_fit(steps) and drawn[-1][1] <= MOST_MATCHES:
                break
        else:
            pattern = min(drawn, key=lambda one: one[:2])[2]
        patterns.append(pattern)
    return tuple(patterns)


def _draw(
    name: str,
    shape: Shape,
    sensors: Sequence[Sensor],
    window_minutes: int,
    source: random.Random,
    share_difference: float,
) -> TrafficPattern:
    chosen = sample_alike(sensors, shape.size, lambda sensor: sensor.share, share_difference, source)
    by_name = sorted(chosen, key=lambda sensor: sensor.name)
    written = swap_neighbors(by_name, source)
    roles = roles_of(shape, [sensor.share for sensor in written])
    single = [sensor for sensor, role in zip(written, roles, strict=True) if role == "event"]
    busiest = sorted(single, key=lambda sensor: -sensor.total)[: max(3, shape.size // 2 + 1)]
    chain = tuple(sensor for sensor in single if sensor in busiest)
    direction: Literal["<", ">"] = "<" if source.random() < 0.5 else ">"
    return TrafficPattern(name, shape.operator, tuple(written), roles, chain, direction, window_minutes)


def busy_matches(pattern: TrafficPattern) -> float:
    """Return the matches that begin in five minutes of the busiest hour, were observations independent.

    A negation is left out, and a list may have any elements within the window.
    """
    shares: dict[Role, list[float]] = {"event": [], "list": [], "negation": []}
    for sensor, role in zip(pattern.sensors, pattern.roles, strict=True):
        shares[role].append(sensor.busy_share)
    n_times, count = pattern.window_minutes // MINUTES + 1, len(shares["event"])
    if pattern.operator == "SEQ":
        ways = math.comb(n_times - 1, count - 1)
    else:
        ways = n_times**count - (n_times - 1) ** count
    lists = math.prod(
        sum(math.comb(n_times, length) * share**length for length in range(1, LONGEST_LIST + 1))
        for share in shares["list"]
    )
    return ways * math.prod(shares["event"]) * math.prod(_selectivities(pattern)) * lists


def _are_fit(selectivities: Sequence[float]) -> bool:
    return all(LEAST_SELECTIVITY <= one <= MOST_SELECTIVITY for one in selectivities)


def _selectivities(pattern: TrafficPattern) -> list[float]:
    return [
        step_selectivity(one, following) if pattern.direction == "<" else step_selectivity(following, one)
        for one, following in pairwise(pattern.chain)
    ]


@cache
def step_selectivity(low: Sensor, high: Sensor) -> float:
    """Return the share of pairs of events in which both numbers are lower at the first sensor."""
    return float(np.all(low.sample[:, :, None] < high.sample[:, None, :], axis=0).mean())
