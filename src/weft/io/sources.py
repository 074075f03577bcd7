"""Read events from CSV, JSON lines or Parquet, a file or a directory, with a proper time column."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from weft.errors import DataError, near_name
from weft.hosts.spark.pushdown import column_of
from weft.io.times import TimeUnit, event_time, from_nanoseconds

Format = Literal["csv", "json", "parquet"]

FORMATS: Mapping[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
COMPRESSIONS = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Where events lie and in which format; `files` is empty for a path with a scheme."""

    path: str
    format: Format
    files: tuple[Path, ...]

    @property
    def location(self) -> str:
        """The path as Spark takes it: what looks like a wildcard stands for itself."""
        return literal_location(self.path) if self.files else self.path

    @property
    def is_nested(self) -> bool:
        """Whether files lie in subdirectories that are no partition columns such as `day=3`."""
        inside = (file.relative_to(self.path).parts[:-1] for file in self.files)
        return any("=" not in part for parts in inside for part in parts)


@dataclass(frozen=True, kw_only=True)
class EventColumns:
    """What the columns of files mean; numbers in the column `time` count `time_unit` from the epoch."""

    time: str
    type: str | None = None
    id: str | None = None
    time_unit: TimeUnit = "ms"
    order_by: str | None = None

    def require(self, names: list[str], path: str) -> None:
        """Refuse when a column is missing: all of them at once, with near names."""
        missing = []
        named = {"time": self.time, "type": self.type, "id": self.id, "order-by": self.order_by}
        for option, name in named.items():
            if name is None or name in names:
                continue
            near = near_name(name, names)
            suggestion = f"; did you mean `{near}`?" if near else ""
            missing.append(f"{path}: there is no column `{name}` (--{option}){suggestion}")
        if missing:
            columns = ", ".join(f"`{name}`" for name in names)
            raise DataError("\n".join([*missing, f"  the columns are {columns}"]))

    def convert(self, events: DataFrame, path: str) -> DataFrame:
        """Return events whose time is a timestamp and whose type is text; refuse what cannot hold times."""
        data_type = events.schema[self.time].dataType
        time = event_time(column_of(self.time), data_type, self.time_unit)
        if time is None:
            raise DataError(
                f"{path}: the time column `{self.time}` is of type {data_type.simpleString()}; "
                "it must hold timestamps, numbers counted from the epoch, or ISO 8601 text"
            )
        types = {} if self.type is None else {self.type: column_of(self.type).cast("string")}
        return events.withColumns({self.time: time} | types)


def read_events(spark: SparkSession, path: str, columns: EventColumns) -> DataFrame:
    """Return the events at `path`; the time is a timestamp, NULL where it cannot be read.

    Numbers are counted from the epoch; text is ISO 8601, with or without an offset. A type is always text.
    A line that cannot be read is a row of NULLs: the engine rejects and counts it.

    Raises
    ------
    DataError
        When there is nothing to read, formats are mixed, or a named column is missing or no time.
    """
    source = find_events(path)
    if source.format == "csv":
        events = _read_csv(spark, source, texts={columns.time, columns.type}, id=columns.id)
    elif source.format == "json":
        events = _read_json(spark, source)
    else:
        events = _read_parquet(spark, source)
    columns.require(events.columns, path)
    return columns.convert(events, path)


def literal_location(path: str) -> str:
    """Return a local path as Spark takes it: what looks like a wildcard stands for itself."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", str(Path(path).absolute()))


def find_events(path: str) -> EventFiles:
    """Look at a file, or at all files below a directory, and tell their common format.

    Files whose names begin with a dot or an underscore are not events. A path with a scheme
    (`s3a://...`) is not looked at: its name must tell the format.
    """
    if "://" in path:
        named = format_of_name(path.rstrip("/").rsplit("/", 1)[-1])
        if named is None:
            raise DataError(f"{path}: the name must end in one of {', '.join(FORMATS)}")
        return EventFiles(path, named, ())
    target = Path(path)
    if not target.exists():
        raise DataError(f"{path}: there is no such file or directory")
    files = data_files(target) if target.is_dir() else (target,)
    if not files:
        raise DataError(f"{path}: the directory holds no events (CSV, JSON lines or Parquet files)")
    return EventFiles(path, _common_format(path, files), files)


def format_of_name(name: str) -> Format | None:
    """Return the format that a file name tells, a suffix of compression aside.

    >>> format_of_name("trades.CSV.gz"), format_of_name("part-0.snappy.parquet"), format_of_name("notes.txt")
    ('csv', 'parquet', None)
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    while suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


