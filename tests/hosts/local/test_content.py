"""The content of an event, hashed as Spark hashes it."""

import datetime as dt
import math
import random
import string
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from weft.errors import DataError
from weft.hosts.local.content import content_hashes

NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)
KNOWN = {  # as Spark gives them
    "bool": (pa.array([True]), -6698625589789238999),
    "byte": (pa.array([-5], pa.int8()), 9201179564109417620),
    "int": (pa.array([7], pa.int32()), 2786828215451145335),
    "long": (pa.array([1 << 40]), 1821704621099523357),
    "float": (pa.array([1.5], pa.float32()), 6163473420726370430),
    "double": (pa.array([-2.25]), -8344676507314498009),
    "minus zero": (pa.array([-0.0]), -5252525462095825812),
    "nan": (pa.array([math.nan]), -3127944061524951246),
    "text": (pa.array(["Überweisung an Zoë, 100 € in bar, morgen um neun"]), 9111188311468927457),
    "empty": (pa.array([""]), -7444071767201028348),
    "bytes": (pa.array([b"\x00\xff"]), 879945414100663330),
    "date": (pa.array([NOON.date()]), -7748453683161933313),
    "time": (pa.array([NOON]), 3574373238759331439),
    "short decimal": (pa.array([Decimal("-12.34")], pa.decimal128(18, 2)), -1614697014534150208),
    "long decimal": (pa.array([Decimal("-12.34")], pa.decimal128(19, 2)), -5902959860576184235),
    "list": (pa.array([[1, None, 3]]), 7452347529957652509),
    "struct": (pa.array([{"a": "x", "b": [{"c": 1.0}]}]), 582309701662924),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_hashes(name: str) -> None:
    column, expected = KNOWN[name]
    assert content_hashes(pa.table({name: column})).tolist() == [expected]


def test_nulls_and_maps_are_skipped_and_columns_count_in_their_order() -> None:
    plain = pa.table({"a": [1, None], "b": ["x", "y"]})
    kind = pa.map_(pa.string(), pa.int64())
    maps = pa.table({"m": pa.array([[("k", 1)], None], kind), "a": [1, None], "b": ["x", "y"]})
    assert content_hashes(maps).tolist() == content_hashes(plain).tolist()
    assert content_hashes(plain)[1] == content_hashes(pa.table({"b": ["y"]}))[0]
    assert content_hashes(plain)[0] != content_hashes(plain.select(["b", "a"]))[0]


def test_other_encodings_of_the_same_values_hash_alike() -> None:
    texts = ["one", None, "two", "one"]
    expected = content_hashes(pa.table({"t": texts})).tolist()
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert content_hashes(pa.table({"t": pa.array(texts).cast(kind)})).tolist() == expected
    times = pa.array([NOON, None])
    expected = content_hashes(pa.table({"t": times.cast(pa.timestamp("us"))})).tolist()
    assert content_hashes(pa.table({"t": times.cast(pa.timestamp("ns", "UTC"))})).tolist() == expected
    numbers = pa.table({"n": pa.array([1, 200], pa.uint8())})
    assert (
        content_hashes(numbers).tolist()
        == content_hashes(pa.table({"n": pa.array([1, 200], pa.int32())})).tolist()
    )


def test_slices_and_chunks_hash_as_the_whole() -> None:
    table = pa.table({name: pa.concat_arrays([column] * 9) for name, (column, _) in KNOWN.items()})
    table = table.append_column("n", pa.array(range(9)))
    whole = content_hashes(table)
    assert len(set(whole.tolist())) == 9
    assert content_hashes(table.slice(2, 5)).tolist() == whole[2:7].tolist()
    assert content_hashes(pa.concat_tables([table.slice(0, 4), table.slice(4)])).tolist() == whole.tolist()
    assert content_hashes(table.to_batches()[0]).tolist() == whole.tolist()
    assert content_hashes(table.slice(0, 0)).tolist() == []


def test_a_type_that_identifies_nothing_is_refused() -> None:
    with pytest.raises(
        DataError, match="a value of type month_day_nano_interval identifies no event\n  hint: name"
    ):
        content_hashes(pa.table({"x": pa.array([pa.MonthDayNano([1, 2, 3])])}))


def random_table(n_rows: int = 200) -> pa.Table:
    draw = random.Random(5)

    def text() -> str:
        n_letters = draw.choice([0, 1, 3, 4, 7, 8, 9, 31, 32, 33, 64, 100])
        return "".join(draw.choice(string.ascii_letters + "é漢😀") for _ in range(n_letters))

    def double() -> float:
        return draw.choice([0.0, -0.0, math.nan, math.inf, 1.5, -2.25e300, draw.random()])

    def unscaled(digits: int) -> Callable[[], Decimal]:
        large = 10 ** (digits - 1)
        return lambda: Decimal(
            draw.choice([0, 1, -1, 127, 128, -129, 256, draw.randint(-large, large)])
        ).scaleb(-2)

    inner = pa.struct([("x", pa.float64()), ("y", pa.list_(pa.string()))])
    kinds: dict[str, tuple[pa.DataType, Callable[[], Any]]] = {
        "bool": (pa.bool_(), lambda: draw.random() < 0.5),
        "byte": (pa.int8(), lambda: draw.randint(-128, 127)),
        "short": (pa.int16(), lambda: draw.randint(-(2**15), 2**15 - 1)),
        "int": (pa.int32(), lambda: draw.randint(-(2**31), 2**31 - 1)),
        "long": (pa.int64(), lambda: draw.randint(-(2**63), 2**63 - 1)),
        "float": (pa.float32(), lambda: draw.choice([0.0, -0.0, math.nan, 1.5, -7.25])),
        "double": (pa.float64(), double),
        "text": (pa.string(), text),
        "bytes": (pa.binary(), lambda: draw.randbytes(draw.randint(0, 80))),
        "date": (pa.date32(), lambda: NOON.date() - dt.timedelta(draw.randint(0, 90_000))),
        "time": (
            pa.timestamp("us", "UTC"),
            lambda: NOON - dt.timedelta(microseconds=draw.randint(0, 10**16)),
        ),
        "local": (
            pa.timestamp("us"),
            lambda: NOON.replace(tzinfo=None) - dt.timedelta(draw.randint(0, 10**4)),
        ),
        "short decimal": (pa.decimal128(18, 2), unscaled(16)),
        "long decimal": (pa.decimal128(38, 2), unscaled(36)),
        "list": (
            pa.list_(pa.int64()),
            lambda: [draw.choice([None, 1, -2]) for _ in range(draw.randint(0, 5))],
        ),
        "struct": (
            pa.struct([("a", pa.string()), ("b", pa.list_(inner))]),
            lambda: {
                "a": text(),
                "b": [{"x": double(), "y": [text(), None]} for _ in range(draw.randint(0, 3))],
            },
        ),
    }
    return pa.table(
        {
            name: pa.array([None if draw.random() < 0.2 else value() for _ in range(n_rows)], kind)
            for name, (kind, value) in kinds.items()
        }
    )


def test_hashes_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    table = random_table()
    path = str(tmp_path / "events.parquet")
    pq.write_table(table, path)
    events = spark.read.parquet(path)
    hashes = [F.xxhash64(*(F.col(f"`{name}`") for name in table.column_names)).alias("all")]
    hashes += [F.xxhash64(F.col(f"`{name}`")).alias(name) for name in table.column_names]
    expected = events.select(*hashes).toArrow()
    assert np.array_equal(content_hashes(table), expected["all"].to_numpy())
    for name in table.column_names:
        assert np.array_equal(content_hashes(table.select([name])), expected[name].to_numpy()), name
