"""Files that are no part of the project: data of others, in the directory that `WEFT_BENCH_DATA` names."""

import os
from pathlib import Path

PLACE = Path(os.environ.get("WEFT_BENCH_DATA", Path(__file__).parents[2] / "shared"))


def outside(name: str) -> Path:
    """Return where a file of others would be."""
    return PLACE / name


def why_missing(path: Path, about: str) -> str | None:
    """Return why a section is skipped, or None where its file is there."""
    if path.exists():
        return None
    return f"skipped: no {path.name} in the directory that WEFT_BENCH_DATA names ({about} says what it is)"
