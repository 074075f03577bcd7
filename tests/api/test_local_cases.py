"""Cases without Spark: those written as text, and random ones, on hosts to which few events are many."""

import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.api.test_combined_cases import (
    ORDER,
    PLANS,
    SEARCH,
    SIMPLE,
    is_alike_among_others,
    is_combinable,
)
from tests.helpers.case_files import events_of
from tests.helpers.combined_cases import combined_random, combined_texts
from tests.helpers.engine import (
    STEPS,
    Bindings,
    arrow_events,
    expected_outcome,
    expected_timeouts,
    is_supported,
)
from tests.helpers.local_cases import (
    among_unusable_rows,
    content_ids,
    detection_of_case,
    has_single_types,
    table_of_case,
    without_ids,
)
from tests.helpers.local_results import matches_of, plain_rows, squeeze, timeouts_of, trends_of
from tests.helpers.placed import is_placeable
from tests.helpers.random_policies import policy_case
from tests.helpers.random_trends import bursts, events, queries, related_queries
from tests.helpers.strategies import SEED_STEP, Case, matching_case
from tests.helpers.tally import Count, seed_blocks
from tests.helpers.timeout_cases import filled, timeout_case
from tests.helpers.trend_streams import table_of as trend_table

import weft
from weft.api.options import PlacementName
from weft.errors import QueryError
from weft.normalize.template import template_of
from weft.pattern.nodes import Query
from weft.plan.trend_sets import Sharing
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results

PARTITIONS = (None, 1, 2, 7)
PLACEMENTS: tuple[PlacementName, ...] = ("muse", "single-sink", "central")
QUICK = weft.Planning(steps=STEPS)
SHARING: tuple[Sharing, ...] = ("dynamic", "static", "none")


@pytest.mark.parametrize(("partitions", "seed"), [(None, None), (None, 1), (7, 2)])
def test_all_text_cases_together(
    partitions: int | None, seed: int | None, monkeypatch: pytest.MonkeyPatch, count: Count
) -> None:
    """On an ordinary host, and on two that have little memory."""
    together = combined_texts(SIMPLE)
    if seed is not None:
        squeeze(monkeypatch, random.Random(seed))
    columns = {"time": "ts", "type": "__type", "id": "__id"}
    detection = weft.prepare(
        together.table(), together.text, **columns, planning=SEARCH, partitions=partitions, notices=False
    )
    found = together.found(plain_rows(detection.matches), detection.return_columns)
    found |= together.trends(plain_rows(detection.trends), detection.trend_names)
    assert found == together.expected
    count(local_cases=len(together.cases))


@pytest.mark.parametrize("seeds", seed_blocks(250_000, 32, soak=960, block=32))
def test_random_cases_together(seeds: range, monkeypatch: pytest.MonkeyPatch, count: Count) -> None:
    """Whatever the partitions and the plan, and with strategies."""

    def accepts(case: Case) -> bool:
        return has_single_types(case) and is_combinable(case)

    cases = [
        policy_case(seed, accepts=lambda case: accepts(case) and is_alike_among_others(case))
        if seed % 2
        else matching_case(seed, accepts=accepts)
        for seed in seeds
    ]
    together, dice = combined_random(cases), random.Random(seeds[0])
    for partitions, plan in [(None, "share"), *PLANS]:
        with monkeypatch.context() as patched:
            squeeze(patched, dice)
            detection = weft.prepare(
                together.table(),
                together.text,
                time="ts",
                type="__type",
                id="__id",
                partitions=partitions,
                columns=weft.Columns(order_by=ORDER),
                planning=weft.Planning(plan=plan, search_seconds=0.2),  # type: ignore[arg-type]
            )
            found = together.found(plain_rows(detection.matches), detection.return_columns)
            assert found == together.expected, (partitions, plan)
    count(local_cases=len(cases), matches=sum(case.n_matches for case in cases))


