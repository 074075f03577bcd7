"""Kernels that are compiled while somebody waits: what is told of it before it begins."""

from collections.abc import Iterator

from weft.kernels.compilation import keep_quiet, n_compiled, tell_of_compilation
from weft.notices import Notice, warn_of

COMPILATION = Notice(
    kind="compilation",
    reason="kernels are compiled here for the first time, which may take a minute",
    remedy="weft warm compiles all of them, once for all",
)


def _warn() -> None:
    warn_of([COMPILATION])


def warn_of_compilation(*, warns: bool) -> None:
    """Have a warning tell of the next compilation, or not; what a command wants to say instead stays."""
    if warns:
        tell_of_compilation(_warn)
    else:
        keep_quiet(_warn)


def compiled_since(n_before: int) -> Iterator[Notice]:
    """Yield what to say if this process has compiled more kernels than before.

    >>> list(compiled_since(n_compiled()))
    []
    """
    if n_compiled() > n_before:
        yield COMPILATION
