"""What is said of queries that are expected to find too much."""

import pytest

from weft.language.parser import parse
from weft.optimizer.cautions import cautions_of, expected_matches
from weft.statistics.model import ItemKey, Statistics

BUSY = Statistics(rates={ItemKey("A"): 10.0, ItemKey("B"): 10.0})


def test_pairs_of_a_window_are_counted_for_each_event() -> None:
    (query,) = parse("PATTERN SEQ(A a, B b) WITHIN 10 seconds")
    assert expected_matches(query, None, BUSY) == pytest.approx(50.0)  # half the events end 100 pairs each


def test_alternatives_are_counted_together() -> None:
    (query,) = parse("PATTERN OR(SEQ(A a, B b), SEQ(B c, A d)) WITHIN 10 seconds")
    assert expected_matches(query, None, BUSY) == pytest.approx(100.0)


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
