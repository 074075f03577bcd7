"""Expected numbers of partial matches, against counting and against simulated streams."""

import bisect
import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np
import pytest
from tests.helpers.random_shapes import random_forest, random_order, random_shape, share_of_orderings

from weft.cost.shape import MOST_EXACT, MOST_ROWS, Group, ListBounds, Shape, items_of, survival
from weft.kernels.matches.subsets import order_fractions


@pytest.mark.parametrize("seed", range(20))
def test_the_order_keeps_the_share_of_orderings_that_counting_finds(seed: int) -> None:
    dice = random.Random(seed)
    n_items = dice.randint(1, 6)
    before = random_order(dice, n_items)
    shape = Shape((1.0,) * n_items, before, window=1.0)
    for mask in range(1, 1 << n_items):
        assert shape.order_fraction(mask) == pytest.approx(share_of_orderings(before, items_of(mask)))


@pytest.mark.parametrize("n_items", [1, 3, 6, 12])
def test_a_chain_keeps_one_ordering_of_all(n_items: int) -> None:
    chain = Shape((1.0,) * n_items, tuple((1 << item) - 1 for item in range(n_items)), window=1.0)
    assert chain.order_fraction(chain.everything) == pytest.approx(1 / math.factorial(n_items))


@pytest.mark.parametrize("seed", range(5))
def test_forests_of_more_items_than_subsets_allow_are_exact_too(seed: int) -> None:
    dice = random.Random(seed)
    before = random_forest(dice, MOST_EXACT + 2)
    shape = Shape((1.0,) * len(before), before, window=1.0)
    exact = order_fractions(np.array(before, np.int64))
    for mask in [shape.everything, *(dice.randrange(1, 1 << len(before)) for _ in range(200))]:
        assert shape.order_fraction(mask) == pytest.approx(exact[mask])


def test_an_order_that_is_no_forest_is_estimated_beyond_the_exact_number_of_items() -> None:
    before = (0, *[1] * MOST_EXACT)  # one item before all others, which are in any order
    shape = Shape((1.0,) * len(before), before, window=1.0)
    assert share_of_orderings(before, (0, 1, 2)) == pytest.approx(1 / 3)
    assert shape.order_fraction(0b111) == pytest.approx(1 / 4)


# Simulation: events with a time, a key, and a number that is uniform on a circle.


@dataclass(frozen=True)
class Happening:
    """A simulated event."""

    time: float
    key: int
    number: float


def poisson(dice: random.Random, mean: float) -> int:
    threshold, count, product_of_dice = math.exp(-mean), 0, dice.random()
    while product_of_dice > threshold:
        product_of_dice *= dice.random()
        count += 1
    return count


def stream_of(dice: random.Random, rate: float, length: float, n_keys: int) -> list[Happening]:
    return [
        Happening(dice.uniform(0, length), dice.randrange(n_keys), dice.random())
        for _ in range(poisson(dice, rate * length))
    ]


def is_match(shape: Shape, mask: int, chosen: dict[int, Happening]) -> bool:
    """Say whether events keep the order, agree on the key and satisfy the groups.

    A group holds when the sum of its numbers lies in an arc. Such sums are independent as long as no
    group's members are a combination of those of others.
    """
    in_order = all(
        chosen[earlier].time < chosen[item].time
        for item in chosen
        for earlier in items_of(shape.before[item] & mask)
    )
    groups = [group for group in shape.groups if not group.mask & ~mask]
    return (
        in_order
        and len({event.key for event in chosen.values()}) == 1
        and all(sum(chosen[i].number for i in items_of(g.mask)) % 1.0 < g.selectivity for g in groups)
    )


def is_close(samples: Sequence[float], expected: float) -> bool:
    """Say whether a mean of samples lies within four standard errors of what is expected."""
    error = statistics.stdev(samples) / math.sqrt(len(samples))
    return abs(statistics.fmean(samples) - expected) <= 4 * error + 1e-12


def test_the_comparison_sees_a_mean_that_is_off() -> None:
    dice = random.Random(0)
    samples = [float(poisson(dice, 2.0)) for _ in range(2_000)]
    assert is_close(samples, 2.0)
    assert not is_close(samples, 2.3)


