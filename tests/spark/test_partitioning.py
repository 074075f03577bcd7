"""How queries are divided among shards, and time into slices."""

import pytest

from weft.language.binder import bind
from weft.language.parser import parse
from weft.schema import LONG, TIMESTAMP, Schema
from weft.spark.partitioning import ByKey, ByTime, Slices, Together, divide, slice_times

SCHEMA = Schema({"k": LONG, "m": LONG, "ts": TIMESTAMP}, time="ts")
SECOND = 1_000_000


def divisions(text: str) -> dict[str, object]:
    """Return the division of each query."""
    shares = divide(bind(parse(text), SCHEMA))
    return {query.name: share.division for share in shares for query in share.queries}


def test_a_common_key_divides_everything() -> None:
    found = divisions(
        "QUERY a PATTERN SEQ(A, B) WHERE [k, m]\nQUERY b PATTERN SEQ(A, C) WHERE [k] WITHIN 1 s"
    )
    assert found == {"a": ByKey(("k",)), "b": ByKey(("k",))}


def test_without_a_common_key_time_divides_what_has_a_window() -> None:
    found = divisions(
        "QUERY a PATTERN SEQ(A, B) WHERE [k] WITHIN 3 s\nQUERY b PATTERN SEQ(A, C) WITHIN 5 s\n"
        "QUERY c PATTERN SEQ(A, B) WHERE [m]\nQUERY d PATTERN SEQ(A, B)\nQUERY e PATTERN A a"
    )
    by_time = ByTime(reach=5 * SECOND, lead=0)
    assert found == {"a": by_time, "b": by_time, "c": ByKey(("m",)), "d": Together(), "e": by_time}


def test_a_leading_negation_looks_back() -> None:
    assert divisions("PATTERN SEQ(NOT X, A, B) WITHIN 4 s") == {"query": ByTime(4 * SECOND, 4 * SECOND)}


def test_positions_in_the_whole_input_forbid_division_by_key() -> None:
    found = divisions(
        "QUERY a PATTERN SEQ(A, B) WHERE [k] WITHIN 3 EVENTS\n"
        "QUERY b PATTERN SEQ(A, B) WHERE [m] PARTITION BY k WITHIN 3 EVENTS"
    )
    assert found == {"a": Together(), "b": ByKey(("k",))}


@pytest.mark.parametrize(("n_events", "n_slices"), [(0, 1), (99, 1), (1_000_000, 10), (100_000_000, 50)])
def test_slices_follow_the_number_of_events(n_events: int, n_slices: int) -> None:
    slices = slice_times(0, 10**9, n_events, ByTime(reach=1000, lead=0), most=40)
    assert slices.n_slices == n_slices


def test_slices_stay_long_compared_with_the_window() -> None:
    slices = slice_times(0, 999, 100_000_000, ByTime(reach=100, lead=25), most=40)
    assert slices.n_slices == 2


def test_slices_own_every_moment_once() -> None:
    slices = Slices(start=100, width=10, n_slices=3)
    owned = [slices.owned(number) for number in range(3)]
    assert owned[0][0] < -(10**17)
    assert owned[2][1] > 10**17
    assert [high for _, high in owned[:2]] == [low for low, _ in owned[1:]] == [110, 120]
