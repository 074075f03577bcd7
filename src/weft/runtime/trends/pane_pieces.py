"""Maps of panes as rows that outlive the process: a row for each piece that a step has added to a member."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from weft.codec import from_json, stored, to_json
from weft.kernels.trends.results import Kept
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.ingest import attribute_columns
from weft.runtime.matches.emit import to_arrow
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.state.segments import TIME_COLUMN, table_from_bytes, table_to_bytes
from weft.runtime.trends.maps import TrendMaps
from weft.runtime.trends.measures import Lane, Measures
from weft.schema import Type

HEADER = "pane maps"
ARRAYS: Mapping[str, type] = {
    "partitions": np.int64,
    "panes": np.int64,
    "offsets": np.int64,
    "limbs": np.uint32,
    "mantissas": np.float64,
    "exponents": np.int64,
    "best": np.int64,
    "has": np.bool_,
}


@stored
class MapsHeader:
    """What the maps of a piece have in common, and the types of the keys."""

    lanes: tuple[Lane, ...]
    exponents: Mapping[str, int]
    value_limbs: int
    keys: Mapping[str, Type]


@dataclass(frozen=True)
class Piece:
    """Maps of one member of a query, and an event for each of their partitions, by their numbers.

    The query is told by its owner: a number for a query that came with a step.
    """

    owner: int
    member: int
    maps: TrendMaps
    examples: Events


def rows_of_pieces(pieces: list[Piece]) -> pa.Table:
    """Return pieces as rows; the time of each is the last at which a window with one of its panes is open."""
    rows = [_row(piece) for piece in pieces if piece.maps.n_maps]
    names = [TIME_COLUMN, "owner", "member", "header", "keys", *ARRAYS]
    kinds = [pa.int64(), pa.int64(), pa.int64(), pa.string(), *[pa.large_binary()] * (1 + len(ARRAYS))]
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    return pa.Table.from_pylist(rows, schema=schema)


def _row(piece: Piece) -> dict[str, object]:
    maps = piece.maps
    used, partitions = np.unique(maps.partitions, return_inverse=True)
    examples = piece.examples.take(used)
    columns = examples.columns
    header = MapsHeader(
        maps.measures.lanes,
        dict(maps.exponents),
        maps.value_limbs,
        {name: column.type for name, column in columns.items()},
    )
    keys = pa.table(
        {"": np.zeros(used.size, np.bool_)}
        | {name: to_arrow(column, examples.strings) for name, column in columns.items()}
    )
    arrays = {**maps.kept._asdict(), "partitions": partitions, "panes": maps.panes}
    arrays |= {"best": maps.best, "has": maps.has}
    return {
        TIME_COLUMN: maps.last_time,
        "owner": piece.owner,
        "member": piece.member,
        "header": to_json(HEADER, header),
        "keys": table_to_bytes(keys, is_compressed=False),
        **{name: np.ascontiguousarray(arrays[name], kind).tobytes() for name, kind in ARRAYS.items()},
    }


def pieces_of_rows(rows: pa.Table, members: Mapping[tuple[int, int], TrendMaps]) -> Iterator[Piece]:
    """Yield the pieces of known members; for each, an example without maps says what it is about.

    All of them have one pool of strings.
    """
    chosen = [row for row in rows.to_pylist() if (row["owner"], row["member"]) in members]
    headers: list[MapsHeader] = [from_json(HEADER, row["header"]) for row in chosen]
    tables = [table_from_bytes(row["keys"]) for row in chosen]
    kinds = {name: kind for header in headers for name, kind in header.keys.items()}
    if not chosen:
        return
    keys = pa.concat_tables(tables, promote_options="default").combine_chunks()
    columns, pool = attribute_columns(keys, kinds)
    start = 0
    for row, header, table in zip(chosen, headers, tables, strict=True):
        own = slice(start, start + table.num_rows)
        start = own.stop
        examples = Events(
            times=np.full(table.num_rows, END_OF_TIME),
            type_codes=np.zeros(table.num_rows, np.int16),
            type_names=(),
            columns={name: columns[name].take(own) for name in header.keys},
            ids=pa.nulls(table.num_rows),
            strings=pool,
        )
        empty = members[row["owner"], row["member"]]
        yield Piece(row["owner"], row["member"], _maps(row, header, empty), examples)


def _maps(row: Mapping[str, bytes], header: MapsHeader, empty: TrendMaps) -> TrendMaps:
    arrays: dict[str, Array] = {name: np.frombuffer(row[name], kind).copy() for name, kind in ARRAYS.items()}
    n_rows = arrays["panes"].size * len(empty.automaton.sources) ** 2
    n_extremes = len(empty.measures.extremes)
    return replace(
        empty,
        partitions=arrays["partitions"],
        panes=arrays["panes"],
        kept=Kept(arrays["offsets"], arrays["limbs"], arrays["mantissas"], arrays["exponents"]),
        best=arrays["best"].reshape(n_rows, n_extremes),
        has=arrays["has"].reshape(n_rows, n_extremes),
        measures=Measures(header.lanes, empty.measures.extremes),
        exponents=header.exponents,
        value_limbs=header.value_limbs,
    )