@pytest.mark.parametrize("seeds", seed_blocks(260_000, 80, soak=1_920, block=40))
def test_random_walks(seeds: range, monkeypatch: pytest.MonkeyPatch, count: Count) -> None:
    """One workload at a time: STRICT, SKIP and SUPPRESS, and windows of events."""
    for seed in seeds:
        dice = random.Random(seed)
        case = policy_case(seed, accepts=lambda case: is_supported(case) and has_single_types(case))
        with monkeypatch.context() as patched:
            squeeze(patched, dice)
            detection = detection_of_case(case, partitions=dice.choice(PARTITIONS), planning=QUICK)
            assert matches_of(detection) == expected_outcome(case), (seed, case)
        count(local_cases=1, matches=case.n_matches)


def single_timeout_case(seed: int) -> Case:
    while not has_single_types(case := timeout_case(seed)):
        seed += SEED_STEP
    return case


@pytest.mark.parametrize("seeds", seed_blocks(270_000, 40, soak=960, block=40))
def test_random_timeouts(seeds: range, monkeypatch: pytest.MonkeyPatch, count: Count) -> None:
    for seed in seeds:
        dice = random.Random(seed)
        case = single_timeout_case(seed)
        expected = filled(expected_timeouts(case))
        with monkeypatch.context() as patched:
            squeeze(patched, dice)
            detection = detection_of_case(case, partitions=dice.choice(PARTITIONS), planning=QUICK)
            assert timeouts_of(detection) == expected, (seed, case)
            assert matches_of(detection) == expected_outcome(case), (seed, case)
        count(local_cases=1, timeouts=sum(map(len, expected.values())))


@pytest.mark.parametrize("seeds", seed_blocks(280_000, 40, soak=960, block=40))
def test_random_cases_at_sites(seeds: range, monkeypatch: pytest.MonkeyPatch, count: Count) -> None:
    """Three sites; events with one id arise at the same site."""

    def accepts(case: Case) -> bool:
        return is_placeable(case) and is_supported(case) and has_single_types(case)

    for seed in seeds:
        dice = random.Random(seed)
        case = policy_case(seed, accepts=accepts) if seed % 2 else matching_case(seed, accepts=accepts)
        table, _ = arrow_events(case)
        by_id: dict[object, str] = {}
        sites = [by_id.setdefault(own, dice.choice("xyz")) for own in table["__id"].to_pylist()]
        with monkeypatch.context() as patched:
            squeeze(patched, dice)
            detection = weft.prepare(
                table.append_column("site", [sites]),
                case.text,
                time="ts",
                type="__type",
                id="__id",
                partitions=dice.choice((*PARTITIONS, 12)),
                columns=weft.Columns(order_by=case.order_by),
                planning=QUICK,
                sites=weft.Sites(column="site", placement=dice.choice(PLACEMENTS)),
            )
            assert matches_of(detection) == expected_outcome(case), (seed, case)
        count(local_cases=1, matches=case.n_matches)


@pytest.mark.parametrize("seeds", seed_blocks(290_000, 40, soak=960, block=40))
def test_random_cases_among_rows_that_are_no_events(
    seeds: range, monkeypatch: pytest.MonkeyPatch, count: Count
) -> None:
    """Rows without a time, a type or an id, anywhere between events, are told and change nothing."""
    for seed in seeds:
        dice = random.Random(seed)
        case = policy_case(seed, accepts=lambda case: is_supported(case) and has_single_types(case))
        with monkeypatch.context() as patched:
            squeeze(patched, dice)
            table, reasons = among_unusable_rows(table_of_case(case), dice)
            detection = detection_of_case(case, table, partitions=dice.choice(PARTITIONS), planning=QUICK)
            assert matches_of(detection) == expected_outcome(case), (seed, case)
            assert detection.input_counts() == (len(case.events), len(reasons))
            assert detection.rejected["reason"].to_pylist() == reasons
        count(local_cases=1, matches=case.n_matches)


