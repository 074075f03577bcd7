"""Limits of a search: time, steps, and a word from outside."""

import math

import pytest

from weft.optimizer.sharing.limits import Limit


def test_without_a_limit_every_step_is_allowed() -> None:
    limit = Limit()
    assert all(limit.allows_step() for _ in range(1_000))
    assert limit.used_share() == 0
    assert limit.taken == 1_000


@pytest.mark.parametrize("limit", [Limit(seconds=0), Limit(steps=0), Limit(is_cancelled=lambda: True)])
def test_no_step_is_allowed_when_there_is_nothing_left(limit: Limit) -> None:
    assert not limit.allows_step()
    assert limit.taken == 0


@pytest.mark.parametrize(("options", "name"), [({"seconds": -1.0}, "seconds"), ({"steps": -1}, "steps")])
def test_a_limit_is_not_negative(options: dict[str, float], name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is -1"):
        Limit(**options)  # type: ignore[arg-type]


def test_the_share_used_is_the_larger_of_time_and_steps() -> None:
    limit = Limit(seconds=3_600.0, steps=4)
    assert [limit.allows_step() for _ in range(5)] == [True] * 4 + [False]
    assert limit.used_share() == 1
    late = Limit(seconds=10.0, steps=1_000, started=Limit().started - 5.0)
    assert 0.5 <= late.used_share() < 1


def test_time_that_is_over_allows_no_step() -> None:
    assert not Limit(seconds=1.0, started=Limit().started - 2.0).allows_step()


def test_steps_may_be_taken_many_at_a_time() -> None:
    whole = Limit(steps=10)
    turn = whole.turn(8)
    assert (turn.n_allowed(5), turn.n_allowed(100), turn.taken) == (5, 8, 0)
    turn.count(7)
    assert (turn.taken, whole.taken, turn.n_allowed(100)) == (7, 7, 1)
    assert whole.turn(8).n_allowed(100) == 3
    turn.count(1)
    assert (turn.n_allowed(100), turn.stopped_by, whole.stopped_by) == (0, "steps", None)


def test_the_time_that_is_left_is_that_of_the_whole() -> None:
    assert Limit(steps=5).time_left() == math.inf
    assert Limit(steps=5, whole=Limit(seconds=50.0)).time_left() == pytest.approx(50, rel=0.01)


def test_a_part_has_a_share_of_what_is_left() -> None:
    limit = Limit(seconds=100.0, steps=100)
    for _ in range(20):
        limit.allows_step()
    part = limit.part(0.5)
    assert part.steps == 40
    assert part.seconds == pytest.approx(50, rel=0.01)  # no time has passed
    assert part.taken == 0
    assert limit.part(0.0).steps == 0


def test_a_part_is_cancelled_with_the_whole() -> None:
    is_cancelled = False
    part = Limit(is_cancelled=lambda: is_cancelled).part(0.5)
    assert part.allows_step()
    is_cancelled = True
    assert not part.allows_step()


def test_parts_tell_shares_of_the_whole() -> None:
    told: list[tuple[float, float]] = []
    limit = Limit(steps=10, progress=lambda used, cost: told.append((used, cost)))
    for _ in range(5):
        limit.allows_step()
    limit.tell(3.0)
    part = limit.part(0.4)
    part.allows_step()
    part.tell(2.0)
    part.allows_step()
    part.tell(1.0)
    assert told == [(0.5, 3.0), (pytest.approx(0.6), 2.0), (pytest.approx(0.7), 1.0)]


def test_nothing_is_told_when_nobody_listens() -> None:
    limit = Limit(steps=1)
    limit.tell(1.0)
    limit.part(0.5).tell(1.0)


def test_what_is_over_is_told_as_all_of_it() -> None:
    told: list[float] = []
    Limit(seconds=1.0, started=Limit().started - 5.0, progress=lambda used, _: told.append(used)).tell(1.0)
    assert told == [1.0]


class Clock:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_limit_goes_by_its_clock_and_so_do_its_parts() -> None:
    clock = Clock()
    limit = Limit(seconds=10.0, clock=clock)
    part = limit.part(0.5)
    clock.now = 4.0
    assert limit.allows_step()
    assert (limit.seconds_left(), part.seconds_left(), part.part(0.5).seconds) == (6.0, 1.0, 0.5)
    clock.now = 5.0
    assert not part.allows_step()
    assert (part.stopped_by, limit.stopped_by) == ("seconds", None)
    clock.now = 10.0
    assert limit.is_over()
    assert limit.stopped_by == "seconds"


def test_a_turn_is_as_long_whatever_is_left_and_ends_with_the_whole() -> None:
    limit = Limit(steps=5)
    turn = limit.turn(3)
    assert [turn.allows_step() for _ in range(4)] == [True] * 3 + [False]
    assert (turn.stopped_by, limit.stopped_by, limit.taken) == ("steps", None, 3)
    turn = limit.turn(3)
    assert turn.part(0.5).steps == 2
    assert [turn.allows_step() for _ in range(3)] == [True, True, False]
    assert (turn.taken, turn.stopped_by, limit.stopped_by) == (2, "steps", "steps")


def test_a_turn_tells_how_far_the_whole_is() -> None:
    told: list[tuple[float, float]] = []
    limit = Limit(steps=10, progress=lambda used, cost: told.append((used, cost)))
    turn = limit.turn(2)
    turn.allows_step()
    turn.tell(3.0)
    turn.part(0.5).tell(2.0)
    assert told == [(0.1, 3.0), (0.1, 2.0)]


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (Limit(seconds=0, steps=5), "seconds"),
        (Limit(seconds=9.0, steps=0), "steps"),
        (Limit(seconds=0, steps=0, is_cancelled=lambda: True), "cancelled"),
    ],
)
def test_a_limit_says_what_stopped_it(limit: Limit, reason: str) -> None:
    assert limit.stopped_by is None
    part = limit.part(1.0)
    assert not part.allows_step()
    assert (limit.stopped_by, part.stopped_by) == (reason, reason)
    assert not Limit().is_timed
    assert limit.part(1.0).turn(3).is_timed
