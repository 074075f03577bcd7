"""How much memory there is, and how much of it a run may fill with rows."""

import os
import resource
from pathlib import Path

LEAST, MOST = 32 << 20, 8 << 30  # bytes of rows in memory
SHARE = 8  # a run may fill one part in so many of the memory with rows that wait
OF_A_THREAD = 256 << 20  # bytes that a thread may need: for batches on their way, and for what it runs
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def available_memory() -> int:
    """Return the bytes that this process may use: of the machine, of its container, by its limits."""
    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    limits += [
        soft
        for soft, _ in map(resource.getrlimit, (resource.RLIMIT_AS, resource.RLIMIT_DATA))
        if soft != resource.RLIM_INFINITY
    ]
    for path in map(Path, CGROUP_LIMITS):
        if path.exists() and (text := path.read_text().strip()).isdigit():
            limits.append(int(text))
    return min(limits)


def spool_limit() -> int:
    """Return how many bytes of rows may wait in memory before they go to files."""
    return max(LEAST, min(MOST, available_memory() // SHARE))


def n_threads() -> int:
    """Return how many threads run shards: as many as there are cores for this process, and memory for all."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, available_memory() // OF_A_THREAD))
