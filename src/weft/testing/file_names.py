"""Which files hold tests of rules: by their names, and by what stands at their top."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from weft.errors import DataError, absent_path

PATTERNS = ("test_*.yaml", "*_test.yaml", "*.test.yaml")  # and .yml
_NAME = re.compile(r"(test_.*|.*_test|.*\.test)\.ya?ml", re.IGNORECASE)
_RULES = re.compile(r"^[\"']?rules[\"']?\s*:", re.MULTILINE)


def is_rule_test(path: Path) -> bool:
    """Return whether a file is one of tests of rules: named like one, and with rules at its top.

    So the tests of other tools that are written in YAML are left alone.
    """
    if _NAME.fullmatch(path.name) is None:
        return False
    try:
        return _RULES.search(path.read_text(encoding="utf-8-sig")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def rule_test_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files of tests that are named, and those below directories, in order; each once."""
    return list(dict.fromkeys(file for path in paths for file in _files(path)))


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise absent_path(path, "tests")
    if not path.is_dir():
        yield path
        return
    files = [file for file in sorted(path.rglob("*")) if file.is_file() and is_rule_test(file)]
    if not files:
        raise DataError(
            f"{path}: the directory holds no tests of rules\n"
            f"  hint: name the files {', '.join(PATTERNS)}, and begin them with `rules:`"
        )
    yield from files
