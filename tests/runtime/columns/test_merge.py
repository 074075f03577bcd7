"""Events that came at different times become one set: one pool, one order, every event once."""

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from weft.runtime.columns import merge
from weft.runtime.columns.events import Column, Events, StringPool
from weft.runtime.columns.merge import (
    TIE,
    append_numbers,
    compact_pool,
    drop_delivered,
    extend_pool,
    merge_events,
    recode_strings,
    renumber_repeats,
    tie_places,
)
from weft.runtime.matches.emit import to_arrow
from weft.schema import LONG, STRING

CONTENTS = [f"{number:016x}" for number in range(4)]
Row = tuple[int, object, str | None]


def events_of(rows: list[Row], *, tie: bool = False, ids: pa.DataType | None = None) -> Events:
    """Return events of a time, an id and a text, sorted; the text is the tie-break too, if so wanted."""
    texts = [text for _, _, text in rows]
    pool = list(dict.fromkeys(text for text in texts if text is not None))
    codes = np.array([0 if text is None else pool.index(text) for text in texts], np.int64)
    valid = None if None not in texts else np.array([text is not None for text in texts])
    text = Column(STRING, codes, valid)
    strings = StringPool(pa.array(pool, pa.string()))
    events = Events(
        times=np.array([time for time, _, _ in rows], np.int64),
        type_codes=np.zeros(len(rows), np.int16),
        type_names=("A",),
        columns={"x": text, TIE: text} if tie else {"x": text},
        ids=pa.array([row[1] for row in rows], ids or pa.int64()),
        strings=strings,
        ties=tie_places(text, strings) if tie else None,
    )
    keys = (events.times,) if events.ties is None else (events.ties, events.times)
    return events.take(np.lexsort(keys))


def rows_of(events: Events) -> list[Row]:
    """Return events as rows again."""
    texts = to_arrow(events.columns["x"], events.strings).to_pylist()
    return list(zip(events.times.tolist(), events.ids.to_pylist(), texts, strict=True))


def in_one_pool(old: Events, new: Events) -> tuple[Events, Events]:
    """Return two sets of events with one pool of strings."""
    union, codes = extend_pool(old.strings, new.strings)
    return replace(old, strings=union), recode_strings(new, union, codes)


def test_a_pool_is_extended_and_its_codes_stay() -> None:
    old = events_of([(1, 1, "b"), (2, 2, "a"), (3, 3, None)])
    new = events_of([(4, 4, "c"), (5, 5, "a"), (6, 6, None), (7, 7, "d")])
    after_old, after_new = in_one_pool(old, new)
    assert after_old.strings is after_new.strings
    assert after_old.strings.values.to_pylist() == ["b", "a", "c", "d"]
    assert rows_of(after_old) == rows_of(old)
    assert rows_of(after_new) == rows_of(new)


def test_a_pool_that_has_everything_is_left_alone() -> None:
    pool = StringPool(pa.array(["a", "b"]))
    union, codes = extend_pool(pool, StringPool(pa.array(["b"])))
    assert union is pool
    assert codes.tolist() == [1]
    assert extend_pool(pool, StringPool(pa.array([], pa.string())))[0] is pool


def test_a_pool_of_strings_that_nobody_has_is_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "LEAST_POOL", 10)
    events = events_of([(time, time, f"s{time}") for time in range(50)])
    kept = [events.take(slice(40, 44)), events.take(np.array([2, 30]))]
    pool, codes = compact_pool(kept)
    assert sorted(pool.values.to_pylist()) == ["s2", "s30", "s40", "s41", "s42", "s43"]
    for part in kept:
        assert rows_of(recode_strings(part, pool, codes)) == rows_of(part)


def test_a_small_or_well_used_pool_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    events = events_of([(time, time, f"s{time}") for time in range(50)])
    assert compact_pool([events.take(slice(0, 1))])[0] is events.strings
    monkeypatch.setattr(merge, "LEAST_POOL", 10)
    assert compact_pool([events.take(slice(0, 25))])[0] is events.strings
    assert compact_pool([events.take(slice(0, 24))])[0] is not events.strings


def test_compacting_keeps_rows_without_a_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "LEAST_POOL", 1)
    events = events_of([(time, time, None if time % 2 else f"s{time}") for time in range(40)])
    part = events.take(slice(37, 39))
    pool, codes = compact_pool([part])
    assert len(pool.values) < len(events.strings.values)
    assert rows_of(recode_strings(part, pool, codes)) == [(37, 37, None), (38, 38, "s38")]


