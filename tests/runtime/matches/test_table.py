"""Lists as views of rows that they may have in common: taken, packed, joined together, moved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.runtime.matches.table import (
    ABSENT,
    Lists,
    Table,
    as_lists,
    concatenate_tables,
    empty_table,
    first_rows,
    flatten_events,
    last_rows,
    lists_of,
    neighbors,
)

Plain = list[list[int]]
N_ROWS = 12


def array(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


def plain(lists: Lists) -> Plain:
    """Return lists one by one, read from the views."""
    return [
        lists.rows[start : start + length].tolist()
        for start, length in zip(lists.starts, lists.lengths, strict=True)
    ]


@st.composite
def views(draw: st.DrawFn, least: int = 0) -> Lists:
    """Draw stretches of growing rows, which may overlap and leave some out."""
    rows = draw(st.lists(st.integers(1, 50), min_size=1, max_size=N_ROWS, unique=True).map(sorted))
    stretch = st.integers(0, len(rows) - 1).flatmap(
        lambda start: st.tuples(st.just(start), st.integers(1, len(rows) - start))
    )
    stretches = draw(st.lists(stretch, min_size=least, max_size=6))
    return Lists(array([a for a, _ in stretches]), array([b for _, b in stretches]), array(rows))


def table_of(lists: Lists) -> Table:
    """Return a table of an event and a list, which begins after it."""
    first, last = first_rows(lists) - 1, last_rows(lists)
    return Table((first, lists), first, last)


def rows_of(table: Table) -> list[tuple[int, list[int], int, int]]:
    events, lists = table.columns
    assert isinstance(events, np.ndarray)
    assert isinstance(lists, Lists)
    return list(zip(events.tolist(), plain(lists), table.first.tolist(), table.last.tolist(), strict=True))


@given(views())
def test_elements_are_those_of_one_list_after_the_other(lists: Lists) -> None:
    expected = plain(lists)
    assert lists.elements.tolist() == [row for own in expected for row in own]
    assert lists.owners.tolist() == [number for number, own in enumerate(expected) for _ in own]
    assert lists.n_elements == lists.elements.size
    cut = [lists.elements[a:b].tolist() for a, b in zip(lists.offsets, lists.offsets[1:], strict=False)]
    assert cut == expected


@given(views(), st.data())
def test_what_is_taken_is_a_view_of_the_same_rows(lists: Lists, data: st.DataObject) -> None:
    size = lists.lengths.size
    selected = data.draw(st.lists(st.integers(0, size - 1), max_size=8)) if size else []
    taken = lists.take(array(selected))
    assert taken.rows is lists.rows
    assert plain(taken) == [plain(lists)[number] for number in selected]
    assert taken.elements.tolist() == [row for own in plain(taken) for row in own]


@given(views())
def test_packed_lists_are_the_same_and_never_take_more_room(lists: Lists) -> None:
    packed = lists.compact()
    assert plain(packed) == plain(lists)
    assert packed.rows.size == min(lists.rows.size, lists.n_elements)


def test_lists_with_much_in_common_stay_views() -> None:
    """All prefixes of a thousand rows are half a million elements."""
    rows = np.arange(1_000)
    prefixes = Lists(np.zeros(1_000, np.int64), rows + 1, rows)
    assert prefixes.compact() is prefixes
    few = prefixes.take(array([2, 0]))
    assert few.compact().rows.tolist() == [0, 1, 2, 0]


@given(views())
def test_neighbors_follow_each_other_in_one_list(lists: Lists) -> None:
    expected = [
        (number, a, b) for number, own in enumerate(plain(lists)) for a, b in zip(own, own[1:], strict=False)
    ]
    assert list(zip(*(part.tolist() for part in neighbors(lists)), strict=True)) == expected


@given(views())
def test_lists_have_a_first_and_a_last_row(lists: Lists) -> None:
    assert first_rows(lists).tolist() == [own[0] for own in plain(lists)]
    assert last_rows(lists).tolist() == [own[-1] for own in plain(lists)]


def test_a_single_event_is_a_list_of_one() -> None:
    assert plain(as_lists(array([7, 3]))) == [[7], [3]]


def test_an_absent_event_is_an_empty_list_and_stays_absent() -> None:
    first, second = array([ABSENT, 1, 2]), array([2, ABSENT, 4])
    table = Table((first, second), array([2, 1, 2]), array([2, 1, 4]))
    assert plain(as_lists(first)) == [[], [1], [2]]
    assert [part.tolist() for part in flatten_events(table, [1, 0])] == [
        [0, 1, 2, 4],
        [1, 0, 1, 0],
        [2, 1, 4, 2],
    ]
    assert [column.tolist() for column in table.shifted(1).columns] == [[ABSENT, 0, 1], [1, ABSENT, 3]]
    moved = table.moved(array([5, 6, 7, 8, 9]))
    assert [column.tolist() for column in moved.columns] == [[ABSENT, 6, 7], [7, ABSENT, 9]]


@given(st.lists(views(), min_size=1, max_size=3))
def test_tables_one_after_the_other_are_sorted_by_the_last_event(parts: list[Lists]) -> None:
    every = [row for lists in parts for row in rows_of(table_of(lists))]
    together = concatenate_tables([table_of(lists) for lists in parts])
    if sum(lists.lengths.size > 0 for lists in parts) > 1:
        every.sort(key=lambda row: row[-1])
    assert rows_of(together) == every


def test_a_table_without_rows_adds_none() -> None:
    table, none = table_of(lists_of(array([0, 2]), array([3, 5]))), empty_table([False, True])
    assert rows_of(none) == []
    assert concatenate_tables([none, table, none]) is table
    assert rows_of(concatenate_tables([none, none])) == []
    assert plain(none.columns[1].compact()) == []  # type: ignore[union-attr]


def test_tables_put_together_keep_no_rows_that_no_list_has() -> None:
    rows = np.arange(1_000)
    parts = [table_of(Lists(array([start]), array([2]), rows)) for start in (3, 700)]
    together = concatenate_tables(parts).columns[1]
    assert isinstance(together, Lists)
    assert together.rows.tolist() == [3, 4, 700, 701]


@given(views(), st.data())
def test_events_that_moved_are_found_where_they_are_now(lists: Lists, data: st.DataObject) -> None:
    """Other events came between: the rows grow, and keep their order."""
    steps = data.draw(st.lists(st.integers(1, 3), min_size=60, max_size=60))
    places = np.cumsum(steps)
    table = Table((last_rows(lists), lists), first_rows(lists), last_rows(lists))
    expected = [
        (places[event], [places[row] for row in own], places[first], places[last])
        for event, own, first, last in rows_of(table)
    ]
    assert rows_of(table.moved(places)) == expected


@given(views(least=1))
def test_events_that_are_dropped_shift_the_others(lists: Lists) -> None:
    """Rows before all lists are dropped with the events, though other views still had them."""
    table = table_of(lists)
    dropped = int(table.first.min())
    expected = [
        (event - dropped, [row - dropped for row in own], first - dropped, last - dropped)
        for event, own, first, last in rows_of(table)
    ]
    shifted = table.shifted(dropped)
    assert rows_of(shifted) == expected
    again = shifted.moved(np.arange(100) * 2)  # rows that no list has are rows still
    assert [own for _, own, _, _ in rows_of(again)] == [[2 * row for row in own] for _, own, _, _ in expected]


def test_rows_that_no_list_has_may_be_gone() -> None:
    """Two lists share long rows, of which the earliest belong to none: these events are forgotten."""
    lists = Lists(array([4, 5, 4, 5]), array([2, 1, 2, 1]), np.arange(6))
    table = Table((lists,), first_rows(lists), last_rows(lists))
    shifted = table.shifted(4).columns[0]
    assert isinstance(shifted, Lists)
    assert shifted.rows.min() >= 0
    assert plain(shifted) == [[0, 1], [1], [0, 1], [1]]


@given(views())
def test_rows_are_selected_with_their_lists(lists: Lists) -> None:
    table = table_of(lists)
    turned = table.take(np.arange(table.n_rows)[::-1])
    assert rows_of(turned) == rows_of(table)[::-1]
    assert [row[-1] for row in rows_of(turned.sorted())] == sorted(row[-1] for row in rows_of(table))


@pytest.mark.parametrize("columns", [[0, 1], [1, 0], [1]])
@given(lists=views())
def test_events_of_a_match_come_by_column_and_element(columns: list[int], lists: Lists) -> None:
    table = table_of(lists)
    offsets, numbers, rows = flatten_events(table, columns)
    found = [
        list(zip(numbers[a:b].tolist(), rows[a:b].tolist(), strict=True))
        for a, b in zip(offsets, offsets[1:], strict=False)
    ]
    assert found == [
        [(number, row) for number in columns for row in ([event], own)[number]]
        for event, own, _, _ in rows_of(table)
    ]
