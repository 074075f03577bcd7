"""Columns that the names of directories tell, such as `day=3`, with the types that Spark infers for them."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from weft.io.arrow_texts import all_spelled_alike, narrow, read_text, wider
from weft.io.event_files import EventFiles, check_partitions

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class PartitionColumns:
    """The types of the columns that directories tell, and their value for each file."""

    kinds: dict[str, pa.DataType]
    values: dict[Path, dict[str, pa.Scalar]]


def partition_columns(
    source: EventFiles, *, texts: Collection[str | None] = (), id: str | None = None
) -> PartitionColumns:
    """Return the columns that directories tell; those in `texts` are text as written.

    So is the column `id` when Spark would spell one of its values otherwise.
    """
    names = check_partitions(source)
    if not names:
        return PartitionColumns({}, {})
    written = {
        file: {
            name: _text_of(part.split("=", 1)[1])
            for name, part in zip(names, source.directories(file), strict=True)
        }
        for file in source.files
    }
    kinds = {}
    for name in names:
        kind = pa.null()
        told = [values[name] for values in written.values()]
        for text in set(told) if name not in texts else ():
            kind = wider(kind, _kind_of(text))
        is_text = name == id and not all_spelled_alike(pa.array(told, pa.string()), kind)
        kinds[name] = pa.string() if pa.types.is_null(kind) or is_text else kind
    values = {
        file: {name: read_text(pa.array([text], pa.string()), kinds[name])[0] for name, text in own.items()}
        for file, own in written.items()
    }
    return PartitionColumns(kinds, values)


def _text_of(written: str) -> str | None:
    return None if written in (NULL_PARTITION, "") else unquote(written)


def _kind_of(text: str | None) -> pa.DataType:
    kind = narrow(pa.array([text], pa.string()), pa.null())
    return pa.string() if pa.types.is_boolean(kind) else kind