@pytest.mark.parametrize("tie", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_merged_events_are_sorted_and_every_row_is_found_again(seed: int, tie: bool) -> None:
    dice = random.Random(seed)

    def drawn(first_id: int) -> Events:
        texts = ["a", "b", "c", "é", None]
        rows: list[Row] = [
            (dice.randint(0, 6), first_id + number, dice.choice(texts))
            for number in range(dice.randint(0, 8))
        ]
        return events_of(rows, tie=tie)

    old, new = in_one_pool(drawn(0), drawn(100))
    both, old_places, new_places = merge_events(old, new)
    places = np.arange(old.n_events) if old_places is None else old_places
    merged = rows_of(both)
    assert [merged[place] for place in places] == rows_of(old)
    assert [merged[place] for place in new_places] == rows_of(new)
    assert sorted([*places.tolist(), *new_places.tolist()]) == list(range(len(merged)))
    keys = [(time, text is not None, text or "") if tie else time for time, _, text in merged]
    assert keys == sorted(keys)
    if tie and merged:
        assert both.ties is not None
        ranks = both.ranks.tolist()
        assert [a == b for a, b in zip(ranks, ranks[1:], strict=False)] == [
            a == b for a, b in zip(keys, keys[1:], strict=False)
        ]


def test_ties_of_two_batches_are_compared_by_their_values() -> None:
    """The places of ties are numbered per batch: 'b' is the first in one, and the second in both."""
    old, new = in_one_pool(
        events_of([(5, 1, "b")], tie=True), events_of([(5, 2, "a"), (5, 3, "b")], tie=True)
    )
    both, old_places, new_places = merge_events(old, new)
    assert both.ids.to_pylist() == [2, 1, 3]
    assert old_places is not None
    assert old_places.tolist() == [1]
    assert new_places.tolist() == [0, 2]
    assert both.ranks[1] == both.ranks[2] != both.ranks[0]


def test_events_of_two_pools_are_not_merged() -> None:
    with pytest.raises(ValueError, match="one pool"):
        merge_events(events_of([(1, 1, "a")]), events_of([(2, 2, "a")]))


@pytest.mark.parametrize("seed", range(20))
def test_deliveries_that_are_known_are_dropped(seed: int) -> None:
    dice = random.Random(seed)

    def drawn(n_rows: int) -> list[Row]:
        pairs = {(dice.randint(0, 5), dice.randint(0, 3)) for _ in range(n_rows)}
        return [(time, number, "a") for time, number in pairs]

    known = [events_of(drawn(dice.randint(0, 6))) for _ in range(3)]
    new = events_of(drawn(8))
    seen = {row[:2] for part in known for row in rows_of(part)}
    assert rows_of(drop_delivered(new, known)) == [row for row in rows_of(new) if row[:2] not in seen]


def test_an_id_of_another_time_is_another_event() -> None:
    """Also where both times have known events, and the ids stand side by side."""
    known = events_of([(0, 10, "a"), (5, 40, "a")])
    new = events_of([(0, 10, "a"), (5, 10, "a")])
    assert rows_of(drop_delivered(new, [known])) == [(5, 10, "a")]


def test_without_known_events_all_are_new() -> None:
    new = events_of([(1, 1, "a")])
    assert drop_delivered(new, []) is new
    assert drop_delivered(new, [events_of([])]) is new
    assert renumber_repeats(new, []) is new


@pytest.mark.parametrize("seed", range(20))
def test_equal_contents_get_further_numbers(seed: int) -> None:
    """By definition: the n-th event of a time and a content, in order of arrival, has the number n."""
    dice = random.Random(seed)
    counts: dict[tuple[int, str], int] = {}
    known: list[Events] = []
    for _ in range(4):
        drawn = sorted((dice.randint(0, 2), dice.choice(CONTENTS)) for _ in range(dice.randint(0, 6)))
        within: dict[tuple[int, str], int] = {}
        rows: list[Row] = []
        for time, content in drawn:
            number = within.get((time, content), 0)
            within[time, content] = number + 1
            rows.append((time, content if number == 0 else f"{content}-{number}", "a"))
        found = renumber_repeats(events_of(rows, ids=pa.string()), known)
        expected = []
        for time, content in drawn:
            number = counts.get((time, content), 0)
            counts[time, content] = number + 1
            expected.append((time, content if number == 0 else f"{content}-{number}"))
        assert sorted(row[:2] for row in rows_of(found)) == sorted(expected)
        known.append(found)


def test_numbers_follow_contents() -> None:
    assert append_numbers(pa.array(["a", "b", "c"]), np.array([0, 2, 11])).to_pylist() == ["a", "b-2", "c-11"]


def test_columns_without_null_stay_so() -> None:
    old, new = in_one_pool(events_of([(1, 1, "a")]), events_of([(2, 2, None)]))
    both, _, _ = merge_events(
        replace(old, columns={**old.columns, "n": Column(LONG, np.array([7]))}),
        replace(new, columns={**new.columns, "n": Column(LONG, np.array([8]))}),
    )
    assert both.columns["n"].valid is None
    assert both.columns["n"].values.tolist() == [7, 8]
    assert both.columns["x"].validity.tolist() == [True, False]
