"""Corrections that are made of counts say of the whole stream what was counted on a part of it."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.local_cases import SECOND, local_events
from tests.statistics.test_partial_matches import form_of

from weft.hosts.local.sampling import LocalSampler
from weft.hosts.sampling import estimate
from weft.optimizer.correct_statistics import correct, learn
from weft.optimizer.pipeline import context_of
from weft.optimizer.shape_of import inquiry_of, shape_of
from weft.statistics.model import ItemKey, PatternCount, Statistics
from weft.statistics.sub_patterns import names_of

TEXT = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 1 minute"
HOUR = 3_600.0
KNOWN = Statistics({ItemKey(name): 0.01 for name in "ABC"}, duration=HOUR)


def expected(statistics: Statistics, mask: int) -> float:
    """Return the rows per second expected of some items of the pattern."""
    form = form_of(TEXT)
    shape = shape_of(form, statistics, context_of(None))
    return shape.rows_per_second(mask, shape.window)


@pytest.mark.parametrize(("part", "n_found", "weight"), [(1.0, 500, 1.0), (0.5, 125, 2.0), (0.1, 50, 1.0)])
def test_what_was_counted_is_expected(part: float, n_found: int, weight: float) -> None:
    """Of a part of the events, a pair is there with the square of the probability of an event."""
    form = form_of(TEXT)
    names = names_of(form)
    assert names is not None
    counts = {names.key(0b011): PatternCount(n_found, weight)}
    corrected = correct(KNOWN, counts, [form], duration=part * HOUR, part=part)
    assert expected(corrected, 0b011) * HOUR == pytest.approx(n_found * weight / part**2, rel=0.02)


def test_where_nothing_was_found_little_is_expected() -> None:
    form = form_of(TEXT)
    names = names_of(form)
    assert names is not None
    counts = {names.key(0b011): PatternCount(0), names.key(0b110): PatternCount(0)}
    often = replace(KNOWN, rates={ItemKey(name): 1.0 for name in "ABC"})
    assert expected(often, 0b011) * HOUR > 1_000
    assert 0 < expected(correct(often, counts, [form], duration=HOUR), 0b011) * HOUR < 1
    seldom = replace(KNOWN, rates={ItemKey(name): 1e-5 for name in "ABC"})
    unchanged = expected(correct(seldom, counts, [form], duration=HOUR), 0b110)
    assert unchanged == pytest.approx(expected(seldom, 0b110), rel=0.01)


def test_what_a_run_did_not_count_stays() -> None:
    form = form_of(TEXT)
    names = names_of(form)
    assert names is not None
    before = replace(KNOWN, corrections={names.key(0b011): 7.0, names.key(0b110): 3.0})
    after = learn(before, {ItemKey("A"): 0.02}, {names.key(0b110): PatternCount(90)}, [form])
    assert after.rates == {**KNOWN.rates, ItemKey("A"): 0.02}
    assert after.corrections[names.key(0b011)] == 7.0
    assert expected(after, 0b110) * HOUR == pytest.approx(90, rel=1e-3)


def test_a_random_part_of_long_slices_says_the_same() -> None:
    """With slices as long as the stream, events are drawn at random: pairs and triples are still right."""
    dice = np.random.default_rng(4)
    seconds = np.sort(np.repeat(np.arange(200) * 1_000.0, 60) + dice.random(12_000) * 10)
    table = pa.table(
        {
            "ts": pa.array((seconds * SECOND).astype(np.int64)).cast(pa.timestamp("us", "UTC")),
            "type": pa.array(["A", "B", "C"]).take(pa.array(dice.integers(3, size=12_000))),
            "id": np.arange(12_000),
            "x": dice.integers(100, size=12_000),
        }
    )
    form = form_of(TEXT)
    inquiry = inquiry_of([form])._replace(longest=100_000.0)
    events = local_events(table, type="type", id="id")
    whole, part = (
        estimate(LocalSampler(events, ["A", "B", "C"], ["x"], rows=rows), inquiry)
        for rows in (100_000, 3_000)
    )
    sample = LocalSampler(events, ["A", "B", "C"], ["x"], rows=3_000).sample_events(100_000.0)
    assert sample is not None
    assert sample.part == pytest.approx(0.25, rel=0.01)
    for mask in (0b011, 0b101, 0b111):
        assert expected(replace(whole, corrections={}), mask) < expected(whole, mask) / 4
        assert expected(part, mask) == pytest.approx(expected(whole, mask), rel=0.3)
