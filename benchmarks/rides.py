"""A stream of rides in bursts, and trend queries on it, after the evaluation of the HAMLET paper."""

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.language.read import read_queries
from weft.normalize.template import template_of
from weft.plan.template import Template
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.schema import DOUBLE, LONG, STRING, TIMESTAMP, Schema

TYPES = (
    "Travel", "Request", "Pickup", "Dropoff", "Cancel", "Accept", "Decline", "Arrive", "Wait", "Pay",
    "Rate", "Tip", "Pool", "Detour", "Stop", "Charge", "Login", "Logout", "Search", "Complain",
)  # fmt: skip
SCHEMA = Schema(
    {
        "ts": TIMESTAMP,
        "type": STRING,
        "id": LONG,
        "district": LONG,
        "driver": LONG,
        "duration": LONG,
        "speed": DOUBLE,
        "price": DOUBLE,
    },
    time="ts",
)
LAYOUT = Layout(
    time="ts",
    type="type",
    id="id",
    content=None,
    tie=None,
    attributes={
        name: (name, SCHEMA.attributes[name]) for name in ("district", "driver", "duration", "speed", "price")
    },
    type_names=TYPES,
)
MINUTE = 60_000_000


def rides(per_minute: int, minutes: float, *, districts: int, burst: float, seed: int = 1) -> Events:
    """Return rides as the engine has them."""
    return ingest(ride_table(per_minute, minutes, districts=districts, burst=burst, seed=seed), LAYOUT)


def ride_table(per_minute: int, minutes: float, *, districts: int, burst: float, seed: int = 1) -> pa.Table:
    """Return rides: in each district, bursts of travel with a few other events between them.

    Bursts have a mean length of `burst`; between two are one to five events of other types. Speeds differ
    from burst to burst: in some the traffic stands, in others it flows.
    """
    rng = np.random.default_rng(seed)
    n_events = int(per_minute * minutes)
    columns: dict[str, list[np.ndarray]] = {
        name: [] for name in ("ts", "type", "district", "driver", "duration", "speed", "price")
    }
    for district in range(districts):
        size = n_events // districts
        kinds = np.empty(0, np.int64)
        speeds = np.empty(0)
        while kinds.size < size:
            lengths = np.maximum(1, rng.geometric(1 / burst, 256))
            others = rng.integers(1, 6, 256)
            parts = np.stack([lengths, others], axis=1).reshape(-1)
            is_travel = np.tile([True, False], 256)
            drawn = np.repeat(is_travel, parts)
            kinds = np.append(kinds, np.where(drawn, 0, rng.integers(1, len(TYPES), drawn.size)))
            flow = np.repeat(np.repeat(rng.choice([5.0, 25.0, 60.0], 256), 2), parts)
            speeds = np.append(speeds, flow + rng.uniform(-4, 4, drawn.size).round(1))
        columns["ts"].append(np.sort(rng.integers(0, int(minutes * MINUTE), size)))
        columns["type"].append(kinds[:size])
        columns["speed"].append(speeds[:size])
        columns["district"].append(np.full(size, district))
        columns["driver"].append(rng.integers(0, 100, size))
        columns["duration"].append(rng.integers(1, 600, size))
        columns["price"].append(rng.uniform(1, 90, size).round(2))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    order = np.argsort(joined["ts"], kind="stable")
    return pa.table(
        {
            "ts": pa.array(joined["ts"][order]).cast(pa.timestamp("us", "UTC")),
            "type": pa.array(TYPES).take(pa.array(joined["type"][order])),
            "id": pa.array(np.arange(order.size)),
            **{
                name: pa.array(joined[name][order])
                for name in ("district", "driver", "duration", "speed", "price")
            },
        }
    )


def alike_queries(count: int, window: str, slide: str) -> str:
    """Return queries of different patterns with the same repetition, window, group and aggregates."""
    draw = random.Random(count)
    texts = []
    for number in range(count):
        before, after = draw.sample(TYPES[1:], 2)
        tail = f", {after} b" if number % 2 else ""
        texts.append(
            f"QUERY q{number} PATTERN SEQ({before} a, Travel+ t[]{tail}) WITHIN {window} SLIDE {slide} "
            f"GROUP BY district RETURN COUNT(*), SUM(t.duration)"
        )
    return "\n".join(texts)


def diverse_queries(count: int) -> str:
    """Return queries with different windows, aggregates and predicates, repetitions of one to three types."""
    draw = random.Random(count)
    aggregates = ("COUNT(*)", "COUNT(t)", "AVG(t.speed)", "SUM(t.duration)", "MAX(t.price)", "MIN(t.speed)")
    texts = []
    for number in range(count):
        before, middle, after = draw.sample(TYPES[1:], 3)
        parts = [
            f"{before} a",
            "Travel+ t[]",
            *draw.choice([[], [f"{after} b"], [f"{middle}+ m[]", f"{after} b"]]),
        ]
        predicate = draw.choice(
            [
                "",
                "",
                " WHERE t.speed < 10",
                " WHERE t.speed < 40",
                " WHERE t.duration > 5",
                " WHERE t.price > 2",
            ]
        )
        length = draw.choice([5, 10, 15, 20])
        shown = ", ".join(["COUNT(*)", *draw.sample(aggregates[1:], draw.randint(0, 2))])
        texts.append(
            f"QUERY q{number} PATTERN SEQ({', '.join(parts)}){predicate} "
            f"WITHIN {length} minutes SLIDE 5 minutes GROUP BY district RETURN {shown}"
        )
    return "\n".join(texts)


def templates_of(text: str) -> Sequence[Template]:
    """Return the templates of trend queries on rides."""
    return [template_of(query, SCHEMA) for query in read_queries(text, SCHEMA)]
