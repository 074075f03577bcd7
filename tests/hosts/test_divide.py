"""How queries are divided among shards, and time into slices."""

import numpy as np
import pytest

from weft.hosts.divide import ByKey, ByTime, Together, divide
from weft.language.binder import bind
from weft.language.parser import parse
from weft.runtime.stages.slices import TimeSlices, slice_time
from weft.schema import LONG, TIMESTAMP, Schema

SCHEMA = Schema({"k": LONG, "m": LONG, "ts": TIMESTAMP}, time="ts")
SECOND = 1_000_000


def divisions(text: str) -> dict[str, object]:
    """Return the division of each query."""
    groups = divide(bind(parse(text), SCHEMA))
    return {query.name: group.division for group in groups for query in group.queries}


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


def test_a_negation_inside_a_negation_looks_one_window_further() -> None:
    trailing = divisions("PATTERN SEQ(A a, NOT SEQ(B b, NOT C c)) WITHIN 4 s")
    assert trailing == {"query": ByTime(reach=8 * SECOND, lead=0)}
    leading = divisions("PATTERN SEQ(A a, NOT SEQ(NOT C c, B b), D d) WITHIN 4 s")
    assert leading == {"query": ByTime(reach=8 * SECOND, lead=8 * SECOND)}


def test_positions_in_the_whole_input_forbid_division_by_key() -> None:
    found = divisions(
        "QUERY a PATTERN SEQ(A, B) WHERE [k] WITHIN 3 EVENTS\n"
        "QUERY b PATTERN SEQ(A, B) WHERE [m] PARTITION BY k WITHIN 3 EVENTS"
    )
    assert found == {"a": Together(), "b": ByKey(("k",))}


def test_slices_are_long_compared_with_the_window() -> None:
    assert slice_time(3 * SECOND, SECOND, 5) == TimeSlices(128 * SECOND, 5, 3 * SECOND, SECOND)
    assert slice_time(1800 * SECOND, 0, 5) == TimeSlices(16 * 1800 * SECOND, 5, 1800 * SECOND, 0)
    assert slice_time(0, 0, 5) == TimeSlices(SECOND, 5, 0, 0)


def test_slices_are_dealt_in_turn_also_before_the_epoch() -> None:
    slices = TimeSlices(width=10, n_shards=4)
    assert slices.shard_of(np.array([0, 9, 10, 39, 40, -1, -11])).tolist() == [0, 0, 1, 3, 0, 3, 2]


@pytest.mark.parametrize("n_shards", [2, 3, 4, 7])
def test_shards_that_run_together_have_no_neighboring_slices(n_shards: int) -> None:
    slices = TimeSlices(width=10, n_shards=n_shards)
    for group in slices.groups(np.arange(n_shards)):
        numbers = [number for number in range(-20, 20) if number % n_shards in group]
        assert all(later - earlier > 1 for earlier, later in zip(numbers, numbers[1:], strict=False))


def test_a_walk_is_divided_by_what_divides_its_partitions() -> None:
    """SUPPRESS ... PER lets matches of several keys meet, unless the keys are among what it names."""
    found = divisions(
        "QUERY a PATTERN SEQ(A, B) WHERE [k] WITHIN 3 s AFTER MATCH SKIP PAST LAST\n"
        "QUERY b PATTERN SEQ(A a, B) WHERE [k, m] WITHIN 3 s SUPPRESS 1 s PER a.m\n"
        "QUERY c PATTERN SEQ(A a, B) WHERE [k] WITHIN 3 s SUPPRESS 1 s PER a.m\n"
        "QUERY e PATTERN SEQ(A, B) WITHIN 5 s\n"
        "QUERY f PATTERN SEQ(A, B) AFTER MATCH SKIP TO NEXT"
    )
    to_meet = ByTime(3 * SECOND, 0, meet=True)
    assert found == {
        "a": ByKey(("k",)),
        "b": ByKey(("m",)),
        "c": to_meet,
        "e": ByTime(5 * SECOND, 0),
        "f": Together(),
    }
