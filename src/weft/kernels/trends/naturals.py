"""Natural numbers of any size: rows of 32-bit limbs, lowest first, with the number of limbs in use.

A pool is a two-dimensional array of limbs and an array of lengths; a number is a row of it. Whoever makes
the pool knows how large its numbers can become, and gives every row the limbs for that.
"""

import numpy as np
from numba import njit

from weft.kernels.arrays import Array

LOW = np.uint64(0xFFFFFFFF)
BITS = np.uint64(32)


@njit(cache=True, nogil=True)
def assign(limbs: Array, lengths: Array, target: int, other: int) -> None:
    """Set a number to another."""
    length = lengths[other]
    for place in range(length):
        limbs[target, place] = limbs[other, place]
    lengths[target] = length


@njit(cache=True, nogil=True)
def assign_word(limbs: Array, lengths: Array, target: int, value: int) -> None:
    """Set a number to a small one, below two to the 32."""
    limbs[target, 0] = value
    lengths[target] = 1 if value else 0


@njit(cache=True, nogil=True)
def add_multiple(limbs: Array, lengths: Array, target: int, other: int, factor: int) -> None:
    """Add a number, times a factor below two to the 32, to another number, which may be itself."""
    n_other, n_target = lengths[other], lengths[target]
    if n_other == 0 or factor == 0:
        return
    carry, times = np.uint64(0), np.uint64(factor)
    for place in range(n_other):
        total = np.uint64(limbs[other, place]) * times + carry
        if place < n_target:
            total += np.uint64(limbs[target, place])
        limbs[target, place] = np.uint32(total & LOW)
        carry = total >> BITS
    place = n_other
    while carry:
        total = carry
        if place < n_target:
            total += np.uint64(limbs[target, place])
        limbs[target, place] = np.uint32(total & LOW)
        carry = total >> BITS
        place += 1
    lengths[target] = max(n_target, place)


@njit(cache=True, nogil=True)
def add_product(limbs: Array, lengths: Array, target: int, left: int, right: int) -> None:
    """Add the product of two numbers to a third, which is neither of them."""
    if lengths[left] < lengths[right]:
        left, right = right, left
    add_scaled(limbs, lengths, target, left, limbs[right], lengths[right])


@njit(cache=True, nogil=True)
def add_scaled(limbs: Array, lengths: Array, target: int, source: int, factor: Array, n_factor: int) -> None:
    """Add the product of a number and the first limbs of an array to another number."""
    n_source, n_target = lengths[source], lengths[target]
    if n_source == 0 or n_factor == 0:
        return
    reached = n_source + n_factor
    for place in range(n_target, reached):
        limbs[target, place] = 0
    reached = max(reached, n_target)
    for shift in range(n_factor):
        times, carry = np.uint64(factor[shift]), np.uint64(0)
        for place in range(n_source):
            total = np.uint64(limbs[source, place]) * times + np.uint64(limbs[target, shift + place]) + carry
            limbs[target, shift + place] = np.uint32(total & LOW)
            carry = total >> BITS
        place = shift + n_source
        while carry:
            if place >= reached:
                limbs[target, place] = 0
                reached = place + 1
            total = np.uint64(limbs[target, place]) + carry
            limbs[target, place] = np.uint32(total & LOW)
            carry = total >> BITS
            place += 1
    while reached and limbs[target, reached - 1] == 0:
        reached -= 1
    lengths[target] = reached


@njit(cache=True, nogil=True)
def subtract(limbs: Array, lengths: Array, target: int, other: int) -> None:
    """Subtract a number from another that is at least as large."""
    borrow = np.int64(0)
    length = lengths[target]
    for place in range(length):
        if place >= lengths[other] and borrow == 0:
            break
        left = np.int64(limbs[target, place]) - borrow
        if place < lengths[other]:
            left -= np.int64(limbs[other, place])
        borrow = np.int64(1) if left < 0 else np.int64(0)
        limbs[target, place] = np.uint32(left & 0xFFFFFFFF)
    while length and limbs[target, length - 1] == 0:
        length -= 1
    lengths[target] = length


@njit(cache=True, nogil=True)
def load(limbs: Array, lengths: Array, target: int, content: Array, start: int, stop: int) -> None:
    """Set a number to limbs kept elsewhere."""
    for place in range(start, stop):
        limbs[target, place - start] = content[place]
    lengths[target] = stop - start


@njit(cache=True, nogil=True)
def sum_runs(content: Array, offsets: Array, order: Array, runs: Array) -> tuple[Array, Array]:
    """Add up numbers that lie one after the other in `content`.

    Number i is content[offsets[i]:offsets[i + 1]]; run r adds the numbers order[runs[r]:runs[r + 1]].
    Returns the sums in the same form: their limbs and offsets.
    """
    n_runs = runs.size - 1
    longest = 0
    for number in range(offsets.size - 1):
        longest = max(longest, offsets[number + 1] - offsets[number])
    limbs = np.empty((2, longest + 3), np.uint32)
    lengths = np.zeros(2, np.int64)
    sums = np.empty(max(16, content.size + n_runs), np.uint32)
    ends = np.zeros(n_runs + 1, np.int64)
    for run in range(n_runs):
        lengths[0] = 0
        for place in range(runs[run], runs[run + 1]):
            number = order[place]
            load(limbs, lengths, 1, content, offsets[number], offsets[number + 1])
            add_multiple(limbs, lengths, 0, 1, 1)
        start = ends[run]
        ends[run + 1] = start + lengths[0]
        for place in range(lengths[0]):
            sums[start + place] = limbs[0, place]
    return sums[: ends[n_runs]], ends
