"""Read a stream of events: files that arrive in a directory, or the values of a Kafka topic."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.codec import from_json, stored, to_json
from weft.errors import DataError
from weft.hosts.spark.pushdown import column_of
from weft.io.arrow_parquet import nanosecond_columns
from weft.io.event_files import (
    EventColumns,
    EventFiles,
    Format,
    data_files,
    delimiter_of,
    find_events,
    format_of_name,
)
from weft.io.spark.checkpoint_notes import CheckpointNotes
from weft.io.spark.sources import (
    as_text,
    literal_location,
    read_events,
    use_nanoseconds,
    with_times,
    with_type,
)
from weft.io.spark.times import from_nanoseconds

KAFKA = "kafka:"
KAFKA_PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
SHAPE, NOTE = "source of a stream", "source"  # as it is stored in a checkpoint, and under which name
CORRUPT = "_corrupt_record"  # where Spark puts the text of a row that does not fit the schema

SourceFormat: TypeAlias = Literal["csv", "json", "parquet", "kafka"]


@dataclass(frozen=True, slots=True)
class KafkaTopic:
    """A topic, and the brokers to ask for it."""

    brokers: str
    topic: str


@stored
class SourceShape:
    """What a stream must not change between two starts: how rows look, and the parts of its state."""

    format: SourceFormat
    columns: str  # the schema, as Spark writes it in JSON
    nanoseconds: tuple[str, ...]  # columns of Parquet that Spark reads as plain numbers
    partitions: int

    @property
    def schema(self) -> T.StructType:
        return T.StructType.fromJson(json.loads(self.columns))


def kafka_topic(source: str) -> KafkaTopic | None:
    """Return the topic that a source names; None when it names a directory.

    >>> kafka_topic("kafka:one:9092,two:9092/payments")
    KafkaTopic(brokers='one:9092,two:9092', topic='payments')
    """
    if not source.startswith(KAFKA):
        return None
    brokers, _, topic = source.removeprefix(KAFKA).removeprefix("//").rpartition("/")
    if not brokers or not topic or "/" in brokers:
        raise DataError(f"{source}: expected kafka:BROKERS/TOPIC, for example kafka:localhost:9092/payments")
    return KafkaTopic(brokers, topic)


def check_source(source: str, format: Format | None, schema: str | None) -> None:
    """Refuse a source that cannot be read, as far as that shows before Spark starts."""
    if kafka_topic(source) is not None:
        if format is not None:
            raise DataError(f"{source}: values of Kafka are JSON; leave out --source-format")
        return
    if "://" in source:
        if format is None:
            raise DataError(f"{source}: say with --source-format what the files are: csv, json or parquet")
        return
    files = _files_of(source)
    if files:
        _format_of(source, files, format)
    elif schema is not None and format is None:
        raise DataError(f"{source}: no file is there yet; say with --source-format what will come")


def shape_of(
    spark: SparkSession,
    source: str,
    columns: EventColumns,
    *,
    format: Format | None,
    schema: str | None,
    known: SourceShape | None,
    partitions: int,
) -> SourceShape:
    """Return how the rows of a source look: as given, as known from an earlier start, or as its files say."""
    if schema is None and known is not None:
        return known
    given = None if schema is None else _parse_schema(schema)
    if kafka_topic(source) is not None:
        if given is None:
            raise DataError(
                f"{source}: say with --schema what the values hold, for example "
                '--schema "id long, ts timestamp, type string"'
            )
        return SourceShape("kafka", given.json(), (), partitions)
    files = () if "://" in source else _files_of(source)
    if given is None and "://" in source:
        raise DataError(f"{source}: say with --schema what the files hold")
    if given is None and not files:
        raise DataError(
            f"{source}: no file is there yet that would tell the columns\n"
            '  hint: give --source-format, and --schema such as "id long, ts timestamp, type string"'
        )
    form = _format_of(source, files, format)
    nanoseconds = nanosecond_columns(files[0]) if form == "parquet" and files else ()
    if given is not None:
        rows = with_type(given, nanoseconds, T.LongType())
    elif form == "parquet":
        rows = _parquet_schema(spark, source, files, nanoseconds)
    else:
        events = read_events(spark, source, columns, delimiter=columns.delimiter).drop(CORRUPT)
        rows = as_text(events.schema, {columns.time, columns.type})
    return SourceShape(form, rows.json(), nanoseconds, partitions)


def read_stream(
    spark: SparkSession, source: str, shape: SourceShape, columns: EventColumns, max_files: int | None = None
) -> DataFrame:
    """Return the events of a source as a stream; the time is a timestamp, NULL where it cannot be read.

    A row that does not fit the schema has no time either: the engine rejects and counts it.
    """
    columns.require(shape.schema.names, source)
    # Times are read as text, so that one rule decides what is a time, wherever it comes from.
    texts = _with_corrupt(as_text(shape.schema, {columns.time, columns.type}))
    topic = kafka_topic(source)
    if shape.format == "parquet":
        use_nanoseconds(spark, shape.nanoseconds)
        rows = _read_files(spark, source, shape.format, shape.schema, max_files)
        rows = rows.withColumns({name: from_nanoseconds(column_of(name)) for name in shape.nanoseconds})
        return with_times(rows, columns, source)
    if topic is not None:
        rows = _read_kafka(spark, topic, texts)
    else:
        rows = _read_files(spark, source, shape.format, texts, max_files, columns.delimiter)
    events = with_times(rows, columns, source)
    time = F.when(column_of(CORRUPT).isNull(), column_of(columns.time))
    return events.withColumns({columns.time: time}).drop(CORRUPT)


def known_shape(notes: CheckpointNotes) -> SourceShape | None:
    """Return the shape of the stream that has this checkpoint, if it has started before."""
    texts = notes.read(NOTE)
    return cast(SourceShape, from_json(SHAPE, *texts[0])) if texts else None


def remember_shape(notes: CheckpointNotes, shape: SourceShape) -> None:
    """Write the shape of a stream into its checkpoint, for the next start."""
    notes.write(NOTE, to_json(SHAPE, shape), mode="overwrite")


def _files_of(directory: str) -> tuple[Path, ...]:
    target = Path(directory)
    if not target.exists():
        raise DataError(f"{directory}: there is no such directory")
    if not target.is_dir():
        raise DataError(f"{directory}: this is a file; a stream takes a directory in which files arrive")
    return data_files(target)


def _format_of(source: str, files: tuple[Path, ...], given: Format | None) -> Format:
    if given is None:
        return find_events(source).format
    for file in files:
        named = format_of_name(file.name)
        if named not in (None, given):
            raise DataError(f"{source}: {file.name} is {named}, but --source-format is {given}")
    return given


def _parquet_schema(
    spark: SparkSession, source: str, files: tuple[Path, ...], nanoseconds: tuple[str, ...]
) -> T.StructType:
    use_nanoseconds(spark, nanoseconds)
    is_nested = EventFiles(source, "parquet", files).is_nested
    return spark.read.parquet(literal_location(source), recursiveFileLookup=is_nested).schema


def _parse_schema(schema: str) -> T.StructType:
    try:
        parsed = T.StructType.fromDDL(schema)
    except PySparkException as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(
            f'--schema: {reason}\n  hint: names and types, for example "id long, ts timestamp, type string"'
        ) from None
    if not isinstance(parsed, T.StructType):
        raise DataError(f"--schema {schema}: expected columns, each with its name and its type")
    return parsed


def _with_corrupt(schema: T.StructType) -> T.StructType:
    fields = [field for field in schema if field.name != CORRUPT]
    return T.StructType([*fields, T.StructField(CORRUPT, T.StringType())])


def _read_files(
    spark: SparkSession,
    source: str,
    format: SourceFormat,
    schema: T.StructType,
    max_files: int | None,
    delimiter: str = ",",
) -> DataFrame:
    files = () if "://" in source else _files_of(source)
    has_partitions = any("=" in part for file in files for part in file.relative_to(source).parts[:-1])
    reader = spark.readStream.format(format).schema(schema).option("recursiveFileLookup", not has_partitions)
    if max_files is not None:
        reader = reader.option("maxFilesPerTrigger", max_files)
    if format == "csv":  # files that disagree on their header would mix up columns in silence
        reader = reader.options(header=True, escape='"', enforceSchema=False, sep=delimiter_of(delimiter))
    if format != "parquet":
        reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
    return reader.load(source if "://" in source else literal_location(source))


def _read_kafka(spark: SparkSession, topic: KafkaTopic, schema: T.StructType) -> DataFrame:
    options = {
        "kafka.bootstrap.servers": topic.brokers,
        "subscribe": topic.topic,
        "startingOffsets": "earliest",
    }
    try:
        messages = spark.readStream.format("kafka").options(**options).load()
    except AnalysisException as error:
        if "Failed to find data source" not in str(error):
            raise
        raise DataError(
            "Spark has no Kafka on its class path\n"
            f"  hint: PYSPARK_SUBMIT_ARGS='--packages {KAFKA_PACKAGE}:{spark.version} pyspark-shell'"
        ) from None
    value = F.from_json(
        F.col("value").cast("string"), schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    )
    return messages.select(value.alias("event")).select("event.*")
