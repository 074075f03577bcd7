"""Where results go: JSON lines in one file, or Parquet in a directory."""

from pathlib import Path
from typing import Literal

from weft.errors import DataError

MatchFormat = Literal["json", "parquet"]
LINE_SUFFIXES = (".jsonl", ".ndjson", ".json")
FOREIGN_SUFFIXES = (".csv", ".tsv", ".txt", ".gz", ".zip", ".xlsx")
MATCHES, TIMEOUTS, TRENDS = "matches", "timeouts", "trends"  # directories of results of several kinds
TIMEOUT = "timeout"  # in the JSON of a timeout: the variable that is missing
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
    """Whether a directory is what Spark wrote, or holds what it wrote for results of several kinds."""
    if (directory / "_SUCCESS").exists():
        return True
    return all(
        part.name in (MATCHES, TIMEOUTS, TRENDS) and (part / "_SUCCESS").exists()
        for part in directory.iterdir()
    )


def is_json_lines(path: str) -> bool:
    """Tell whether a target is a file of JSON lines; otherwise it is a directory of Parquet.

    >>> is_json_lines("out/matches.jsonl"), is_json_lines("out/matches")
    (True, False)
    """
    return Path(path).suffix in LINE_SUFFIXES
