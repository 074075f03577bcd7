"""Write matches and the results of trend queries: JSON lines in one file, or Parquet in a directory."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.hosts.results import TrendNames
from weft.hosts.spark.pushdown import column_of
from weft.io.targets import MATCH_COLUMNS, MATCHES, TIMEOUT, TIMEOUTS, TRENDS, is_json_lines
from weft.runtime.trends.emit import BEYOND, WINDOW_END, WINDOW_START

TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": TIME_FORMAT,
    "timestampNTZFormat": TIME_FORMAT,
}
VALUES = "weft_values"  # the JSON of all values of a row, in a column


def write_results(
    matches: DataFrame | None,
    trends: DataFrame | None,
    returned: Mapping[str, Mapping[str, str]],
    names: Mapping[str, TrendNames],
    path: str,
    timeouts: DataFrame | None = None,
) -> None:
    """Write matches, results of trend queries, or both, to FILE.jsonl or to a directory of Parquet.

    Parquet of several kinds is written to directories in the given one, since their columns differ.

    Parameters
    ----------
    matches
        The columns query, match_id, start, end, events, and those that `returned` names.
    trends
        The columns query, window_start, window_end, beyond, and those that `names` has.
    returned
        For each query, which column of `matches` holds each of its RETURN columns.
    names
        For each trend query, which columns of `trends` hold its groups and aggregates.
    path
        The file or directory to write.
    timeouts
        The columns of matches, and `missing`.
    """
    if is_json_lines(path):
        lines = [match_lines(matches, returned)] if matches is not None else []
        lines += [timeout_lines(timeouts, returned)] if timeouts is not None else []
        lines += [trend_lines(trends, names)] if trends is not None else []
        write_lines(reduce(DataFrame.unionAll, lines), path)
        return
    target = Path(path).absolute()
    kinds = {MATCHES: matches, TIMEOUTS: timeouts, TRENDS: trends}
    given = {name: frame for name, frame in kinds.items() if frame is not None}
    for name, frame in given.items():
        frame.write.mode("overwrite").parquet(str(target / name if len(given) > 1 else target))


def write_lines(lines: DataFrame, path: str) -> None:
    """Write the lines of a frame to a file, in their order.

    Spark writes the lines in parts beside the target; the finished file takes its place at once, so
    there is never half a file.
    """
    target = Path(path).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as directory:
        lines.write.text(f"{directory}/parts")
        whole = Path(directory) / "whole"
        with whole.open("wb") as output:
            for part in sorted(Path(directory, "parts").glob("part-*")):
                with part.open("rb") as content:
                    shutil.copyfileobj(content, output, 1 << 20)
        whole.replace(target)


def match_lines(matches: DataFrame, returned: Mapping[str, Mapping[str, str]]) -> DataFrame:
    """Return each match as the text of one JSON object, in order of time."""
    order = "start", "end", "query", "match_id"
    return _json_lines(matches, MATCH_COLUMNS, {"returned": returned}, order, _json_value)


def timeout_lines(timeouts: DataFrame, returned: Mapping[str, Mapping[str, str]]) -> DataFrame:
    """Return each timeout as the text of one JSON object: that of a match, and what is missing."""
    order = "start", "end", "query", "match_id"
    shared = (*MATCH_COLUMNS, F.col("missing").alias(TIMEOUT))
    return _json_lines(timeouts, shared, {"returned": returned}, order, _json_value)


def trend_lines(trends: DataFrame, names: Mapping[str, TrendNames]) -> DataFrame:
    """Return each result as the text of one JSON object, in order of windows and groups, with all digits."""

    def value(schema: T.StructType, name: str) -> Column:
        digits = F.col(BEYOND)[name]
        is_word = digits.rlike("[yN]$")  # Infinity and NaN are no numbers of JSON
        shown = F.when(is_word, F.concat(F.lit('"'), digits, F.lit('"'))).otherwise(digits)
        return F.coalesce(shown, _json_value(schema, name))

    parts = {
        "group": {query: own.group for query, own in names.items()},
        "aggregates": {query: own.aggregates for query, own in names.items()},
    }
    groups = sorted({name for own in names.values() for name in own.group.values()})
    order: list[str | Column] = [WINDOW_START, "query", *map(column_of, groups)]
    return _json_lines(trends, ("query", WINDOW_START, WINDOW_END), parts, order, value)


def _json_lines(
    rows: DataFrame,
    shared: Sequence[str | Column],
    parts: Mapping[str, Mapping[str, Mapping[str, str]]],
    order: Sequence[str | Column],
    value: Callable[[T.StructType, str], Column],
) -> DataFrame:
    """Return each row as the text of one JSON object: shared columns, and parts that each query fills.

    Spark's JSON gives all rows one shape, but each query has columns of its own. So the shared part is made
    by Spark, and the others are put together from the JSON of single values: a small table says for each
    query and part which values it takes, and what stands before each.
    """
    sources = sorted({name for own in parts.values() for names in own.values() for name in names.values()})
    queries = {query: [own[query] for own in parts.values()] for query in next(iter(parts.values()))}
    places = {source: place for place, source in enumerate(sources)}

    def label_fields(names: Mapping[str, str]) -> list[tuple[str, int]]:
        return [(f"{_json_text(name)}:", places[source]) for name, source in names.items()]

    fields = {part: f"weft_{part}" for part in parts}
    columns = [f"{name} array<struct<label: string, place: int>>" for name in fields.values()]
    values = [(query, *map(label_fields, own)) for query, own in queries.items()]
    layouts = rows.sparkSession.createDataFrame(values, ", ".join(["query string", *columns]))
    line = _open_object(F.to_json(F.struct(*shared), JSON_OPTIONS))
    for part, name in fields.items():
        line = F.concat(line, F.lit(f",{_json_text(part)}:"), _json_object(name))
    return (
        rows.join(F.broadcast(layouts), "query", "left")
        .withColumn(VALUES, F.array(*(value(rows.schema, source) for source in sources)))
        .orderBy(*order)
        .select(F.concat(line, F.lit("}")).alias("line"))
    )


def _json_text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _json_object(fields: str) -> Column:
    """Return the text of an object: labels, each with the text that has its place among VALUES."""
    texts = F.transform(fields, lambda field: F.concat(field["label"], F.get(F.col(VALUES), field["place"])))
    return F.concat(F.lit("{"), F.coalesce(F.array_join(texts, ","), F.lit("")), F.lit("}"))


def _open_object(text: Column) -> Column:
    """Return the text of an object without the brace at its end."""
    return F.substring(text, F.lit(1), F.length(text) - 1)


def _json_value(schema: T.StructType, name: str) -> Column:
    """Return one value as JSON text; a duration is a number of seconds."""
    value = column_of(name)
    if isinstance(schema[name].dataType, T.DayTimeIntervalType):
        value = F.unix_micros(F.timestamp_micros(F.lit(0)) + value) / F.lit(1_000_000)
    wrapped = F.to_json(F.struct(value.alias("x")), JSON_OPTIONS)
    unwrapped = F.substring(wrapped, F.lit(len('{"x":') + 1), F.length(wrapped) - len('{"x":}'))
    return F.when(value.isNull(), "null").otherwise(unwrapped)
