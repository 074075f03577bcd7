"""The example and the code of docs/streams.md run, and say what they should."""

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import weft

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "backtest_then_deploy.py"
PAGE = (ROOT / "docs" / "streams.md").read_text(encoding="utf-8")
COLUMNS = "id long, ts string, type string, user string, amount double"
EARLY = [
    (1, "2026-03-02 09:00:00", "PasswordChange", "ann", None),
    (2, "2026-03-02 09:10:00", "Transfer", "ann", 2500.0),
    (3, "2026-03-02 09:20:00", "Transfer", "bob", 9000.0),
    (4, "2026-03-02 11:00:00", "SupportCall", "zoe", None),
]
LATE = [
    (5, "2026-03-02 09:15:00", "Transfer", "ann", 3000.0),
    (6, "2026-03-02 12:00:00", "SupportCall", "zoe", None),
]


def run_example(*arguments: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        cwd=folder,
        check=False,
    )


def frame(spark: SparkSession, rows: list[tuple[object, ...]]) -> DataFrame:
    return spark.createDataFrame(rows, COLUMNS).withColumn("ts", F.to_timestamp("ts"))


def block(heading: str) -> str:
    """Return the first code of a section; the page itself has no heading but its title."""
    section = PAGE.partition(f"# {heading}\n")[2]
    return re.findall(r"^```python\n(.*?)^```", section, re.M | re.S)[0]


def test_the_example_explains_itself(tmp_path: Path) -> None:
    shown = run_example("--help", folder=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "--events" in shown.stdout
    again = run_example("--keep", str(tmp_path), folder=tmp_path)
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_the_stream_of_the_example_finds_what_its_batch_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the session of the tests, which goes on."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *arguments_of_example(tmp_path, 300, 2)])
    monkeypatch.setattr(type(spark), "stop", lambda _: None)
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    check_example(capsys.readouterr().out, tmp_path)


@pytest.mark.spark
@pytest.mark.soak
def test_the_example_as_a_script(tmp_path: Path) -> None:
    run = run_example(*arguments_of_example(tmp_path, 600, 3), folder=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    check_example(run.stdout, tmp_path)


def arguments_of_example(folder: Path, n_events: int, n_files: int) -> list[str]:
    return ["--count", str(n_events), "--files", str(n_files), "--keep", str(folder / "kept")]


def check_example(shown: str, folder: Path) -> None:
    lines = [line.split() for line in shown.splitlines()]
    assert lines[0] == ["query", "batch", "stream"]
    counts = {name: (int(batch), int(stream)) for name, batch, stream in lines[1:-1]}
    assert set(counts) == {"takeover", "card_testing", "never_called"}
    assert all(batch == stream > 0 for batch, stream in counts.values()), counts
    assert shown.splitlines()[-1].startswith("equal")
    assert json.loads((folder / "kept" / "plan.json").read_text(encoding="utf-8"))["queries"]
    assert json.loads((folder / "kept" / "statistics.json").read_text(encoding="utf-8"))


def test_code_of_the_page_on_streams_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files, metrics, trends, statistics, matches and late rows from one run; tests of Kafka run the rest."""

    def code(heading: str) -> str:
        found = block(heading).replace('"path", "matches"', f'"path", "{tmp_path}/matches"')
        return re.sub(r'"(incoming|state/|both/)', rf'"{tmp_path}/\1', found)

    monkeypatch.chdir(tmp_path)
    incoming = str(tmp_path / "incoming")
    frame(spark, EARLY).coalesce(1).write.parquet(incoming)
    names: dict[str, object] = {"spark": spark, "history": frame(spark, EARLY)}
    exec(code("Streams"), names)
    assert [row["amount"] for row in spark.read.parquet(str(tmp_path / "matches")).collect()] == [2500.0]
    exec(code("Metrics"), names)
    assert "by user" in capsys.readouterr().out
    exec(code("Trend queries"), names)
    assert names["trends"].columns == [  # type: ignore[attr-defined]
        *("query", "window_start", "window_end", "user", "trends", "amount", "beyond")
    ]
    exec(code("Statistics and plans"), names)
    assert names["matches"].isStreaming  # type: ignore[attr-defined]

    both = code("Recipe: matches and late rows from one run")
    exec(both, names)
    frame(spark, LATE).coalesce(1).write.mode("append").parquet(incoming)
    exec(both, names)
    matches = spark.read.parquet(str(tmp_path / "both" / "matches")).collect()
    late = spark.read.parquet(str(tmp_path / "both" / "late")).collect()
    assert [row["amount"] for row in matches] == [2500.0]
    assert [(row["type"], row["id"]) for row in late] == [("Transfer", 5)]


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_events_that_no_query_mentions_move_the_watermark(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    incoming, state = str(tmp_path / "incoming"), str(tmp_path / "state")
    frame(spark, [*EARLY[:2], (7, "2026-03-02 11:00:00", "Tick", "ann", None)]).coalesce(1).write.parquet(
        incoming
    )
    quiet = "QUERY quiet PATTERN SEQ(Transfer t, NOT SupportCall c) WHERE [user] WITHIN 10 minutes"
    schema = "id long, ts timestamp, type string, user string, amount double"
    events = spark.readStream.schema(schema).parquet(incoming).withColumn("ts", F.col("ts").cast(kind))
    matches = weft.detect(
        events,
        quiet,
        time="ts",
        type="type",
        id="id",
        watermark="10 seconds",
        streaming=weft.Streaming(checkpoint=state),
    )
    found: list[str] = []
    running = (
        matches.writeStream.foreachBatch(lambda rows, _: found.extend(r["query"] for r in rows.collect()))
        .option("checkpointLocation", state)
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    assert found == ["quiet"]
