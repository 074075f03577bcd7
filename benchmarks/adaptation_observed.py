"""The points of figures 5 to 9 on real traffic: five sets of patterns over sensors, each a type of its own.

A pattern wants a rise of vehicles and of speed from each sensor to the next, as those of section 5.1 of
Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns. PVLDB 11(11), 2018. Sensors all
report every five minutes; their events must reach a number of vehicles, so that rates are skewed (`traffic`)
and follow the hours. The window of a pattern is as long as it takes to have some matches in it, whatever the
set and the size, but a day at most. A batch is a window long, as on the drawn streams; the first days tell
the plan to begin with.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pyarrow as pa
from adaptation_contests import Drawn
from adaptation_patterns import PatternSet, n_types_of, pattern_text
from adaptation_runs import Contest
from adaptation_streams import DRIFTS
from contest import Arena
from estimates import estimated_statistics
from traffic import MINUTES, SCHEMA, Sensor, sensors_of, step_selectivity, traffic_events, why_not

from weft.cost.measured import Measured
from weft.runtime.columns.ingest import ingest
from weft.statistics.model import Statistics

DAYS, HISTORY_DAYS, N_SENSORS = 42, 3, 60
MATCHES = 30.0  # expected in a window, were observations independent
PER_DAY = 24 * 60 // MINUTES
LEAST_SELECTIVITY = 0.05  # of a rise, for sensors that stand side by side
MOST_DRAWS, SEED = 10_000, 1


@dataclass(frozen=True)
class Observed:
    """The observations of some weeks."""

    name: str = "traffic"

    def contest(self, kind: PatternSet, size: int, n_windows: int, algorithm: str) -> Contest:
        """Return a pattern of a set and a size, on so many windows of the stream, or all there are."""
        sensors = drawn_sensors(n_types_of(kind, size))
        n_observed = window_for(kind, size, sensors)
        text = pattern_text(
            kind, size, [sensor.name for sensor in sensors], rises, _enough, f"{n_observed * MINUTES} minutes"
        )
        arena = Arena(text, SCHEMA, Statistics(), observations())
        events = ingest(arena.rows, arena.layout)
        day = PER_DAY * MINUTES * 60_000_000
        start, length = int(events.times[0]) + HISTORY_DAYS * day, n_observed * MINUTES * 60_000_000
        edges = np.searchsorted(events.times, start + np.arange(n_windows + 1) * length).tolist()
        batches = [events.take(slice(one, other)) for one, other in pairwise(edges) if other > one]
        known = estimated_statistics(arena.queries, events.take(slice(0, edges[0])))
        model = Measured().at_rate(known.events_per_second)
        seconds = 60.0 * n_observed * MINUTES
        return Contest(text, algorithm, batches, known, model, schema=SCHEMA, window_seconds=seconds)


@cache
def observations() -> pa.Table:
    """Return the observations of the busiest sensors."""
    return traffic_events(days=DAYS, n_sensors=N_SENSORS)


@cache
def _sensors() -> tuple[Sensor, ...]:
    return sensors_of(observations())


@cache
def drawn_sensors(n_sensors: int) -> tuple[Sensor, ...]:
    """Return sensors of which each is followed by one where vehicles and speed are often enough higher."""
    dice = random.Random(SEED)
    for _ in range(MOST_DRAWS):
        found = [dice.choice(_sensors())]
        while len(found) < n_sensors:
            fit = [
                sensor
                for sensor in _sensors()
                if sensor not in found and step_selectivity(found[-1], sensor) >= LEAST_SELECTIVITY
            ]
            if not fit:
                break
            found.append(dice.choice(fit))
        if len(found) == n_sensors:
            return tuple(found)
    raise ValueError(f"no {n_sensors} sensors follow each other")


def rises(variables: Sequence[str]) -> list[str]:
    """Return the conditions that both numbers are higher at each sensor than at the one before.

    >>> rises(["a", "b"])
    ['a.vehicles < b.vehicles', 'a.avg_speed < b.avg_speed']
    """
    return [
        f"{one}.{attribute} < {other}.{attribute}"
        for one, other in pairwise(variables)
        for attribute in ("vehicles", "avg_speed")
    ]


def _enough(name: str, variable: str) -> list[str]:
    least = next(sensor.least_vehicles for sensor in _sensors() if sensor.name == name)
    return [f"{variable}.vehicles >= {least}"] if least > 0 else []


def window_for(kind: PatternSet, size: int, sensors: Sequence[Sensor]) -> int:
    """Return the observations of a sensor in a window; a sequence has no two at the same time."""
    own = sensors[:size]
    share = math.prod(sensor.share for sensor in own)
    share *= math.prod(step_selectivity(one, other) for one, other in pairwise(own))
    n_orders = 1 if kind == "conjunction" else math.factorial(size)
    wanted = (MATCHES * n_orders / share) ** (1.0 / size)
    return int(min(max(math.ceil(wanted), size + 1), PER_DAY))


Stream = Drawn | Observed
STREAMS: tuple[Stream, ...] = (*map(Drawn, DRIFTS), *([Observed()] if why_not() is None else []))


def streams_of(names: str) -> list[Stream]:
    """Return the streams that a list with commas names, of those at hand.

    >>> [stream.name for stream in streams_of("even,skewed")]
    ['skewed', 'even']
    """
    return [stream for stream in STREAMS if stream.name in names.split(",")]
