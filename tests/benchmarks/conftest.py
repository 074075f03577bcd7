"""What tests of benchmarks share: their modules, which are scripts and import each other, and results."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where tables and pictures go, instead of the folder of real results."""
    import plots
    import result_tables

    place = tmp_path / "results"
    for module in (plots, result_tables):
        monkeypatch.setattr(module, "RESULTS", place)
    return place