def simulated_shape(seed: int) -> Shape:
    """Return a shape of three items with few events in a window."""
    dice = random.Random(seed)
    masks = [sum(1 << item for item in members) for n in (2, 3) for members in combinations(range(3), n)]
    return Shape(
        rates=tuple(dice.uniform(0.8, 2.5) for _ in range(3)),
        before=random_order(dice, 3),
        window=dice.uniform(0.7, 1.2),
        groups=tuple(Group(mask, dice.uniform(0.4, 0.9)) for mask in dice.sample(masks, dice.randint(0, 2))),
        agreement=dice.choice([1.0, 0.5]),
    )


@pytest.mark.parametrize("seed", range(12))
def test_as_many_tuples_exist_at_a_moment_as_a_simulation_counts(seed: int) -> None:
    shape, dice = simulated_shape(seed), random.Random(seed)
    n_keys = round(1 / shape.agreement)
    for mask in (0b011, 0b110, 0b111):
        counts = []
        for _ in range(1_000):
            streams = [stream_of(dice, shape.rates[i], shape.window, n_keys) for i in items_of(mask)]
            tuples = (dict(zip(items_of(mask), chosen, strict=True)) for chosen in product(*streams))
            counts.append(float(sum(is_match(shape, mask, chosen) for chosen in tuples)))
        assert is_close(counts, shape.instances(mask, shape.window))


@pytest.mark.parametrize("seed", range(8))
def test_as_many_tuples_arise_in_a_second_as_a_simulation_counts(seed: int) -> None:
    shape, dice = simulated_shape(seed), random.Random(seed)
    n_keys, length = round(1 / shape.agreement), 10.0
    for mask in (0b101, 0b111):
        rates = []
        for _ in range(150):
            streams = {i: stream_of(dice, shape.rates[i], length, n_keys) for i in items_of(mask)}
            count = sum(_ends_with(shape, mask, streams, i, e) for i in streams for e in streams[i])
            rates.append(count / (length - shape.window))
        assert is_close(rates, shape.rows_per_second(mask, shape.window))


def _ends_with(
    shape: Shape, mask: int, streams: dict[int, list[Happening]], item: int, last: Happening
) -> int:
    """Return how many tuples end with an event; those of the first window are left out."""
    if last.time < shape.window:
        return 0
    earlier = {
        other: [e for e in stream if last.time - shape.window <= e.time < last.time]
        for other, stream in streams.items()
        if other != item
    }
    tuples = (dict(zip(earlier, chosen, strict=True)) for chosen in product(*earlier.values()))
    return sum(is_match(shape, mask, {**chosen, item: last}) for chosen in tuples)


def n_lists(times: Sequence[float], bounds: ListBounds, dice: random.Random) -> int:
    """Return how many lists can be made of elements, consecutive ones agreeing with a chance."""
    ways: list[list[int]] = []  # for each element, the lists of each length that end with it
    for place in range(len(times)):
        found = [0] * (place + 2)
        found[1] = 1
        for earlier in range(place):
            if dice.random() < bounds.edge:
                for length, number in enumerate(ways[earlier]):
                    found[length + 1] += number
        ways.append(found)
    most = len(times) if bounds.most is None else bounds.most
    return sum(sum(found[bounds.least : most + 1]) for found in ways)


POINTS: dict[str, tuple[int, ...]] = {  # what precedes the items; the last one is the list
    "alone": (0,),
    "next to an event": (0, 0),
    "after an event": (0, 0b1),
    "before an event": (0b10, 0),
    "between two events": (0, 0b101, 0b1),
    "after two events in any order": (0, 0, 0b11),
    "after the first of two events": (0, 0b001, 0b001),
    "after the second of three events": (0, 0b0001, 0b0011, 0b0011),
}
BOUNDS = {
    "one or more": ListBounds(1, None),
    "two or more": ListBounds(2, None),
    "exactly two": ListBounds(2, 2),
    "one to three that agree": ListBounds(1, 3, edge=0.5),
    "one or more that agree": ListBounds(1, None, edge=0.3),
}


