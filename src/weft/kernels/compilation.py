"""Compilation of kernels: it is told when it begins, since somebody may be waiting for it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numba.core import event
from numba.core.dispatcher import Dispatcher

KIND = "numba:compile"  # Numba says so; it does not of a kernel that was loaded as it was compiled before
KERNELS = f"{__package__}."  # what the names of their modules begin with


class _CompilationWatch(event.Listener):
    """Counts the kernels that are compiled, and tells of them once: who waits will wait for all of them.

    What Numba compiles of its own within a kernel, and functions of others, are not counted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.tell: Callable[[], object] | None = None
        self._is_told = False
        self._lock = threading.Lock()

    def on_start(self, event: event.Event) -> None:
        if not event.data["dispatcher"].py_func.__module__.startswith(KERNELS):
            return
        with self._lock:
            self.count += 1
        self.announce()

    def announce(self) -> None:
        """Tell of compilations, unless that is done or nobody wants to know."""
        with self._lock:
            tell = None if self._is_told else self.tell
            self._is_told |= tell is not None
        if tell is not None:
            tell()

    def on_end(self, event: event.Event) -> None:
        """Do nothing: its beginning is what counts."""


_watch = _CompilationWatch()
event.register(KIND, _watch)  # type: ignore[no-untyped-call]


def n_compiled() -> int:
    """Return how many kernels this process had to compile."""
    return _watch.count


def tell_of_compilation(tell: Callable[[], object]) -> None:
    """Call a function before the next kernel is compiled, once in this process; the latest one is called."""
    _watch.tell = tell


def expect_compilation(kernel: object) -> None:
    """Tell of compilations now if a kernel is not compiled, as other processes will compile it unheard."""
    if not is_compiled(kernel):
        _watch.announce()


def keep_quiet(tell: Callable[[], object] | None = None) -> None:
    """Let kernels be compiled without a word; with a function, only if it was the one to be called."""
    if tell in (None, _watch.tell):
        _watch.tell = None


def is_compiled(kernel: object) -> bool:
    """Say whether nobody waits for a kernel: this process has it, or one before it kept what it compiled.

    >>> from weft.kernels.matches.subsets import order_fractions
    >>> import numpy as np
    >>> order_fractions(np.zeros(1, np.int64)).tolist(), is_compiled(order_fractions)
    ([1.0, 1.0], True)
    """
    if not isinstance(kernel, Dispatcher):
        return True  # compilation is switched off
    known: Any = kernel
    kept = getattr(known._cache, "_cache_file", None)  # noqa: SLF001 - Numba does not say it otherwise
    return bool(known.signatures) or (kept is not None and Path(kept._index_path).exists())  # noqa: SLF001


def known_signatures(modules: Iterator[object]) -> dict[str, set[str]]:
    """Return the types of arguments for which the kernels in some modules are ready, by their names."""
    return {
        f"{own.py_func.__module__}.{own.py_func.__name__}": {str(types) for types in own.signatures}
        for module in modules
        for own in vars(module).values()
        if isinstance(own, Dispatcher)
    }
