"""Streams as users meet them: rates that flip, rates that are reshuffled, real traffic, and no drift."""

from datetime import timedelta

import numpy as np
import pyarrow as pa
from adaptation_patterns import WINDOW_SECONDS, chain, width_for
from adaptation_shuffle import (
    SEED,
    drawn_levels,
    drawn_patterns,
    exchanged,
)
from adaptation_shuffle import pattern_text as shuffled_text
from adaptation_spark import Drifting
from adaptation_streams import SCHEMA, Levels, drawn_events, ladder, type_names
from traffic import FIRST_DAY, sensors_of, traffic_events, traffic_patterns
from traffic import SCHEMA as TRAFFIC_SCHEMA

from weft.runtime.columns.events import Array, Events

FLIP_TYPES, FLIP_SKEW, FLIP_MATCHES = 4, 100.0, 4.0
FLIP_EVENTS_PER_SECOND, FLIP_BATCH = 20_000.0, 50_000
FLIP_EPOCHS = 10
CALM_SHARE = 0.2  # of a stream, in which rates are still as they were before
HISTORY_SECONDS, HISTORY_SEED = 60.0, 2  # of events from before, at the rates of the beginning
RESHUFFLED_EVERY = 0.05  # seconds
SHARED_BATCH, CALM_BATCH = 2_500, 50_000
N_SENSORS, SENSOR_PATTERNS, SENSOR_SIZE, SENSOR_WINDOW = 449, 100, 5, 60
SENSOR_BATCH, HISTORY_DAYS = 200_000, 1.0


def table_of(events: Events) -> pa.Table:
    """Return drawn events as rows."""
    names = pa.array(events.type_names)
    return pa.table(
        {
            "ts": pa.array(events.times).cast(pa.timestamp("us", "UTC")),
            "type": names.take(pa.array(events.type_codes)),
            "id": events.ids,
            **{name: pa.array(column.values) for name, column in events.columns.items()},
        }
    )


def flipping(seconds: float, *, is_calm: bool = False) -> Drifting:
    """Return one sequence of types whose rates, on a ladder over two orders of magnitude, are reversed once.

    The plan begins with the rarest types, which become the most frequent ones.
    """
    rates = np.exp(ladder(FLIP_SKEW, FLIP_TYPES))
    rates *= FLIP_EVENTS_PER_SECOND / rates.sum()
    width = width_for("sequence", FLIP_TYPES, WINDOW_SECONDS * float(np.exp(np.log(rates).mean())))
    width *= FLIP_MATCHES ** (1.0 / (FLIP_TYPES - 1))
    is_flipped = (np.arange(FLIP_EPOCHS) >= CALM_SHARE * FLIP_EPOCHS) & (not is_calm)
    levels = np.where(is_flipped[:, None], rates[::-1], rates)
    variables = [f"a{place}" for place in range(FLIP_TYPES)]
    items = ", ".join(map(" ".join, zip(type_names(FLIP_TYPES), variables, strict=True)))
    text = (
        f"QUERY flip\nPATTERN SEQ({items})\nWHERE {' AND '.join(chain(variables))}\n"
        f"WITHIN {WINDOW_SECONDS} seconds"
    )
    name = "calm, one query" if is_calm else "flip"
    return _drawn(name, text, levels, np.full(FLIP_TYPES, width), seconds / FLIP_EPOCHS, FLIP_BATCH)


def reshuffled(seconds: float, *, is_calm: bool = False) -> Drifting:
    """Return a hundred patterns on a stream whose rates are reshuffled after the part that is known."""
    dice = np.random.default_rng(SEED)
    rates, widths = drawn_levels(dice)
    patterns = drawn_patterns(dice, widths)
    n_epochs = max(1, round(seconds / RESHUFFLED_EVERY))
    n_calm = n_epochs if is_calm else min(n_epochs, round(CALM_SHARE * n_epochs))
    levels = np.concatenate([np.tile(rates, (n_calm, 1)), exchanged(rates, n_epochs - n_calm + 1, dice)[1:]])
    text = "\n".join(shuffled_text(number, types) for number, types in enumerate(patterns))
    name = "calm, shared" if is_calm else "shared"
    n_per_batch = CALM_BATCH if is_calm else SHARED_BATCH
    return _drawn(name, text, levels, widths, RESHUFFLED_EVERY, n_per_batch)


def _drawn(
    name: str, text: str, levels: Array, widths: Array, epoch_seconds: float, n_per_batch: int
) -> Drifting:
    events = drawn_events(Levels(levels, np.broadcast_to(widths, levels.shape), epoch_seconds))
    before = drawn_events(Levels(levels[:1], widths[None], HISTORY_SECONDS), HISTORY_SEED)
    return Drifting(name, text, SCHEMA, table_of(before), table_of(events), n_per_batch)


def sensors(days: float) -> Drifting:
    """Return a hundred patterns on real traffic with all sensors, of which the day before is known."""
    after = FIRST_DAY + timedelta(days=HISTORY_DAYS)
    table = traffic_events(days=days, first_day=after, n_sensors=N_SENSORS)
    known = traffic_events(days=HISTORY_DAYS, n_sensors=N_SENSORS)
    patterns = traffic_patterns(SENSOR_PATTERNS, SENSOR_SIZE, SENSOR_WINDOW, sensors=sensors_of(known))
    text = "\n\n".join(pattern.text for pattern in patterns)
    return Drifting("sensors", text, TRAFFIC_SCHEMA, known, table, SENSOR_BATCH)
