"""Flink CEP gets the queries and events that Weft gets, and finds the same matches where it is installed."""

import doctest
import random
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import flink_cep
import flink_peer
import generate
import numpy as np
import pyarrow as pa
import pytest
from flink_cep import Flink, FlinkQuery, Matches, Step, flink_query, why_no_flink, write_records
from logins import FAILURE, LOGIN
from next_queries import ONE_BY_ONE, ONE_BY_ONE_FROM_FIRST, login_workload
from one_core import SCHEMA
from workloads import PriceStep, SequenceQuery, queries20

from weft.language.read import read_queries
from weft.reference.events import ReferenceEvent
from weft.reference.matcher import find_matches


def test_examples_in_docstrings() -> None:
    found = doctest.testmod(flink_cep)
    assert found.attempted > 0
    assert found.failed == 0


def rows_of(types: list[str], seed: int) -> pa.Table:
    """Events one millisecond apart, of two keys, with prices of which some are equal."""
    source = random.Random(seed)
    n = len(types)
    columns = [
        [1000 * (number + 1) for number in range(n)],
        types,
        list(range(n)),
        [source.randrange(2) for _ in range(n)],
        [source.choice((90.0, 100.0, 110.0)) for _ in range(n)],
        [1] * n,
    ]
    return pa.table(dict(zip(generate.SCHEMA.names, columns, strict=True))).cast(generate.SCHEMA)


def reference_matches(text: str, rows: pa.Table) -> Matches:
    (query,) = read_queries(text, SCHEMA)
    events = [
        ReferenceEvent(row["id"], frozenset({row["type"]}), time, attributes=row)
        for row, time in zip(rows.to_pylist(), rows["ts"].cast(pa.int64()).to_pylist(), strict=True)
    ]
    return {
        tuple(sorted(row for rows in match.rows.values() for row in rows))
        for match in find_matches(query, events)
    }


def test_records_hold_what_the_rows_hold(tmp_path: Path) -> None:
    rows = rows_of(["B", "A", "C", "A"], 1)
    write_records(rows, ["A", "B", "C"], tmp_path / "events")
    records = np.fromfile(tmp_path / "events", flink_cep.RECORD)
    assert records["type"].tolist() == [1, 0, 2, 0]
    assert records["ts"].tolist() == [1000, 2000, 3000, 4000]
    for name in ("id", "key", "price"):
        assert records[name].tolist() == rows[name].to_pylist()


def test_both_sides_of_a_contest_have_the_same_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "DATA", tmp_path)
    for one in flink_peer.contests(1000):
        names = [query.name for query in read_queries(one.workload.text, SCHEMA)]
        assert names == [query.name for query in one.queries]
        assert {step.type for query in one.queries for step in query.steps} == set(one.workload.types)
        assert one.events(max(5, one.n_events // 100)).schema == generate.SCHEMA
    assert flink_query(queries20().sequences[0]).window == 1000 * queries20().sequences[0].window


def test_without_flink_the_section_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    def no_session() -> None:
        raise AssertionError("nothing is to be run")

    monkeypatch.setattr(flink_cep, "distribution", missing)
    (measure,) = flink_peer.measure_flink(no_session, 100, 100, 1, print)
    assert "apache-flink-libraries" in str(measure.value)
    assert measure.is_met is None


def test_a_difference_is_an_error() -> None:
    one = flink_peer.contests(1000)[-1]
    flink_peer.check_equal(one, {"login": {(1, 2)}}, {"login": {(1, 2)}})
    with pytest.raises(RuntimeError, match=r"Weft alone finds \[\(1, 2\)\], Flink alone \[\(1, 3\)\]"):
        flink_peer.check_equal(one, {"login": {(1, 2), (5,)}}, {"login": {(1, 3), (5,)}})


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Flink:
    """Our program for Flink, where Flink is installed."""
    missing = why_no_flink()
    if missing is not None:
        pytest.skip(missing)
    return Flink(tmp_path_factory.mktemp("flink"))


def found_alike(flink: Flink, query: FlinkQuery, text: str, rows: pa.Table) -> Matches:
    found = flink.find([query], rows).get(query.name, set())
    assert found == reference_matches(text, rows)
    return found


def test_flink_walks_sequences_by_their_first_events(flink: Flink) -> None:
    query = SequenceQuery("q", ("A", "B", "C"), (PriceStep(">", 1.0), PriceStep("<", 1.0)), 30)
    rows = rows_of(random.Random(14).choices("ABC", k=60), 114)
    found = found_alike(flink, flink_query(query), f"{query.text}\n{ONE_BY_ONE_FROM_FIRST}", rows)
    assert len(found) > 2
    assert found != reference_matches(f"{query.text}\n{ONE_BY_ONE}", rows)


def test_flink_finds_the_same_lists_of_failures(flink: Flink) -> None:
    query = FlinkQuery("login", (Step(FAILURE, 5), Step(LOGIN)), 14_000, is_keyed=True)
    rows = rows_of(random.Random(4).choices([FAILURE, LOGIN], [8, 1], k=60), 5)
    assert found_alike(flink, query, login_workload("14 milliseconds").text, rows)


@pytest.mark.parametrize(("window", "n_found"), [(1000, 1), (999, 0)])
def test_the_end_of_a_window_is_within(flink: Flink, window: int, n_found: int) -> None:
    query = FlinkQuery("q", (Step("A"), Step("B")), window)
    assert len(flink.find([query], rows_of(["A", "B"], 5)).get("q", ())) == n_found