def data_files(directory: Path) -> tuple[Path, ...]:
    """Return the files below a directory, without those that are hidden from Spark."""
    return tuple(
        file
        for file in sorted(directory.rglob("*"))
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(directory).parts)
    )


def _common_format(path: str, files: tuple[Path, ...]) -> Format:
    examples: dict[Format, Path] = {}
    for file in files:
        examples.setdefault(format_of_name(file.name) or _sniff_format(file), file)
    if len(examples) > 1:
        mixed = ", ".join(f"{form} ({file.name})" for form, file in sorted(examples.items()))
        raise DataError(
            f"{path}: the directory mixes formats: {mixed}\n  hint: keep one format per directory"
        )
    return next(iter(examples))


def _sniff_format(file: Path) -> Format:
    """Tell the format of a file by its first bytes, when its name does not."""
    start = _first_bytes(file)
    if start.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in start:
        raise DataError(f"{file}: this is neither CSV nor JSON lines nor Parquet")
    return "json" if start.startswith((b"{", b"[")) else "csv"


def _first_bytes(file: Path) -> bytes:
    """Return the start of a file from its first visible character on."""
    try:
        with file.open("rb") as content:
            return content.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None


def _read_csv(
    spark: SparkSession, source: EventFiles, *, texts: set[str | None], id: str | None
) -> DataFrame:
    """Read CSV with the types Spark infers, but times and types as written."""
    reader = spark.read.options(header=True, escape='"', recursiveFileLookup=source.is_nested)
    inferred = reader.csv(source.location, inferSchema=True).schema
    _require_any_column(inferred.names, source.path)
    # Files of one directory must agree on their header: otherwise columns would be mixed up in silence.
    reader = reader.options(enforceSchema=False)
    events = reader.schema(as_text(inferred, texts)).csv(source.location)
    if id is None or id not in inferred.names or isinstance(inferred[id].dataType, T.StringType):
        return events
    # `007` and `7` are two identities: keep the text unless each value is spelled as Spark spells it.
    raw = reader.schema(as_text(inferred, {*texts, id})).csv(source.location)
    respelled = column_of(id).try_cast(inferred[id].dataType).cast("string")
    is_respelled = column_of(id).isNotNull() & ~respelled.eqNullSafe(column_of(id))
    return raw if raw.where(is_respelled).head(1) else events


def as_text(schema: T.StructType, names: Collection[str | None]) -> T.StructType:
    """Return the schema with some columns as text."""
    return with_type(schema, names, T.StringType())


def with_type(schema: T.StructType, names: Collection[str | None], kind: T.DataType) -> T.StructType:
    """Return the schema with another type for some columns."""
    return T.StructType([T.StructField(own.name, kind) if own.name in names else own for own in schema])


def _read_json(spark: SparkSession, source: EventFiles) -> DataFrame:
    for file in source.files:
        if _first_bytes(file).startswith(b"["):
            raise DataError(f"{file}: this is one JSON array; write one object per line instead")
    events = spark.read.json(source.location, recursiveFileLookup=source.is_nested)
    _require_any_column(events.columns, source.path)
    return events


def _read_parquet(spark: SparkSession, source: EventFiles) -> DataFrame:
    in_nanoseconds = nanosecond_columns(source.files[0]) if source.files else ()
    use_nanoseconds(spark, in_nanoseconds)
    events = spark.read.parquet(source.location, recursiveFileLookup=source.is_nested)
    return events.withColumns({name: from_nanoseconds(column_of(name)) for name in in_nanoseconds})


def use_nanoseconds(spark: SparkSession, columns: tuple[str, ...]) -> None:
    """Let Spark read columns in nanoseconds, as pandas writes them, as numbers: otherwise it refuses."""
    if columns:
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")


def nanosecond_columns(file: Path) -> tuple[str, ...]:
    """Return the columns of a Parquet file that hold timestamps in nanoseconds.

    Those of 96 bits, which Spark writes, have nanoseconds too, but Spark reads them as timestamps.
    """
    try:
        stored = pq.ParquetFile(file).schema
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{file}: this is no readable Parquet file: {error}") from None
    physical = {
        stored.column(number).path: stored.column(number).physical_type for number in range(len(stored))
    }
    return tuple(
        field.name
        for field in stored.to_arrow_schema()
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns" and physical[field.name] != "INT96"
    )


def _require_any_column(names: list[str], path: str) -> None:
    if not names:
        raise DataError(f"{path}: there is nothing in it; a CSV file begins with the names of its columns")
