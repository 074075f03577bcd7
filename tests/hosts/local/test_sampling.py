"""Samples of events in this process, and events counted by site."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from tests.helpers.local_cases import SECOND, local_events, table_of

from weft.errors import DataError
from weft.hosts.local.sampling import LocalSampler, site_counts
from weft.statistics.model import ItemKey

DAY = 86_400
KINDS = {"a": ItemKey("A"), "b": ItemKey("B")}


def sampler_of(table: pa.Table, **options: object) -> LocalSampler:
    return LocalSampler(local_events(table, type="type", id="id"), ["A", "B"], ["x"], **options)  # type: ignore[arg-type]


def steady(n_events: int, *, every: float = 1.0) -> pa.Table:
    """Return events of three types in turn; no query asks for C."""
    times = pa.array((np.arange(n_events) * every * SECOND).astype(np.int64)).cast(pa.timestamp("us", "UTC"))
    numbers = np.arange(n_events)
    kinds = pa.array(["A", "B", "C"]).take(pa.array(numbers % 3))
    return pa.table({"ts": times, "type": kinds, "id": numbers, "x": numbers % 10})


def sampled(
    table: pa.Table, window: float | None, **options: object
) -> tuple[list[int], float, float | None]:
    """Return the ids of the events of a sample, the seconds it stands for, and those of the whole stream."""
    sample = sampler_of(table, **options).sample_events(window)
    assert sample is not None
    return sample.events.ids.to_pylist(), sample.duration, sample.span


def test_few_events_are_all_sampled() -> None:
    ids, seconds, span = sampled(steady(30), 1.0)
    assert ids == [number for number in range(30) if number % 3 < 2]
    assert seconds == span == 28
    assert sampled(steady(30), 1.0, counts_all=True)[0] == list(range(30))


def test_without_events_there_is_no_sample() -> None:
    rejected = table_of([(1, None, 1), (2, "A", None)])
    unasked = table_of([(1, "C", 1)])
    for table in (steady(0), rejected, unasked):
        assert sampler_of(table).sample_events(1.0) is None
        assert sampler_of(table).first_events() is None


def test_one_event_lasts_a_second() -> None:
    assert sampled(table_of([(5, "A", 1)]), None) == ([1], 1.0, 0.0)


def test_many_events_are_sampled_in_whole_slices_from_all_over() -> None:
    table = steady(30_000, every=10)
    sampler = sampler_of(table, rows=2_000)
    sample = sampler.sample_events(60.0)
    assert sample is not None
    assert 1_000 <= sample.events.n_events <= 3_000
    rate = sample.events.n_events / sample.duration
    assert rate == pytest.approx(1 / 15, rel=0.2)
    slices = np.unique(sample.events.times >> 29)  # of 537 seconds, eight windows and more
    assert slices.size > 20
    assert np.ptp(slices) > 0.8 * 299_990 / 537
    per_slice = np.bincount((sample.events.times >> 29) - slices.min())
    assert np.median(per_slice[per_slice > 0]) == pytest.approx(36, abs=2)


def test_a_part_of_one_long_slice_is_drawn_and_stands_for_all() -> None:
    table = steady(30_000)
    ids, seconds, span = sampled(table, None, rows=2_000)
    assert 1_700 < len(ids) < 2_300
    assert len(ids) / seconds == pytest.approx(2 / 3, rel=0.2)
    assert span == pytest.approx(29_999, abs=2)
    assert sampled(table, None, rows=2_000) == (ids, seconds, span)
    assert sampled(table, None, rows=2_000, seed=1)[0] != ids


def test_the_first_events_are_a_stretch_if_they_come_in_order() -> None:
    table = steady(3_000)
    first = sampler_of(table, rows=300).first_events()
    assert first is not None
    assert first.events.n_events == 300
    assert first.duration == pytest.approx(449, abs=1)
    assert first.span is None  # nobody looked at the rest
    shuffled = table.take(pa.array(np.random.default_rng(3).permutation(3_000)))
    assert sampler_of(shuffled, rows=300).first_events() is None


def test_the_first_events_may_be_all_and_then_in_any_order() -> None:
    table = steady(300)
    shuffled = table.take(pa.array(np.random.default_rng(3).permutation(300)))
    for given in (table, shuffled):
        sample = sampler_of(given).first_events()
        assert sample is not None
        assert (sample.events.n_events, sample.duration, sample.span) == (200, 298, 298)


def sites_of(
    rows: Sequence[Sequence[object]], attributes: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[list[float]], float]:
    """Return sites, the counts of each kind there, and the bytes of an event; rows end with their site."""
    table = table_of([row[:3] for row in rows], "ts type id").append_column(
        "site", pa.array([row[3] for row in rows])
    )
    source = local_events(table, type="type", id="id", site="site")
    counted = site_counts(source, "site", KINDS, attributes)
    counts = [counted.counts[name].tolist() for name in KINDS] if counted.counts else []
    return counted.sites, counts, counted.event_bytes


def test_events_are_counted_by_kind_and_site() -> None:
    rows = [(1, "A", 1, "x"), (2, "B", 2, "y"), (3, "A", 3, "y"), (4, "C", 4, "z"), (5, "A", 5, "y")]
    sites, counts, event_bytes = sites_of(rows)
    assert (sites, counts) == (("x", "y"), [[1, 2], [0, 1]])
    assert event_bytes == 16  # a time and an id


def test_sites_that_are_numbers_are_in_their_order() -> None:
    rows = [(n, "A", n, site) for n, site in enumerate(["10", "9", "b", "a", "100"])]
    assert sites_of(rows)[0] == ("9", "10", "100", "a", "b")
    numbers = [(n, "A", n, site) for n, site in enumerate([10, 9, 100])]
    assert sites_of(numbers)[0] == ("9", "10", "100")


def test_what_an_event_takes_is_the_mean_of_the_sites() -> None:
    rows = [(1, "A", 1, "x"), (2, "A", 2, "xxxxx"), (3, "A", 3, "xxxxx")]
    assert sites_of(rows, ["site"])[2] == 16 + (1 + 5) / 2


def test_rows_without_a_site_do_not_count_and_some_row_has_one() -> None:
    assert sites_of([(1, "A", 1, None), (2, "A", 2, "x")])[:2] == (("x",), [[1], [0]])
    assert sites_of([(1, "C", 1, "x")])[0] == ()
    with pytest.raises(DataError, match="no column 'place' for the site"):
        site_counts(local_events(steady(3), type="type"), "place", KINDS, [])
    unsited = table_of([(1, "A", 1)], "ts type id").append_column("site", pa.nulls(1, pa.string()))
    with pytest.raises(DataError, match="no event that a query looks at has a site: column 'site' is NULL"):
        site_counts(local_events(unsited, type="type", id="id"), "site", KINDS, [])
