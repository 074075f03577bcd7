"""Queries that want one match at a time are what they promise, and their section measures what it says."""

import doctest
import random
from pathlib import Path

import generate
import logins
import next_matches
import next_queries
import pytest
from next_queries import NEXT, as_chains, with_clauses
from one_core import SCHEMA, run_on_one_core
from pyspark.sql import SparkSession
from workloads import PriceStep, SequenceQuery, Workload

from weft.language.read import read_queries
from weft.reference.events import ReferenceEvent
from weft.reference.matcher import find_matches

PRICES = (98.0, 100.0, 102.0)


@pytest.mark.parametrize("module", [logins, next_matches, next_queries])
def test_examples_in_docstrings(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


@pytest.fixture
def sequences() -> Workload:
    steps = (PriceStep("<", 1.0), PriceStep(">", 1.0))
    queries = (
        SequenceQuery("falls", ("A", "B", "C"), steps, 12),
        SequenceQuery("rises", ("C", "B", "A"), steps[::-1], 9),
    )
    text = "\n\n".join(query.text for query in queries)
    return Workload("pairs", text, ("A", "B", "C"), ("price",), sequences=queries)


def reference_events(seed: int, n_events: int) -> list[ReferenceEvent]:
    source = random.Random(seed)
    return [
        ReferenceEvent(
            number,
            frozenset({source.choice("ABC")}),
            1000 * (number + 1),
            attributes={"price": source.choice(PRICES)},
        )
        for number in range(n_events)
    ]


def test_chains_find_what_next_keeps(sequences: Workload) -> None:
    n_found = n_all = 0
    for seed in range(5):
        events = reference_events(seed, 24)
        found = []
        for text in (with_clauses(sequences, NEXT).text, as_chains(sequences).text, sequences.text):
            queries = read_queries(text, SCHEMA)
            rows = {
                query.name: {
                    tuple(match.rows[variable] for variable in "abc") for match in find_matches(query, events)
                }
                for query in queries
            }
            found.append(rows)
        by_clause, by_chain, everything = found
        assert by_clause == by_chain
        n_found += sum(map(len, by_clause.values()))
        n_all += sum(map(len, everything.values()))
    assert 10 < n_found < n_all


@pytest.mark.parametrize("failures", [None, 6])
def test_one_match_for_each_login_after_enough_failures(failures) -> None:
    rows = logins.login_events(400, failures=failures)
    expected, waiting = 0, 0
    for kind in rows["type"].to_pylist():
        if kind == logins.FAILURE:
            waiting += 1
        elif waiting >= 5:
            expected, waiting = expected + 1, 0
    run = run_on_one_core(rows, next_queries.login_workload("1 day"))
    assert run.matches["login"] == expected
    assert expected == 1 or failures is not None


def test_time_grows_over_all_sizes_and_at_the_end(
    spark: SparkSession, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_matches, "STEPS", 2)
    monkeypatch.setattr(next_matches, "SHAPES", next_matches.SHAPES[1:2])
    said: list[object] = []
    measures = next_matches.window_growth(spark, 5000, 1, said.append)
    largest, grows, at_end = measures
    assert (largest.value, largest.is_met) == (100, True)
    assert grows.value == at_end.value
    assert len(said) == 2
    assert (results / "next-growth.csv").read_text().splitlines()[0].startswith("events,number,matches")


def test_sizes_that_would_take_too_long_are_left_out_and_told(
    spark: SparkSession, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter([0.01, 1.0] * 3)
    own = {"matches": 1, "Spark, seconds": 1.0}
    monkeypatch.setattr(next_matches, "_times", lambda *_: own | {"engine, seconds": next(seconds)})
    measures = next_matches.window_growth(spark, 5000, 1, lambda _: None)
    largest, grows, at_end = measures[:3]
    assert (largest.value, largest.at_least, largest.is_met) == (100, 1000, False)
    assert grows.value == at_end.value == pytest.approx(2)
    assert not grows.is_met


def test_a_workload_is_compared_with_chains_and_with_the_floor(
    spark: SparkSession, sequences: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "DATA", tmp_path)
    monkeypatch.setattr(
        generate, "TYPE_NAMES", tuple(f"{letter}" for letter in "ABC") + generate.TYPE_NAMES[3:]
    )
    measures = next_matches.clause_costs(spark, 3000, sequences, 1, lambda _: None)
    by_name = {measure.what.removeprefix("pairs: "): measure for measure in measures}
    floor, chains, ours = (
        by_name[name].value for name in ("floor", "as chains of NOT", "NEXT, SKIP PAST LAST")
    )
    assert by_name["ratio to chains, median of the rounds"].value == pytest.approx(ours / chains)
    assert by_name["ratio to the floor, median of the rounds"].value == pytest.approx(ours / floor)
    assert by_name["matches"].value > 0
