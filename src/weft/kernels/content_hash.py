"""Mix columns into hashes of their rows, value by value, as the function `xxhash64` of Spark does.

Idea        XXH64 with the hash of the columns so far as its seed; a NULL leaves the hash as it is.
Reference   The specification of XXH64, version 0.1.1. github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
Differs     Numbers of four and of eight bytes have functions of their own, as in Spark; they give what the
            bytes would.
Complexity  Linear in the bytes.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, Word, as_input

PRIME_1 = np.uint64(0x9E3779B185EBCA87)
PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
PRIME_3 = np.uint64(0x165667B19E3779F9)
PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
PRIME_5 = np.uint64(0x27D4EB2F165667C5)


def hash_ints(values: Array, valid: Array, hashes: Array) -> None:
    """Mix numbers of four bytes, given as uint32, into the uint64 hashes of their rows."""
    _hash_ints(as_input(values), as_input(valid), hashes)


@njit(cache=True, nogil=True)
def _hash_ints(values: Array, valid: Array, hashes: Array) -> None:
    for row in range(values.size):
        if valid[row]:
            state = hashes[row] + PRIME_5 + np.uint64(4)
            hashes[row] = _finish(_mix_four(state, np.uint64(values[row])))


def hash_longs(values: Array, valid: Array, hashes: Array) -> None:
    """Mix numbers of eight bytes, given as uint64, into the hashes of their rows."""
    _hash_longs(as_input(values), as_input(valid), hashes)


@njit(cache=True, nogil=True)
def _hash_longs(values: Array, valid: Array, hashes: Array) -> None:
    for row in range(values.size):
        if valid[row]:
            state = hashes[row] + PRIME_5 + np.uint64(8)
            hashes[row] = _finish(_mix_eight(state, values[row]))


def hash_bytes(content: Array, starts: Array, valid: Array, hashes: Array) -> None:
    """Mix texts into the hashes of their rows; row r has the bytes from `starts[r]` to `starts[r + 1]`."""
    _hash_texts(as_input(content), as_input(starts), as_input(valid), hashes)


@njit(cache=True, nogil=True)
def _hash_texts(content: Array, starts: Array, valid: Array, hashes: Array) -> None:
    for row in range(hashes.size):
        if valid[row]:
            hashes[row] = _hash_of_bytes(content, starts[row], starts[row + 1], hashes[row])


def hash_big_integers(content: Array, valid: Array, hashes: Array) -> None:
    """Mix integers of any length into the hashes of their rows, as the fewest bytes that hold them.

    `content` has a row of bytes for each, the least significant first; they are hashed in opposite order.
    """
    _hash_big_integers(as_input(content), as_input(valid), hashes)


@njit(cache=True, nogil=True)
def _hash_big_integers(content: Array, valid: Array, hashes: Array) -> None:
    width = content.shape[1]
    reverse = np.empty(width, np.uint8)
    for row in range(hashes.size):
        if valid[row]:
            filler = 255 if content[row, width - 1] >= 128 else 0
            length = width
            while (
                length > 1
                and content[row, length - 1] == filler
                and (content[row, length - 2] >= 128) == (filler == 255)
            ):
                length -= 1
            for place in range(length):
                reverse[place] = content[row, length - 1 - place]
            hashes[row] = _hash_of_bytes(reverse, 0, length, hashes[row])


@njit(cache=True, nogil=True)
def _hash_of_bytes(content: Array, start: int, stop: int, seed: Word) -> Word:
    place = start
    if stop - start >= 32:
        first = seed + PRIME_1 + PRIME_2
        second = seed + PRIME_2
        third = seed
        fourth = seed - PRIME_1
        while place + 32 <= stop:
            first = _round(first, _eight_bytes(content, place))
            second = _round(second, _eight_bytes(content, place + 8))
            third = _round(third, _eight_bytes(content, place + 16))
            fourth = _round(fourth, _eight_bytes(content, place + 24))
            place += 32
        state = _rotate(first, 1) + _rotate(second, 7) + _rotate(third, 12) + _rotate(fourth, 18)
        state = _merge(_merge(_merge(_merge(state, first), second), third), fourth)
    else:
        state = seed + PRIME_5
    state += np.uint64(stop - start)
    while place + 8 <= stop:
        state = _mix_eight(state, _eight_bytes(content, place))
        place += 8
    if place + 4 <= stop:
        state = _mix_four(state, _four_bytes(content, place))
        place += 4
    while place < stop:
        state = _rotate(state ^ (np.uint64(content[place]) * PRIME_5), 11) * PRIME_1
        place += 1
    return _finish(state)


@njit(cache=True, nogil=True)
def _rotate(word: Word, n_bits: int) -> Word:
    return (word << np.uint64(n_bits)) | (word >> np.uint64(64 - n_bits))


@njit(cache=True, nogil=True)
def _round(lane: Word, word: Word) -> Word:
    return _rotate(lane + word * PRIME_2, 31) * PRIME_1


@njit(cache=True, nogil=True)
def _merge(state: Word, lane: Word) -> Word:
    return (state ^ _round(np.uint64(0), lane)) * PRIME_1 + PRIME_4


@njit(cache=True, nogil=True)
def _mix_eight(state: Word, word: Word) -> Word:
    return _rotate(state ^ _round(np.uint64(0), word), 27) * PRIME_1 + PRIME_4


@njit(cache=True, nogil=True)
def _mix_four(state: Word, word: Word) -> Word:
    return _rotate(state ^ (word * PRIME_1), 23) * PRIME_2 + PRIME_3


@njit(cache=True, nogil=True)
def _finish(state: Word) -> Word:
    state = (state ^ (state >> np.uint64(33))) * PRIME_2
    state = (state ^ (state >> np.uint64(29))) * PRIME_3
    return state ^ (state >> np.uint64(32))


@njit(cache=True, nogil=True)
def _eight_bytes(content: Array, place: int) -> Word:
    return _four_bytes(content, place) | (_four_bytes(content, place + 4) << np.uint64(32))


@njit(cache=True, nogil=True)
def _four_bytes(content: Array, place: int) -> Word:
    return (
        np.uint64(content[place])
        | (np.uint64(content[place + 1]) << np.uint64(8))
        | (np.uint64(content[place + 2]) << np.uint64(16))
        | (np.uint64(content[place + 3]) << np.uint64(24))
    )
