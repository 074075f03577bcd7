"""Hashes of what a match binds, and texts of a match: its hash as hexadecimal digits, its names."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, as_input, mix_bits

LONG_MATCH = 64  # events; longer ones are merged, not inserted one by one


def hash_strings(offsets: Array, data: Array) -> Array:
    """Hash each string of an Arrow layout (offsets, bytes) to 64 bits."""
    return _hash_strings(as_input(offsets), as_input(data))


@njit(cache=True, nogil=True)
def _hash_strings(offsets: Array, data: Array) -> Array:
    hashes = np.empty(offsets.size - 1, np.uint64)
    for row in range(hashes.size):
        state = np.uint64(offsets[row + 1] - offsets[row]) ^ np.uint64(0xA0761D6478BD642F)
        for place in range(offsets[row], offsets[row + 1]):
            state = (state ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        hashes[row] = mix_bits(state)
    return hashes


def hash_numbers(numbers: Array) -> Array:
    """Hash each 64-bit number."""
    return _hash_numbers(as_input(numbers))


@njit(cache=True, nogil=True)
def _hash_numbers(numbers: Array) -> Array:
    hashes = np.empty(numbers.size, np.uint64)
    for row in range(hashes.size):
        hashes[row] = mix_bits(np.uint64(numbers[row]))
    return hashes


@njit(cache=True, nogil=True)
def hash_bindings(
    offsets: Array, variables: Array, numbers: Array, events: Array, rows: Array, seeds: Array
) -> Array:
    """Hash the (variable, event) pairs of each match, in the order given, from two seeds.

    The pairs at offsets[i]:offsets[i + 1] of `numbers` and `rows` are those of match i; `variables` and
    `events` have the hashes. Returns a row of two hashes for each match.
    """
    hashes = np.empty((offsets.size - 1, 2), np.uint64)
    first, second = mix_bits(np.uint64(seeds[0])), mix_bits(np.uint64(seeds[1]))
    for match in range(hashes.shape[0]):
        high, low = first, second
        for place in range(offsets[match], offsets[match + 1]):
            variable, event = variables[numbers[place]], events[rows[place]]
            high = mix_bits(mix_bits(high ^ variable) + event)
            low = mix_bits(mix_bits(low ^ variable) + event)
        hashes[match, 0] = high
        hashes[match, 1] = low
    return hashes


@njit(cache=True, nogil=True)
def sort_bindings(offsets: Array, numbers: Array, rows: Array, ranks: Array) -> tuple[Array, Array]:
    """Return the (variable number, event row) pairs of each match by the rank of the event, then by number.

    Most matches are short, or nearly in order.
    """
    numbers, rows = numbers.copy(), rows.copy()
    for match in range(offsets.size - 1):
        start, stop = offsets[match], offsets[match + 1]
        if stop - start > LONG_MATCH:
            order = start + np.argsort(numbers[start:stop], kind="mergesort")
            order = order[np.argsort(ranks[rows[order]], kind="mergesort")]
            numbers[start:stop], rows[start:stop] = numbers[order], rows[order]
            continue
        for place in range(start + 1, stop):
            number, row = numbers[place], rows[place]
            rank = ranks[row]
            hole = place
            while hole > start:
                before = ranks[rows[hole - 1]]
                if before < rank or (before == rank and numbers[hole - 1] <= number):
                    break
                numbers[hole], rows[hole] = numbers[hole - 1], rows[hole - 1]
                hole -= 1
            numbers[hole], rows[hole] = number, row
    return numbers, rows


def write_hex(lanes: Array) -> Array:
    """Write each row of 64-bit lanes as lower-case hexadecimal ASCII, 16 characters a lane."""
    return _write_hex(as_input(lanes))


@njit(cache=True, nogil=True)
def _write_hex(lanes: Array) -> Array:
    n_rows, n_lanes = lanes.shape
    text = np.empty(n_rows * n_lanes * 16, np.uint8)
    for row in range(n_rows):
        for lane in range(n_lanes):
            value = lanes[row, lane]
            start = (row * n_lanes + lane) * 16
            for place in range(16):
                digit = (value >> np.uint64(60 - 4 * place)) & np.uint64(15)
                text[start + place] = digit + (48 if digit < 10 else 87)
    return text


@njit(cache=True, nogil=True)
def write_names(numbers: Array, offsets: Array, data: Array) -> tuple[Array, Array]:
    """Write the names with the given numbers one after the other: offsets and bytes, as Arrow has them."""
    ends = np.empty(numbers.size + 1, np.int32)
    ends[0] = 0
    for place in range(numbers.size):
        number = numbers[place]
        ends[place + 1] = ends[place] + (offsets[number + 1] - offsets[number])
    text = np.empty(ends[numbers.size], np.uint8)
    for place in range(numbers.size):
        source = offsets[numbers[place]]
        for target in range(ends[place], ends[place + 1]):
            text[target] = data[source]
            source += 1
    return ends, text
