"""The numbers of a pattern, from its text and from statistics."""

import random
import statistics as numbers

import pytest
from tests.helpers.workloads import Workload, items, rates

from weft.cost.shape import ListBounds, Shape
from weft.expressions import Attribute, Comparison, Literal
from weft.optimizer.shape_of import item_keys, questions_of
from weft.schema import LONG
from weft.statistics.model import DEFAULT_DURATION, ItemKey, Statistics


def shape(text: str, statistics: Statistics | None = None) -> Shape:
    return Workload((text,), statistics or Statistics()).patterns["P1"].shape


def test_rates_are_those_of_the_types_and_of_their_predicates() -> None:
    less = Comparison("<", Attribute("$0", "x", type=LONG), Literal(3, LONG))
    known = Statistics(rates={ItemKey("A"): 5.0, ItemKey("B"): 6.0, ItemKey("B", (less,)): 0.5})
    found = shape("SEQ(A a, B b, C c, A d) WHERE b.x < 3 AND d.x < 3", known)
    assert found.rates == pytest.approx((5.0, 0.5, 1.0, 5.0 / 3))


def test_the_order_is_closed() -> None:
    assert shape("SEQ(A a, AND(B b, C c), D d)").before == (0, 0b0001, 0b0001, 0b0111)
    assert shape("AND(A a, B b, C c)").before == (0, 0, 0)


WINDOWS = {
    "WITHIN 90 seconds": 90.0,
    "WITHIN 2 minutes": 120.0,
    "WITHIN 20 EVENTS": 20 / 8,
    "PARTITION BY k WITHIN 20 EVENTS": 20 / (8 * 0.25),
    "PARTITION BY k, name WITHIN 20 EVENTS": 20 / (8 * 0.25 * 0.01),
    "": 500.0,
}


@pytest.mark.parametrize(("clause", "seconds"), WINDOWS.items())
def test_a_window_is_told_in_seconds(clause: str, seconds: float) -> None:
    """A count of events lasts as long as so many events, of the same keys, take to arrive."""
    known = Statistics(agreements={"k": 0.25}, total_rate=8.0, duration=500.0)
    assert shape(f"SEQ(A a, B b) {clause}", known).window == pytest.approx(seconds)


def test_without_a_total_the_known_rates_are_added_up() -> None:
    assert shape("SEQ(A a, B b) WITHIN 20 EVENTS", rates(A=3, B=1, C=6)).window == pytest.approx(2.0)
    assert shape("SEQ(A a, B b) WITHIN 20 EVENTS").window == pytest.approx(20.0)
    assert shape("SEQ(A a, B b)").window == DEFAULT_DURATION


def test_predicates_on_the_same_items_are_one_group() -> None:
    text = "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.y = a.y AND a.x + b.x < c.x AND c.x > 1"
    found = shape(text)
    pair, triple = items("AB", "ABC"), items("ABC", "ABC")
    assert {group.mask for group in found.groups} == {pair, triple}
    shares = {group.mask: (group.selectivity, group.equality) for group in found.groups}
    assert shares[pair] == pytest.approx((0.1 / 3, 0.1))
    assert shares[triple] == pytest.approx((1 / 3, 1.0))


def test_what_is_known_of_a_group_counts_however_it_is_written() -> None:
    one, other = "SEQ(A a, B b) WHERE a.x < b.x", "SEQ(A z, B y) WHERE y.x > z.x"
    (question,) = questions_of(Workload((one,)).patterns["P1"].form, None)
    known = Statistics(selectivities={question.group: 0.77})
    for text in (one, other):
        assert [group.selectivity for group in shape(text, known).groups] == [0.77]


def test_keys_thin_pairs_out() -> None:
    known = Statistics(agreements={"k": 0.25, "name": 0.5})
    assert shape("SEQ(A a, B b) WHERE [k, name]", known).agreement == pytest.approx(0.125)
    assert shape("SEQ(A a, B b) PARTITION BY k", known).agreement == 0.25
    assert shape("SEQ(A a, B b)", known).agreement == 1


def test_predicates_on_a_list_are_about_neighbors_or_about_the_whole() -> None:
    edge = shape("SEQ(A a, B{2,5} b[]) WHERE b[i].x > b[i-1].x")
    assert edge.lists == {1: ListBounds(2, 5, edge=1 / 3)}
    whole = shape("SEQ(A a, B+ b[]) WHERE SUM(b.x) > 3 AND COUNT(b) = 2").lists[1]
    assert (whole.least, whole.most, whole.edge) == (1, None, 1.0)
    assert whole.whole == pytest.approx(0.1 / 3)
    each = shape("SEQ(A a, B+ b[]) WHERE b.x > 3")
    assert each.lists == {1: ListBounds(1, None)}
    assert each.rates == pytest.approx((1.0, 1 / 3))


def test_a_negation_waits_for_the_items_around_it() -> None:
    found = shape("SEQ(A a, NOT D n, B b, C c) WITHIN 10 seconds")
    assert [check.needs for check in found.checks] == [0b011]
    last = shape("SEQ(A a, B b, NOT D n) WITHIN 10 seconds")
    assert [check.needs for check in last.checks] == [0b11]
    outer = shape("SEQ(A a, NOT D n, B b, C c) WHERE n.x = c.x WITHIN 10 seconds")
    assert [check.needs for check in outer.checks] == [0b111]


def test_the_share_that_passes_a_negation_is_that_of_a_simulation() -> None:
    """Pairs of A and B in order that span at most a second, with no D between them."""
    dice, rate = random.Random(3), 1.2
    passed = []
    for _ in range(6_000):
        distance = dice.random()  # from A to B, all equally likely within the window
        passed.append(float(dice.expovariate(rate) > distance))
    (check,) = shape("SEQ(A a, NOT D n, B b) WITHIN 1 seconds", rates(D=rate)).checks
    assert check.survival == pytest.approx(numbers.fmean(passed), abs=0.03)


def test_a_negation_with_predicates_or_keys_forbids_less() -> None:
    known = Statistics(rates={ItemKey("D"): 5.0}, agreements={"k": 0.25})
    shares = [
        shape(f"SEQ(A a, NOT D n, B b) {where} WITHIN 1 seconds", known).checks[0].survival
        for where in ("", "WHERE [k]", "WHERE n.x < a.x", "WHERE n.x = a.x", "WHERE n.x = 1 AND n.y = a.y")
    ]
    assert shares[0] == min(shares)
    assert shares[1] < shares[3] < shares[4]
    assert shares[0] < shares[2] < shares[3]


def test_the_items_of_a_pattern_and_of_its_negations_are_asked_for() -> None:
    form = Workload(("SEQ(A a, NOT SEQ(C c, D d), B b) WHERE c.x < d.x",)).patterns["P1"].form
    assert [key.type for key in item_keys(form)] == ["A", "B", "C", "D"]
    assert [len(question.group.items) for question in questions_of(form, 5.0)] == [2]


def test_a_question_tells_the_order_of_its_items() -> None:
    def order_of(text: str) -> set[tuple[str, str]]:
        (question,) = questions_of(Workload((text,)).patterns["P1"].form, 5.0)
        types = [item.type for item in question.group.items]
        return {(types[a], types[b]) for a, b in question.order}

    assert order_of("SEQ(B b, A a) WHERE a.x < b.x") == {("B", "A")}
    assert order_of("AND(B b, A a) WHERE a.x < b.x") == set()
    assert order_of("SEQ(A a, C c, B b) WHERE a.x + b.x < c.x") == {("A", "B"), ("A", "C"), ("C", "B")}
