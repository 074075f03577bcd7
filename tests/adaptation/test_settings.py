"""Options of an adaptation are checked when they are given."""

from typing import Any

import pytest

from weft.adaptation.settings import Adaptation
from weft.errors import WeftError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decide": "sometimes"}, "adapt is 'sometimes'; expected 'invariants', 'threshold'"),
        ({"k": 0}, "k of the adaptation is 0; it must be at least 1"),
        ({"steps": 0}, "steps of the adaptation is 0; it must be at least 1"),
        ({"distance": "far"}, "distance of the adaptation is 'far'; expected a share of at least 0"),
        ({"distance": -0.1}, "distance of the adaptation is -0.1; expected a share of at least 0"),
        ({"selection": "first"}, "selection of the adaptation is 'first'; expected 'tightest', 'violation-"),
        ({"threshold_is": "factor"}, "threshold_is of the adaptation is 'factor'; expected 'share'"),
        ({"way": "slowly"}, "way of the adaptation is 'slowly'; expected 'parallel', 'rebuild', None"),
        ({"threshold": -1.0}, "threshold of the adaptation is -1.0; it is not negative"),
        ({"watching": float("nan")}, "watching of the adaptation is nan; it is not negative"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WeftError) as caught:
        Adaptation(**options)
    assert str(caught.value).startswith(message)


def test_what_the_papers_describe_can_be_asked_for() -> None:
    assert Adaptation(k=None, distance="average", selection="violation-probability").k is None
    assert Adaptation("threshold", threshold=12.0, threshold_is="amount").threshold == 12.0


def test_what_plans_in_every_step_watches_every_step() -> None:
    assert Adaptation().watched_share == 0.01
    assert Adaptation("unconditional").watched_share == 1.0
    assert Adaptation("unconditional", watching=0.02).watched_share == 0.02
