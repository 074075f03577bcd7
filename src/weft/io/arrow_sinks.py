"""Write matches and the results of trend queries without Spark: JSON lines, or Parquet in a directory."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from weft.hosts.local.result_table import ResultTable
from weft.hosts.results import TrendNames
from weft.io.json_texts import columns_of, in_one_array, json_texts, object_texts
from weft.io.targets import MATCH_COLUMNS, MATCHES, TIMEOUT, TIMEOUTS, TRENDS, is_json_lines
from weft.runtime.trends.emit import BEYOND, WINDOW_END, WINDOW_START

CHUNK_ROWS = 1 << 16
SUCCESS = "_SUCCESS"  # in a directory of Parquet that is complete
Parts = Mapping[str, Mapping[str, Mapping[str, str]]]  # part -> query -> the query's names -> columns
OfQuery = Callable[[str, pa.Table], dict[str, pa.Array]]


def write_results(
    matches: ResultTable | None,
    trends: ResultTable | None,
    returned: Mapping[str, Mapping[str, str]],
    names: Mapping[str, TrendNames],
    path: str,
    timeouts: ResultTable | None = None,
) -> None:
    """Write matches, results of trend queries, or both, to FILE.jsonl or to a directory of Parquet.

    What stands where is as `weft.io.spark.sinks.write_results` has it.
    """
    if not is_json_lines(path):
        kinds = {MATCHES: matches, TIMEOUTS: timeouts, TRENDS: trends}
        given = {name: own.arrow for name, own in kinds.items() if own is not None}
        for name, table in given.items():
            target = Path(path).absolute()
            _write_parquet(table, target / name if len(given) > 1 else target)
        return
    target = Path(path).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as directory:
        whole = Path(directory) / "whole"
        with whole.open("wb") as output:
            for lines in _all_lines(matches, timeouts, trends, returned, names):
                output.write(_one_text(lines))
        whole.replace(target)


def _one_text(lines: pa.StringArray) -> pa.Buffer:
    """Return lines with their ends as they stand in a file."""
    ended = pc.binary_join_element_wise(lines, pa.scalar("\n"), pa.scalar(""))
    whole = pa.ListArray.from_arrays(pa.array([0, len(ended)], pa.int32()), ended)
    return pc.binary_join(whole, "")[0].as_buffer()


def _all_lines(
    matches: ResultTable | None,
    timeouts: ResultTable | None,
    trends: ResultTable | None,
    returned: Mapping[str, Mapping[str, str]],
    names: Mapping[str, TrendNames],
) -> Iterator[pa.StringArray]:
    """Yield the lines of matches, then of timeouts, then of trend queries."""
    if matches is not None:
        yield from match_lines(matches.arrow, returned)
    if timeouts is not None:
        yield from match_lines(timeouts.arrow, returned, missing="missing")
    if trends is not None:
        yield from trend_lines(trends.arrow, names)


def match_lines(
    matches: pa.Table, returned: Mapping[str, Mapping[str, str]], *, missing: str | None = None
) -> Iterator[pa.StringArray]:
    """Yield each match as the text of one JSON object, in order of time; of timeouts, what is missing too."""

    def fields_of(query: str, rows: pa.Table) -> dict[str, pa.Array]:
        fields = {name: json_texts(column) for name, column in columns_of(rows, MATCH_COLUMNS).items()}
        if missing is not None:
            fields[TIMEOUT] = json_texts(in_one_array(rows[missing]))
        own = {name: json_texts(in_one_array(rows[column])) for name, column in returned[query].items()}
        return {**fields, "returned": object_texts(own, rows.num_rows)}

    yield from _lines(matches, ("start", "end", "query", "match_id"), fields_of)


def trend_lines(trends: pa.Table, names: Mapping[str, TrendNames]) -> Iterator[pa.StringArray]:
    """Yield each result as the text of one JSON object, in order of windows and groups, with all digits."""

    def value(rows: pa.Table, column: str) -> pa.Array:
        digits = pc.map_lookup(in_one_array(rows[BEYOND]), column, "first")
        words = pc.binary_join_element_wise('"', digits, '"', "")  # Infinity and NaN are no numbers of JSON
        digits = pc.if_else(pc.match_substring_regex(digits, "[yN]$"), words, digits)
        return pc.coalesce(digits, json_texts(in_one_array(rows[column])))

    def fields_of(query: str, rows: pa.Table) -> dict[str, pa.Array]:
        shared = columns_of(rows, ("query", WINDOW_START, WINDOW_END))
        fields = {name: json_texts(column) for name, column in shared.items()}
        for part, own in (("group", names[query].group), ("aggregates", names[query].aggregates)):
            texts = {name: value(rows, column) for name, column in own.items()}
            fields[part] = object_texts(texts, rows.num_rows)
        return fields

    groups = sorted({name for own in names.values() for name in own.group.values()})
    yield from _lines(trends, (WINDOW_START, "query", *groups), fields_of)


def _lines(table: pa.Table, order: Sequence[str], fields_of: OfQuery) -> Iterator[pa.StringArray]:
    """Yield the rows in an order as lines, a chunk at a time; each query has fields of its own."""
    ordered = _order_of(table, order)
    for start in range(0, len(ordered), CHUNK_ROWS):
        chunk = table.take(ordered.slice(start, CHUNK_ROWS))
        queries = in_one_array(chunk["query"]).dictionary_encode()
        codes, parts, places = queries.indices.to_numpy(), [], []
        for code, query in enumerate(queries.dictionary.to_pylist()):
            rows = np.flatnonzero(codes == code)
            own = chunk if rows.size == chunk.num_rows else chunk.take(pa.array(rows))
            parts.append(object_texts(fields_of(query, own), rows.size))
            places.append(rows)
        yield pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(places), kind="stable")))


def _order_of(table: pa.Table, order: Sequence[str]) -> pa.Array:
    """Return the rows in an order, those without a value first."""
    keys: list[tuple[str, str]] = []
    for name in order:
        if table[name].null_count:
            table = table.append_column(f"has {name}", table[name].is_valid())
            keys.append((f"has {name}", "ascending"))
        keys.append((name, "ascending"))
    return pc.sort_indices(table, sort_keys=keys)


def _write_parquet(table: pa.Table, target: Path) -> None:
    """Write a table to a directory, which takes the place of what was there at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as directory:
        whole = Path(directory) / "whole"
        whole.mkdir()
        pq.write_table(table, whole / "part-00000.parquet")
        (whole / SUCCESS).touch()
        if target.exists():
            shutil.rmtree(target)
        whole.rename(target)
