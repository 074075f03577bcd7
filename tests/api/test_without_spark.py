"""A process that never had Spark: nothing of it is imported, and no Java is started."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import subprocess, sys
import pyarrow as pa
import weft

events = pa.table({
    "ts": pa.array([1_000_000 * n for n in range(100)], pa.timestamp("us", "UTC")),
    "type": ["AB"[n % 2] for n in range(100)],
    "k": [n % 5 for n in range(100)],
    "site": ["xyz"[n % 3] for n in range(100)],
})
columns = {"time": "ts", "type": "type", "notices": False}
pair = "QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 10 seconds RETURN b.ts - a.ts AS took"
trend = "QUERY t PATTERN SEQ(A a, B+ b) WITHIN 5 seconds SLIDE 5 seconds RETURN COUNT(*) AS n"
assert weft.detect(events, pair, **columns).num_rows == 48
detection = weft.prepare(events, f"{pair}\\n{trend}", **columns)
assert "Shared plan" in detection.explain()
assert detection.analyze().counts == detection.run().counts
assert detection.rejected.num_rows == 0
placed = weft.prepare(events, pair, sites=weft.Sites(column="site"), **columns)
assert placed.matches.num_rows == 48
assert weft.detect(sys.argv[1], pair, **columns).num_rows == 1
wrong = {name.partition(".")[0] for name in sys.modules} & {"pyspark", "py4j", "duckdb", "polars", "pytest"}
assert not wrong, wrong
children = subprocess.run(["ps", "-o", "comm=", "--ppid", str(__import__("os").getpid())],
                          capture_output=True, text=True).stdout.split()
assert "java" not in children, children
print("done")
"""


def test_nothing_of_spark_is_imported_or_started(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("ts,type,k\n2026-01-01T00:00:00Z,A,1\n2026-01-01T00:00:05Z,B,1\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, str(path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
