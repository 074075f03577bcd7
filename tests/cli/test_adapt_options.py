"""All that can be set of an adaptation can be set on the command line."""

from dataclasses import fields, replace
from typing import Any

import pytest

from weft.adaptation.settings import Adaptation
from weft.cli.adapt_options import AdaptOptions
from weft.errors import WeftError

GIVEN: dict[str, tuple[Any, Any]] = {
    "k": ("all", None),
    "selection": ("violation-probability", "violation-probability"),
    "distance": ("0.25", 0.25),
    "threshold": (7.0, 7.0),
    "threshold_is": ("amount", "amount"),
    "watching": (1.0, 1.0),
    "steps": (30, 30),
    "least_gain": (0.2, 0.2),
    "horizon": (9.0, 9.0),
    "planning": (0.0, 0.0),
    "way": ("parallel", "parallel"),
}


def test_every_option_of_an_adaptation_has_one_on_the_command_line() -> None:
    assert set(GIVEN) == {own.name for own in fields(Adaptation)} - {"decide"}
    assert {own.name for own in fields(AdaptOptions)} == {"adapt", *(f"adapt_{name}" for name in GIVEN)}


@pytest.mark.parametrize("name", GIVEN)
def test_an_option_is_that_of_the_adaptation(name: str) -> None:
    text, value = GIVEN[name]
    options: Any = {f"adapt_{name}": text}
    made = AdaptOptions(adapt="invariants", **options).adaptation()
    usual = Adaptation()
    assert getattr(made, name) == value != getattr(usual, name)
    assert replace(made, **{name: getattr(usual, name)}) == usual


def test_without_options_nothing_is_asked_for() -> None:
    assert AdaptOptions().adaptation() is None
    assert AdaptOptions(adapt="off").adaptation() == Adaptation("off")
    assert AdaptOptions(adapt_k="all").adaptation() == Adaptation("invariants", k=None)
    assert AdaptOptions(adapt="unconditional").adaptation() == Adaptation("unconditional")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"adapt": "off", "adapt_k": "all"}, "--adapt-k: with --adapt off, nothing is adapted"),
        ({"adapt": "invariants", "adapt_k": "most"}, "--adapt-k is 'most'; expected a whole number or all"),
        ({"adapt": "invariants", "adapt_k": "0"}, "--adapt-k is 0; it must be at least 1"),
        ({"adapt": "invariants", "adapt_distance": "far"}, "--adapt-distance is 'far'; expected a share"),
        ({"adapt": "threshold", "adapt_threshold": -1.0}, "--adapt-threshold is -1.0; it is not negative"),
        ({"adapt": "threshold", "adapt_least_gain": -0.1}, "--adapt-least-gain is -0.1; it is not negative"),
    ],
)
def test_what_an_adaptation_cannot_be_is_refused_by_the_name_of_the_option(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(WeftError) as caught:
        AdaptOptions(**options).adaptation()
    assert str(caught.value).startswith(message)
