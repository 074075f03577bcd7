"""Live statistics of streams whose rates and selectivities are known."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.helpers.engine import arrow_events
from tests.helpers.strategies import cases

from weft.expressions import Aggregate, Attribute, Comparison, Expression, Literal, Place
from weft.normalize.pipeline import normalize
from weft.optimizer.shape_of import item_keys, questions_of
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.schema import DOUBLE, LONG, STRING
from weft.statistics.live import TICKS, LiveStatistics
from weft.statistics.measure import measure
from weft.statistics.model import GroupKey, Inquiry, ItemKey, Question, Statistics
from weft.statistics.sampling import UNSEEN, Sampling
from weft.statistics.sliding_counts import UnwatchedSteps

SECOND = 1_000_000
KINDS = {"x": LONG, "d": DOUBLE, "user": STRING}
A, B, C = map(ItemKey, "ABC")


def of(place: int, name: str = "x", which: Place = "each") -> Attribute:
    return Attribute(f"${place}", name, which, KINDS[name])


def less_than(value: int) -> Expression:
    return Comparison("<", of(0), Literal(value, LONG))


LESS = Comparison("<", of(0), of(1))
SAME_USER = Comparison("=", of(0, "user"), of(1, "user"))
LOW_A = ItemKey("A", (less_than(100),))
ORDERED = Question(GroupKey((A, B), (LESS,)), frozenset({(0, 1)}), 10.0)
USERS = Question(GroupKey((A, B), (SAME_USER,)), frozenset(), 10.0)
THREE = Question(
    GroupKey((A, B, C), (Comparison("<", of(0), of(1)), Comparison("<", of(1), of(2)))),
    frozenset({(0, 1), (1, 2)}),
    10.0,
)
LOW = Question(GroupKey((LOW_A, B), (LESS,)), frozenset(), 10.0)

# Standard errors of one estimate in a stream of `stream`, over 24 seeds. A share of the pairs of n events has
# one of sqrt(2 / 12 / n) for a comparison of uniform numbers: 0.03 is that of about 200 partners.
ERRORS = {ORDERED.group: 0.03, THREE.group: 0.038, LOW.group: 0.016, USERS.group: 0.006}
AGREEMENT_ERROR = 0.0075


def rate_error(rate: float, seconds: float = 40.0, n_errors: float = 4.0) -> float:
    """Return the relative error that is allowed: epsilon of the histogram, and standard errors of a count."""
    return Sampling().epsilon + n_errors / np.sqrt(rate * seconds)


def stream(
    seconds: float,
    rates: dict[str, float],
    *,
    seed: int = 0,
    start: float = 0.0,
    n_users: int = 20,
    x_of: dict[str, tuple[int, int]] | None = None,
    nulls: float = 0.0,
) -> Events:
    """Draw Poisson arrivals; x is uniform in a range for each type, users are equally frequent."""
    dice = np.random.default_rng(seed)
    times, types, xs = [], [], []
    for name, rate in rates.items():
        n_events = dice.poisson(rate * seconds)
        times.append(start + dice.random(n_events) * seconds)
        types += [name] * n_events
        xs.append(dice.integers(*(x_of or {}).get(name, (0, 1_000)), n_events))
    n_events = len(types)
    x = np.concatenate(xs)
    is_null = dice.random(n_events) < nulls
    return ingested(
        np.concatenate(times),
        types,
        x=pa.array(x, pa.int64(), mask=is_null),
        user=pa.array([f"user {number}" for number in dice.integers(0, n_users, n_events)], pa.string()),
    )


def ingested(seconds: Sequence[float] | np.ndarray, types: Sequence[str], **columns: object) -> Events:
    moments = (np.asarray(seconds, np.float64) * SECOND).astype(np.int64)
    table = pa.table(
        {"time": pa.array(moments), "type": pa.array(list(types), pa.string())}
        | {name: pa.array(values) for name, values in columns.items()}
    )
    layout = Layout(
        time="time",
        type="type",
        id=None,
        content=None,
        tie=None,
        attributes={name: (name, KINDS[name]) for name in columns},
        type_names=("A", "B", "C", "D"),
    )
    return ingest(table, layout)


def batches(events: Events, seconds: float) -> Iterator[Events]:
    """Cut events into batches by time; some may be empty."""
    numbers = events.times // round(seconds * SECOND)
    for number in range(int(numbers[0]), int(numbers[-1]) + 1):
        start, stop = np.searchsorted(numbers, [number, number + 1])
        yield events.take(slice(int(start), int(stop)))


def watched(
    live: LiveStatistics, events: Events, seconds: float, until: float | None = None
) -> LiveStatistics:
    for batch in batches(events, seconds):
        live.observe(batch)
    if until is not None:
        live.observe(events.take(slice(0, 0)), round(until * SECOND))
    return live


def live_of(window: float | None = 40.0, **options: object) -> LiveStatistics:
    return LiveStatistics(
        Inquiry([A, B, C, LOW_A], [ORDERED, USERS, THREE, LOW], ["user"]),
        window,
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("seconds", [0.5, 3.0, 15.0, 400.0])
def test_estimates_are_near_the_truth(seconds: float) -> None:
    """With batches much shorter and much longer than the window, within four standard errors."""
    events = stream(max(seconds, 90), {"A": 10.0, "B": 20.0, "C": 5.0, "D": 7.0})
    found = watched(live_of(), events, seconds).statistics()
    for item, rate in {A: 10.0, B: 20.0, C: 5.0, LOW_A: 1.0}.items():
        assert found.rates[item] == pytest.approx(rate, rel=rate_error(rate))
    assert found.total_rate == pytest.approx(42.0, rel=rate_error(42.0))
    for question, share in {ORDERED: 1 / 2, THREE: 1 / 6, LOW: 0.95, USERS: 1 / 20}.items():
        assert found.selectivities[question.group] == pytest.approx(share, abs=4 * ERRORS[question.group])
    assert found.agreements["user"] == pytest.approx(1 / 20, abs=4 * AGREEMENT_ERROR)


def test_estimates_agree_with_those_of_a_sample_of_all_events() -> None:
    """One by one and on average over streams, within four standard errors of each.

    Rates are those of the same events: off by epsilon and by a part of the tick at the edge of the window.
    """
    questions, errors = [ORDERED, THREE, LOW, USERS], []
    for seed in range(8):
        events = stream(300, {"A": 10.0, "B": 20.0, "C": 5.0}, seed=seed)
        found = watched(live_of(300.0), events, 5.0).statistics()
        expected = measure(events, Inquiry([LOW_A], questions, ["user"], 10.0), duration=300.0)
        for item, rate in expected.rates.items():
            assert found.rates[item] == pytest.approx(rate, rel=0.1 + 1 / TICKS)
        errors.append(
            [(found.selectivities[group] - expected.selectivities[group]) / ERRORS[group] for group in ERRORS]
        )
        share = expected.agreements["user"]
        assert found.agreements["user"] == pytest.approx(share, abs=min(4 * AGREEMENT_ERROR, 0.02))
    assert np.abs(np.mean(errors, axis=0)).max() < 4 / np.sqrt(len(errors))
    assert np.abs(errors).max() < 4


def test_partners_come_from_earlier_batches() -> None:
    """Each batch has events of one type only, and still tuples of two are looked at.

    As all events are partners, the error is that of drawing, some 400 tuples in a look and two looks in the
    window, of which four standard errors are allowed.
    """
    events = ingested(
        np.arange(400) / 2, ["A", "B"] * 200, x=np.arange(400) % 7, user=[f"{n % 3}" for n in range(400)]
    )
    found = watched(live_of(), events, 0.5).statistics()
    expected = measure(events, Inquiry([], [ORDERED, USERS], []), duration=200.0)
    for question in (ORDERED, USERS):
        share = expected.selectivities[question.group]
        assert found.selectivities[question.group] == pytest.approx(share, abs=4 * np.sqrt(1 / 4 / 800))


@pytest.mark.parametrize("seconds", [0.5, 5.0])
def test_a_change_is_followed_within_the_window(seconds: float) -> None:
    before = stream(100, {"A": 20.0, "B": 4.0}, n_users=2).take(slice(1_200, None))
    after = stream(
        55, {"A": 4.0, "B": 20.0}, start=100, seed=1, n_users=50, x_of={"A": (900, 1_000), "B": (0, 950)}
    )
    live = watched(live_of(), before, seconds)
    early = live.statistics()
    late = watched(live, after, seconds, until=155).statistics()
    assert early.rates[A] == pytest.approx(20.0, rel=rate_error(20.0))
    assert early.selectivities[ORDERED.group] == pytest.approx(0.5, abs=4 * ERRORS[ORDERED.group])
    assert early.agreements["user"] == pytest.approx(0.5, abs=4 * np.sqrt(1 / 4 / 2_048))  # two looks
    assert late.rates[A] == pytest.approx(4.0, rel=min(rate_error(4.0), 0.4))
    assert late.rates[B] == pytest.approx(20.0, rel=rate_error(20.0))
    truth = 1 / 4 * 50 / 950  # B is above 900, and A below it
    assert late.selectivities[ORDERED.group] < truth + 4 * ERRORS[LOW.group]  # of a share as far from half
    assert late.agreements["user"] < 1 / 50 + 4 * AGREEMENT_ERROR


def test_rates_fall_when_nothing_comes() -> None:
    events = stream(100, {"A": 20.0, "B": 4.0})
    live = watched(live_of(), events, 5.0, until=120)
    assert live.statistics().rates[A] == pytest.approx(10.0, rel=rate_error(20.0, 20.0))
    live.observe(events.take(slice(0, 0)), 200 * SECOND)
    assert live.statistics().rates[A] == pytest.approx(UNSEEN / 40, rel=1 / (TICKS - 1))


def test_a_pattern_in_time_is_seen_across_batches() -> None:
    """x rises with time: B after A has more, whatever the batches are."""
    moments = np.arange(2_000) / 10
    events = ingested(moments, ["A", "B"] * 1_000, x=np.arange(2_000), user=["u"] * 2_000)
    for seconds in (0.5, 20.0):
        found = watched(live_of(), events, seconds).statistics()
        assert found.selectivities[ORDERED.group] > 0.99
        assert found.selectivities[USERS.group] > 0.99


def test_events_may_come_late() -> None:
    """Half of the events come up to five seconds late, on average a sixteenth of the sliding window.

    So as many are missing, beside the error that is allowed without that.
    """
    events = stream(100, {"A": 10.0, "B": 20.0, "C": 5.0})
    dice = np.random.default_rng(1)
    delays = np.where(dice.random(events.n_events) < 0.5, 0, dice.integers(0, 5 * SECOND, events.n_events))
    steps = (events.times + delays) // SECOND
    live = live_of()
    for step in range(int(steps[-1])):
        live.observe(events.take(np.flatnonzero(steps == step)), (step - 5) * SECOND)
    found = live.statistics()
    for item, rate in {A: 10.0, B: 20.0, C: 5.0}.items():
        assert found.rates[item] == pytest.approx(rate, rel=0.5 / 16 + rate_error(rate))
    assert found.selectivities[ORDERED.group] == pytest.approx(1 / 2, abs=4 * ERRORS[ORDERED.group])


def test_cost_is_bounded() -> None:
    sampling = Sampling(rows_per_type=100, tuples=50, questions_per_look=2, kept_events=64)
    sizes = []
    for scale in (1, 10, 100):
        live = live_of(sampling=sampling)
        events = stream(80, {"A": 10.0 * scale, "B": 20.0 * scale, "C": 5.0 * scale})
        parts = list(batches(events, 20.0))
        for batch in parts:
            live.observe(batch)
        assert live.n_rows <= len(parts) * 3 * sampling.rows_per_type
        assert live.n_tuples <= len(parts) * (sampling.questions_per_look + 1) * sampling.tuples
        sizes.append(len(json.dumps(live.to_json())))
    assert max(sizes) < 3 * sizes[0]


def test_state_stays_small() -> None:
    live = live_of()
    largest = 0
    for batch in batches(stream(60, {"A": 50.0, "B": 50.0, "C": 50.0}), 0.3):
        live.observe(batch)
        largest = max(largest, len(json.dumps(live.to_json())))
    assert largest < 40_000


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1_000), st.sampled_from([1.0, 3.0, 30.0]))
def test_restoring_at_random_points_changes_nothing(seed: int, seconds: float) -> None:
    dice = random.Random(seed)
    events = stream(40, {"A": 6.0, "B": 3.0, "C": 2.0}, seed=seed, nulls=0.1)
    straight, restored = live_of(10.0), live_of(10.0)
    for batch in batches(events, seconds):
        straight.observe(batch)
        if dice.random() < 0.3:
            state = json.loads(json.dumps(restored.to_json(), allow_nan=False))
            restored = live_of(10.0)
            restored.restore(state)
        restored.observe(batch)
        assert restored.statistics() == straight.statistics()
    assert restored.to_json() == straight.to_json()


def test_pools_of_strings_do_not_matter() -> None:
    """Events of one pool, as a shard has them, and of a pool for each batch give the same."""
    events = stream(40, {"A": 6.0, "B": 3.0, "C": 2.0})
    one, many = live_of(), live_of()
    for batch in batches(events, 2.0):
        one.observe(batch)
        texts = batch.strings.texts[batch.columns["user"].values]
        types = [batch.type_names[code] for code in batch.type_codes]
        moments = batch.times / SECOND
        again = ingested(moments, types, x=batch.columns["x"].values, user=list(texts))
        many.observe(replace(again, times=batch.times))
    assert one.statistics() == many.statistics()


def test_values_that_are_hard_to_store() -> None:
    equal = Question(GroupKey((A, B), (Comparison("=", of(0, "d"), of(1, "d")),)), frozenset(), 10.0)
    values = [float("nan"), float("inf"), -0.0, None] * 25
    events = ingested(np.arange(100) / 10, ["A", "B", "B", "A"] * 25, d=pa.array(values, pa.float64()))
    straight, restored = (LiveStatistics(Inquiry([], [equal], ["d"]), 40.0) for _ in range(2))
    for batch in batches(events, 0.5):
        straight.observe(batch)
        state = json.loads(json.dumps(restored.to_json(), allow_nan=False))
        restored = LiveStatistics(Inquiry([], [equal], ["d"]), 40.0)
        restored.restore(state)
        restored.observe(batch)
    assert restored.statistics() == straight.statistics()


def test_null_satisfies_nothing() -> None:
    rates, shares = [], []
    for seed in range(4):
        events = stream(100, {"A": 10.0, "B": 10.0}, nulls=0.5, seed=seed)
        found = watched(live_of(100.0), events, 5.0).statistics()
        rates.append(found.rates[LOW_A])
        shares.append(found.selectivities[ORDERED.group])
    assert np.mean(rates) == pytest.approx(0.5, rel=rate_error(0.5, 4 * 100.0))
    assert np.mean(shares) == pytest.approx(1 / 8, abs=4 * ERRORS[ORDERED.group] * 0.75 / np.sqrt(4))
    all_null = stream(100, {"A": 10.0, "B": 10.0}, nulls=1.0)
    found = watched(live_of(100.0), all_null, 5.0).statistics()
    assert found.rates[LOW_A] == pytest.approx(UNSEEN / 100, rel=1 / (TICKS - 1))
    assert found.selectivities[ORDERED.group] < 0.01


def test_what_never_came_is_as_it_was_given() -> None:
    given = Statistics(
        rates={A: 3.0, C: 2.0, ItemKey("E"): 9.0},
        selectivities={THREE.group: 0.25, ORDERED.group: 0.9},
        agreements={"user": 0.3, "other": 0.4},
        total_rate=77.0,
        duration=5.0,
    )
    live = live_of(initial=given)
    nothing = stream(1, {"A": 1.0}).take(slice(0, 0))
    live.observe(nothing, 5 * SECOND)
    assert live.statistics() == given
    watched(live, stream(5, {"A": 10.0, "B": 10.0}, start=100), 1.0)
    found = live.statistics()
    assert found.rates[A] == 3.0, "an eighth of the sliding window is not enough"
    few = 3.5 / np.sqrt(50)  # standard errors of 50 events, in buckets that the window does not divide
    assert found.rates[B] == pytest.approx(10.0, rel=few), "but better than nothing"
    assert found.total_rate == 77.0
    error = np.sqrt((1 / 50 + 1 / 50) / 12)  # the standard error of a share of the pairs of 50 A and 50 B
    assert found.selectivities[ORDERED.group] == pytest.approx(0.5, abs=min(4 * error, 0.2))
    watched(live, stream(45, {"A": 10.0, "B": 10.0}, start=105, seed=1), 1.0)
    found = live.statistics()
    assert found.rates[A] == pytest.approx(10.0, rel=rate_error(10.0))
    assert found.rates[C] == pytest.approx(UNSEEN / 40, rel=1 / (TICKS - 1))
    assert found.rates[ItemKey("E")] == 9.0
    assert found.selectivities[THREE.group] == 0.25
    assert found.agreements["other"] == 0.4
    assert found.total_rate == pytest.approx(20.0, rel=rate_error(20.0))
    assert found.duration == 5.0


def test_a_sample_without_hits_does_not_contradict_a_small_share() -> None:
    """Before, none of some thousand tuples was taken for one in twice as many, and that made plans."""
    rare = {"A": (999, 1_000), "B": (0, 1_000)}  # no x of a B is above that of an A
    found = {}
    for share in (1e-6, 0.4):
        live = live_of(initial=Statistics(selectivities={ORDERED.group: share}, agreements={"user": 1e-7}))
        watched(live, stream(60, {"A": 10.0, "B": 10.0}, x_of=rare, start=100, n_users=20), 1.0)
        found[share] = live.statistics()
    assert found[1e-6].selectivities[ORDERED.group] == 1e-6
    assert 1e-6 < found[0.4].selectivities[ORDERED.group] < 0.01, "it does contradict a large one"
    users = found[1e-6].agreements["user"]
    assert users == pytest.approx(1 / 20, abs=4 * AGREEMENT_ERROR), "many hits say what they say"


def test_few_events_are_enough_on_average() -> None:
    """The first look comes with the first second: of ten A and ten B, a share has an error of 0.13."""
    found = []
    for seed in range(40):
        events = stream(5, {"A": 10.0, "B": 10.0}, start=100, seed=seed)
        found.append(watched(live_of(), events, 1.0).statistics().selectivities.get(ORDERED.group))
    answered = [share for share in found if share is not None]
    assert len(answered) >= 27
    assert np.mean(answered) == pytest.approx(0.5, abs=4 * np.sqrt(2 / 12 / 10 / len(answered)))


def test_groups_without_enough_tuples_are_left_to_the_defaults() -> None:
    found = watched(live_of(), stream(50, {"A": 10.0}), 1.0).statistics()
    assert found.selectivities == {}
    assert found.agreements["user"] == pytest.approx(1 / 20, abs=4 * AGREEMENT_ERROR)


def test_elements_of_lists() -> None:
    rises = Comparison(">", of(0, which="current"), of(0, which="previous"))
    pairs = Question(GroupKey((A,), (rises,)), frozenset(), 10.0)
    count = Comparison(">", Aggregate("count", "$0"), Literal(3, LONG))
    whole = Question(GroupKey((A,), (count,)), frozenset(), 10.0)
    live = LiveStatistics(Inquiry([A], [pairs, whole], []), 40.0)
    moments = np.arange(1_000) / 10
    events = ingested(moments, ["A"] * 1_000, x=np.arange(1_000))
    found = watched(live, events, 2.0).statistics()
    assert found.selectivities[pairs.group] > 0.99
    assert whole.group not in found.selectivities


def test_other_queries_than_before() -> None:
    """What is still watched goes on, what is new is counted from now on."""
    events = stream(100, {"A": 10.0, "B": 20.0, "C": 5.0})
    parts = list(batches(events, 2.0))
    old = LiveStatistics(Inquiry([A], [ORDERED], []), 80.0)
    for batch in parts[:25]:
        old.observe(batch)
    new = live_of(80.0)
    new.restore(json.loads(json.dumps(old.to_json())))
    assert new.statistics().selectivities == old.statistics().selectivities
    for batch in parts[25:]:
        new.observe(batch)
    found = new.statistics()
    assert found.rates[A] == pytest.approx(10.0, rel=rate_error(10.0, 80.0))
    assert found.rates[C] == pytest.approx(5.0, rel=rate_error(5.0, 50.0))
    other_window = live_of(20.0)
    other_window.restore(old.to_json())
    assert other_window.statistics() == Statistics()


def test_all_questions_get_their_turn() -> None:
    live = live_of(sampling=Sampling(questions_per_look=1))
    found = watched(live, stream(40, {"A": 10.0, "B": 10.0, "C": 10.0}), 2.0).statistics()
    assert set(found.selectivities) == {question.group for question in (ORDERED, USERS, THREE, LOW)}


@settings(max_examples=40, deadline=None)
@given(cases(), st.integers(0, 100))
def test_any_workload_can_be_watched(case: object, seed: int) -> None:
    table, layout = arrow_events(case)  # type: ignore[arg-type]
    events = ingest(table, replace(layout, keeps_tie=True))
    forms = [form for query in case.queries for form in normalize(query)]  # type: ignore[attr-defined]
    questions = [question for form in forms for question in questions_of(form, 5.0)]
    items = [key for form in forms for key in item_keys(form)]
    keys = [key for form in forms for key in form.keys]
    straight, restored = (LiveStatistics(Inquiry(items, questions, keys)) for _ in range(2))
    dice = random.Random(seed)
    cuts = sorted(dice.randint(0, events.n_events) for _ in range(3))
    for start, stop in zip([0, *cuts], [*cuts, events.n_events], strict=True):
        state = restored.to_json()
        restored = LiveStatistics(Inquiry(items, questions, keys))
        restored.restore(json.loads(json.dumps(state)))
        for live in (straight, restored):
            live.observe(events.take(slice(start, stop)))
        assert restored.statistics() == straight.statistics()
    found = straight.statistics()
    assert all(0 <= share <= 1 for share in found.selectivities.values())
    assert all(rate > 0 for rate in found.rates.values())


def test_rates_count_what_was_not_observed() -> None:
    """Four seconds of five are counted alone; the rate of an item is that share of its type that was seen.

    Four standard errors of a count, as the window divides no bucket; of an item, of those that were seen.
    """
    batches = [stream(1.0, {"A": 200.0, "B": 50.0}, seed=number, start=float(number)) for number in range(60)]
    live = LiveStatistics(Inquiry([A, B, LOW_A], [], []), window_seconds=100.0)
    unwatched = UnwatchedSteps()
    for number, batch in enumerate(batches):
        if number % 5:
            unwatched.add(batch, live.types, 0.0)
        else:
            live.catch_up(unwatched)
            live.observe(batch, (number + 1) * SECOND)
            unwatched = UnwatchedSteps()
    live.catch_up(unwatched)
    found = live.statistics()
    assert found.rate(A) == pytest.approx(200.0, rel=4 / np.sqrt(200 * 60))
    assert found.rate(B) == pytest.approx(50.0, rel=4 / np.sqrt(50 * 60))
    assert found.rate(LOW_A) == pytest.approx(20.0, rel=min(4 / np.sqrt(20 * 12), 0.25))
    assert found.events_per_second == pytest.approx(250.0, rel=4 / np.sqrt(250 * 60))