@pytest.mark.parametrize("before", POINTS.values(), ids=POINTS)
@pytest.mark.parametrize("bounds", BOUNDS.values(), ids=BOUNDS)
def test_as_many_lists_are_expected_as_enumeration_finds(before: tuple[int, ...], bounds: ListBounds) -> None:
    item = len(before) - 1
    shape = Shape((0.9,) * len(before), before, window=1.5, lists={item: bounds})
    dice = random.Random(len(before))
    counts = []
    for _ in range(1_500):
        times = _in_order(shape, item, dice)
        opens = max((times[i] for i in items_of(shape.before[item])), default=0.0)
        closes = min((time for i, time in times.items() if shape.before[i] >> item & 1), default=shape.window)
        elements = sorted(
            dice.uniform(0, shape.window) for _ in range(poisson(dice, shape.rates[item] * shape.window))
        )
        inside = elements[bisect.bisect(elements, opens) : bisect.bisect(elements, closes)]
        counts.append(float(n_lists(inside, bounds, dice)))
    assert is_close(counts, shape.expected_lists(item, shape.everything, shape.window))


def _in_order(shape: Shape, item: int, dice: random.Random) -> dict[int, float]:
    """Return uniform times of all items but the list, in an order that the shape allows."""
    others = [other for other in range(shape.n_items) if other != item]
    while True:
        times = {other: dice.uniform(0, shape.window) for other in others}
        if all(times[e] < times[i] for i in others for e in items_of(shape.before[i] & ~(1 << item))):
            return times


def test_predicates_between_an_element_and_others_thin_the_elements_out() -> None:
    plain = Shape((0.5, 2.0), (0, 0b1), window=3.0, lists={1: ListBounds(1, None)})
    thinned = replace(plain, groups=(Group(0b11, 0.25),))
    fewer = replace(plain, rates=(0.5, 0.5))
    assert thinned.expected_lists(1, 0b11, 3.0) == pytest.approx(fewer.expected_lists(1, 0b11, 3.0))
    assert thinned.expected_lists(1, 0b10, 3.0) == plain.expected_lists(1, 0b10, 3.0)


def test_keys_thin_the_elements_out() -> None:
    plain = Shape((0.5, 2.0), (0, 0b1), window=3.0, lists={1: ListBounds(1, None)})
    keyed = replace(plain, agreement=0.25)
    fewer = replace(plain, rates=(0.5, 0.5))
    assert keyed.expected_lists(1, 0b11, 3.0) == pytest.approx(fewer.expected_lists(1, 0b11, 3.0))


def test_predicates_on_a_whole_list_leave_their_share() -> None:
    plain = Shape((2.0,), (0,), window=1.0, lists={0: ListBounds(1, 4)})
    checked = replace(plain, lists={0: ListBounds(1, 4, whole=0.25)})
    assert checked.expected_lists(0, 1, 1.0) == pytest.approx(plain.expected_lists(0, 1, 1.0) / 4)


@pytest.mark.parametrize("bounds", [ListBounds(1, None), ListBounds(500, None), ListBounds(1, 10_000)])
def test_very_many_lists_are_a_finite_number(bounds: ListBounds) -> None:
    shape = Shape((1e6, 1.0), (0, 0), window=1e6, lists={0: bounds})
    assert 0 <= shape.expected_lists(0, 0b11, 1e6) <= MOST_ROWS
    assert shape.instances(0b11, 1e6) <= MOST_ROWS
    assert np.isfinite(shape.all_instances).all()


def test_a_list_that_waits_to_be_joined_counts_its_elements() -> None:
    shape = Shape((3.0, 1.0), (0, 0b1), window=2.0, lists={0: ListBounds(1, None)})
    alone = Shape((3.0,), (0,), window=2.0, lists={0: ListBounds(1, None)})
    assert shape.instances(0b01, 2.0) == 6.0
    assert alone.instances(0b1, 2.0) == pytest.approx(math.e**6 - 1)


@pytest.mark.parametrize("seed", range(40))
def test_all_subsets_at_once_are_the_subsets_one_by_one(seed: int) -> None:
    dice = random.Random(seed)
    n_items = dice.randint(1, 6)
    n_lists = dice.choice([0, 0, 1, 2, n_items])
    shape = random_shape(dice, n_items, n_lists=min(n_lists, n_items), n_checks=dice.randint(0, 2))
    for mask in range(1, 1 << n_items):
        assert shape.all_instances[mask] == pytest.approx(shape.instances(mask, shape.window, checks=0))
        assert shape.all_ready[mask] == shape.ready(mask)
        assert shape.all_equality_shares[mask] == pytest.approx(shape.equality_share(mask))


