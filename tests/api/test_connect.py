"""The same detection over Spark Connect, on a cluster of several processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import json
from pyspark.sql import SparkSession
import weft

spark = (
    SparkSession.builder.remote("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)
assert type(spark).__module__.startswith("pyspark.sql.connect"), type(spark)
events = spark.range(6000).selectExpr(
    "timestamp_millis(id) AS ts", "id", "id % 50 AS k", "substr('ABC', int(id % 3) + 1, 1) AS kind"
)
text = '''
QUERY timed PATTERN SEQ(A a, B b, C c) WHERE b.k > 40 WITHIN 2 milliseconds RETURN c.id - a.id AS apart
QUERY keyed PATTERN SEQ(A a, C c) WHERE [k] WITHIN 110 milliseconds
QUERY counted PATTERN SEQ(A a, NOT B b, C c) WITHIN 3 EVENTS
QUERY lists PATTERN SEQ(A a, B{1,2} b[], C c) WHERE [k] WITHIN 320 milliseconds RETURN COUNT(b) AS n
'''
detection = weft.prepare(events, text, time="ts", type="kind", id="id")
counts = {row["query"]: row["count"] for row in detection.matches.groupBy("query").count().collect()}
apart = {row["apart"] for row in detection.matches_of("timed").select("apart").distinct().collect()}
analyzed = dict(detection.analyze().matches)
found = {"counts": counts, "analyzed": analyzed, "apart": sorted(apart), "events": detection.input_counts()}
print(json.dumps(found))
spark.stop()
"""


@pytest.mark.spark
def test_connect_on_a_cluster_gives_the_same_matches(tmp_path: Path) -> None:
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.strip().splitlines()[-1])
    assert found["events"] == [6000, 0]
    assert found["apart"] == [2]
    assert found["counts"] == found["analyzed"] == expected_counts()


def expected_counts() -> dict[str, int]:
    """Count by arithmetic: event i has the time i ms, the type i mod 3 and the key i mod 50.

    With equal keys events are multiples of 50 apart, so A to C is 50 apart (A to B 100, B to C 100 or
    250 and so on), within 320 ms: A, B 100 later, C 100 after B; or A, B 100, C 250; and so on.
    """
    n = 6000
    kinds = "ABC"
    timed = sum(1 for a in range(0, n - 2, 3) if (a + 1) % 50 > 40)
    keyed = sum(1 for a in range(0, n, 3) for c in range(a + 50, min(n, a + 111), 50) if kinds[c % 3] == "C")
    counted = 0  # between an A and the next C there is always a B
    lists = 0
    for a in range(0, n, 3):
        for c in range(a + 50, min(n, a + 321), 50):
            if kinds[c % 3] == "C":
                inner = [b for b in range(a + 50, c, 50) if kinds[b % 3] == "B"]
                lists += len(inner) + len(inner) * (len(inner) - 1) // 2
    expected = {"timed": timed, "keyed": keyed, "counted": counted, "lists": lists}
    return {name: count for name, count in expected.items() if count}
