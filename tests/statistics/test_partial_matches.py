"""Partial matches that are counted on events, against the reference and against exact numbers."""

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from tests.statistics.test_measure import SECOND, sampled

from weft.language.read import read_queries
from weft.normalize.pipeline import normalize
from weft.pattern.normal_form import NormalForm
from weft.reference.events import ReferenceEvent
from weft.reference.matcher import find_matches
from weft.runtime.columns.events import Events
from weft.schema import LONG, STRING, TIMESTAMP, Schema
from weft.statistics.partial_matches import KEPT, count_partial_matches
from weft.statistics.sub_patterns import names_of

SCHEMA = Schema({"time": TIMESTAMP, "x": LONG, "y": LONG, "user": STRING}, time="time")
QUERIES = [
    "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.y = c.y WITHIN 20 seconds",
    "PATTERN AND(A a, B b, C c) WHERE [user] AND a.x + b.x > c.x WITHIN 15 seconds",
    "PATTERN SEQ(A a, AND(A b, B c)) WHERE a.x = b.y AND c.user = 'ann' WITHIN 30 seconds",
    "PATTERN AND(A a, A b) WHERE a.x = b.x",
    "PATTERN SEQ(B b, C c, NOT A a, C d) WHERE [user, y] WITHIN 40 seconds",
]


def form_of(text: str) -> NormalForm:
    (form,) = normalize(read_queries(text, SCHEMA)[0])
    return form


def random_events(seed: int, n_events: int = 60) -> tuple[Events, list[ReferenceEvent]]:
    """Return random events with equal times and missing values, for the engine and for the reference."""
    dice = np.random.default_rng(seed)
    seconds = np.sort(dice.integers(100, size=n_events))
    types = dice.choice(["A", "B", "C"], n_events).tolist()
    columns = {
        "x": [int(value) or None for value in dice.integers(5, size=n_events)],
        "y": dice.integers(3, size=n_events).tolist(),
        "user": dice.choice(["ann", "bob"], n_events).tolist(),
    }
    stream = [
        ReferenceEvent(
            row,
            frozenset({types[row]}),
            int(seconds[row]) * SECOND,
            attributes={name: values[row] for name, values in columns.items()},
        )
        for row in range(n_events)
    ]
    return sampled(seconds, types, **columns), stream


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("seed", range(3))
def test_few_events_are_counted_as_the_reference_counts_them(text: str, seed: int) -> None:
    events, stream = random_events(seed)
    form = form_of(text)
    names = names_of(form)
    assert names is not None
    counts = count_partial_matches(events, [form])
    everything = names.key((1 << len(form.items)) - 1)
    without = text.replace("NOT A a, ", "")
    (query,) = read_queries(without, SCHEMA)
    assert counts[everything] == (len(find_matches(query, stream)), 1.0)
    assert counts[everything].n_found > 0
    assert {key.name for key in counts} == names_of_all([text])[0]


def test_equal_sub_patterns_of_two_queries_are_counted_once() -> None:
    events, _ = random_events(1)
    first = form_of("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 20 seconds")
    second = form_of("PATTERN SEQ(A p, B q) WHERE q.x > p.x WITHIN 20 seconds")
    assert count_partial_matches(events, [first, second]) == count_partial_matches(events, [first])
    other = form_of("PATTERN SEQ(A p, B q) WHERE q.x > p.x WITHIN 21 seconds")
    assert len(count_partial_matches(events, [second, other])) == 2


def test_what_there_are_no_events_of_is_left_out() -> None:
    events, _ = random_events(1)
    form = form_of("PATTERN SEQ(A a, Z z, B b) WITHIN 20 seconds")
    (key,) = count_partial_matches(events, [form])
    assert set(key.variables) == {"a", "b"}
    nothing = form_of("PATTERN SEQ(A a, B b, C c) WHERE a.x > b.x + 100 WITHIN 20 seconds")
    names = names_of(nothing)
    assert names is not None
    counts = count_partial_matches(events, [nothing])
    assert counts[names.key(0b011)].n_found == 0
    assert counts[names.key(0b111)].n_found == 0


def test_windows_that_count_events_are_left_out() -> None:
    events, _ = random_events(1)
    assert count_partial_matches(events, [form_of("PATTERN SEQ(A a, B b) WITHIN 5 EVENTS")]) == {}


