"""Shapes and partial orders drawn at random."""

import random
from collections.abc import Iterable
from itertools import permutations

from weft.cost.shape import Check, Group, ListBounds, Shape, items_of


def random_order(dice: random.Random, n_items: int) -> tuple[int, ...]:
    """Return what precedes each item in a partial order that is transitively closed."""
    before = [0] * n_items
    placed: list[int] = []
    for item in dice.sample(range(n_items), n_items):
        for earlier in placed:
            if dice.random() < 0.4:
                before[item] |= 1 << earlier | before[earlier]
        placed.append(item)
    return tuple(before)


def random_forest(dice: random.Random, n_items: int) -> tuple[int, ...]:
    """Return a partial order in which every item has at most one that follows it at once."""
    before = [0] * n_items
    order = dice.sample(range(n_items), n_items)
    for place, item in enumerate(order[:-1]):
        if dice.random() < 0.8:
            before[dice.choice(order[place + 1 :])] |= 1 << item
    for item in order:
        for earlier in items_of(before[item]):
            before[item] |= before[earlier]
    return tuple(before)


def share_of_orderings(before: tuple[int, ...], items: Iterable[int]) -> float:
    """Return how many of all orderings keep the order, by trying each."""
    kept = total = 0
    for ordering in permutations(items):
        following = 0
        is_kept = True
        for item in reversed(ordering):
            is_kept = is_kept and not before[item] & following
            following |= 1 << item
        kept += is_kept
        total += 1
    return kept / total


def random_shape(
    dice: random.Random,
    n_items: int,
    *,
    n_lists: int = 0,
    n_groups: int = 3,
    n_checks: int = 0,
    n_corrections: int = 0,
) -> Shape:
    """Return a shape with random rates, order, predicate groups, lists, keys, negations and corrections."""
    everything = range(n_items)
    groups = []
    for _ in range(dice.randint(0, n_groups) if n_items > 1 else 0):
        members = dice.sample(everything, dice.randint(2, min(3, n_items)))
        selectivity = dice.uniform(0.003, 0.92)
        equality = dice.choice([1.0, selectivity**0.5])
        groups.append(Group(sum(1 << item for item in members), selectivity, equality))
    return Shape(
        rates=tuple(dice.uniform(2, 47) for _ in everything),
        before=random_order(dice, n_items),
        window=dice.choice([0.1, 1.0, 10.0]),
        groups=tuple(groups),
        agreement=dice.choice([1.0, 1.0, 0.2]),
        lists={
            item: ListBounds(
                dice.randint(1, 2), dice.choice([None, 3]), dice.choice([1.0, 0.3]), dice.choice([1.0, 0.5])
            )
            for item in dice.sample(everything, n_lists)
        },
        checks=tuple(Check(dice.randrange(1, 1 << n_items), dice.uniform(0.1, 0.9)) for _ in range(n_checks)),
        corrections={
            mask: dice.choice([0.01, 0.3, 5.0, 40.0])
            for mask in (dice.randrange(1, 1 << n_items) for _ in range(n_corrections))
            if mask & (mask - 1)
        },
    )
