"""Hashes of strings and bindings against their plain Python twins, and values that never change."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.test_arrays import split_mix

from weft.kernels.matches.identity import (
    hash_bindings,
    hash_numbers,
    hash_strings,
    sort_bindings,
    write_hex,
    write_names,
)

WORD = 2**64
words = st.one_of(st.integers(0, 3), st.integers(0, WORD - 1))


def naive_string_hash(text: str) -> int:
    data = text.encode()
    state = len(data) ^ 0xA0761D6478BD642F
    for byte in data:
        state = (state ^ byte) * 0x100000001B3 % WORD
    return split_mix(state)


def naive_binding_hash(pairs: list[tuple[int, int]], seed: int) -> int:
    state = split_mix(seed)
    for variable, event in pairs:
        state = split_mix((split_mix(state ^ variable) + event) % WORD)
    return state


def hashes_of(texts: pa.StringArray) -> list[int]:
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    data = texts.buffers()[2]
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return [int(found) for found in hash_strings(offsets, content)]


@given(st.lists(st.text(), min_size=1))
def test_strings_are_hashed_by_their_bytes(texts: list[str]) -> None:
    assert hashes_of(pa.array(texts, pa.string())) == [naive_string_hash(text) for text in texts]


@given(st.lists(st.text(), min_size=2))
def test_a_slice_of_strings_is_hashed_alike(texts: list[str]) -> None:
    array = pa.array(texts, pa.string())
    assert hashes_of(array.slice(1)) == hashes_of(array)[1:]


def test_strings_that_a_weak_hash_confuses_are_told_apart() -> None:
    texts = ["", "\0", "\0\0", "a", "a\0", "ab", "ba", "aa", "1", "10", "01"]
    assert len(set(hashes_of(pa.array(texts)))) == len(texts)


@given(st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1))))
def test_numbers_are_scrambled(numbers: list[int]) -> None:
    assert hash_numbers(np.array(numbers, np.int64)).tolist() == [split_mix(one % WORD) for one in numbers]


seeds = st.integers(0, 2**63 - 1)


def bindings(longest: int) -> st.SearchStrategy[list[list[tuple[int, int]]]]:
    """Matches as pairs of a variable's number and an event's row, of three variables and four events."""
    return st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=longest), max_size=4)


def flat(matches: list[list[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pairs = [pair for match in matches for pair in match]
    numbers, rows = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))
    return np.cumsum([0, *map(len, matches)]), numbers, rows


three, four = (st.lists(words, min_size=size, max_size=size) for size in (3, 4))


@given(bindings(4), three, four, seeds, seeds)
def test_bindings_are_hashed_pair_by_pair(
    matches: list[list[tuple[int, int]]], variables: list[int], events: list[int], first: int, second: int
) -> None:
    offsets, numbers, rows = flat(matches)
    hashes = np.array(variables, np.uint64), np.array(events, np.uint64)
    found = hash_bindings(offsets, hashes[0], numbers, hashes[1], rows, np.array([first, second]))
    named = [[(variables[number], events[row]) for number, row in match] for match in matches]
    assert found.tolist() == [
        [naive_binding_hash(match, seed) for seed in (first, second)] for match in named
    ]


def test_which_variable_has_which_event_matters() -> None:
    offsets, numbers, rows = flat([[(0, 0), (1, 1)], [(1, 0), (0, 1)], [(0, 1), (1, 0)]])
    variables, events = np.array([1, 2], np.uint64), np.array([7, 8], np.uint64)
    found = hash_bindings(offsets, variables, numbers, events, rows, np.array([5, 6]))
    assert len(set(found[:, 0].tolist())) == len(set(found[:, 1].tolist())) == 3


@given(bindings(200), st.lists(st.integers(-2, 2), min_size=4, max_size=4))
def test_bindings_are_sorted_by_rank_then_by_variable(
    matches: list[list[tuple[int, int]]], ranks: list[int]
) -> None:
    offsets, numbers, rows = flat(matches)
    expected = [sorted(match, key=lambda pair: (ranks[pair[1]], pair[0])) for match in matches]
    found = sort_bindings(offsets, numbers, rows, np.array(ranks))
    assert [one.tolist() for one in found] == [one.tolist() for one in flat(expected)[1:]]


@given(st.lists(st.lists(words, min_size=2, max_size=2), min_size=1))
def test_hexadecimal_text_is_padded_and_lower_case(rows: list[list[int]]) -> None:
    text = write_hex(np.array(rows, np.uint64)).tobytes().decode()
    assert text == "".join(f"{lane:016x}" for row in rows for lane in row)


@given(st.lists(st.text(), min_size=1), st.data())
def test_names_are_written_by_their_numbers(names: list[str], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(names) - 1)))
    content = [name.encode() for name in names]
    offsets = np.cumsum([0, *map(len, content)])
    ends, text = write_names(np.array(numbers, np.int64), offsets, np.frombuffer(b"".join(content), np.uint8))
    written = text.tobytes()
    found = [written[start:stop].decode() for start, stop in zip(ends, ends[1:], strict=False)]
    assert found == [names[number] for number in numbers]
