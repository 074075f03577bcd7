"""Make the events of the benchmarks: 40 types with Zipf frequencies, always the same for the same number.

`python benchmarks/generate.py --events 5000000` writes Parquet under `benchmarks/data` unless it is there.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DATA = Path(__file__).parent / "data"
N_TYPES = 40
ZIPF_EXPONENT = 1.1
N_KEYS = 100_000
MEAN_GAP = 1000.0  # microseconds between events
MEAN_PRICE, PRICE_DEVIATION = 100.0, 10.0
START = 1_700_000_000_000_000  # the first event comes after this time
EVENTS_PER_FILE = 250_000
EVENTS_PER_ROW_GROUP = 125_000
VERSION = 1  # part of the directory's name: raise it when the events change

TYPE_NAMES = tuple(f"T{rank:02d}" for rank in range(N_TYPES))
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("id", pa.int64()),
        ("key", pa.int64()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
    ]
)


def type_frequencies() -> np.ndarray:
    """Return the share of each type, the most frequent first.

    >>> [round(float(share), 3) for share in type_frequencies()[[0, 1, 9, 39]]]
    [0.272, 0.127, 0.022, 0.005]
    """
    weights = np.arange(1, N_TYPES + 1) ** -ZIPF_EXPONENT
    return weights / weights.sum()


def events_parquet(n_events: int, seed: int = 1) -> Path:
    """Return the directory with the events, after writing them where they are missing."""
    place = DATA / f"events-{n_events}-seed{seed}-v{VERSION}"
    if place.exists():
        return place
    unfinished = place.with_suffix(".tmp")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    start = START
    for number, first in enumerate(range(0, n_events, EVENTS_PER_FILE)):
        table = events_table(first, min(EVENTS_PER_FILE, n_events - first), start, (seed, number))
        start = table["ts"][-1].value
        target = unfinished / f"part-{number:05d}.parquet"
        pq.write_table(table, target, row_group_size=EVENTS_PER_ROW_GROUP)
    unfinished.rename(place)
    return place


def events_table(first_id: int, n_events: int, start: int, seed: tuple[int, ...]) -> pa.Table:
    """Return events in order of time, all after `start`."""
    source = np.random.default_rng(seed)
    gaps = np.ceil(source.exponential(MEAN_GAP, n_events)).astype(np.int64)
    codes = source.choice(N_TYPES, n_events, p=type_frequencies())
    columns = [
        pa.array(start + np.cumsum(gaps)).cast(pa.timestamp("us", "UTC")),
        pa.array(TYPE_NAMES).take(pa.array(codes)),
        pa.array(np.arange(first_id, first_id + n_events)),
        pa.array(source.integers(0, N_KEYS, n_events)),
        pa.array(np.round(source.normal(MEAN_PRICE, PRICE_DEVIATION, n_events), 4)),
        pa.array(np.ceil(source.lognormal(5.0, 1.0, n_events)).astype(np.int64)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def main() -> None:
    """Write the events and say where they are."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--events", type=int, default=5_000_000)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    print(events_parquet(given.events, given.seed))


if __name__ == "__main__":
    main()
