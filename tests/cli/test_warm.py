"""`weft warm`: afterwards nobody waits for a kernel, whatever the queries."""

import json
import re
from pathlib import Path

import pytest
from tests.helpers.kernel_folder import KernelFolder
from typer.testing import CliRunner

from weft.api.rehearsal import REHEARSALS
from weft.cli.app import app


def test_it_says_what_was_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.cli.warm.REHEARSALS", {"plans": REHEARSALS["plans"]})  # one of them is enough
    result = CliRunner().invoke(app, ["warm"])
    assert result.exit_code == 0
    told = r"(all kernels were compiled before|[\d,]+ kernels were compiled); [\d.]+ s\n"
    assert re.fullmatch(told, result.stdout)
    assert result.stderr == ""


@pytest.mark.soak
def test_it_compiles_every_kernel_that_workloads_call(tmp_path: Path) -> None:
    folder = KernelFolder(tmp_path / "kernels")
    shown, told = folder.weft("warm")
    assert told == ""
    n_kernels = int(shown.split()[0])
    assert n_kernels > 100
    assert n_kernels == len(list(folder.path.rglob("*.nbc")))
    shown, told = folder.weft("warm")
    assert shown.startswith("all kernels were compiled before; ")
    found = json.loads(folder.run("-m", "tests.helpers.rehearsed_workloads")[0])
    assert found["workloads"] > 500
    assert found["missing"] == {}
