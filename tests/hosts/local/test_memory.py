"""How much memory there is, and what follows from it."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from weft.hosts.local import memory


def test_a_container_has_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("123456789\n")
    monkeypatch.setattr(memory, "CGROUP_LIMITS", (str(tmp_path / "memory.max"), str(tmp_path / "none")))
    assert memory.available_memory() == 123_456_789


def test_a_container_without_a_limit_has_what_the_machine_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text("max\n")
    monkeypatch.setattr(memory, "CGROUP_LIMITS", (str(tmp_path / "memory.max"),))
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda _: unlimited)
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert memory.available_memory() == whole


def test_a_process_has_what_its_limits_say() -> None:
    program = """
import resource
from weft.hosts.local.memory import available_memory, n_threads
resource.setrlimit(resource.RLIMIT_DATA, (400 << 20, resource.RLIM_INFINITY))
print(available_memory() <= 400 << 20, n_threads())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "1"]


@pytest.mark.parametrize(
    ("available", "limit"),
    [
        (0, memory.LEAST),
        (8 * memory.LEAST, memory.LEAST),
        (8 * memory.LEAST + 8, memory.LEAST + 1),
        (8 * memory.MOST, memory.MOST),
        (1 << 50, memory.MOST),
    ],
)
def test_an_eighth_waits_in_memory_within_bounds(
    available: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: available)
    assert memory.spool_limit() == limit


@pytest.mark.parametrize(("quarters", "n_threads"), [(0, 1), (1, 1), (2, 2), (5, 5), (100, 6)])
def test_as_many_threads_as_cores_and_memory_for_each(
    quarters: int, n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: quarters << 28)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)), raising=False)
    assert memory.n_threads() == n_threads
