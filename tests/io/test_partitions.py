"""Columns that directories tell, and the types of their values."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.odd_files import write

from weft.io.event_files import find_events
from weft.io.partitions import partition_columns

FIRST = dt.date(2026, 1, 1)


@pytest.mark.parametrize(
    ("written", "kind", "values"),
    [
        (["3", "04"], "int32", [3, 4]),
        (["3", "99999999999"], "int64", [3, 99999999999]),
        (["1", "1.5"], "double", [1.0, 1.5]),
        (["2026-01-01", "__HIVE_DEFAULT_PARTITION__"], "date32[day]", [FIRST, None]),
        (["01", "x%20y"], "string", ["01", "x y"]),
        (["true"], "string", ["true"]),
        (["__HIVE_DEFAULT_PARTITION__"], "string", [None]),
    ],
)
def test_types_of_values(tmp_path: Path, written: list[str], kind: str, values: list[Any]) -> None:
    for text in written:
        write(tmp_path / f"day={text}/a.csv", "ts\n1\n")
    found = partition_columns(find_events(str(tmp_path)))
    assert str(found.kinds["day"]) == kind
    told = {file.parent.name: own["day"].as_py() for file, own in found.values.items()}
    assert told == {f"day={text}": value for text, value in zip(written, values, strict=True)}


def test_texts_stay_and_so_do_identities_that_are_spelled_otherwise(tmp_path: Path) -> None:
    for name in ("a=01/b=7/c=07", "a=2/b=8/c=8"):
        write(tmp_path / name / "a.csv", "ts\n1\n")
    source = find_events(str(tmp_path))
    kinds = partition_columns(source, texts={"a", None}, id="b").kinds
    assert {name: str(kind) for name, kind in kinds.items()} == {"a": "string", "b": "int32", "c": "int32"}
    assert str(partition_columns(source, id="c").kinds["c"]) == "string"
