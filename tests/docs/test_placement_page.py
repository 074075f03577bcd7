"""The code and the commands of docs/placement.md run."""

import datetime as dt
import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.small_networks import ROBOTS
from typer.testing import CliRunner

import weft
from weft.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "placement.md").read_text(encoding="utf-8")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
COLUMNS = "id long, ts timestamp, type string, plant string"
QUERIES = "QUERY q PATTERN SEQ(A a, B b) WITHIN 3 seconds"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """An A every second, in turn at two plants, and a B after every tenth, at one of them."""
    rows = [(n, START + dt.timedelta(seconds=n), "A", ("north", "south")[n % 2]) for n in range(40)]
    rows += [
        (100 + n, START + dt.timedelta(seconds=10 * n, milliseconds=500), "B", "north") for n in range(4)
    ]
    return spark.createDataFrame(rows, COLUMNS)


def test_code_of_the_page_runs(spark: SparkSession, events: DataFrame, tmp_path: Path) -> None:
    batch, stream = blocks("python")
    names = {"weft": weft, "events": events, "queries": QUERIES}
    exec(compile(batch, "placement.md", "exec"), names)
    plain = weft.detect(events, QUERIES, time="ts", type="type")
    assert isinstance(names["matches"], DataFrame)
    assert sorted(map(repr, names["matches"].collect())) == sorted(map(repr, plain.collect())) != []
    (tmp_path / "arriving").mkdir()
    arriving = spark.readStream.schema(COLUMNS).parquet(str(tmp_path / "arriving"))
    names = {"weft": weft, "history": events, "events": arriving, "queries": QUERIES}
    stream = stream.replace("state/plants", str(tmp_path / "state"))  # Spark has a directory of its own
    exec(compile(stream, "placement.md", "exec"), names)
    assert isinstance(names["matches"], DataFrame)
    assert names["matches"].isStreaming
    assert names["matches"].columns == plain.columns


def test_commands_of_the_page_run(events: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("queries.weft").write_text(QUERIES)
    events.write.parquet(str(tmp_path / "events.parquet"))
    for name in ("problem.json", "cities.json"):
        Path(name).write_text(json.dumps(ROBOTS))
    shown = []
    for command in blocks("bash"):
        program, *arguments = shlex.split(command)
        assert program == "weft"
        outcome = CliRunner().invoke(app, arguments)
        assert outcome.exit_code == 0, outcome.output
        shown.append(outcome.stdout)
    explained, placed, simulated = shown
    assert "Placement on 2 sites" in explained
    assert "lower bound" in placed
    assert "drawn rows" in simulated
    assert ElementTree.parse("graph.svg").getroot().tag.endswith("svg")
