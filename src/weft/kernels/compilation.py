"""Compilation of kernels: it is noticed when it happens, since somebody may be waiting for it."""

import threading
from collections.abc import Callable, Iterator

from numba.core import event
from numba.core.dispatcher import Dispatcher

KIND = (
    "numba:compile"  # what Numba tells; that a kernel was loaded as it was compiled before is no such event
)


class _CompilationWatch(event.Listener):
    """Counts compilations, and tells of the first."""

    def __init__(self) -> None:
        self.count = 0
        self.tell: Callable[[], object] | None = None
        self._lock = threading.Lock()

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        with self._lock:
            self.count += 1
            tell, self.tell = self.tell, None
        if tell is not None:
            tell()

    def on_end(self, event: event.Event) -> None:
        """Do nothing: its beginning is what counts."""


_watch = _CompilationWatch()
event.register(KIND, _watch)  # type: ignore[no-untyped-call]


def n_compiled() -> int:
    """Return how many kernels this process had to compile."""
    return _watch.count


def tell_of_compilation(tell: Callable[[], object] | None) -> None:
    """Call a function before the next kernel is compiled, once; None: no more."""
    _watch.tell = tell


def known_signatures(modules: Iterator[object]) -> dict[str, set[str]]:
    """Return the types of arguments for which the kernels in some modules are ready, by their names."""
    return {
        f"{own.py_func.__module__}.{own.py_func.__name__}": {str(types) for types in own.signatures}
        for module in modules
        for own in vars(module).values()
        if isinstance(own, Dispatcher)
    }
