"""Read events from CSV, JSON lines or Parquet, a file or a directory, with a proper time column."""

import re
from collections.abc import Collection
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from weft.hosts.spark.pushdown import column_of
from weft.io.arrow_parquet import nanosecond_columns
from weft.io.event_files import (
    EventColumns,
    EventFiles,
    check_partitions,
    delimiter_of,
    find_events,
    no_times,
    require_any_column,
    require_delimiter,
    require_object_lines,
)
from weft.io.spark.times import event_time, from_nanoseconds


def read_events(spark: SparkSession, path: str, columns: EventColumns, *, delimiter: str = ",") -> DataFrame:
    """Return the events at `path`; the time is a timestamp, NULL where it cannot be read.

    Numbers are counted from the epoch; text is ISO 8601, with or without an offset. A type is always text.
    A line that cannot be read is a row of NULLs: the engine rejects and counts it. The columns of CSV stand
    apart by `delimiter`.

    Raises
    ------
    DataError
        When there is nothing to read, formats are mixed, or a named column is missing or no time.
    """
    source = find_events(path)
    check_partitions(source)
    if source.format == "csv":
        events = _read_csv(spark, source, columns, delimiter_of(delimiter))
    elif source.format == "json":
        events = _read_json(spark, source)
    else:
        events = _read_parquet(spark, source)
    columns.require(events.columns, path)
    return with_times(events, columns, path)


def with_times(events: DataFrame, columns: EventColumns, path: str) -> DataFrame:
    """Return events whose time is a timestamp and whose type is text; refuse what cannot hold times."""
    data_type = events.schema[columns.time].dataType
    time = event_time(column_of(columns.time), data_type, columns.time_unit)
    if time is None:
        raise no_times(path, columns.time, data_type.simpleString())
    types = {} if columns.type is None else {columns.type: column_of(columns.type).cast("string")}
    return events.withColumns({columns.time: time} | types)


def location_of(source: EventFiles) -> str:
    """Return the path of files as Spark takes it: what looks like a wildcard stands for itself."""
    return literal_location(source.path) if source.files else source.path


def literal_location(path: str) -> str:
    """Return a local path as Spark takes it: what looks like a wildcard stands for itself."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(Path(path).absolute()))


def _read_csv(spark: SparkSession, source: EventFiles, columns: EventColumns, delimiter: str) -> DataFrame:
    """Read CSV with the types Spark infers, but times and types as written."""
    texts, identity = {columns.time, columns.type}, columns.id
    options = {"header": "true", "escape": '"', "sep": delimiter}
    reader = spark.read.options(**options, recursiveFileLookup=source.is_nested)
    inferred = reader.csv(location_of(source), inferSchema=True).schema
    require_any_column(inferred.names, source.path)
    require_delimiter(inferred.names, source.path, delimiter)
    if len(source.files) != 1:
        # Files of one directory must agree on their header: otherwise columns would be mixed up in silence.
        reader = reader.options(enforceSchema=False)
    events = reader.schema(as_text(inferred, texts)).csv(location_of(source))
    if (
        identity is None
        or identity not in inferred.names
        or isinstance(inferred[identity].dataType, T.StringType)
    ):
        return events
    # `007` and `7` are two identities: keep the text unless each value is spelled as Spark spells it.
    raw = reader.schema(as_text(inferred, {*texts, identity})).csv(location_of(source))
    respelled = column_of(identity).try_cast(inferred[identity].dataType).cast("string")
    is_respelled = column_of(identity).isNotNull() & ~respelled.eqNullSafe(column_of(identity))
    return raw if raw.where(is_respelled).head(1) else events


def as_text(schema: T.StructType, names: Collection[str | None]) -> T.StructType:
    """Return the schema with some columns as text."""
    return with_type(schema, names, T.StringType())


def with_type(schema: T.StructType, names: Collection[str | None], kind: T.DataType) -> T.StructType:
    """Return the schema with another type for some columns."""
    return T.StructType([T.StructField(own.name, kind) if own.name in names else own for own in schema])


def _read_json(spark: SparkSession, source: EventFiles) -> DataFrame:
    require_object_lines(source)
    events = spark.read.json(location_of(source), recursiveFileLookup=source.is_nested)
    require_any_column(events.columns, source.path)
    return events


def _read_parquet(spark: SparkSession, source: EventFiles) -> DataFrame:
    in_nanoseconds = nanosecond_columns(source.files[0]) if source.files else ()
    use_nanoseconds(spark, in_nanoseconds)
    events = spark.read.parquet(location_of(source), recursiveFileLookup=source.is_nested)
    return events.withColumns({name: from_nanoseconds(column_of(name)) for name in in_nanoseconds})


def use_nanoseconds(spark: SparkSession, columns: tuple[str, ...]) -> None:
    """Let Spark read columns in nanoseconds, as pandas writes them, as numbers: otherwise it refuses."""
    if columns:
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
