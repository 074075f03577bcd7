"""Kafka in and out, with a real broker: the recipe of docs/streams.md, stopped and started again."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.helpers.kafka_broker import NotToBeHadError, fetch_jars, running_broker

PAGE = Path(__file__).parents[2] / "docs" / "streams.md"

SCRIPT = '''
import json
import sys

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

jars, servers, names = sys.argv[1], sys.argv[2], {}
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars", jars)
    .config("spark.ui.enabled", "false")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
names = {"spark": spark, "servers": servers}
first, recipe, read = (open(f"block{number}.py").read() for number in range(3))
exec(first.split("events = ")[0], names)  # the query and the schema
takeover, schema, weft = names["takeover"], names["schema"], names["weft"]

rows = []
for number in range(60):
    user, minute = "ann bob cid dee".split()[number % 4], number // 4 * 3
    kind = ("PasswordChange", "Transfer", "Transfer", "SupportCall", "Transfer")[(number * 7 // 4) % 5]
    rows.append((number, f"2026-03-02 {9 + minute // 60:02d}:{minute % 60:02d}:{number % 4:02d}", kind, user,
                 900.0 + 50 * number))
rows.append((60, "2026-03-03 00:00:00", "SupportCall", "zoe", None))  # lets the watermark pass the rest
columns = "id long, ts string, type string, user string, amount double"
history = spark.createDataFrame(rows, columns).withColumn("ts", F.to_timestamp("ts"))

def produce(low, high):
    """Send the events with these ids."""
    some = history.where((F.col("id") >= low) & (F.col("id") < high)).coalesce(1).sortWithinPartitions("id")
    some.select(F.col("user").alias("key"), F.to_json(F.struct("*")).alias("value")).write.format(
        "kafka"
    ).option("kafka.bootstrap.servers", servers).option("topic", "events").save()

def collected():
    exec(read, names)
    return names["found"]

produce(0, 20)
exec(recipe, names)
after_first = collected().count()

produce(20, 45)  # and now stop in the midst of it: batches of a few events, without an end
slow = recipe.replace(".load()", '.option("maxOffsetsPerTrigger", 8).load()')
slow = slow.replace(".trigger(availableNow=True)", "").replace("running.awaitTermination()", "")
exec(slow, names)
running = names["running"]
committed = 0
while committed < 1:
    assert running.isActive, running.exception()
    running.awaitTermination(0.2)
    committed = sum(progress["numInputRows"] > 0 for progress in running.recentProgress)
running.stop()
after_stop = collected().count()

produce(45, 61)
exec(recipe, names)

whole = weft.detect(history, takeover, time="ts", type="type", id="id")
expected = {row["match_id"]: row["amount"] for row in whole.collect()}
found = {row["match_id"]: json.loads(row["match"])["amount"] for row in collected().collect()}
print(json.dumps({"expected": expected, "found": found, "counts": [after_first, after_stop, len(found)]}))
spark.stop()
'''


def blocks() -> list[str]:
    """Return the code that the test runs: the first of the page, and both of the recipe for Kafka."""
    page = PAGE.read_text(encoding="utf-8")
    first = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)[0]
    recipe = page.partition("## Recipe: Kafka in and out")[2]
    return [first, *re.findall(r"^```python\n(.*?)^```", recipe, re.M | re.S)]


@pytest.mark.spark
@pytest.mark.xdist_group("kafka")
def test_the_recipe_for_kafka_survives_a_stop(tmp_path: Path) -> None:
    code = blocks()
    assert len(code) == 3
    for number, block in enumerate(code):
        (tmp_path / f"block{number}.py").write_text(block, encoding="utf-8")
    broker_folder = tmp_path / "broker"
    broker_folder.mkdir()
    try:
        jars = fetch_jars()
    except NotToBeHadError as error:
        pytest.skip(f"not run, for there is no Kafka here: {error}")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with running_broker(jars.broker, broker_folder) as address:
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, ",".join(jars.spark), address],
            capture_output=True,
            text=True,
            timeout=600,
            env=environment,
            cwd=tmp_path,
            check=False,
        )
    assert run.returncode == 0, run.stderr[-3000:]
    result = json.loads(run.stdout.strip().splitlines()[-1])
    assert result["found"] == result["expected"]
    first, stopped, last = result["counts"]
    assert 0 < first <= stopped < last
