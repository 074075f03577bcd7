"""Set-up: what it does at its end, with commands in the place of pip and of Weft, which take long."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "scripts" / "setup.sh"


def set_up(folder: Path, *, warm: str = "exit 0", **variables: str) -> tuple[int, str, bool]:
    """Run set-up in a folder; return its status, what it says, and whether it ran `weft warm`."""
    (folder / "scripts").mkdir()
    shutil.copy(SCRIPT, folder / "scripts")
    commands = folder / ".venv" / "bin"
    commands.mkdir(parents=True)
    for name, does in (("python", "exit 0"), ("weft", f'echo "$@" > ran\n{warm}')):
        (commands / name).write_text(f"#!/bin/sh\n{does}\n")
        (commands / name).chmod(0o755)
    ran = subprocess.run(
        [folder / "scripts" / "setup.sh"],
        env={"PATH": os.environ["PATH"], "WEFT_NO_JAVA": "1", **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    told = folder / "ran"
    return ran.returncode, ran.stderr, told.exists() and told.read_text() == "warm\n"


def test_kernels_are_compiled_at_the_end(tmp_path: Path) -> None:
    status, said, is_warm = set_up(tmp_path)
    assert (status, is_warm) == (0, True)
    compiling, done = said.splitlines()[-2:]
    assert "compiling the kernels" in compiling
    assert done.startswith("setup: done")


def test_it_can_leave_out_the_kernels(tmp_path: Path) -> None:
    status, said, is_warm = set_up(tmp_path, WEFT_NO_WARM="1")
    assert (status, is_warm) == (0, False)
    assert "kernels" not in said
    assert "setup: done" in said


def test_it_fails_aloud_where_kernels_cannot_be_compiled(tmp_path: Path) -> None:
    status, said, is_warm = set_up(tmp_path, warm="echo 'no space left' >&2; exit 1")
    assert (status, is_warm) == (1, True)
    assert "no space left" in said
    assert "setup: the kernels could not be compiled" in said
    assert "WEFT_NO_WARM=1" in said
    assert "setup: done" not in said


@pytest.mark.parametrize("variable", sorted(set(re.findall(r"WEFT_[A-Z_]+", SCRIPT.read_text()))))
def test_its_variables_are_told_to_contributors(variable: str) -> None:
    assert f"`{variable}=1`" in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
