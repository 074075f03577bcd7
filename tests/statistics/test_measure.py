"""Rates and selectivities of samples whose answers are known."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.expressions import (
    Absolute,
    Aggregate,
    Arithmetic,
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    IsNull,
    Literal,
    Place,
)
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.schema import LONG, STRING
from weft.statistics.measure import LEAST_TUPLES, measure
from weft.statistics.model import GroupKey, Inquiry, ItemKey, Question, Statistics
from weft.statistics.sampling import UNSEEN

A, B, C = map(ItemKey, "ABC")
TYPES = {"x": LONG, "y": LONG, "user": STRING}
SECOND = 1_000_000


def sampled(
    seconds: Sequence[float] | Array,
    types: Sequence[str],
    *,
    ties: Sequence[int] | None = None,
    **columns: object,
) -> Events:
    """Return events; times are in seconds, further columns are those of TYPES."""
    moments = (np.asarray(seconds) * SECOND).round().astype(np.int64)
    table = {"time": pa.array(moments), "type": pa.array(list(types), pa.string())}
    table |= {name: pa.array(values) for name, values in columns.items()}
    if ties is not None:
        table["tie"] = pa.array(ties)
    layout = Layout(
        time="time",
        type="type",
        id=None,
        content=None,
        tie=None if ties is None else "tie",
        attributes={name: (name, TYPES[name]) for name in columns},
        type_names=tuple(sorted(set(types))),
        tie_type=None if ties is None else LONG,
    )
    return ingest(pa.table(table), layout)


def of(place: int, name: str = "x", which: Place = "each") -> Attribute:
    return Attribute(f"${place}", name, which, TYPES[name])


def number(value: int) -> Literal:
    return Literal(value, LONG)


def compared(operator: ComparisonOperator, left: Expression, right: Expression) -> Expression:
    return Comparison(operator, left, right)


LESS = compared("<", of(0), of(1))


def ask(
    *predicates: Expression,
    items: Sequence[ItemKey] = (A, B),
    order: Sequence[tuple[int, int]] = (),
    window: float | None = None,
) -> Question:
    return Question(GroupKey(tuple(items), predicates), frozenset(order), window)


def answer(events: Events, question: Question, *, seed: int = 0) -> float | None:
    found = measure(events, Inquiry([], [question], []), duration=1.0, seed=seed)
    return found.selectivities.get(question.group)


def noise(share: float, n_tuples: int = 8_192) -> float:
    """Five standard errors of a share."""
    return 5 * float(np.sqrt(share * (1 - share) / n_tuples))


@pytest.fixture(scope="module")
def mixed() -> Events:
    """10,000 events in 1,000 seconds; A and B in turn, x at random, y = x, one of 20 users, some unknown."""
    dice = np.random.default_rng(1)
    x = dice.integers(0, 1_000_000, 10_000)
    users = [f"u{user}" if known else None for user, known in dice.integers(0, (20, 2), (10_000, 2))]
    return sampled(np.sort(dice.random(10_000) * 1_000), ["A", "B"] * 5_000, x=x, y=x, user=users)


def test_rates_are_counts_over_the_duration() -> None:
    events = sampled(range(6), "AAABAA", x=[1, 5, None, 9, 7, 5])
    above = ItemKey("A", (compared(">", of(0), number(3)),))
    both = ItemKey("A", (*above.predicates, compared("<", of(0), number(6))))
    unknown = ItemKey("A", (IsNull(of(0)),))
    found = measure(events, Inquiry([A, B, C, above, both, unknown], [], []), duration=20.0)
    assert found.rates == {
        A: 5 / 20,
        B: 1 / 20,
        C: UNSEEN / 20,
        above: 3 / 20,
        both: 2 / 20,
        unknown: 1 / 20,
    }
    assert (found.total_rate, found.duration) == (6 / 20, 20.0)
    with pytest.raises(ValueError, match=r"covers 0\.0 seconds"):
        measure(events, Inquiry([], [], []), duration=0.0)


def test_items_of_a_question_get_a_rate_too(mixed: Events) -> None:
    found = measure(mixed, Inquiry([], [ask(LESS)], []), duration=1_000.0)
    assert found.rates == {A: 5.0, B: 5.0}


@pytest.mark.parametrize("order", [(), ((0, 1),), ((1, 0),)])
@pytest.mark.parametrize("window", [1.0, 100.0, None])
def test_independent_values(mixed: Events, order: tuple[tuple[int, int], ...], window: float | None) -> None:
    assert answer(mixed, ask(LESS, order=order, window=window)) == pytest.approx(0.5, abs=noise(0.5))


def test_predicates_of_a_group_are_measured_together(mixed: Events) -> None:
    also = compared("<", of(0, "y"), of(1, "y"))
    assert answer(mixed, ask(LESS, also, window=10.0)) == pytest.approx(0.5, abs=noise(0.5))
    never = compared(">", of(0, "y"), of(1, "y"))
    assert answer(mixed, ask(LESS, never, window=10.0)) == pytest.approx(0.0, abs=0.001)


def test_a_trend_is_measured_within_the_window() -> None:
    """x grows with time: any two events of a window are close, any two events of all time are not."""
    events = sampled(range(4_000), "AB" * 2_000, x=range(4_000))
    close = compared("<", Absolute(Arithmetic("-", of(0), of(1))), number(15))
    within, anywhere = answer(events, ask(close, window=10.0)), answer(events, ask(close))
    assert within == pytest.approx(1.0, abs=0.001)
    assert anywhere == pytest.approx(14 / 4_000 * 2, rel=0.3)


def test_order_is_that_of_the_pattern() -> None:
    events = sampled(range(2_000), "AB" * 1_000, x=range(2_000))
    for order, expected in ((((0, 1),), 1.0), (((1, 0),), 0.0), ((), 0.5)):
        found = answer(events, ask(LESS, order=order, window=50.0))
        assert found == pytest.approx(expected, abs=noise(0.5))


def test_order_is_strict_unless_a_tie_break_decides() -> None:
    """Of events at one moment none is before another; with a tie-break they are."""
    types, x = "A" * 40 + "B" * 40, range(80)
    ordered = ask(LESS, order=[(0, 1)], window=10.0)
    assert answer(sampled([7] * 80, types, x=x), ordered) is None
    assert answer(sampled([7] * 80, types, ties=range(80), x=x), ordered) == pytest.approx(1.0, abs=0.001)
    assert answer(sampled([7] * 80, types, x=x), ask(LESS, window=10.0)) == pytest.approx(1.0, abs=0.001)
    around = ask(LESS, items=(A, B, A), order=[(0, 2)], window=10.0)
    assert answer(sampled([7] * 40 + [8], "A" * 40 + "B", x=range(41)), around) is None


def test_every_tuple_counts_the_same_in_bursts() -> None:
    """100 x 100 pairs of one burst, against 1,000 lone pairs: it is pairs that count, not events."""
    lone = np.repeat(1_000.0 + 100 * np.arange(1_000), 2) + np.tile([0.0, 0.5], 1_000)
    seconds = np.concatenate([np.linspace(0, 1, 200), lone])
    x = np.concatenate([np.zeros(200, np.int64), np.ones(2_000, np.int64)])
    events = sampled(seconds, "AB" * 1_100, x=x)
    in_burst = compared("=", Arithmetic("+", of(0), of(1)), number(0))
    share = 10_000 / 11_000
    assert answer(events, ask(in_burst, window=1.0)) == pytest.approx(share, abs=noise(share))


def test_the_rare_item_is_found_among_many() -> None:
    """25 rare events in 100,000, each with two partners: they are where to look."""
    types = np.where(np.arange(100_000) % 4_000 == 2_000, "B", "A").tolist()
    events = sampled(range(100_000), types, x=range(100_000))
    assert answer(events, ask(LESS, window=1.0)) == 0.5


def test_no_event_meets_itself(mixed: Events) -> None:
    same = compared("=", of(0), of(1))
    found = answer(mixed, ask(same, items=(A, A), window=0.5))
    assert found is not None
    assert found < 0.001


def test_rare_equalities_are_told_from_never(mixed: Events) -> None:
    dice = np.random.default_rng(3)
    events = sampled(range(20_000), "AB" * 10_000, x=dice.integers(0, 2_000, 20_000))
    equal = compared("=", of(0), of(1))
    assert answer(events, ask(equal, window=1_000.0)) == pytest.approx(
        1 / 2_000, abs=noise(1 / 2_000, 65_536)
    )
    never = answer(mixed, ask(compared("=", of(0), Arithmetic("+", of(1), number(10**9))), window=100.0))
    assert never is not None
    assert never < 1e-5


def test_null_satisfies_nothing() -> None:
    events = sampled(range(2_000), "AB" * 1_000, x=[None, 5, 3, 5] * 500)
    assert answer(events, ask(LESS, window=100.0)) == pytest.approx(0.5, abs=noise(0.5))


def test_consecutive_elements_of_a_list(mixed: Events) -> None:
    """An edge compares any two events of the item, the earlier one being the previous."""
    rising = compared("<", of(0, which="previous"), of(0, which="current"))
    assert answer(mixed, ask(rising, items=[A], window=10.0)) == pytest.approx(0.5, abs=noise(0.5))
    trend = sampled(range(500), "A" * 500, x=range(500))
    assert answer(trend, ask(rising, items=[A], window=10.0)) == pytest.approx(1.0, abs=0.001)
    falling = compared(">", of(0, which="previous"), of(0, which="current"))
    assert answer(trend, ask(falling, items=[A], window=10.0)) == pytest.approx(0.0, abs=0.001)
    far = compared("<", Arithmetic("-", of(0, which="current"), of(0, which="previous")), number(11))
    assert answer(trend, ask(far, items=[A], window=10.0)) == pytest.approx(1.0, abs=0.001)
    assert answer(trend, ask(far, items=[A])) == pytest.approx(10 / 250, rel=0.3)


def test_an_edge_may_look_at_other_items() -> None:
    """b is after the list: x grows with time, so previous < current < b."""
    events = sampled(range(1_000), "AAB" * 333 + "A", x=range(1_000))
    previous, current = of(0, which="previous"), of(0, which="current")
    ascending = (compared("<", previous, current), compared("<", previous, of(1)))
    after = ask(*ascending, order=[(0, 1)], window=30.0)
    assert answer(events, after) == pytest.approx(1.0, abs=0.001)
    before = ask(*ascending, order=[(1, 0)], window=30.0)  # b is before all elements, also the previous
    assert answer(events, before) == pytest.approx(0.0, abs=0.001)


@pytest.mark.parametrize(
    "predicate",
    [
        compared("<", of(0, which="first"), of(1)),
        compared("<", of(0, which="last"), of(1)),
        compared("<", Aggregate("sum", "$0", "x", LONG), of(1)),
        compared(">", Aggregate("count", "$0"), number(2)),
    ],
)
def test_what_whole_lists_do_stays_open(mixed: Events, predicate: Expression) -> None:
    found = measure(mixed, Inquiry([A], [ask(predicate), ask(LESS)], []), duration=1_000.0)
    assert list(found.selectivities) == [ask(LESS).group]


def test_too_few_tuples_leave_a_question_open() -> None:
    few, enough = LEAST_TUPLES - 1, LEAST_TUPLES
    for n_pairs, expected in ((few, None), (enough, (enough + 0.5) / (enough + 1))):
        events = sampled(np.repeat(np.arange(n_pairs) * 100, 2), "AB" * n_pairs, x=[1, 2] * n_pairs)
        assert answer(events, ask(LESS, window=1.0)) == expected
    apart = sampled(range(0, 20_000, 100), "AB" * 100, x=range(200))
    assert answer(apart, ask(LESS, window=1.0)) is None


def test_the_first_answer_to_a_group_counts() -> None:
    events = sampled(range(2_000), "AB" * 1_000, x=range(2_000))
    asked = [
        ask(LESS, order=[order], window=window)
        for order, window in (((0, 1), 0.5), ((0, 1), 9.0), ((1, 0), 9.0))
    ]
    found = measure(events, Inquiry([], asked, []), duration=1.0)
    assert found.selectivity(asked[0].group) == pytest.approx(1.0, abs=0.001)


def test_agreement_on_keys(mixed: Events) -> None:
    """Half of the users are NULL, which agrees with nothing; x is different almost always."""
    found = measure(mixed, Inquiry([A, B], [ask(LESS, window=50.0)], ["user", "x"]), duration=1_000.0)
    assert found.agreement("user") == pytest.approx(0.05 / 4, abs=noise(0.0125))
    assert found.agreement("x") < 0.001


def test_agreement_is_measured_within_the_largest_window() -> None:
    """A user acts for 100 seconds, then comes the next one."""
    events = sampled(
        range(10_000), "AC" * 5_000, x=range(10_000), user=[f"u{at // 100}" for at in range(10_000)]
    )
    asked = [ask(compared("<", of(0), of(1)), items=(A, A), window=window) for window in (0.5, 10.0)]
    within = measure(events, Inquiry([A, C], asked, ["user"]), duration=1.0).agreement("user")
    assert measure(events, Inquiry([A, C], [], ["user"], 10.0), duration=1.0).agreement("user") == within
    assert (
        measure(events, Inquiry([A, C], asked[:1], ["user"], 10.0), duration=1.0).agreement("user") == within
    )
    anywhere = measure(events, Inquiry([A, C], [], ["user"]), duration=1.0).agreement("user")
    assert within == pytest.approx(0.945, abs=0.02)
    assert anywhere == pytest.approx(0.01, abs=noise(0.01))


def test_agreement_is_that_of_the_asked_types() -> None:
    events = sampled(range(2_000), "AB" * 1_000, user=[None if at % 2 else "ann" for at in range(2_000)])
    assert measure(events, Inquiry([A], [], ["user"]), duration=1.0).agreement("user") > 0.99
    assert measure(events, Inquiry([A, B], [], ["user"]), duration=1.0).agreement("user") == pytest.approx(
        0.25, abs=0.03
    )


def test_an_event_of_two_types_counts_for_both() -> None:
    """Types derived from conditions may overlap; an event is still not its own partner."""
    n_events = 400
    table = pa.table({"time": np.arange(n_events) * SECOND, "flags": [1, 3] * (n_events // 2)})
    layout = Layout(
        time="time",
        type=None,
        id=None,
        content=None,
        tie=None,
        attributes={"x": ("time", LONG)},
        type_names=(),
        derived_types=("A", "B"),
        flags=("flags",),
    )
    same = ask(compared("=", of(0), of(1)), window=5.0)
    found = measure(ingest(table, layout), Inquiry([], [same], ["x"]), duration=100.0)
    assert found.rates == {A: 4.0, B: 2.0}
    assert found.selectivity(same.group) < 0.01
    assert found.agreement("x") < 0.01


def test_an_empty_sample_answers_nothing_but_that_all_is_rare() -> None:
    events = sampled(np.empty(0), [], x=pa.array([], pa.int64()), user=pa.array([], pa.string()))
    found = measure(events, Inquiry([A], [ask(LESS, window=10.0)], ["user"]), duration=10.0)
    assert found == Statistics({A: 0.05, B: 0.05}, total_rate=0.0, duration=10.0)


def test_the_seed_decides(mixed: Events) -> None:
    asked = [ask(LESS, window=10.0), ask(LESS, items=(A, A), window=10.0)]
    runs = [
        measure(mixed, Inquiry([A], questions, ["user"]), duration=1.0, seed=seed)
        for seed, questions in ((5, asked), (5, asked), (6, asked), (5, asked[::-1]), (5, asked[1:]))
    ]
    assert runs[0] == runs[1]
    assert runs[0].selectivities != runs[2].selectivities
    assert dict(runs[3].selectivities) == dict(runs[0].selectivities)  # whatever else is asked
    assert runs[4].selectivity(asked[1].group) == runs[0].selectivity(asked[1].group)


@st.composite
def small_questions(draw: st.DrawFn) -> tuple[list[int], str, list[int], Question]:
    """Draw up to 18 events and a question about 2 or 3 items of them."""
    n_events = draw(st.integers(6, 18))
    seconds = sorted(draw(st.lists(st.integers(0, 20), min_size=n_events, max_size=n_events)))
    types = "".join(draw(st.lists(st.sampled_from("AB"), min_size=n_events, max_size=n_events)))
    x = draw(st.lists(st.integers(0, 3), min_size=n_events, max_size=n_events))
    items = [ItemKey(name) for name in draw(st.sampled_from(["AB", "AA", "ABA", "BAA"]))]
    pairs = [(0, 1)] if len(items) == 2 else [(0, 1), (1, 2), (0, 2)]
    order = draw(st.sets(st.sampled_from(pairs)))
    window = draw(st.sampled_from([None, 2.0, 5.0, 12.0]))
    predicates = [compared("<=", of(a), of(b)) for a, b in pairs]
    return seconds, types, x, ask(*predicates, items=items, order=sorted(order), window=window)


@given(small_questions())
def test_few_tuples_are_all_counted(drawn: tuple[list[int], str, list[int], Question]) -> None:
    """On a small sample the share is exact: that of all tuples there are."""
    seconds, types, x, question = drawn
    places = [[row for row, name in enumerate(types) if name == item.type] for item in question.group.items]
    tuples = [
        rows
        for rows in product(*places)
        if len(set(rows)) == len(rows)
        and all(seconds[rows[a]] < seconds[rows[b]] for a, b in question.order)
        and (question.window is None or seconds[max(rows)] - seconds[min(rows)] <= question.window)
    ]
    hits = [rows for rows in tuples if all(x[a] <= x[b] for a, b in zip(rows, rows[1:], strict=False))]
    expected = (len(hits) + 0.5) / (len(tuples) + 1) if len(tuples) >= LEAST_TUPLES else None
    found = answer(sampled(seconds, types, x=x), question)
    if len(tuples) < 400:
        assert found == expected
    else:
        assert found == pytest.approx(expected, abs=0.02)
