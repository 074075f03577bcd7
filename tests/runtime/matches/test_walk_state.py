"""What walks have reached: found by key, brought up to date, stored and read, given up."""

import numpy as np
import pytest

from weft.runtime.matches.walk_state import (
    FOREVER,
    Moments,
    WalkState,
    no_state,
    state_from,
    times_alone,
    walk_on,
)
from weft.runtime.state.segments import table_from_bytes, table_to_bytes


def keys_of(*numbers: int) -> np.ndarray:
    return np.array([(number, number) for number in numbers], np.uint64)


def state_of(*rows: tuple[int, int, int], owner: int = 7) -> WalkState:
    """Return the state of keys, times reached and until when they matter."""
    numbers, times, until = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    owners = np.full(len(rows), owner, np.int64)
    keys = np.stack([numbers, numbers], axis=1).astype(np.uint64)
    return WalkState(keys, owners, times_alone(times), until, np.zeros(len(rows), np.int64)).sorted()


def test_of_a_key_the_latest_row_holds() -> None:
    state = no_state().updated(state_of((3, 10, 20), (1, 11, 21))).updated(state_of((2, 5, 6), (3, 30, 40)))
    assert state.keys[:, 0].tolist() == [1, 2, 3]
    assert state.reached.times.tolist() == [11, 5, 30]
    assert state.has(keys_of(2, 4)).tolist() == [True, False]
    assert state.since(21, [7]).keys[:, 0].tolist() == [1, 3]
    assert state.since(0, [8]).n_rows == 0


@pytest.mark.parametrize(
    "ties", [np.array([4, -1]), np.array([" x", ""], object), np.array(["", ""], object)]
)
def test_what_is_stored_is_read(ties: np.ndarray) -> None:
    first, second = state_of((3, 10, 20), (1, 11, 21)), state_of((3, 12, 22))
    first = WalkState(
        first.keys, first.owners, Moments(first.reached.times, ties), first.until, first.swallowed
    )
    tables = [table_from_bytes(table_to_bytes(one.to_table())) for one in (first, second)]
    state, expected = state_from(tables), first.updated(second)
    for name in ("keys", "owners", "until", "swallowed"):
        assert getattr(state, name).tolist() == getattr(expected, name).tolist(), name
    assert state.reached.times.tolist() == expected.reached.times.tolist()
    if (ties != "").any():
        assert state.reached.ties.tolist() == expected.reached.ties.tolist()


def test_what_is_swallowed_is_remembered_where_it_counts() -> None:
    times = np.array([1, 2, 3])
    given = (7, keys_of(5, 5, 6), times_alone(times - 9), times_alone(times - 1), times + 9)
    counted = walk_on(no_state(), *given[:4], np.full(3, FOREVER), counts=True)
    assert counted.is_kept.tolist() == [True, False, True]
    assert counted.changed.swallowed.tolist() == [1, 0]
    state = no_state().updated(counted.changed)
    later = walk_on(
        state, 7, keys_of(5), times_alone(np.array([11])), times_alone(np.array([12])), times[:1], counts=True
    )
    assert later.swallowed.tolist() == [1]
    plain = walk_on(no_state(), *given, counts=False)
    assert plain.changed.swallowed.tolist() == [0, 0]
    unchanged = walk_on(no_state().updated(plain.changed), *given, counts=False)
    assert not unchanged.is_kept.any()
    assert unchanged.changed.n_rows == 0


def test_moments_are_pairs() -> None:
    """A row that starts at the time reached is kept if its tie is later; texts compare as such."""
    for ties in (np.array([2, 1, 3]), np.array([" b", " a", " c"], object)):
        moments = Moments(np.array([5, 5, 5]), ties)
        passed = walk_on(no_state(), 7, keys_of(1, 1, 1), moments, moments, np.array([5, 5, 5]), counts=False)
        assert passed.is_kept.tolist() == [True, False, True]
        assert passed.changed.reached.ties.tolist() == [ties[2]]
