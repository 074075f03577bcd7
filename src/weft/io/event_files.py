"""Files of events in CSV, JSON lines or Parquet: where they lie, their format, what their columns mean."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.errors import DataError, absent_path, near_name
from weft.io.units import TimeUnit

Format = Literal["csv", "json", "parquet"]

FORMATS: Mapping[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
}
OTHER_DELIMITERS = (";", "\t", "|")
COMPRESSIONS = (".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate")


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Where events lie and in which format; `files` is empty for a path with a scheme."""

    path: str
    format: Format
    files: tuple[Path, ...]

    @property
    def is_nested(self) -> bool:
        """Whether files lie in subdirectories that are no partition columns such as `day=3`."""
        return any("=" not in part for file in self.files for part in self.directories(file))

    def directories(self, file: Path) -> tuple[str, ...]:
        """Return the names of the directories between the path and a file."""
        return () if file == Path(self.path) else file.relative_to(self.path).parts[:-1]


@dataclass(frozen=True, kw_only=True)
class EventColumns:
    """What the columns of files mean; numbers in the column `time` count `time_unit` from the epoch."""

    time: str
    type: str | None = None
    id: str | None = None
    time_unit: TimeUnit = "ms"
    order_by: str | None = None
    delimiter: str = ","

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


def check_partitions(source: EventFiles) -> tuple[str, ...]:
    """Return the names of the columns that directories such as `day=3` tell, for all files the same.

    Raises
    ------
    DataError
        When files lie at different levels, or below directories of other names: Spark would leave some out.
    """
    if source.is_nested or not source.files:
        return ()
    levels: dict[tuple[str, ...], Path] = {}
    for file in source.files:
        levels.setdefault(tuple(part.split("=", 1)[0] for part in source.directories(file)), file)
    if len(levels) > 1:
        (one, first), (other, second) = sorted(levels.items())[:2]
        raise DataError(
            f"{source.path}: {first.name} lies {_below(one)}, {second.name} lies {_below(other)}\n"
            "  hint: lay all files below the same levels of NAME=VALUE directories"
        )
    return next(iter(levels))


def _below(names: tuple[str, ...]) -> str:
    return "below " + "/".join(f"{name}=" for name in names) if names else "at the top"


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
        raise absent_path(path, "events")
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
    start = first_bytes(file)
    if start.startswith(b"PAR1"):
        return "parquet"
    if b"\0" in start:
        raise DataError(f"{file}: this is neither CSV nor JSON lines nor Parquet")
    return "json" if start.startswith((b"{", b"[")) else "csv"


def first_bytes(file: Path) -> bytes:
    """Return the start of a file from its first visible character on."""
    try:
        with file.open("rb") as content:
            return content.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None


def require_any_column(names: Sequence[str], path: str) -> None:
    """Refuse a file without any column."""
    if not names:
        raise DataError(f"{path}: there is nothing in it; a CSV file begins with the names of its columns")


def require_delimiter(names: Sequence[str], path: str, delimiter: str) -> None:
    """Refuse a CSV file whose only column holds what looks like the delimiter of several."""
    if len(names) != 1:
        return
    for other in {",", *OTHER_DELIMITERS} - {delimiter}:
        if other in names[0]:
            raise DataError(
                f"{path}: there is one column, `{names[0]}`, whose name holds {_shown(other)}; "
                f"columns are expected to be delimited by {_shown(delimiter)}\n"
                f"  hint: if this is the delimiter, say so: --delimiter {_quoted(other)}"
            )


def delimiter_of(text: str) -> str:
    r"""Return the delimiter that a user names: one character, or `tab` for a tab.

    >>> delimiter_of(";"), delimiter_of("tab")
    (';', '\t')
    """
    delimiter = "\t" if text in ("tab", r"\t") else text
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '\r\n"\\':
        raise DataError(
            f"the delimiter is {text!r}; it must be one character, no quote, backslash or line end\n"
            "  hint: --delimiter ';' for semicolons, --delimiter tab for tabs"
        )
    return delimiter


def _shown(delimiter: str) -> str:
    return "a tab" if delimiter == "\t" else f"`{delimiter}`"


def _quoted(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


def no_times(path: str, column: str, kind: str) -> DataError:
    """Return what is to say of a time column whose type cannot hold times."""
    return DataError(
        f"{path}: the time column `{column}` is of type {kind}; "
        "it must hold timestamps, numbers counted from the epoch, or ISO 8601 text"
    )


def require_object_lines(source: EventFiles) -> None:
    """Refuse JSON files that are one array."""
    for file in source.files:
        if first_bytes(file).startswith(b"["):
            raise DataError(f"{file}: this is one JSON array; write one object per line instead")
