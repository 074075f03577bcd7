"""`weft explain --placement`: what it shows, what it draws, what it asks for."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner, Result

import weft
from weft.cli.app import app

QUERIES = """
QUERY cleared  PATTERN SEQ(AND(Camera c, Lidar l), Floor f) WHERE c.zone = l.zone AND c.zone = f.zone
               WITHIN 1 minute
QUERY never    PATTERN SEQ(Camera c, Crash x) WITHIN 1 minute
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two robots with a camera and a lidar each second, and one that clears a floor every two minutes."""
    (tmp_path / "queries.weft").write_text(QUERIES)
    rows = ["ts,type,robot,zone"]
    for second in range(600):
        robot = f"R{1 + second % 2}"
        rows += [f"{1000 * second},{name},{robot},{second % 7}" for name in ("Camera", "Lidar")]
        rows += [f"{1000 * second + 500},Floor,R3,{second % 7}"] if second % 120 == 0 else []
    (tmp_path / "events.csv").write_text("\n".join(rows))
    return tmp_path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_placement_is_shown_and_drawn(spark: SparkSession, files: Path) -> None:
    drawing = files / "graph.svg"
    options = ("--placement", "--site", "robot", "--picture", drawing, "--search-seconds", 0.2)
    result = invoke("explain", files / "queries.weft", files / "events.csv", *options)
    assert result.exit_code == 0, result.output
    assert "Placement on 3 sites" in result.output
    assert "no matches   never" in result.output
    assert "SEQ(AND(Camera, Lidar), Floor)" in result.output
    assert "R3 -> R1" in result.output
    sent = result.output.split("Sent between sites")[1]
    (floors,) = (line.split() for line in sent.splitlines() if line.split()[:2] == ["Floor", "2"])
    assert floors[3] == "10"  # five floors, sent to two robots
    assert floors[4:] == ["280", "B"]  # for each its time, its zone and 12 bytes, as a run predicts it
    root = ElementTree.parse(drawing).getroot()
    assert root.tag.endswith("svg")


def test_a_placement_knows_its_costs(spark: SparkSession, files: Path) -> None:
    events = spark.read.csv(str(files / "events.csv"), header=True, inferSchema=True)
    events = events.withColumn("ts", (events.ts / 1000).cast("timestamp"))
    detection = weft.prepare(
        events,
        QUERIES,
        time="ts",
        type="type",
        planning=weft.Planning(search_seconds=0.2),
        sites=weft.Sites(column="robot"),
    )
    placed, known = detection.placed, detection.site_statistics
    assert placed.lower_bound <= placed.cost
    assert placed.ratio < 0.05
    assert known.rows(placed.central_cost) == pytest.approx(1205)
    assert "1,205" not in detection.explain()  # costs are shown per second
    assert [query.name for query in known.idle] == ["never"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--placement",), "needs events"),
        (("events.csv", "--placement"), "needs --site"),
        (("events.csv", "--site", "robot"), "add --placement"),
        (("events.csv", "--placement", "--site", "robot", "--picture", "graph.png"), "ends in .svg"),
    ],
)
def test_missing_options_are_told_before_anything_runs(
    files: Path, options: tuple[str, ...], message: str
) -> None:
    result = invoke("explain", files / "queries.weft", *options)
    assert result.exit_code == 1
    assert message in result.output
