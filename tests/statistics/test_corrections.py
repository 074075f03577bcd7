"""What is known of parts of a pattern says something of the whole."""

import math

import pytest
from tests.statistics.test_partial_matches import form_of

from weft.statistics.corrections import corrections_of
from weft.statistics.model import PatternKey
from weft.statistics.sub_patterns import names_of

TEXT = "PATTERN SEQ(A a, B b, C c, D+ d[], E e) WITHIN 1 minute"


def known_of(text: str, factors: dict[int, float]) -> dict[PatternKey, float]:
    names = names_of(form_of(text))
    assert names is not None
    return {names.key(mask): factor for mask, factor in factors.items()}


def test_without_knowledge_nothing_is_corrected() -> None:
    assert corrections_of(form_of(TEXT), {}) == {}
    assert corrections_of(form_of(TEXT), known_of("PATTERN SEQ(X x, Y y)", {0b11: 3.0})) == {}


def test_what_is_known_is_taken_as_it_is() -> None:
    found = corrections_of(form_of(TEXT), known_of(TEXT, {0b00011: 3.0, 0b00111: 0.25}))
    assert found[0b00011] == pytest.approx(3.0)
    assert found[0b00111] == pytest.approx(0.25)


def test_three_of_whom_all_pairs_come_in_bursts_come_in_bursts() -> None:
    """Events that come in a hundredth of the time only: pairs are 100 times as many, triples 10,000 times."""
    pairs = {0b00011: 100.0, 0b00101: 100.0, 0b00110: 100.0}
    found = corrections_of(form_of(TEXT), known_of(TEXT, pairs))
    assert found[0b00111] == pytest.approx(10_000.0)


def test_an_independent_item_changes_nothing() -> None:
    found = corrections_of(form_of(TEXT), known_of(TEXT, {0b00011: 8.0}))
    assert found[0b00011] == pytest.approx(8.0)
    assert found.get(0b10100, 1.0) == 1.0
    assert 1.0 < found[0b00111] <= 8.0


def test_a_list_leaves_what_is_known_of_the_others() -> None:
    found = corrections_of(form_of(TEXT), known_of(TEXT, {0b00011: 8.0, 0b11000: 2.0}))
    assert found[0b01011] == pytest.approx(8.0)
    assert found[0b11000] == pytest.approx(2.0)


def test_nothing_at_all_is_a_correction_too() -> None:
    found = corrections_of(form_of(TEXT), known_of(TEXT, {0b00011: 0.0}))
    assert found[0b00011] == 0
    assert 0 <= found[0b00111] < 1e-100


def test_long_patterns_are_looked_up_step_by_step() -> None:
    text = f"PATTERN SEQ({', '.join(f'T{n} v{n}' for n in range(12))}) WITHIN 1 minute"
    chain = {(1 << size) - 1: 2.0 ** (size - 1) for size in range(2, 13)}
    found = corrections_of(form_of(text), known_of(text, chain))
    assert found[(1 << 12) - 1] == pytest.approx(2.0**11)
    assert all(math.isfinite(factor) for factor in found.values())
    longer = text.replace("T11 v11", "T11 v11, T12 v12")
    assert corrections_of(form_of(longer), known_of(longer, {0b11: 2.0})) == {}
