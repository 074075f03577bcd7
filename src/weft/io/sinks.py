"""Write matches and the results of trend queries: JSON lines in one file, or Parquet in a directory."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.errors import DataError
from weft.io.sources import column

LINE_SUFFIXES = (".jsonl", ".ndjson", ".json")
FOREIGN_SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".xlsx")
TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
JSON_OPTIONS = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": TIME_FORMAT,
    "timestampNTZFormat": TIME_FORMAT,
}
MATCHES, TRENDS = "matches", "trends"  # directories of queries of both kinds
MATCH_COLUMNS = ("query", "match_id", "start", "end", "events")


def check_target(path: str) -> None:
    """Refuse a target that cannot be written, or that would destroy what is not ours, before any work."""
    target = Path(path)
    if target.suffix in FOREIGN_SUFFIXES:
        raise DataError(f"{path}: matches are written to FILE.jsonl (JSON lines) or to a directory (Parquet)")
    if is_json_lines(path):
        if target.is_dir():
            raise DataError(f"{path}: this is a directory; JSON lines go to a file")
    elif target.is_file():
        raise DataError(f"{path}: this is a file; Parquet goes to a directory, JSON lines to FILE.jsonl")
    elif target.is_dir() and any(target.iterdir()) and not _is_ours(target):
        raise DataError(f"{path}: the directory holds other files; name a new or an empty one")


def _is_ours(directory: Path) -> bool:
    """Whether a directory is what Spark wrote, or holds what it wrote for queries of both kinds."""
    if (directory / "_SUCCESS").exists():
        return True
    return all(one.name in (MATCHES, TRENDS) and (one / "_SUCCESS").exists() for one in directory.iterdir())


def is_json_lines(path: str) -> bool:
    """Tell whether a target is a file of JSON lines; otherwise it is a directory of Parquet.

    >>> is_json_lines("out/matches.jsonl"), is_json_lines("out/matches")
    (True, False)
    """
    return Path(path).suffix in LINE_SUFFIXES


def write_matches(matches: DataFrame, returned: Mapping[str, Mapping[str, str]], path: str) -> None:
    """Write matches to FILE.jsonl or to a directory of Parquet, as the name tells."""
    if is_json_lines(path):
        write_jsonl(matches, returned, path)
    else:
        matches.write.mode("overwrite").parquet(str(Path(path).absolute()))


def write_jsonl(matches: DataFrame, returned: Mapping[str, Mapping[str, str]], path: str) -> None:
    """Write one JSON object per match to a file, in order of time.

    Spark writes the lines in parts beside the target; the finished file takes its place at once, so
    there is never half a file.

    Parameters
    ----------
    matches
        The columns query, match_id, start, end, events, and those that `returned` names.
    returned
        For each query, which column of `matches` holds each of its RETURN columns.
    path
        The file to write.
    """
    write_lines(json_lines(matches, returned), path)


def write_lines(lines: DataFrame, path: str) -> None:
    """Write the lines of a frame to a file, in their order."""
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


def json_lines(matches: DataFrame, returned: Mapping[str, Mapping[str, str]]) -> DataFrame:
    """Return each match as the text of one JSON object, in order of time.

    Spark's JSON gives all rows one shape, but each query returns columns of its own. So the shared part
    is made by Spark, and the `returned` part is put together from the JSON of single values: a small
    table says for each query which values it takes, and what stands before each.
    """
    sources = sorted({source for columns in returned.values() for source in columns.values()})
    layout = [(query, *labels_and_positions(columns, sources)) for query, columns in returned.items()]
    layouts = matches.sparkSession.createDataFrame(
        layout, "query string, labels array<string>, positions array<int>"
    )
    shared = F.to_json(F.struct(*(F.col(name) for name in MATCH_COLUMNS)), JSON_OPTIONS)
    return (
        matches.join(F.broadcast(layouts), "query", "left")
        .orderBy("start", "end", "query", "match_id")
        .withColumn("values", F.array(*(json_value(matches.schema, source) for source in sources)))
        .select(
            F.concat(
                opened(shared), F.lit(',"returned":'), json_object("labels", "positions"), F.lit("}")
            ).alias("line")
        )
    )


def labels_and_positions(columns: Mapping[str, str], sources: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return what stands before each value of a JSON object, and where among the sources the value is."""
    labels = [json.dumps(name, ensure_ascii=False) + ":" for name in columns]
    return labels, [sources.index(source) for source in columns.values()]


def json_object(labels: str, positions: str) -> Column:
    """Return the text of an object, of those texts in the column `values` that stand at the positions."""
    fields = F.transform(
        F.arrays_zip(labels, positions),
        lambda field: F.concat(field[labels], F.get(F.col("values"), field[positions])),
    )
    return F.concat(F.lit("{"), F.coalesce(F.array_join(fields, ","), F.lit("")), F.lit("}"))


def opened(text: Column) -> Column:
    """Return the text of an object without the brace at its end."""
    return F.substring(text, F.lit(1), F.length(text) - 1)


def json_value(schema: T.StructType, name: str) -> Column:
    """Return one value as JSON text; a duration is a number of seconds."""
    value = column(name)
    if isinstance(schema[name].dataType, T.DayTimeIntervalType):
        value = F.unix_micros(F.timestamp_micros(F.lit(0)) + value) / F.lit(1_000_000)
    wrapped = F.to_json(F.struct(value.alias("x")), JSON_OPTIONS)
    unwrapped = F.substring(wrapped, F.lit(len('{"x":') + 1), F.length(wrapped) - len('{"x":}'))
    return F.when(value.isNull(), "null").otherwise(unwrapped)
