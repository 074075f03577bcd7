"""XXH64 as its specification has it, and as numbers of four and eight bytes."""

import numpy as np
import pytest

from weft.kernels.content_hash import hash_big_integers, hash_bytes, hash_ints, hash_longs

ALL = np.ones(1, np.bool_)


def hashed(text: bytes, seed: int = 0) -> int:
    hashes = np.array([seed], np.uint64)
    content = np.frombuffer(text, np.uint8) if text else np.zeros(1, np.uint8)
    hash_bytes(content, np.array([0, len(text)]), ALL, hashes)
    return int(hashes[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"The quick brown fox jumps over the lazy dog", 0x0B242D361FDA71BC),
    ],
)
def test_known_hashes_of_texts(text: bytes, expected: int) -> None:
    assert hashed(text) == expected


def test_numbers_hash_as_their_bytes() -> None:
    for number in (0, 1, -1, 1 << 30, -(1 << 31)):
        hashes = np.array([42], np.uint64)
        hash_ints(np.array([number], np.int32).view(np.uint32), ALL, hashes)
        assert int(hashes[0]) == hashed(np.int32(number).tobytes(), 42)
        hashes = np.array([42], np.uint64)
        hash_longs(np.array([number], np.int64).view(np.uint64), ALL, hashes)
        assert int(hashes[0]) == hashed(np.int64(number).tobytes(), 42)


def test_big_integers_hash_as_their_fewest_bytes() -> None:
    for number in (0, 1, -1, 127, 128, -128, -129, 255, 256, 10**30, -(10**30), (1 << 127) - 1, -(1 << 127)):
        n_bytes = (number + (number < 0)).bit_length() // 8 + 1
        hashes = np.array([7], np.uint64)
        words = np.frombuffer(number.to_bytes(16, "little", signed=True), np.uint8).reshape(1, 16)
        hash_big_integers(words, ALL, hashes)
        assert int(hashes[0]) == hashed(number.to_bytes(n_bytes, "big", signed=True), 7)


def test_a_null_leaves_the_hash_as_it_is() -> None:
    hashes = np.array([5, 5], np.uint64)
    hash_longs(np.array([1, 1], np.uint64), np.array([False, True]), hashes)
    assert hashes[0] == 5 != hashes[1]
