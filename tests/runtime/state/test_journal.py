"""What a shard writes about itself can be read again; segments stay few."""

import json
import math
import random

import pyarrow as pa
import pytest
from tests.helpers.streams import Kept

from weft.codec import VERSION
from weft.errors import DataError
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.layout import Layout
from weft.runtime.stages.shard import Memory, Shard
from weft.runtime.stages.shard_program import Arrived, ShardProgram
from weft.runtime.state.journal import BEGINNING, REMEMBERED_STEPS, Journal, Segment, ServedQuery
from weft.runtime.state.log import FAN, segments_to_merge


def test_a_journal_survives_json() -> None:
    journal = Journal(
        "4 shards",
        step=9,
        frontier=-5,
        next_number=3,
        logs={"events": (Segment(0, 10, 900, 7, 1, 8, level=1), Segment(2, 1, 90, BEGINNING, 9, 9))},
        tokens=("a", "b"),
        queries={"täglich": ServedQuery("f" * 24), "q": ServedQuery("0", since=4, stopped="too much\nof it")},
        wake=12,
        oldest=-7,
        adaptation={"plan": "é"},
        adapted=Segment(1, 0, 12, 7, 9, 9),
    )
    assert Journal.from_json(journal.to_json()) == journal
    assert Journal.from_json(Journal("1 shards").to_json()) == Journal("1 shards")


@pytest.mark.parametrize("version", [VERSION + 1, None, "1"])
def test_another_version_is_refused(version: object) -> None:
    document = json.loads(Journal("1 shards").to_json())
    document["version"] = version
    with pytest.raises(
        DataError, match=rf"state of a shard: version {version!r} found, {VERSION} expected; it was written"
    ):
        Journal.from_json(json.dumps(document))


def test_a_journal_knows_the_latest_steps_by_their_tokens() -> None:
    journal = Journal("1 shards")
    for step in range(100):
        journal = journal.next_step(f"t{step + 1}", frontier=step)
    assert journal.step == 100
    assert journal.frontier == 99
    assert len(journal.tokens) == REMEMBERED_STEPS
    for step in range(101):
        is_latest = step > 100 - REMEMBERED_STEPS
        assert journal.has_passed(step, f"t{step}") == is_latest
    assert not journal.has_passed(100, "another attempt at it")
    assert not journal.has_passed(101, "t101")


def test_a_journal_without_steps_has_passed_none() -> None:
    assert not Journal("1 shards").has_passed(0, "")


def test_neighbors_of_one_level_are_merged_and_no_others() -> None:
    levels = [2, 1, 1, 0, 0, 0]
    segments = [Segment(n, 1, 1, 0, n, n, level=level) for n, level in enumerate(levels)]
    assert [one.number for one in segments_to_merge(segments, 2)] == [1, 2]
    assert [one.number for one in segments_to_merge(segments, 3)] == [3, 4, 5]
    assert segments_to_merge(segments, 4) == ()
    apart = [Segment(n, 1, 1, 0, n, n, level=n % 2) for n in range(6)]
    assert segments_to_merge(apart, 2) == ()


def test_the_number_of_segments_grows_with_the_logarithm_of_the_steps() -> None:
    segments: list[Segment] = []
    n_written = 0
    for step in range(1, 1001):
        segments.append(Segment(step, 1, 1, step, step, step))
        group = segments_to_merge(segments, FAN)
        if group:
            place = segments.index(group[0])
            n_rows = sum(one.n_rows for one in group)
            n_written += n_rows
            merged = Segment(
                -step, n_rows, 1, step, group[0].first_step, group[-1].last_step, group[0].level + 1
            )
            segments[place : place + len(group)] = [merged]
        assert len(segments) <= (FAN - 1) * (1 + math.ceil(math.log(step + 1, FAN))) + 1
        steps = [(one.first_step, one.last_step) for one in segments]
        assert steps[0][0] == 1
        assert steps[-1][1] == step
        assert all(a[1] + 1 == b[0] for a, b in zip(steps, steps[1:], strict=False))
    assert n_written <= 1000 * math.log(1000, FAN)


def test_segments_stay_few_where_old_ones_are_given_up() -> None:
    dice = random.Random(7)
    segments: list[Segment] = []
    most = 0
    for step in range(1, 1001):
        segments = [one for one in segments if one.last_time >= step - 100]
        if dice.random() < 0.9:
            segments.append(Segment(step, 1, 1, step, step, step))
        group = segments_to_merge(segments, FAN)
        if group:
            place = segments.index(group[0])
            merged = Segment(
                -step, 1, 1, group[-1].last_time, group[0].first_step, group[-1].last_step, group[0].level + 1
            )
            segments[place : place + len(group)] = [merged]
        most = max(most, len(segments))
    assert most <= 3 * FAN


def test_another_number_of_shards_is_refused_and_the_message_names_the_argument() -> None:
    layout = Layout("time", None, "id", None, None, {}, ())
    program = ShardProgram(Plan(()), layout, pa.int64(), Budget(), "2 shards", delay=0)
    shard = Shard("s", program, Kept(Journal("4 shards").to_json()), Memory())
    with pytest.raises(DataError, match=r"for 4 shards.*now has 2 shards.*partitions of the first start"):
        shard.step(Arrived([pa.table({"time": [1], "id": [1]})]), 0)
