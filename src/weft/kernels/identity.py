"""Hashes of what a match binds, as hexadecimal text."""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, mixed


@njit(cache=True, nogil=True)
def hash_strings(offsets: Array, data: Array) -> Array:
    """Hash each string of an Arrow layout (offsets, bytes) to 64 bits."""
    hashes = np.empty(offsets.size - 1, np.uint64)
    for row in range(hashes.size):
        state = np.uint64(offsets[row + 1] - offsets[row]) ^ np.uint64(0xA0761D6478BD642F)
        for place in range(offsets[row], offsets[row + 1]):
            state = (state ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        hashes[row] = mixed(state)
    return hashes


@njit(cache=True, nogil=True)
def hash_bindings(offsets: Array, variables: Array, events: Array, seed: int) -> Array:
    """Hash the (variable hash, event hash) pairs of each match, in the order given, from a seed."""
    hashes = np.empty(offsets.size - 1, np.uint64)
    for row in range(hashes.size):
        state = mixed(np.uint64(seed))
        for place in range(offsets[row], offsets[row + 1]):
            state = mixed(state ^ variables[place])
            state = mixed(state + events[place])
        hashes[row] = state
    return hashes


@njit(cache=True, nogil=True)
def write_hex(lanes: Array) -> Array:
    """Write each row of 64-bit lanes as lower-case hexadecimal ASCII, 16 characters a lane."""
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
