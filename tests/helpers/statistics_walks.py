"""Statistics that change at random, step by step."""

import random
from collections.abc import Iterator
from dataclasses import replace
from math import exp

from tests.helpers.random_shapes import random_shape

from weft.cost.shape import Check, Group, Shape


def random_pattern(dice: random.Random, n_items: int) -> Shape:
    """Return a pattern with or without lists and negations."""
    return random_shape(
        dice, n_items, n_lists=dice.choice([0, 0, 1, n_items]), n_checks=dice.choice([0, 0, 1, 3])
    )


def walk(dice: random.Random, shape: Shape, n_steps: int, spread: float = 0.3) -> Iterator[Shape]:
    """Yield the same pattern with rates, selectivities and survivals multiplied by something each time."""
    for _ in range(n_steps):
        shape = replace(
            shape,
            rates=tuple(rate * _factor(dice, spread) for rate in shape.rates),
            groups=tuple(
                Group(
                    group.mask,
                    min(1.0, group.selectivity * _factor(dice, spread)),
                    min(1.0, group.equality * _factor(dice, spread)) if group.equality < 1 else 1.0,
                )
                for group in shape.groups
            ),
            checks=tuple(
                Check(check.needs, min(1.0, check.survival * _factor(dice, spread))) for check in shape.checks
            ),
        )
        yield shape


def even_numbers(dice: random.Random, shape: Shape, n_steps: int) -> Iterator[Shape]:
    """Yield the same pattern with few different numbers, so that many options cost the same."""
    for _ in range(n_steps):
        yield replace(
            shape,
            window=1.0,
            rates=tuple(dice.choice([1.0, 2.0, 4.0]) for _ in shape.rates),
            groups=tuple(Group(group.mask, dice.choice([0.25, 0.5])) for group in shape.groups),
            checks=tuple(Check(check.needs, dice.choice([0.25, 0.5])) for check in shape.checks),
        )


def _factor(dice: random.Random, spread: float) -> float:
    return exp(dice.gauss(0.0, spread))
