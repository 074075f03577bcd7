"""The command `weft warm`: compile all kernels now, so that nobody waits for them later."""

import time as clock

import typer

from weft.api.rehearsal import REHEARSALS, rehearse
from weft.cli.console import report_errors, terminal
from weft.cli.report import show_progress
from weft.hosts.progress import Progress
from weft.kernels.compilation import keep_quiet, n_compiled

EXAMPLES = "Example:\n\n  weft warm"


def warm() -> None:
    """Compile all kernels now, so that nobody waits for them later.

    Compiled kernels are kept beside the installed package, or where NUMBA_CACHE_DIR says. What is there
    already is not compiled again.
    """
    keep_quiet()  # it is what was asked for
    with report_errors():
        started, done = clock.perf_counter(), 0

        def progress() -> Progress:
            return Progress(done, len(REHEARSALS))

        with show_progress("Compiling kernels", progress):
            for name in REHEARSALS:
                rehearse(name)
                done += 1
        seconds = clock.perf_counter() - started
        told = (
            f"{n_compiled():,} kernels were compiled" if n_compiled() else "all kernels were compiled before"
        )
        terminal().print(f"{told}; {seconds:.1f} s")
        raise typer.Exit
