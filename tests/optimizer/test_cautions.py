"""What is said of queries that are expected to find too much."""

from dataclasses import replace

import pytest

from weft.language.parser import parse
from weft.optimizer.cautions import cautions_of, expected_matches
from weft.pattern.policies import Policy, Strategy
from weft.statistics.model import ItemKey, Statistics

BUSY = Statistics(rates={ItemKey("A"): 10.0, ItemKey("B"): 10.0})


def test_pairs_of_a_window_are_counted_for_each_event() -> None:
    (query,) = parse("PATTERN SEQ(A a, B b) WITHIN 10 seconds")
    assert expected_matches(query, None, BUSY) == pytest.approx(50.0)  # half the events end 100 pairs each


def test_alternatives_are_counted_together() -> None:
    (query,) = parse("PATTERN OR(SEQ(A a, B b), SEQ(B c, A d)) WITHIN 10 seconds")
    assert expected_matches(query, None, BUSY) == pytest.approx(100.0)


def test_all_combinations_are_counted() -> None:
    """Of four times ten events in a second: each with any choice of others."""
    (query,) = parse("PATTERN SOME(A a, B b, A c, B d) WITHIN 1 second")
    assert expected_matches(query, None, BUSY) == pytest.approx(4 * 10 * 11**3 / 20)
    (caution,) = cautions_of([query], None, BUSY, 1_000)
    assert caution.reason == "2,662 matches are expected for one event, more than the budget of 1,000"


@pytest.mark.parametrize(
    ("within", "most", "reasons"),
    [
        ("20 seconds", 1_000, []),
        ("21 seconds", 1_000, ["105 matches are expected for one event"]),
        ("21 seconds", 104, ["105 matches are expected for one event, more than the budget of 104"]),
    ],
)
def test_more_than_a_hundred_are_many(within: str, most: int, reasons: list[str]) -> None:
    queries = parse(f"PATTERN SEQ(A a, B b) WITHIN {within}")
    assert [caution.reason for caution in cautions_of(queries, None, BUSY, most)] == reasons


def test_a_number_says_more_than_a_list_without_a_bound() -> None:
    queries = parse(
        "QUERY small PATTERN SEQ(A a, C+ c[]) WITHIN 1 second\n"
        "QUERY large PATTERN SEQ(A a, B+ b[]) WITHIN 1 minute"
    )
    rates = {**BUSY.rates, ItemKey("C"): 0.01}
    small, large = cautions_of(queries, None, Statistics(rates=rates), 1_000_000)
    assert "c[] has no upper bound" in small.reason
    assert (
        large.reason
        == "more than a billion matches are expected for one event, more than the budget of 1,000,000"
    )


def test_without_events_only_patterns_are_looked_at() -> None:
    queries = parse("PATTERN SEQ(A a, B b, A c) WITHIN 10 days")
    assert cautions_of(queries, None, Statistics(), 1_000_000) == ()


@pytest.mark.parametrize("strategy", ["any", "next"])
def test_fewer_matches_are_expected_where_not_every_choice_is_one(strategy: Strategy) -> None:
    (query,) = parse("PATTERN SEQ(A a, B b) WITHIN 1 minute")
    asked = replace(query, policy=Policy(strategy=strategy))
    assert bool(cautions_of([asked], None, BUSY, 1_000)) == (strategy == "any")


def test_a_window_with_too_many_pairs_is_told() -> None:
    """Of 600 * 600 pairs half are in order."""
    (query,) = parse("PATTERN SEQ(A a, B b) WITHIN 1 minute")
    asked = replace(query, policy=Policy(strategy="next"))
    assert cautions_of([asked], None, BUSY, 1_000, 180_000) == ()
    (caution,) = cautions_of([asked], None, BUSY, 1_000, 179_999)
    assert (
        caution.reason
        == "a window holds 180,000 pairs of events to look at, more than the budget of 179,999 candidates"
    )
    assert "shorten WITHIN" in str(caution)


def test_what_is_said_of_many_matches_helps() -> None:
    (caution,) = cautions_of(parse("PATTERN SEQ(A a, B b) WITHIN 1 minute"), None, BUSY, 1_000)
    assert "AFTER MATCH SKIP PAST LAST" in str(caution)
    assert "{n,m}" not in str(caution)
