"""What a search knows of patterns and their trees: rows of tables, which refer to each other by number.

The tables hold what was asked for so far. What is not there is UNKNOWN: the kernel notes its question and
gives up the step, and whoever called it answers and begins the step again. NOTHING is an answer.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from weft.kernels.arrays import Array, mix_bits

NOTHING, UNKNOWN = -1, -2
JOIN, CHECK, BEST, GENERAL, PLACE, FIT, GROW, WEAKER = range(8)  # what is asked

TREE = np.dtype(
    [
        (name, np.int64)
        for name in (
            "pattern",
            "mask",  # its items
            "left",  # the trees that it joins; NOTHING where what it needs is counted as a whole
            "right",
            "left_within",  # the trees that it joins, for whatever they are computed
            "right_within",
            "passed",  # the checks that its rows have passed
            "checked",  # the same tree with all checks that can be done
            "reading",  # the slot of the filter by which a reader takes what it wants of it
            "first_slot",  # what it needs besides what the trees that it joins need
            "n_slots",
            "first_part",  # what it offers to others, likewise
            "n_parts",
            "n_offered",  # of these, the first ones are of the tree itself, not of what is below
            "is_dear",  # whether it costs more than can be added up
        )
    ]
)
NODE = np.dtype([("first_slot", np.int64), ("paid", np.int64)])
SLOT = np.dtype(
    [("node", np.int64), ("window", np.float64), ("cost", np.int64), ("count", np.int64), ("next", np.int64)]
)
PART = np.dtype([(name, np.int64) for name in ("sub_pattern", "count", "earlier", "later")])
PLACES = np.dtype(
    [
        (name, np.int64)
        for name in (
            "pattern",
            "mask",
            "sub_pattern",
            "negations",  # what is negated among these items
            "is_own",  # whether the order among them is that of the pattern
            "best",  # the best tree over them
            "next",  # the next places of the pattern with a weaker order
        )
    ]
)
PATTERN = np.dtype(
    [
        (name, np.int64)
        for name in (
            "tree",
            "best",  # its tree in the cheapest plan so far
            "is_changed",  # whether these differ
            "n_items",
            "lists",  # the items that are lists
            "first_leaf",  # its leaves, the last of which is not followed by another pattern's
            "first_price",  # of all subsets of its items
            "first_check",
            "n_checks",
            "first_common",  # its places of sub-patterns that others have too
            "n_common",
            "first_grown",  # what its pairs grew to that others leave unordered
            "n_grown",
            "extent",
            "length",  # of its extent
            "weaker",  # its first places with a weaker order
        )
    ]
)
SUB_PATTERN = np.dtype(
    [
        (name, np.int64)
        for name in (
            "parts",  # the first of those that some tree has
            "first_user",
            "n_users",
            "is_offered",  # whether some tree had such a part
        )
    ]
)
USER = np.dtype([(name, np.int64) for name in ("pattern", "first_places", "n_places")])
GROWN = np.dtype([("own", np.int64), ("other", np.int64)])


class Tables(NamedTuple):
    """All rows; a part is in the list of its sub-pattern as long as some tree has it."""

    trees: Array
    slots_of: Array
    parts_of: Array
    nodes: Array
    slots: Array
    parts: Array
    places: Array
    patterns: Array
    searched: Array  # the patterns that a step may change first
    sub_patterns: Array
    users: Array
    places_of: Array  # of users
    grown: Array
    leaves: Array
    rows: Array
    equal: Array
    ready: Array
    survivals: Array
    tariffs: Array
    joins: Array  # answers by question
    generals: Array
    placings: Array
    fits: Array
    question: Array


@njit(cache=True, nogil=True)
def _place_of(answers: Array, key: int) -> int:
    last = answers.shape[0] - 1
    place: int = np.int64(mix_bits(np.uint64(key)) & np.uint64(last))  # type: ignore[assignment]
    while answers[place, 0] != key and answers[place, 0] != NOTHING:
        place = (place + 1) & last
    return place


@njit(cache=True, nogil=True)
def answer_to(answers: Array, key: int) -> int:
    """Return the answer to a question, UNKNOWN if there is none; the table has as many rows as a power of 2.

    >>> answers = empty_answers(8)
    >>> put_answer(answers, 5, 42)
    >>> answer_to(answers, 5), answer_to(answers, 6) == UNKNOWN
    (42, True)
    """
    place = _place_of(answers, key)
    return answers[place, 1] if answers[place, 0] == key else UNKNOWN


@njit(cache=True, nogil=True)
def put_answer(answers: Array, key: int, answer: int) -> None:
    """Note an answer; there must be room."""
    place = _place_of(answers, key)
    answers[place, 0] = key
    answers[place, 1] = answer


def empty_answers(size: int) -> Array:
    """Return a table without answers."""
    return np.full((size, 2), NOTHING, np.int64)


@njit(cache=True, nogil=True)
def larger_answers(answers: Array) -> Array:
    """Return the same answers with twice the room."""
    larger = np.full((2 * answers.shape[0], 2), NOTHING, np.int64)
    for place in range(answers.shape[0]):
        if answers[place, 0] != NOTHING:
            put_answer(larger, answers[place, 0], answers[place, 1])
    return larger


@njit(cache=True, nogil=True)
def pair_key(first: int, second: int) -> int:
    """Return two numbers below 2^31 as one."""
    return first << 31 | second


@njit(cache=True, nogil=True)
def placing_key(general: int, places: int, extent: int, is_unchecked: bool) -> int:
    """Return a tree in general, where it is placed and for what as one number; see `MOST_PLACES`."""
    return ((general << 24 | places) << 11 | extent) << 1 | (1 if is_unchecked else 0)


MOST_GENERALS, MOST_PLACES, MOST_EXTENTS = 1 << 26, 1 << 24, 1 << 11


@njit(cache=True, nogil=True)
def ask(tables: Tables, kind: int, first: int, second: int, third: int, fourth: int) -> int:
    """Note a question."""
    question = tables.question
    question[0], question[1], question[2], question[3], question[4] = kind, first, second, third, fourth
    return UNKNOWN
