"""Where compiled kernels are kept: in files whose names tell the sources they were compiled from.

Numba itself asks whether the file of a function has changed. That does not see a change of what the function
calls, and a file that names a class which is gone cannot even be opened. So the name of such a file has a
digest of its own module and of all kernel modules that this imports: others are never looked at.
"""

import hashlib
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from numba.core.caching import CacheImpl

FOLDER = Path(__file__).parent
IMPORT = re.compile(r"^from weft\.kernels\.([\w.]+) import", re.MULTILINE)
DIGITS = 12


class KernelLocator:
    """What Numba asks about the compiled code of a kernel: its folder, its name, what it was made from.

    The folder is the one that Numba chooses: below NUMBA_CACHE_DIR; else `__pycache__` beside the module; or,
    where that cannot be written, in the user's folder of caches.
    """

    def __init__(self, chosen: Any, digest: str) -> None:
        self._chosen = chosen
        self._digest = digest

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> "KernelLocator | None":
        """Return the locator of a kernel; None of other functions, and without a file of the source."""
        path = Path(file)
        if not path.is_relative_to(FOLDER) or not path.exists():
            return None
        known = (other.from_function(function, file) for other in _locators() if other is not cls)
        chosen = next((locator for locator in known if locator is not None), None)
        return None if chosen is None else cls(chosen, source_digest(path))

    @property
    def _py_file(self) -> str:
        """The file of the source, which Numba names where it cannot keep what it compiled."""
        return str(self._chosen._py_file)  # noqa: SLF001 - it is Numba that reads it so

    def ensure_cache_path(self) -> None:
        self._chosen.ensure_cache_path()

    def get_cache_path(self) -> str:
        return str(self._chosen.get_cache_path())

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return f"{self._chosen.get_disambiguator()}-{self._digest}"


def _locators() -> list[Any]:
    """Return the classes that Numba asks, in this order."""
    locators: list[Any] = CacheImpl._locator_classes  # noqa: SLF001 - Numba has no other place for them
    return locators


def name_by_sources() -> None:
    """Have compiled kernels kept in files that are named by their sources; other functions are as before."""
    if KernelLocator not in _locators():
        _locators().insert(0, KernelLocator)


@cache
def source_digest(path: Path) -> str:
    """Return a digest of a kernel module and of all kernel modules that it imports.

    >>> len(source_digest(FOLDER / "arrays.py"))
    12
    """
    digest = hashlib.sha256()
    for source in sorted(_with_imported(path, set())):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:DIGITS]


def _with_imported(path: Path, known: set[Path]) -> set[Path]:
    """Return a kernel module and all that it imports, besides those that are known."""
    if path not in known:
        known.add(path)
        for name in IMPORT.findall(path.read_text(encoding="utf-8")):
            _with_imported(FOLDER.joinpath(*name.split(".")).with_suffix(".py"), known)
    return known


def remove_outdated(folders: Iterable[Path]) -> int:
    """Remove compiled code of other sources than those at hand from some folders; return how many files."""
    current = {source_digest(path) for path in FOLDER.rglob("*.py")}
    outdated = [
        path
        for folder in set(folders)
        for path in folder.glob("*.nb[ic]")
        if not any(f"-{digest}." in path.name for digest in current)
    ]
    for path in outdated:
        path.unlink(missing_ok=True)
    return len(outdated)
