"""The processes below this one, Spark's JVM and its Python workers, as /proc shows them."""

import os
from contextlib import suppress
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
PROC = Path("/proc")


def descendants() -> list[int]:
    """Return the processes started, directly or not, by this one."""
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # a process may end while it is looked at
                children.setdefault(int(status_of(int(entry.name))["PPid"]), []).append(int(entry.name))
    found, waiting = [], [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def status_of(pid: int) -> dict[str, str]:
    """Return what the operating system says about a process, by name."""
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def is_python(pid: int) -> bool:
    """Say whether a process runs Python, as Spark's workers do."""
    return status_of(pid)["Name"].startswith("python")


def peak_megabytes(pid: int) -> float:
    """Return the largest resident set that a process has had."""
    return int(status_of(pid).get("VmHWM", "0 kB").split()[0]) / 1024


def cpu_seconds() -> tuple[float, float]:
    """Return the processor time of this process with Spark's JVM, and of the Python workers."""
    jvm, workers = sum(os.times()[:2]), 0.0
    for pid in descendants():
        with suppress(OSError):
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
            # User and system time of the process, and of its children that have ended.
            seconds = sum(int(ticks) for ticks in fields[11:15]) / TICKS_PER_SECOND
            if is_python(pid):
                workers += seconds
            else:
                jvm += seconds
    return jvm, workers
