"""The sections on adaptation as users run it: streams are what they say, and all methods find the same."""

from pathlib import Path

import adaptation_user_streams
import adaptation_users
import numpy as np
import pyarrow.compute as pc
import pytest
from adaptation_observed import rises
from adaptation_patterns import SETS, n_types_of, pattern_text
from adaptation_spark import Drifting, run_stream
from adaptation_users import ADAPTIVE, STATIC, THRESHOLD
from adaptation_workloads import HINDSIGHT, SharedRun
from pyspark.sql import SparkSession

import weft
from weft.adaptation.settings import Adaptation
from weft.language.read import read_queries
from weft.schema import LONG, STRING, TIMESTAMP, Schema

SENSORS = Schema({"ts": TIMESTAMP, "type": STRING, "vehicles": LONG, "avg_speed": LONG}, time="ts")


@pytest.fixture
def small(monkeypatch) -> None:
    monkeypatch.setattr(adaptation_user_streams, "FLIP_EVENTS_PER_SECOND", 200.0)
    monkeypatch.setattr(adaptation_user_streams, "FLIP_BATCH", 2_000)
    monkeypatch.setattr(adaptation_users, "SHARES", (0.5, 2.0))


def counts(drifting: Drifting, first: int, last: int) -> list[int]:
    """Return how many events of each type there are between two rows."""
    types = np.asarray(drifting.table["type"].slice(first, last - first))
    return [int((types == f"T{number:02d}").sum()) for number in range(4)]


def test_rates_flip_once_and_stay_where_there_is_no_drift(small) -> None:
    flip, calm = (adaptation_user_streams.flipping(40.0, is_calm=is_calm) for is_calm in (False, True))
    n_calm = int(adaptation_user_streams.CALM_SHARE * flip.table.num_rows) - 100
    assert counts(flip, 0, n_calm) == sorted(counts(flip, 0, n_calm))
    later = counts(flip, n_calm + 200, flip.table.num_rows)
    assert later == sorted(later, reverse=True)
    assert counts(calm, n_calm, calm.table.num_rows) == sorted(counts(calm, n_calm, calm.table.num_rows))
    types = pc.value_counts(flip.history["type"])
    assert max(types.to_pylist(), key=lambda one: one["counts"])["values"] == "T03"


def test_a_shared_stream_is_reshuffled_after_a_part_that_is_calm() -> None:
    shuffled = adaptation_user_streams.reshuffled(4.0)
    assert len(read_queries(shuffled.text, shuffled.schema)) == 100
    n_calm = int(adaptation_user_streams.CALM_SHARE * shuffled.table.num_rows)
    before, after = (
        np.unique(np.asarray(part["type"]), return_counts=True)[1].max() / part.num_rows
        for part in (shuffled.table.slice(0, n_calm), shuffled.history)
    )
    assert before == pytest.approx(after, abs=0.03)


def test_methods_find_the_same_on_the_engine(small) -> None:
    drifting = adaptation_user_streams.flipping(40.0)
    methods = {STATIC: Adaptation("off"), ADAPTIVE: Adaptation(watching=1.0, planning=0.0)}
    runs, rows = adaptation_users.race_engine(drifting, methods, str, is_calm=False)
    assert list(runs) == [STATIC, ADAPTIVE, "threshold 50%", "threshold 200%", "unconditional", HINDSIGHT]
    assert [row["matches"] for row in rows] == [rows[0]["matches"]] * 6
    assert runs[STATIC].n_changes == runs[STATIC].n_kept == 0
    assert runs[ADAPTIVE].n_changes >= 1


def test_goals_depend_on_what_hindsight_allows() -> None:
    def run(throughput: float) -> SharedRun:
        return SharedRun(n_events=int(throughput), seconds=1.0)

    for hindsight, least in ((300.0, 2.0), (200.0, 0.99)):
        runs = {STATIC: run(100), ADAPTIVE: run(150), THRESHOLD: run(120), HINDSIGHT: run(hindsight)}
        goals = [one for one in adaptation_users.engine_measures("s", runs, 1.3) if one.at_least is not None]
        assert [(one.what, one.at_least, one.is_met) for one in goals] == [
            ("default / static", least, least < 1),
            ("default / best threshold", 1.3, False),
        ]


@pytest.mark.spark
def test_a_stream_of_spark_tells_what_it_did(small, spark: SparkSession, tmp_path: Path) -> None:
    drifting = adaptation_user_streams.flipping(40.0)
    files = drifting.write(tmp_path / "events")
    adapted, static = (
        run_stream(spark, drifting, files, drifting.known, weft.Streaming(adapt=adapt))
        for adapt in (Adaptation("unconditional", watching=1.0), "off")
    )
    assert adapted.n_events == static.n_events > drifting.table.num_rows // 2
    assert adapted.n_matches == static.n_matches
    assert adapted.adapting > static.adapting == 0.0
    assert adapted.n_changes + adapted.n_kept >= 1
    assert static.n_changes == static.n_kept == 0


@pytest.mark.parametrize("kind", SETS)
def test_the_sets_of_patterns_are_queries_over_sensors_too(kind) -> None:
    names = [f"S{number}" for number in range(n_types_of(kind, 3))]
    text = pattern_text(kind, 3, names, rises, lambda name, variable: [f"{variable}.vehicles >= 5"], "1 hour")
    (query,) = read_queries(text, SENSORS)
    assert text.count("vehicles >= 5") == (9 if kind == "composite" else len(names))
    assert query.name == f"{kind}_3"