def test_no_more_is_counted_than_is_wanted() -> None:
    events, _ = random_events(1)
    form = form_of("PATTERN SEQ(A a, B b, C c) WITHIN 20 seconds")
    assert len(count_partial_matches(events, [form], most=2)) == 2


def many_events(n_bursts: int, per_burst: int) -> Events:
    """Return bursts of ten seconds in which all types come together, in an hour each."""
    dice = np.random.default_rng(5)
    starts = np.repeat(np.arange(n_bursts) * 3600, per_burst)
    seconds = np.sort(starts + dice.random(starts.size) * 10)
    types = dice.choice(["A", "B", "C", "D"], seconds.size).tolist()
    return sampled(seconds, types, x=dice.integers(100, size=seconds.size))


def test_more_matches_than_are_looked_at_are_estimated() -> None:
    """All quadruples in order within bursts: of 400 bursts of 80 events, tens of millions."""
    events = many_events(400, 80)
    form = form_of("PATTERN SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x WITHIN 1 minute")
    names = names_of(form)
    assert names is not None
    counts = count_partial_matches(events, [form])
    bursts = events.times // (3600 * SECOND)
    codes, values = events.type_codes, events.columns["x"].values
    for mask in (0b0011, 0b0110, 0b0111, 0b1111):
        found = exact_count(mask, codes, values, bursts)
        count = counts[names.key(mask)]
        assert found > 4 * KEPT
        assert count.weight > 1
        assert count.rows == pytest.approx(found, rel=0.25)


def exact_count(mask: int, codes: np.ndarray, values: np.ndarray, bursts: np.ndarray) -> int:
    """Return the number of sequences of some of A, B, C, D in a burst, x rising from A to B and C to D."""
    total = 0
    for burst in range(int(bursts.max()) + 1):
        own, x = codes[bursts == burst], values[bursts == burst]
        ways, last = np.ones(own.size), -1
        for place in range(4):
            if not mask >> place & 1:
                continue
            reached = np.where(own == place, 1.0, 0.0)
            if last >= 0:
                before = np.tri(own.size, k=-1)
                if (last, place) in ((0, 1), (2, 3)):
                    before *= x[:, None] > x[None, :]
                reached *= before @ ways
            ways, last = reached, place
        total += int(ways.sum())
    return total


def test_the_same_seed_gives_the_same_counts() -> None:
    events = many_events(400, 80)
    forms = [form_of("PATTERN SEQ(A a, B b, C c) WITHIN 1 minute")]
    first, again, other = (count_partial_matches(events, forms, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_keys_are_looked_up_however_rare_they_are() -> None:
    """Of 40,000 events with as many keys, three of a key meet now and then: chance would find none."""
    dice = np.random.default_rng(3)
    n_events = 40_000
    seconds = np.arange(n_events)
    users = np.array([f"u{number}" for number in dice.integers(20_000, size=n_events)])
    types = dice.choice(["A", "B", "C"], n_events)
    for start in range(0, n_events - 3, 1_000):
        users[start : start + 3], types[start : start + 3] = f"crime{start}", ["A", "B", "C"]
    events = sampled(seconds, types.tolist(), user=pa.array(users))
    form = form_of("PATTERN SEQ(A a, B b, C c) WHERE [user] WITHIN 10 seconds")
    names = names_of(form)
    assert names is not None
    counts = count_partial_matches(events, [form])
    assert counts[names.key(0b111)].rows == pytest.approx(40, rel=0.3)


def names_of_all(texts: Sequence[str]) -> list[set[str]]:
    found = []
    for text in texts:
        form = form_of(text)
        names = names_of(form)
        assert names is not None
        found.append(
            {names.key(mask).name for mask in range(1, 1 << len(form.items)) if mask.bit_count() > 1}
        )
    return found


def test_a_name_does_not_depend_on_how_a_query_is_written() -> None:
    """Operands of AND and conditions in any order: all ways to write a pattern have the same names."""
    written = [
        f"PATTERN AND({', '.join(order)}) WHERE {' AND '.join(where)} WITHIN 1 minute"
        for order in permutations(["A p", "A q", "B r"])
        for where in permutations(["p.x < q.x", "q.y = r.y", "r.x + p.x > 3"])
    ]
    first, *others = names_of_all(written)
    assert len(first) == 4
    assert others == [first] * (len(written) - 1)
    (different,) = names_of_all([written[0].replace("p.x < q.x", "p.x > q.x")])
    assert len(different & first) == 3  # all but the whole: p and q alone are alike
