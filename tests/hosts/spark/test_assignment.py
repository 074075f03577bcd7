"""How the queries of a stream are divided into parts, and that they stay where they are."""

from collections.abc import Sequence

import pytest

from weft.codec import to_json
from weft.errors import DataError, WeftError
from weft.hosts.spark.assignment import (
    SENDING_NANOSECONDS,
    ShardAssignment,
    ShardGroup,
    assign_shards,
    check_windows,
    components,
)
from weft.hosts.spark.shard_names import shard_names
from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import optimize
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.schema import LONG, TIMESTAMP, Schema

SCHEMA = Schema({"k": LONG, "m": LONG, "z": LONG, "ts": TIMESTAMP}, time="ts")
COSTLY = 100 * SENDING_NANOSECONDS


def queries_of(*texts: str) -> tuple[Query, ...]:
    """Return queries named q0, q1 and so on."""
    return bind(parse("\n".join(f"QUERY q{n} PATTERN {text}" for n, text in enumerate(texts))), SCHEMA)


def together(queries: Sequence[Query], nanoseconds: float = COSTLY) -> tuple[Plan, float]:
    return optimize(queries, SCHEMA), nanoseconds


def parts_of(*texts: str, n_shards: int = 4) -> list[ShardGroup]:
    """Return the part of each query."""
    return list(assign_shards(queries_of(*texts), n_shards, together).groups.values())


def test_queries_that_agree_on_keys_are_one_part_by_these() -> None:
    assert (
        parts_of("SEQ(A, B) WHERE [k, m] WITHIN 1 s", "SEQ(A, C) WHERE [k] WITHIN 2 s")
        == [ShardGroup(("k",))] * 2
    )
    assert (
        parts_of("SEQ(A, B) WHERE [k, m] WITHIN 1 s", "SEQ(A, C) WHERE [m, k] WITHIN 1 s")
        == [ShardGroup(("k", "m"))] * 2
    )


def test_the_key_that_most_queries_have_comes_first() -> None:
    found = parts_of(
        "SEQ(A, B) WHERE [k] WITHIN 1 s",
        "SEQ(A, B) WHERE [m] WITHIN 1 s",
        "SEQ(A, C) WHERE [m, z] WITHIN 1 s",
        "SEQ(A, C) WHERE [k, m] WITHIN 1 s",
        "SEQ(A, C) WHERE [z] WITHIN 1 s",
    )
    assert found == [
        ShardGroup(("k",)),
        ShardGroup(("m",)),
        ShardGroup(("m",)),
        ShardGroup(("m",)),
        ShardGroup(("z",)),
    ]


def test_a_disjunction_has_the_keys_of_all_its_branches() -> None:
    assert parts_of("OR(SEQ(A, B), SEQ(C, D)) WHERE [k] WITHIN 1 s") == [ShardGroup(("k",))]
    assert parts_of("OR(SEQ(A, B), SEQ(C, D)) WITHIN 1 s") == [ShardGroup(number=0)]


def test_queries_that_count_events_have_parts_of_their_own() -> None:
    found = parts_of(
        "SEQ(A, B) WHERE [k] WITHIN 9 EVENTS",
        "SEQ(A, B) WHERE [k] WITHIN 1 s",
        "SEQ(A, C) WITHIN 9 EVENTS",
        "SEQ(A, C) WHERE [k] WITHIN 9 EVENTS PARTITION BY k",
    )
    assert found[0] == found[2] == ShardGroup(number=0, counts=True)
    assert found[1] == ShardGroup(("k",))
    assert found[3] == ShardGroup(("k",), counts=True)


def test_queries_that_share_a_join_stay_together_and_others_are_dealt() -> None:
    found = parts_of(
        "SEQ(A, B, C) WITHIN 1 s",
        "SEQ(A, B, D) WITHIN 1 s",
        "SEQ(E, F) WITHIN 1 s",
        "SEQ(G, H) WITHIN 1 s",
        "SEQ(I, J) WITHIN 1 s",
        n_shards=3,
    )
    assert found[0] == found[1] == ShardGroup(number=0)
    assert sorted(part.number for part in found[2:]) == [1, 1, 2]


def test_a_cheap_workload_is_one_part() -> None:
    queries = queries_of("SEQ(A, B) WITHIN 1 s", "SEQ(C, D) WITHIN 1 s", "SEQ(E, F) WITHIN 1 s")
    cheap = assign_shards(queries, 4, lambda some: together(some, 0.5 * SENDING_NANOSECONDS))
    assert set(cheap.groups.values()) == {ShardGroup(number=0)}
    dearer = assign_shards(queries, 4, lambda some: together(some, 1.5 * SENDING_NANOSECONDS))
    assert {part.number for part in dearer.groups.values()} == {0, 1}


def test_events_alone_connect_nothing() -> None:
    queries = queries_of("SEQ(A, B) WITHIN 1 s", "SEQ(A, C) WITHIN 1 s", "SEQ(A, B) WITHIN 2 s")
    assert components(optimize(queries, SCHEMA)) == [["q0", "q2"], ["q1"]]


