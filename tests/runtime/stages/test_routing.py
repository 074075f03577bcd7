"""Rows reach the shards that want them, each once, and nothing is lost on the way."""

import random

import pyarrow as pa
import pytest

from weft.runtime.columns.layout import FLAGS_PER_COLUMN
from weft.runtime.stages import routing
from weft.runtime.stages.messages import PACK, ROLE, SHARD, count_rejected, unpack
from weft.runtime.stages.routing import OWNER, PackTask, Route
from weft.runtime.state.segments import table_from_bytes

COLUMNS = ("id", "type")


def table_of(types: list[str], **columns: list[object]) -> pa.Table:
    """Return rows numbered by their ids."""
    return pa.table({"id": pa.array(range(len(types))), "type": pa.array(types, pa.string()), **columns})


def packs_of(task: PackTask, table: pa.Table, *, rows_per_batch: int = 3) -> dict[str, list[pa.Table]]:
    """Return the packs of each shard."""
    found: dict[str, list[pa.Table]] = {}
    for batch in task(iter(table.to_batches(max_chunksize=rows_per_batch))):
        assert batch.schema.names == [SHARD, ROLE, PACK]
        for shard, pack in zip(batch.column(0).to_pylist(), batch.column(2).to_pylist(), strict=True):
            found.setdefault(shard, []).append(table_from_bytes(pack))
    return found


def ids_of(packs: dict[str, list[pa.Table]]) -> dict[str, list[int]]:
    return {
        shard: [row for pack in found for row in pack["id"].to_pylist()] for shard, found in packs.items()
    }


def test_rows_go_where_their_type_is_wanted() -> None:
    routes = (
        Route(("ab",), COLUMNS, frozenset({"A", "B"})),
        Route(("bc",), COLUMNS, frozenset({"B", "C"})),
        Route(("all",), ("id",), None),
        Route(("none",), COLUMNS, frozenset({"Z"})),
    )
    packs = packs_of(PackTask(routes, "type", ()), table_of(list("ABCDAB")))
    assert ids_of(packs) == {"ab": [0, 1, 4, 5], "bc": [1, 2, 5], "all": [0, 1, 2, 3, 4, 5]}
    assert packs["all"][0].column_names == ["id", OWNER]
    assert packs["ab"][0].column_names == ["id", "type", OWNER]


def test_derived_types_are_bits_in_any_column_of_flags() -> None:
    flags = {
        "f0": pa.array([1, 2, 0, 3, 1 << (FLAGS_PER_COLUMN - 1)], pa.int64()),
        "f1": pa.array([0, 0, 2, 0, 0], pa.int64()),
    }
    routes = (
        Route(("first",), ("id",), frozenset({"first"}), derived=(0,)),
        Route(("last",), ("id",), frozenset({"last"}), derived=(FLAGS_PER_COLUMN - 1,)),
        Route(("far",), ("id",), frozenset({"far", "second"}), derived=(1, FLAGS_PER_COLUMN + 1)),
        Route(("both",), ("id",), frozenset({"A", "second"}), derived=(1,)),
    )
    with_types = packs_of(PackTask(routes, "type", ("f0", "f1")), table_of(list("AAABB"), **flags))
    assert ids_of(with_types) == {"first": [0, 3], "last": [4], "far": [1, 2, 3], "both": [0, 1, 2, 3]}
    without = packs_of(PackTask(routes[:3], None, ("f0", "f1")), table_of(list("AAABB"), **flags))
    assert ids_of(without) == {"first": [0, 3], "last": [4], "far": [1, 2, 3]}


def test_rows_are_dealt_by_their_place_and_those_without_one_are_left_out() -> None:
    places = pa.array([1, None, 0, 1, 2, None, 0], pa.int32())
    shards = ("s0", "s1", "s2", "s3")
    every = Route(shards, COLUMNS, None, place="place")
    packs = packs_of(PackTask((every,), "type", ()), table_of(list("AABBCCA"), place=places))
    assert ids_of(packs) == {"s0": [2, 6], "s1": [0, 3], "s2": [4]}
    assert OWNER not in packs["s0"][0].column_names
    some = Route(shards, COLUMNS, frozenset({"A", "C"}), place="place")
    packs = packs_of(PackTask((some,), "type", ()), table_of(list("AABBCCA"), place=places))
    assert ids_of(packs) == {"s0": [6], "s1": [0], "s2": [4]}


