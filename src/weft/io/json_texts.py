"""Arrow values as texts of JSON, whole columns at a time."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types as at

TO_ESCAPE = r'["\\\x00-\x1f]'
TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"  # with all six digits of a microsecond
NUMBER_END = r"^-?\d+$"  # of a double without a point, which would be read as a whole number
NULL = pa.scalar("null")


def json_texts(values: pa.Array) -> pa.StringArray:
    r"""Return each value as JSON: times in UTC as ISO 8601, durations as seconds, lists and structs nested.

    >>> json_texts(pa.array([1.0, None, 0.25])).to_pylist()
    ['1.0', 'null', '0.25']
    >>> json_texts(pa.array([[{"id": 7, "type": 'Pay "now"'}], []])).to_pylist()
    ['[{"id":7,"type":"Pay \\"now\\""}]', '[]']
    """
    kind = values.type
    if at.is_string(kind):
        texts = _quoted_texts(values)
    elif at.is_floating(kind):
        texts = _double_texts(values)
    elif at.is_timestamp(kind):
        in_utc = values.cast(pa.timestamp("us", "UTC"))
        texts = _quoted(pc.strftime(in_utc, format=TIME_FORMAT))
    elif at.is_date(kind):
        texts = _quoted(values.cast(pa.string()))
    elif at.is_duration(kind):
        seconds = pc.divide(values.cast(pa.duration("us")).cast(pa.int64()).cast(pa.float64()), 1e6)
        texts = _double_texts(seconds)
    elif at.is_list(kind):
        texts = _list_texts(values)
    elif at.is_struct(kind):
        names = [field.name for field in kind]
        texts = object_texts(dict(zip(names, map(json_texts, values.flatten()), strict=True)), len(values))
        texts = pc.if_else(values.is_valid(), texts, NULL)
    else:
        texts = values.cast(pa.string())
    return pc.fill_null(texts, NULL)


def object_texts(fields: Mapping[str, pa.Array], n_rows: int) -> pa.StringArray:
    """Return the texts of objects, of which each field has the texts of its values.

    >>> object_texts({"a": pa.array(["1", "2"]), "b": pa.array(["null", "{}"])}, 2).to_pylist()
    ['{"a":1,"b":null}', '{"a":2,"b":{}}']
    """
    parts: list[pa.Array | pa.Scalar] = []
    for place, (name, texts) in enumerate(fields.items()):
        parts += [pa.scalar(f"{',' if place else '{'}{json.dumps(name, ensure_ascii=False)}:"), texts]
    if not parts:
        return pa.array(["{}"]).take(pa.array(np.zeros(n_rows, np.int64)))
    return pc.binary_join_element_wise(*parts, pa.scalar("}"), pa.scalar(""))


def _list_texts(values: pa.ListArray) -> pa.Array:
    elements = json_texts(values.flatten())
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    joined = pc.binary_join(pa.ListArray.from_arrays(offsets, elements), ",")
    texts = pc.binary_join_element_wise(pa.scalar("["), joined, pa.scalar("]"), pa.scalar(""))
    return pc.if_else(values.is_valid(), texts, NULL)


def _double_texts(values: pa.Array) -> pa.Array:
    texts = values.cast(pa.string())
    if not pc.all(pc.is_finite(values), min_count=0).as_py():
        names = pc.if_else(pc.greater(values, 0), pa.scalar('"Infinity"'), pa.scalar('"-Infinity"'))
        names = pc.if_else(pc.is_nan(values), pa.scalar('"NaN"'), names)
        texts = pc.if_else(pc.is_finite(values), texts, names)
    is_whole = pc.match_substring_regex(texts, NUMBER_END)
    return pc.if_else(is_whole, pc.binary_join_element_wise(texts, pa.scalar(".0"), pa.scalar("")), texts)


def _quoted_texts(values: pa.StringArray) -> pa.Array:
    needs_escape = pc.match_substring_regex(values, TO_ESCAPE)
    if not pc.any(needs_escape, min_count=0).as_py():
        return _quoted(values)
    encoded = values.dictionary_encode()
    written = [json.dumps(text, ensure_ascii=False) for text in encoded.dictionary.to_pylist()]
    return pa.array(written, pa.string()).take(encoded.indices)


def _quoted(texts: pa.Array) -> pa.Array:
    quote = pa.scalar('"')
    return pc.binary_join_element_wise(quote, texts, quote, pa.scalar(""))


def in_one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of a table as one array."""
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def columns_of(table: pa.Table, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return some columns of a table, each as one array."""
    return {name: in_one_array(table[name]) for name in names}
