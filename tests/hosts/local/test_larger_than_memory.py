"""More events than there is memory for, in a process that may have no more."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.helpers.limited_process import run_limited, write_events

Folder = Callable[[int], Path]
LIMIT_MB = 1_024
N_EVENTS, FEWER = 20_000_000, 2_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Files of so many events, written once."""
    written: dict[int, Path] = {}

    def files(n_events: int) -> Path:
        if n_events not in written:
            written[n_events] = tmp_path_factory.mktemp("events") / "files"
            write_events(written[n_events], n_events)
        return written[n_events]

    return files


@pytest.mark.parametrize(
    ("query", "n_events", "limit_mb"),
    [
        ("by key", FEWER, 600),
        ("by time", FEWER, 600),
        ("by key", N_EVENTS, LIMIT_MB),
        ("by time", N_EVENTS, LIMIT_MB),
        pytest.param("every pair", N_EVENTS, LIMIT_MB, marks=pytest.mark.soak),
    ],
)
def test_memory_is_bounded(
    folder: Folder, query: str, n_events: int, limit_mb: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows alone would fill it; what is found is right to the last match, and no file is left behind."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    found = run_limited(folder(n_events), query, limit_mb=limit_mb)
    assert found["is_right"], found
    assert found["n"] == n_events // 2 // (1 if query == "every pair" else 1_000)
    assert found["peak_mb"] < limit_mb
    assert found["left"] == []
    assert list(tmp_path.iterdir()) == []