def test_only_negations_that_were_checked_and_have_their_items_count() -> None:
    dice = random.Random(1)
    shape = random_shape(dice, 3, n_checks=2)
    shape = replace(
        shape, checks=(replace(shape.checks[0], needs=0b011), replace(shape.checks[1], needs=0b111))
    )
    bare = shape.instances(0b111, 1.0, checks=0)
    first, second = (check.survival for check in shape.checks)
    assert shape.instances(0b111, 1.0, checks=0b01) == pytest.approx(bare * first)
    assert shape.instances(0b111, 1.0) == pytest.approx(bare * first * second)
    assert shape.instances(0b011, 1.0) == pytest.approx(shape.instances(0b011, 1.0, checks=0) * first)


ROOMS = [(n_points, n_open) for n_points in range(1, 6) for n_open in range(1, n_points + 1)]


@pytest.mark.parametrize(("n_points", "n_open"), ROOMS)
def test_the_survival_of_a_negation_is_that_of_a_simulation(n_points: int, n_open: int) -> None:
    """The last event of a row ends the window, the others lie anywhere in it; some spacings are open."""
    dice = random.Random(n_points)
    for rate in (0.3, 1.5, 6.0):
        shares = []
        for _ in range(2_000):
            times = sorted(dice.random() for _ in range(n_points - 1))
            room = [*times, 1.0][n_open - 1]  # the spacings that come first are as good as any
            shares.append(float(poisson(dice, rate * room) == 0))
        assert is_close(shares, survival(rate, 1.0, n_points, n_open))
        assert survival(rate / 60, 60.0, n_points, n_open) == pytest.approx(
            survival(rate, 1.0, n_points, n_open)
        )


@pytest.mark.parametrize(("n_points", "n_open"), ROOMS)
def test_the_survival_of_a_negation_falls_with_its_rate(n_points: int, n_open: int) -> None:
    shares = [survival(rate, 2.0, n_points, n_open) for rate in (0.0, 0.1, 1.0, 10.0, 1e3)]
    assert shares[0] == 1.0
    assert shares == sorted(shares, reverse=True)
    assert 0 <= shares[-1] < 0.01


def test_the_survival_of_a_negation_is_known_exactly_for_one_spacing_of_few() -> None:
    """The integral of exp(-m x) over a spacing that is uniform, and over one of three."""
    for mean in (0.1, 1.0, 10.0):
        uniform = (1 - math.exp(-mean)) / mean
        assert survival(mean, 1.0, 2, 1) == pytest.approx(uniform, rel=0.001)
        assert survival(mean, 1.0, 3, 1) == pytest.approx(2 * (1 - uniform) / mean, rel=0.001)


def test_equalities_leave_their_share_and_keys_theirs() -> None:
    shape = Shape(
        (1.0, 1.0, 1.0), (0, 0, 0), 1.0, groups=(Group(0b011, 0.5, 0.25), Group(0b110, 0.5)), agreement=0.1
    )
    expected = {0b001: 1.0, 0b011: 0.1 * 0.25, 0b110: 0.1, 0b111: 0.01 * 0.25}
    for mask, share in expected.items():
        assert shape.equality_share(mask) == pytest.approx(share)


@pytest.mark.parametrize("agreement", [1.0, 0.25])
def test_combinations_are_all_joins_of_some_items_together(agreement: float) -> None:
    """Each condition counts where both of its items are there: exact unless they overlap."""
    rates = (0.5, 2.0, 1.0, 0.25)
    shape = Shape(rates, (0,) * 4, 3.0, (Group(0b0110, 0.5), Group(0b1001, 0.1)), agreement, is_some=True)
    masks = range(1, 1 << 4)
    assert shape.combinations == pytest.approx(sum(shape.instances(mask, 3.0) for mask in masks))
    each = sum(shape.rows_per_second(mask, 3.0) for mask in masks)
    assert shape.matches_per_second == pytest.approx(each, rel=0.15)
    assert replace(shape, groups=()).matches_per_second == pytest.approx(
        sum(replace(shape, groups=()).rows_per_second(mask, 3.0) for mask in masks)
    )


def test_many_items_have_many_combinations_and_no_overflow() -> None:
    shape = Shape((1e6,) * 100, (0,) * 100, 1e6, is_some=True)
    assert shape.combinations <= MOST_ROWS
    assert 0 < shape.matches_per_second <= MOST_ROWS
