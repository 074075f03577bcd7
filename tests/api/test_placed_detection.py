"""Queries at the sites of their events on Spark: the same matches, and what sites send each other."""

import datetime as dt
import json
import random
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.engine import expected_outcome
from tests.helpers.frames import matches_by_query, sited_detection_of
from tests.helpers.placed import placeable_case
from tests.helpers.tally import Count
from typer.testing import CliRunner

import weft
from weft.api.detection import Detection
from weft.api.options import PlacementName
from weft.cli.app import app
from weft.errors import DataError, WeftError
from weft.explanation.analysis import Analysis, transfer_lines
from weft.runtime.stages.report import Transfer

N_EVENTS, N_CASES = 1_000, 4
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SITES = {"C": ("r1", "r2", "r3"), "L": ("r2", "r3"), "F": ("r1",), "X": ("r1", "r2", "r3")}
COLUMNS = "id long, ts timestamp, type string, node string, k long, name string"
QUERIES = """
QUERY clear PATTERN SEQ(AND(C c, L l), F f) WHERE [k] WITHIN 3 seconds
            RETURN c.name AS name, f.ts - c.ts AS took
QUERY quiet PATTERN SEQ(C c, NOT X x, L l, F f) WHERE [k] WITHIN 4 seconds
QUERY many  PATTERN SEQ(L l, C+ c[], F f) WHERE [k] WITHIN 3 seconds RETURN COUNT(c) AS n
"""


@pytest.fixture(scope="module")
def robots(spark: SparkSession) -> DataFrame:
    """Three robots, whose camera and lidar report often and floor sensor rarely; one row has no site."""
    dice = random.Random(1)
    rows = []
    for number in range(N_EVENTS):
        kind = dice.choices("CLFX", [10, 10, 1, 1])[0]
        moment = START + dt.timedelta(milliseconds=dice.randrange(200_000))
        site = dice.choice(SITES[kind])
        rows.append((number, moment, kind, site, dice.randrange(5), dice.choice(["ann", "bob", None])))
    rows.append((9_999, START, "C", None, 1, "ann"))
    return spark.createDataFrame(rows, COLUMNS).coalesce(1).cache()


def detection_of(
    robots: DataFrame, placement: PlacementName = "muse", partitions: int | None = None
) -> Detection:
    found = weft.prepare(
        robots,
        QUERIES,
        time="ts",
        type="type",
        id="id",
        partitions=partitions,
        sites=weft.Sites(column="node", placement=placement),
    )
    assert isinstance(found, Detection)
    return found


def found_in(matches: DataFrame) -> list[str]:
    return sorted(map(repr, matches.collect()))


def analyzed(detection: Detection) -> tuple[list[str], Analysis]:
    """Return the matches and what was sent, of one run."""
    kept: list[str] = []
    analysis = detection.analyze(lambda matches: kept.extend(found_in(matches)))
    assert sum(analysis.matches.values()) == len(kept)
    return kept, analysis


@pytest.fixture(scope="module")
def without_sites(robots: DataFrame) -> list[str]:
    rows = robots.where("node IS NOT NULL")
    found = found_in(weft.detect(rows, QUERIES, time="ts", type="type", id="id"))
    assert len(found) > 100
    return found


@pytest.fixture(scope="module")
def muse(robots: DataFrame) -> Detection:
    return detection_of(robots)


@pytest.fixture(scope="module")
def sent(muse: Detection) -> tuple[Transfer, ...]:
    transfers = muse.analyze().transfers
    assert transfers is not None
    return transfers


def test_rows_are_those_without_sites(muse: Detection, without_sites: list[str]) -> None:
    assert found_in(muse.matches) == without_sites
    assert muse.input_counts() == (N_EVENTS, 1)
    assert [row["reason"] for row in muse.rejected.collect()] == ["node is NULL"]


def test_a_query_that_explodes_is_stopped_alone(robots: DataFrame, without_sites: list[str]) -> None:
    wild = "QUERY wild PATTERN SEQ(C a, C b, F f) WITHIN 1 minute\n"
    detection = weft.prepare(
        robots,
        wild + QUERIES,
        time="ts",
        type="type",
        id="id",
        sites=weft.Sites(column="node"),
        budget=weft.Budget(partial_matches=2_000),
    )
    kept: list[str] = []
    counted = detection.run(lambda matches: kept.extend(found_in(matches.where("query <> 'wild'"))))
    assert kept == without_sites
    ((name, reasons),) = counted.stopped.items()
    assert name == "wild"
    assert all(
        reason.startswith("query wild: more than 2,000 partial matches") for reason in reasons.values()
    )


def test_a_placement_sends_less(muse: Detection, sent: tuple[Transfer, ...]) -> None:
    n_sent = sum(one.rows for one in sent)
    assert n_sent < 0.6 * N_EVENTS
    assert n_sent == pytest.approx(muse.site_statistics.rows(muse.placed.cost), rel=0.2)
    assert "no placement costs less" in muse.explain()
    assert transfer_lines(sent)[0].startswith(f"Between sites: {n_sent:,} rows")


def test_slices_of_time_count_every_match_once(
    robots: DataFrame, without_sites: list[str], sent: tuple[Transfer, ...]
) -> None:
    """Two shards for each of three sites: matches at the borders of slices are sent twice, counted once."""
    kept, analysis = analyzed(detection_of(robots, partitions=6))
    assert kept == without_sites
    assert [one.rows for one in analysis.transfers] == [one.rows for one in sent]


