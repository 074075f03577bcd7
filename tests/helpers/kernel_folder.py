"""A folder of compiled kernels that belongs to some tests alone, and processes that find theirs there."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class KernelFolder:
    """Where the processes of some tests keep compiled kernels; empty at first, as after an installation."""

    path: Path

    def run(self, *arguments: str) -> tuple[str, str]:
        """Run Python with arguments, and return what it writes to standard output and standard error."""
        ran = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env={**os.environ, "NUMBA_CACHE_DIR": str(self.path)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout, ran.stderr

    def weft(self, *arguments: str) -> tuple[str, str]:
        """Run a command, and return what it writes to standard output and standard error."""
        return self.run("-c", "from weft.cli.app import main; main()", *arguments)

    def forget(self, kernel: str) -> None:
        """Remove what was compiled of a kernel, so that the next process has to compile that."""
        compiled = list(self.path.rglob(f"{kernel}-*.nb[ic]"))
        assert compiled, f"{kernel} was not compiled"
        for path in compiled:
            path.unlink()
