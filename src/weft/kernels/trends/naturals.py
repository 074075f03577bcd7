"""Natural numbers: exact while they are short, beyond that as doubles with an exponent of their own.

Whoever makes room for numbers says how long exact ones may become. A number that outgrows this is rounded,
and what is made of it is rounded too, so that none takes more room or time than the longest exact one. As
nothing but naturals is added and multiplied, a number is rounded only if it is that large, and an operation
is off by a share of at most 2**-52 of what it gives.
"""

from math import frexp, ldexp
from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array

LOW = np.uint64(0xFFFFFFFF)
BITS = np.uint64(32)
ROUNDED = -1
SPARE = 3  # limbs that a sum or product needs before it is rounded
FAR = 2100  # a difference of exponents at which the smaller number does not count


class Numbers(NamedTuple):
    """Natural numbers, each exact in up to `most` limbs of 32 bits, lowest first, or rounded.

    `lengths` are the limbs in use; where that is ROUNDED, the number is mantissas * 2**exponents.
    """

    limbs: Array
    lengths: Array
    mantissas: Array
    exponents: Array
    most: int


@njit(cache=True, nogil=True)
def new_numbers(n_numbers: int, most: int) -> Numbers:
    """Return zeros, which are exact as long as they have at most so many limbs."""
    return Numbers(
        np.empty((n_numbers, most + SPARE), np.uint32),
        np.zeros(n_numbers, np.int64),
        np.empty(n_numbers, np.float64),
        np.empty(n_numbers, np.int64),
        most,
    )


@njit(cache=True, nogil=True)
def clear(numbers: Numbers, target: int) -> None:
    """Set a number to zero."""
    numbers.lengths[target] = 0


@njit(cache=True, nogil=True)
def is_zero(numbers: Numbers, number: int) -> bool:
    """Whether a number is zero."""
    return bool(numbers.lengths[number] == 0)


@njit(cache=True, nogil=True)
def assign(numbers: Numbers, target: int, other: int) -> None:
    """Set a number to another."""
    length = numbers.lengths[other]
    for place in range(length):
        numbers.limbs[target, place] = numbers.limbs[other, place]
    numbers.lengths[target] = length
    numbers.mantissas[target], numbers.exponents[target] = numbers.mantissas[other], numbers.exponents[other]


@njit(cache=True, nogil=True)
def assign_word(numbers: Numbers, target: int, value: int) -> None:
    """Set a number to a small one, below two to the 32."""
    numbers.limbs[target, 0] = value
    numbers.lengths[target] = 1 if value else 0


@njit(cache=True, nogil=True)
def load(numbers: Numbers, target: int, limbs: Array, length: int, mantissa: float, exponent: int) -> None:
    """Set a number to one that is kept elsewhere."""
    if length > numbers.most:
        mantissa, exponent = leading(limbs, length)
        length = ROUNDED
    numbers.lengths[target] = length
    for place in range(length):
        numbers.limbs[target, place] = limbs[place]
    numbers.mantissas[target], numbers.exponents[target] = mantissa, exponent


@njit(cache=True, nogil=True)
def leading(limbs: Array, length: int) -> tuple[float, int]:
    """Return a number of so many limbs as a mantissa and an exponent, right but for the last bit."""
    mantissa, lowest = 0.0, max(length - 3, 0)
    for place in range(length - 1, lowest - 1, -1):
        mantissa = mantissa * 4294967296.0 + limbs[place]
    mantissa, shift = frexp(mantissa)
    return mantissa, 32 * lowest + shift


@njit(cache=True, nogil=True)
def rounded(numbers: Numbers, number: int) -> tuple[float, int]:
    """Return a number as a mantissa and an exponent."""
    if numbers.lengths[number] == ROUNDED:
        return numbers.mantissas[number], numbers.exponents[number]
    return leading(numbers.limbs[number], numbers.lengths[number])


@njit(cache=True, nogil=True)
def _assign_rounded(numbers: Numbers, target: int, mantissa: float, exponent: int) -> None:
    normal, shift = frexp(mantissa)
    numbers.mantissas[target], numbers.exponents[target] = normal, exponent + shift
    numbers.lengths[target] = ROUNDED


@njit(cache=True, nogil=True)
def _add_rounded(numbers: Numbers, target: int, mantissa: float, exponent: int) -> None:
    """Add a rounded number, which may be less than zero, to one that is thereby rounded."""
    if numbers.lengths[target] != 0:
        own, own_exponent = rounded(numbers, target)
        if own_exponent >= exponent:
            mantissa, exponent = own + ldexp(mantissa, max(exponent - own_exponent, -FAR)), own_exponent
        else:
            mantissa += ldexp(own, max(own_exponent - exponent, -FAR))
    _assign_rounded(numbers, target, mantissa, exponent)


@njit(cache=True, nogil=True)
def _settle(numbers: Numbers, target: int, length: int) -> None:
    """Say how many limbs a number has now, and round it if these are too many."""
    numbers.lengths[target] = length
    if length > numbers.most:
        mantissa, exponent = leading(numbers.limbs[target], length)
        _assign_rounded(numbers, target, mantissa, exponent)


@njit(cache=True, nogil=True)
def add_multiple(numbers: Numbers, target: int, other: int, factor: int) -> None:
    """Add a number, times a factor below two to the 32, to another number, which may be itself."""
    limbs, lengths = numbers.limbs, numbers.lengths
    n_other, n_target = lengths[other], lengths[target]
    if n_other == 0 or factor == 0:
        return
    if n_other == ROUNDED or n_target == ROUNDED:
        mantissa, exponent = rounded(numbers, other)
        _add_rounded(numbers, target, mantissa * factor, exponent)
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
    _settle(numbers, target, max(n_target, place))


@njit(cache=True, nogil=True)
def add_product(numbers: Numbers, target: int, left: int, right: int) -> None:
    """Add the product of two numbers to a third, which is neither of them."""
    lengths = numbers.lengths
    if lengths[left] == 0 or lengths[right] == 0:
        return
    if lengths[left] == ROUNDED or lengths[right] == ROUNDED:
        mantissa, exponent = rounded(numbers, left)
        own, own_exponent = rounded(numbers, right)
        _add_rounded(numbers, target, mantissa * own, exponent + own_exponent)
        return
    if lengths[left] < lengths[right]:
        left, right = right, left
    add_scaled(numbers, target, left, numbers.limbs[right], numbers.lengths[right])


@njit(cache=True, nogil=True)
def add_scaled(numbers: Numbers, target: int, source: int, factor: Array, n_factor: int) -> None:
    """Add the product of a number and the first limbs of an array to another number."""
    limbs, lengths = numbers.limbs, numbers.lengths
    n_source, n_target = lengths[source], lengths[target]
    if n_source == 0 or n_factor == 0:
        return
    reached = n_source + n_factor
    if n_source == ROUNDED or n_target == ROUNDED or reached >= numbers.most + SPARE:
        mantissa, exponent = rounded(numbers, source)
        own, own_exponent = leading(factor, n_factor)
        _add_rounded(numbers, target, mantissa * own, exponent + own_exponent)
        return
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
    _settle(numbers, target, reached)


@njit(cache=True, nogil=True)
def subtract(numbers: Numbers, target: int, other: int) -> None:
    """Subtract a number from another that is at least as large."""
    limbs, lengths = numbers.limbs, numbers.lengths
    if lengths[other] == 0:
        return
    if lengths[target] == ROUNDED:
        mantissa, exponent = rounded(numbers, other)
        _add_rounded(numbers, target, -mantissa, exponent)
        if numbers.mantissas[target] <= 0.0:
            lengths[target] = 0
        return
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