def random_routes(dice: random.Random, n_shards: int) -> tuple[Route, ...]:
    """Return a few routes, to one shard or by a place that is never NULL."""
    routes = []
    for number in range(dice.randint(1, 4)):
        types = None if dice.random() < 0.2 else frozenset(dice.sample("ABCDE", dice.randint(1, 4)))
        derived = () if types is None or dice.random() < 0.5 else (dice.randrange(3),)
        if dice.random() < 0.5:
            routes.append(Route((f"p{number}",), ("id",), types, derived))
        else:
            shards = tuple(f"p{number}#{place}" for place in range(n_shards))
            routes.append(Route(shards, ("id",), types, derived, place="place"))
    return tuple(routes)


def wants(route: Route, kind: str, flags: int) -> bool:
    """By definition: all rows, or those of a type, or of a derived type."""
    return route.types is None or kind in route.types or any(flags >> number & 1 for number in route.derived)


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_lost_and_every_wanted_row_has_one_owner(seed: int) -> None:
    dice = random.Random(seed)
    n_rows, n_shards = dice.randint(1, 40), 3
    types = [dice.choice("ABCDEF") for _ in range(n_rows)]
    flags = [dice.randrange(8) for _ in range(n_rows)]
    places = [dice.randrange(n_shards) for _ in range(n_rows)]
    table = table_of(types, f=pa.array(flags, pa.int64()), place=pa.array(places, pa.int32()))
    routes = random_routes(dice, n_shards)
    task = PackTask(routes, "type", ("f",))
    packs = packs_of(task, table, rows_per_batch=dice.randint(1, n_rows))
    expected: dict[str, list[int]] = {}
    for route in routes:
        for row in range(n_rows):
            if wants(route, types[row], flags[row]):
                shard = route.shards[places[row] if route.place else 0]
                expected.setdefault(shard, []).append(row)
    assert ids_of(packs) == expected
    if len(routes) > 1:
        owned = [
            row
            for found in packs.values()
            for pack in found
            for row, is_owner in zip(pack["id"].to_pylist(), pack[OWNER].to_pylist(), strict=True)
            if is_owner
        ]
        assert sorted(owned) == sorted({row for rows in expected.values() for row in rows})


def test_a_row_without_a_key_is_owned_by_the_part_that_gets_it() -> None:
    routes = (
        Route(("by k #0", "by k #1"), ("id",), frozenset({"A"}), place="place"),
        Route(("together 0",), ("id",), frozenset({"A"})),
    )
    table = table_of(["A", "A"], place=pa.array([0, None], pa.int32()))
    packs = packs_of(PackTask(routes, "type", ()), table)
    assert ids_of(packs) == {"by k #0": [0], "together 0": [0, 1]}
    assert packs["by k #0"][0][OWNER].to_pylist() == [True]
    assert packs["together 0"][0][OWNER].to_pylist() == [False, True]


def test_many_rows_make_several_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routing, "PACK_ROWS", 4)
    task = PackTask((Route(("s",), ("id",), None),), "type", ())
    packs = packs_of(task, table_of(["A"] * 11), rows_per_batch=2)
    assert [pack.num_rows for pack in packs["s"]] == [4, 4, 3]
    assert ids_of(packs) == {"s": list(range(11))}


def test_no_rows_make_no_packs() -> None:
    task = PackTask((Route(("s",), ("id",), None),), "type", ())
    assert list(task(iter([]))) == []
    assert list(task(iter(table_of([]).to_batches()))) == []


def test_rows_that_are_no_events_are_counted_once_and_not_sent() -> None:
    routes = (
        Route(("s0", "s1"), ("id",), frozenset({"A"}), place="place"),
        Route(("t",), ("id",), None),
    )
    table = pa.table(
        {
            "id": pa.array([0, 1, None, 3]),
            "type": pa.array(["A", None, None, "B"]),
            "place": pa.array([1, 1, 0, None], pa.int32()),
        }
    )
    packs = packs_of(PackTask(routes, "type", (), required=("type", "id")), table, rows_per_batch=4)
    assert ids_of(packs) == {"s0": [], "s1": [0], "t": [0, 3]}
    assert count_rejected(pack for found in packs.values() for pack in found) == 2


def test_unpacked_is_the_rows_of_all_packs() -> None:
    task = PackTask((Route(("s",), COLUMNS, None),), "type", ())
    table = table_of(list("ABCDE"))
    packed = [batch.select([PACK]) for batch in task(iter(table.to_batches(max_chunksize=2)))]
    assert pa.Table.from_batches(unpack(iter(packed))).to_pylist() == table.to_pylist()
    assert list(unpack(iter([]))) == []
