"""A process of little memory that runs queries on more events than it has memory for.

Run as `python -m tests.helpers.limited_process EVENTS QUERY LIMIT_MB`, it prints what it found as JSON. Event
2p opens pair p, 2p + 1 closes it a millisecond later; one pair in a thousand is special.
"""

import json
import os
import resource
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
CHUNK = 1_000_000  # events of a file
KEYS = 5_000_000
SPECIAL = 1_000  # one pair in so many
MILLISECOND = 1_000
SAMPLING_SECONDS = 0.01
QUERIES = {
    "by key": """QUERY q PATTERN SEQ(Open a, Close b) WHERE [k] AND b.v > a.v + 500 WITHIN 1 minute
                 RETURN b.v - a.v AS gap, a.id AS opened""",
    "by time": """QUERY q PATTERN SEQ(Open a, Close b) WHERE b.v - a.v = 1000 WITHIN 1 millisecond
                  RETURN b.v - a.v AS gap, a.id AS opened""",
    "every pair": "QUERY q PATTERN SEQ(Open a, Close b) WHERE [k] WITHIN 1 minute RETURN a.id AS opened",
}


def write_events(folder: Path, n_events: int) -> None:
    """Write events as a directory of Parquet files."""
    folder.mkdir()
    for start in range(0, n_events, CHUNK):
        pq.write_table(some_events(start, min(CHUNK, n_events - start)), folder / f"{start:012d}.parquet")


def some_events(start: int, n_events: int) -> pa.Table:
    numbers = np.arange(start, start + n_events)
    pairs = numbers // 2
    jumps = (numbers % 2 == 1) & (pairs % SPECIAL == 0)
    kinds = pa.DictionaryArray.from_arrays(pa.array((numbers % 2).astype(np.int8)), ["Open", "Close"])
    return pa.table(
        {
            "ts": pa.array(numbers * MILLISECOND, pa.timestamp("us", "UTC")),
            "type": kinds.cast(pa.string()),
            "id": numbers,
            "k": pairs % KEYS,
            "v": (pairs % 100 + 1_000 * jumps).astype(np.float64),
            "unused": numbers * 0.5,
        }
    )


def run_limited(events: Path, query: str, *, limit_mb: int) -> dict[str, Any]:
    """Return what a process finds that may have so many megabytes."""
    command = [sys.executable, "-m", "tests.helpers.limited_process", str(events), query, str(limit_mb)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def expected_opened(query: str, n_events: int) -> np.ndarray[Any, Any]:
    """Return the ids of the events that open the matches."""
    pairs = np.arange(n_events // 2)
    return 2 * (pairs if query == "every pair" else pairs[pairs % SPECIAL == 0])


def sample_memory(peak: list[int]) -> None:
    """Watch how much memory this process has of its own; what it has of files can be had again."""
    wait = threading.Event()
    while not wait.wait(SAMPLING_SECONDS):
        lines = Path("/proc/self/status").read_text().splitlines()
        own = next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))
        peak[0] = max(peak[0], own >> 10)


def main(events: str, query: str, limit_mb: str) -> None:
    limit = int(limit_mb) << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    peak = [0]
    threading.Thread(target=sample_memory, args=(peak,), daemon=True).start()

    import weft

    n_events = sum(pq.read_metadata(file).num_rows for file in Path(events).iterdir())
    matches = weft.detect(events, QUERIES[query], time="ts", type="type", id="id")
    opened = matches["opened"].to_numpy()
    opened.sort()
    is_right = np.array_equal(opened, expected_opened(query, n_events))
    temporary = [path.name for path in Path(os.environ["TMPDIR"]).glob("weft*")]
    print(json.dumps({"n": len(opened), "is_right": is_right, "peak_mb": peak[0], "left": temporary}))


if __name__ == "__main__":
    main(*sys.argv[1:])