def test_queries_keep_their_parts_when_others_come_and_go() -> None:
    texts = [
        "SEQ(A, B) WHERE [k, m] WITHIN 1 s",
        "SEQ(C, D) WITHIN 1 s",
        "SEQ(E, F) WITHIN 1 s",
        "SEQ(G, H) WITHIN 9 EVENTS",
    ]
    before = assign_shards(queries_of(*texts), 2, together)
    assert before.groups["q0"] == ShardGroup(("k", "m"))
    added = queries_of(*texts, "SEQ(A, C) WHERE [k] WITHIN 1 s", "SEQ(A, C) WHERE [k, m, z] WITHIN 1 s")
    after = assign_shards(added, 2, together, before)
    assert {name: after.groups[name] for name in before.groups} == before.groups
    assert after.groups["q4"] == ShardGroup(("k",))  # not all its matches meet in a shard of k and m
    assert after.groups["q5"] == ShardGroup(("k", "m"))
    fewer = assign_shards(added[1:], 2, together, after)
    assert fewer.groups == {name: part for name, part in after.groups.items() if name != "q0"}
    assert list(fewer.groups) == [query.name for query in added[1:]]
    assert assign_shards(added, 2, together, fewer).groups["q0"] in after.members


def test_a_new_query_goes_to_the_shard_that_has_least_to_do() -> None:
    before = ShardAssignment(3, {"q0": ShardGroup(number=0), "q1": ShardGroup(number=2)})
    queries = queries_of("SEQ(A, B) WITHIN 1 s", "SEQ(C, D) WITHIN 1 s", "SEQ(E, F) WITHIN 1 s")
    assert assign_shards(queries, 3, together, before).groups["q2"] == ShardGroup(number=1)


def test_a_query_that_no_longer_fits_gets_another_part() -> None:
    before = ShardAssignment(2, {"q0": ShardGroup(("k",)), "q1": ShardGroup(("m",))})
    after = assign_shards(
        queries_of("SEQ(A, B) WHERE [m] WITHIN 1 s", "SEQ(A, B) WHERE [m] WITHIN 1 s"), 2, together, before
    )
    assert after.groups == {"q0": ShardGroup(("m",)), "q1": ShardGroup(("m",))}
    counting = assign_shards(queries_of("SEQ(A, B) WHERE [k] WITHIN 9 EVENTS"), 2, together, before)
    assert counting.groups == {"q0": ShardGroup(counts=True)}


def test_the_same_queries_give_the_same_division() -> None:
    texts = ["SEQ(A, B) WHERE [k] WITHIN 1 s", "SEQ(C, D) WITHIN 1 s", "SEQ(C, E) WITHIN 1 s"]
    assert assign_shards(queries_of(*texts), 4, together) == assign_shards(queries_of(*texts), 4, together)


def test_names_of_parts_and_shards_differ() -> None:
    parts = [
        ShardGroup(("k",)),
        ShardGroup(("k",), counts=True),
        ShardGroup(number=0),
        ShardGroup(number=1),
        ShardGroup(counts=True),
    ]
    names = [name for shards in shard_names(parts, 3).values() for name in shards]
    assert len(set(names)) == len(names) == 3 + 3 + 1 + 1 + 1


def test_a_division_survives_json() -> None:
    division = ShardAssignment(
        7, {"täglich": ShardGroup(("k", "m")), "b": ShardGroup(number=3), "c": ShardGroup(counts=True)}
    )
    assert ShardAssignment.from_json(division.to_json(), "here") == division
    assert division.members == {
        ShardGroup(("k", "m")): ["täglich"],
        ShardGroup(number=3): ["b"],
        ShardGroup(counts=True): ["c"],
    }


@pytest.mark.parametrize("text", ["", "[]", "7", to_json("plan", None), to_json("shard assignment", {})[:-3]])
def test_what_is_no_assignment_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(DataError, match=r"^state/assignment"):
        ShardAssignment.from_json(text, "state/assignment")


def test_queries_without_a_bound_are_refused_by_name() -> None:
    bounded = ["A a", "SEQ(A, B) WITHIN 1 s", "SEQ(A, B) WITHIN 3 EVENTS", "OR(A, B)"]
    check_windows(queries_of(*bounded))
    for unbounded in ("SEQ(A, B)", "A+ a[]", "SEQ(A, NOT B)"):
        with pytest.raises(WeftError, match=r"^query q4: without WITHIN"):
            check_windows(queries_of(*bounded, unbounded))
    with pytest.raises(WeftError, match=r"^queries q0, q1: without WITHIN"):
        check_windows(queries_of("SEQ(A, B)", "SEQ(B, A)"))


def test_trend_queries_have_parts_by_their_groups() -> None:
    grouped = "SEQ(A, B+) WITHIN 10 s SLIDE 5 s GROUP BY m, k RETURN COUNT(*)"
    found = parts_of(
        "SEQ(A, B) WHERE [k] WITHIN 1 s",
        grouped,
        grouped.replace("m, k", "k, m").replace("10 s", "20 s"),
        "A+ WHERE [k] WITHIN 10 s RETURN COUNT(*)",
    )
    by_groups = ShardGroup(("k", "m"), trends=True)
    assert found == [ShardGroup(("k",)), by_groups, by_groups, ShardGroup(trends=True)]


def test_a_trend_query_without_a_window_is_refused() -> None:
    with pytest.raises(WeftError, match="query q0: without WITHIN, the only window never ends"):
        check_windows(queries_of("A+ RETURN COUNT(*)", "A+ WITHIN 1 s RETURN COUNT(*)"))
    with pytest.raises(WeftError, match="SUPPRESS of a trend query is for batch"):
        check_windows(queries_of("A+ WITHIN 1 s SUPPRESS 2 s RETURN COUNT(*)"))