@pytest.mark.parametrize("seeds", seed_blocks(300_000, 40, soak=960, block=40))
def test_random_cases_without_ids(seeds: range, monkeypatch: pytest.MonkeyPatch, count: Count) -> None:
    """Every row is an event, though its content is its identity; which of the same rows is which is open."""

    def accepts(case: Case) -> bool:
        walks = any(query.policy.walks for query in case.queries)  # ids decide among matches that are alike
        return is_supported(case) and has_single_types(case) and not walks

    for seed in seeds:
        dice = random.Random(seed)
        case = without_ids(policy_case(seed, accepts=accepts))
        table = table_of_case(case).drop_columns(["__id"])
        rows = dict(zip(content_ids(table), range(table.num_rows), strict=True))
        with monkeypatch.context() as patched:
            squeeze(patched, dice)
            partitions = dice.choice(PARTITIONS)
            detection = detection_of_case(case, table, id=None, partitions=partitions, planning=QUICK)
            found = {
                name: {by_row(bindings, rows): values for bindings, values in own.items()}
                for name, own in matches_of(detection).items()
            }
            assert found == expected_outcome(case), (seed, case)
        count(local_cases=1, matches=case.n_matches)


@pytest.mark.parametrize("n_operands", [9, pytest.param(12, marks=pytest.mark.soak)])
def test_some_of_many_operands(n_operands: int, count: Count) -> None:
    """Beyond 256 combinations, too."""
    names = "ABCDEFGHIJKL"[:n_operands]
    operands = ", ".join(f"{name} {name.lower()}" for name in names)
    pairs = " AND ".join(f"{a.lower()}.x <= {b.lower()}.x" for a, b in pairwise(names))
    text = f"QUERY q PATTERN SOME({operands}) WHERE {pairs} WITHIN 4 ms"
    dice = random.Random(n_operands)
    rows = [f"{dice.choice(names)} {time} x={dice.randrange(3)}" for time in range(16)]
    case = Case(text, events_of("; ".join(rows), None))
    found = matches_of(detection_of_case(case, table_of_case(case), planning=QUICK))
    assert found == expected_outcome(case)
    sizes = {len(bindings) for bindings in found["q"]}
    assert sizes >= {1, 2, 3}
    count(local_cases=1, matches=len(found["q"]))


def by_row(bindings: Bindings, rows: Mapping[object, int]) -> Bindings:
    """Return variable -> rows, of variable -> ids."""
    return frozenset((variable, tuple(rows[own] for own in ids)) for variable, ids in bindings)


WORKLOADS_OF_TRENDS = given(
    st.one_of(
        st.tuples(st.lists(queries(), min_size=1, max_size=3), events()),
        st.tuples(related_queries(), bursts()),
    ),
    st.integers(0, 1_000_000),
)


@WORKLOADS_OF_TRENDS
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
def test_random_trends(drawn: tuple[list[Query], list[ReferenceEvent]], seed: int) -> None:
    trends_agree(drawn, seed)


@pytest.mark.soak
@WORKLOADS_OF_TRENDS
@settings(max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
def test_many_random_trends(drawn: tuple[list[Query], list[ReferenceEvent]], seed: int) -> None:
    trends_agree(drawn, seed)


def trends_agree(drawn: tuple[list[Query], list[ReferenceEvent]], seed: int) -> None:
    """Compare trend queries with the reference."""
    asked = [replace(query, name=f"q{number}") for number, query in enumerate(drawn[0])]
    stream, dice = drawn[1], random.Random(seed)
    try:
        for query in asked:
            template_of(query)
    except QueryError:
        assume(False)
    table = trend_table(stream)
    table = table.append_column("ts", table["__time"].cast(pa.timestamp("us")))
    with pytest.MonkeyPatch.context() as patched:
        squeeze(patched, dice)
        detection = weft.prepare(
            table,
            asked,
            time="ts",
            type="__type",
            id="__id",
            partitions=dice.choice(PARTITIONS),
            planning=weft.Planning(sharing=dice.choice(SHARING)),
        )
        assert trends_of(detection) == {query.name: find_trend_results(query, stream) for query in asked}
