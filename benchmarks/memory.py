"""The memory of Spark's Python workers during a run, as the operating system counts it."""

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from measures import Measure
from processes import descendants, is_python, peak_megabytes
from ratios import cost_of, discard_matches
from workloads import Workload

from weft.hosts.spark.local import local_session

MOST_MEGABYTES = 2000.0
SECONDS_BETWEEN_LOOKS = 0.2


class WorkerWatch:
    """Keeps the largest resident set of every Python process below this one, while it is open."""

    def __init__(self) -> None:
        self.peaks: dict[int, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look_until_done, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._done.set()
        self._thread.join()

    def _look_until_done(self) -> None:
        while not self._done.wait(SECONDS_BETWEEN_LOOKS):
            self._look()

    def _look(self) -> None:
        for pid in descendants():
            with suppress(OSError):  # the process may end while it is looked at
                if is_python(pid):
                    self.peaks[pid] = peak_megabytes(pid)


def measure_memory(
    master: str, place: Path, n_events: int, workload: Workload, say: Callable[[str], None]
) -> list[Measure]:
    """Run a workload with new workers and return the peak of the largest."""
    local_session(master).stop()  # workers of an earlier run have their own peaks
    spark = local_session(master, name="weft benchmarks")
    with WorkerWatch() as watch:
        cost = cost_of(lambda: discard_matches(spark.read.parquet(str(place)), workload))
    spark.stop()
    peaks = sorted(watch.peaks.values(), reverse=True)
    say(f"memory {workload.name}: workers {', '.join(f'{peak:.0f}' for peak in peaks)} MB")
    return [
        Measure("memory", f"{workload.name}: events", n_events),
        Measure("memory", f"{workload.name}: Weft, cold", cost.seconds, "s"),
        Measure("memory", f"{workload.name}: largest worker", peaks[0], "MB", MOST_MEGABYTES),
    ]