def test_centralized_evaluation_sends_every_event(robots: DataFrame, without_sites: list[str]) -> None:
    kept, analysis = analyzed(detection_of(robots, "central"))
    assert kept == without_sites
    assert sum(one.rows for one in analysis.transfers) == N_EVENTS
    assert {one.target for one in analysis.transfers} == {"center"}
    for one in analysis.transfers:
        assert one.rows == round(one.predicted_rows)
    n_bytes = sum(one.bytes for one in analysis.transfers)
    assert n_bytes == pytest.approx(sum(one.predicted_bytes for one in analysis.transfers), rel=0.05)


@pytest.mark.parametrize("seed", range(N_CASES))
def test_random_cases_on_spark(spark: SparkSession, seed: int, count: Count) -> None:
    case = placeable_case(20_000 + seed, most_queries=2)
    placement: PlacementName = "muse" if seed % 2 else "single-sink"
    detection = sited_detection_of(spark, case, random.Random(seed), placement=placement)
    found = matches_by_query(detection)
    assert found == expected_outcome(case)
    n_matches = sum(map(len, found.values()))
    assert n_matches > 0
    count(cases=1, matches=n_matches)


def test_events_without_an_id_keep_their_identity(robots: DataFrame) -> None:
    rows = robots.where("node IS NOT NULL").drop("id").limit(200)
    rows = rows.union(rows.limit(20)).cache()  # the same content twice
    text = "QUERY q PATTERN SEQ(C c, L l) WHERE [k] WITHIN 4 seconds"
    plain = weft.detect(rows, text, time="ts", type="type")
    placed = weft.detect(
        rows, text, time="ts", type="type", sites=weft.Sites(column="node", placement="central")
    )
    assert found_in(placed) == found_in(plain)


def test_a_slice_of_a_site_may_know_matches_that_begin_in_the_next(spark: SparkSession) -> None:
    begin = dt.datetime.fromtimestamp(11_000_000 * 160, dt.UTC)  # of a slice for windows of 5 seconds
    rows = [(n, begin + dt.timedelta(seconds=n), kind, "all") for n, kind in enumerate("FX", start=1)]
    events = spark.createDataFrame(rows, "id long, ts timestamp, type string, node string")
    text = "QUERY q PATTERN SEQ(F f, X x) WITHIN 5 seconds"
    plain = weft.detect(events, text, time="ts", type="type", id="id")
    placed = weft.detect(
        events, text, time="ts", type="type", id="id", partitions=8, sites=weft.Sites(column="node")
    )
    assert found_in(placed) == found_in(plain) != []


def test_without_events_there_are_no_matches(robots: DataFrame) -> None:
    text = "QUERY q PATTERN SEQ(Z z, L l) WITHIN 5 seconds"
    for rows in (robots.where("type = 'C'"), robots.limit(0)):
        for placement in ("muse", "single-sink", "central"):
            found = weft.prepare(
                rows, text, time="ts", type="type", sites=weft.Sites(column="node", placement=placement)
            )
            assert found.matches.count() == 0
            assert "no matches   q" in found.explain()


def test_what_has_no_placement_is_refused(robots: DataFrame) -> None:
    def refused(text: str, **options: object) -> str:
        def placed() -> None:
            sites = weft.Sites(**{"column": "node", **options})  # type: ignore[arg-type]
            weft.detect(robots, text, time="ts", type="type", sites=sites)

        with pytest.raises(WeftError) as caught:
            placed()
        return str(caught.value)

    assert "window that counts events" in refused("QUERY q PATTERN SEQ(C c, L l) WITHIN 9 EVENTS")
    assert "give a window of time" in refused("QUERY q PATTERN SEQ(C c, L l) WITHIN 9 EVENTS")
    trend = "QUERY t PATTERN C+ c[] WITHIN 1 minute SLIDE 1 minute RETURN COUNT(*) AS n"
    assert "trend queries have no placement: t" in refused(trend)
    assert "without sites=" in refused(trend)
    assert "no column 'nod' for the site; did you mean 'node'?" in refused(QUERIES, column="nod")
    assert "placement is 'must'; expected 'muse'" in refused(QUERIES, placement="must")
    assert "`network` is for streams" in refused(QUERIES, network=weft.Network((), {}))
    with pytest.raises(DataError, match="no event that a query looks at has a site"):
        weft.detect(
            robots.where("node IS NULL"), QUERIES, time="ts", type="type", sites=weft.Sites(column="node")
        ).count()


def test_command_line(robots: DataFrame, without_sites: list[str], tmp_path: Path) -> None:
    (tmp_path / "queries.weft").write_text(QUERIES)
    robots.write.json(str(tmp_path / "events"))
    columns = ["--time", "ts", "--type", "type", "--id", "id"]
    command = ["run", str(tmp_path / "queries.weft"), str(tmp_path / "events"), *columns]
    outcome = CliRunner().invoke(app, [*command, "--site", "node", "--placement", "single-sink", "--json"])
    assert outcome.exit_code == 0, outcome.output
    summary = json.loads(outcome.stdout)
    assert sum(summary["matches"].values()) == len(without_sites)
    assert (summary["events"], summary["rejected"]) == (N_EVENTS, 1)
    assert {one["target"] for one in summary["transfers"]} <= {"r1", "r2", "r3"}
    lacking = CliRunner().invoke(app, [*command, "--placement", "muse"])
    assert lacking.exit_code == 1
    assert "--placement needs --site" in lacking.output
