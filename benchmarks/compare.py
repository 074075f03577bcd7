"""Compare the speed of two commits: the one that is checked out, and an earlier one in a worktree of its own.

Every section runs in a process of its own, on the files of its own commit, so module names and public calls
may differ. The two sides take turns, and the order of a pair changes from round to round, so that a machine
that grows slower favors neither. What is compared is the time for the same work: the median over the rounds
of new over old.
"""

import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measures import Measure, number_text
from outside import PLACE
from result_tables import report_table

ROOT = Path(__file__).parent.parent
SLOWER = 1.05  # what the new side may take at most, of the time of the old one

Say = Callable[[str], None]


@dataclass(frozen=True)
class Quantity:
    """A number of a section: a measure, or with `table` the mean of a column of a table of results."""

    name: str
    is_rate: bool = False
    table: str | None = None

    def read(self, side: Path, measures: Path) -> float:
        """Return the number that a run of a side measured; of rates, the harmonic mean."""
        if self.table is None:
            values = [
                float(one["value"])
                for one in json.loads(measures.read_text())["measures"]
                if one["what"] == self.name
            ]
        else:
            path = side / "benchmarks" / "results" / f"{self.table}.csv"
            with path.open(newline="") as file:
                values = [float(row[self.name]) for row in csv.DictReader(file)]
        if not values:
            raise SystemExit(f"{side}: its benchmarks do not measure {self.name!r}")
        return statistics.harmonic_mean(values) if self.is_rate else statistics.mean(values)

    @property
    def title(self) -> str:
        return f"{self.table}: {self.name}" if self.table else self.name


def _tabled(table: str, *names: str, is_rate: bool = True) -> tuple[Quantity, ...]:
    return tuple(Quantity(name, is_rate, table) for name in names)


QUANTITIES: dict[str, tuple[Quantity, ...]] = {
    "queries20": (Quantity("Weft"), Quantity("Weft, processor time of Python")),
    "keyed": (Quantity("Weft"), Quantity("Weft, processor time of Python")),
    "queries100": (Quantity("Weft"), Quantity("Weft, processor time of Python")),
    "one_core": (Quantity("events per second", is_rate=True),),
    "parse": (Quantity("parse and bind"),),
    "stream": (Quantity("stream", is_rate=True), Quantity("stream, start included", is_rate=True)),
    "trends": (
        *_tabled("trends-alike", "shared, events per second", "not shared"),
        *_tabled("trends-diverse", "dynamic, events per second"),
    ),
    "placement-reference": (
        *_tabled("placement-reference", "seconds", is_rate=False),
        Quantity("15 queries of 8 items on 50 sites"),
    ),
}


@contextmanager
def earlier_commit(commit: str) -> Iterator[Path]:
    """Yield a worktree of a commit, with the events and reference problems that are there already."""
    with tempfile.TemporaryDirectory(prefix="weft-before-") as place:
        side = Path(place) / "weft"
        _git("worktree", "add", "--quiet", "--detach", str(side), commit)
        try:
            data = ROOT / "benchmarks" / "data"
            data.mkdir(exist_ok=True)
            (side / "benchmarks" / "data").symlink_to(data, target_is_directory=True)
            if PLACE.exists():  # earlier commits look for files of others beside the project
                (Path(place) / "shared").symlink_to(PLACE, target_is_directory=True)
            yield side
        finally:
            shutil.rmtree(side, ignore_errors=True)
            _git("worktree", "prune")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def _environment(side: Path) -> dict[str, str]:
    """Return an environment in which Python, and the workers that Spark starts, import the code of a side."""
    sources = [str(side / name) for name in ("src", "lab") if (side / name).exists()]
    inherited = [path for path in [os.environ.get("PYTHONPATH")] if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sources + inherited)}


def check_imports(side: Path) -> None:
    """Refuse to measure a side whose code is not what Python imports."""
    probe = "import weft; print(weft.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", probe], env=_environment(side), capture_output=True, text=True, check=True
    ).stdout.strip()
    if not Path(found).is_relative_to(side):
        raise SystemExit(f"Python imports {found} instead of the code in {side}")


def run_section(side: Path, section: str, options: Sequence[str], say: Say) -> list[float]:
    """Run a section of a side's own benchmarks; return the numbers that are compared."""
    with tempfile.TemporaryDirectory() as place:
        measures = Path(place) / "measures.json"
        command = [sys.executable, str(side / "benchmarks" / "run.py"), "--only", section, *options]
        done = subprocess.run(
            [*command, "--json", str(measures)],
            cwd=side,
            env=_environment(side),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
        values = [quantity.read(side, measures) for quantity in QUANTITIES[section]]
    which = "new" if side == ROOT else "old"
    shown = [
        f"{quantity.title} {number_text(value)}"
        for quantity, value in zip(QUANTITIES[section], values, strict=True)
    ]
    say(f"{section}, {which}: {'; '.join(shown)}")
    return values


def compare_with(
    commit: str, sections: Sequence[str] | None, rounds: int, options: Sequence[str], say: Say
) -> list[Measure]:
    """Run sections by turns with the code of a commit and with that of this tree; return new over old."""
    unknown = sorted(set(sections or ()) - set(QUANTITIES))
    if unknown:
        raise SystemExit(f"--before compares {', '.join(QUANTITIES)}; not {', '.join(unknown)}")
    measures: list[Measure] = []
    rows = []
    with earlier_commit(commit) as before:
        for side in (before, ROOT):
            check_imports(side)
        for section in sections or QUANTITIES:
            for compared in _compare_section(section, before, rounds, options, say):
                rows.append(compared.row)
                measures.append(compared.measure)
    report_table(f"before-{_git('rev-parse', '--short', commit)}", rows)
    return measures


@dataclass(frozen=True)
class Compared:
    """One quantity on both sides, round by round."""

    section: str
    quantity: Quantity
    old: tuple[float, ...]
    new: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median over the rounds of the new side's time over the old one's.

        >>> Compared("one_core", Quantity("seconds"), (2.0, 4.0, 3.0), (2.0, 2.0, 6.0)).ratio
        1.0
        >>> Compared("stream", Quantity("stream", is_rate=True), (100.0,), (80.0,)).ratio
        1.25
        """
        pairs = zip(self.old, self.new, strict=True)
        return statistics.median(old / new if self.quantity.is_rate else new / old for old, new in pairs)

    @property
    def measure(self) -> Measure:
        return Measure(self.section, f"{self.quantity.title}: time, new / old", self.ratio, at_most=SLOWER)

    @property
    def row(self) -> dict[str, str | float]:
        def spread(values: tuple[float, ...]) -> str:
            return f"{number_text(min(values))} to {number_text(max(values))}"

        return {
            "section": self.section,
            "quantity": self.quantity.title,
            "old": statistics.median(self.old),
            "old, from to": spread(self.old),
            "new": statistics.median(self.new),
            "new, from to": spread(self.new),
            "time, new / old": round(self.ratio, 3),
        }


def _compare_section(
    section: str, before: Path, rounds: int, options: Sequence[str], say: Say
) -> list[Compared]:
    old: list[list[float]] = []
    new: list[list[float]] = []
    sides = [(before, old), (ROOT, new)]
    for number in range(rounds):
        for side, runs in sides if number % 2 == 0 else reversed(sides):
            runs.append(run_section(side, section, options, say))
    return [
        Compared(section, quantity, old_values, new_values)
        for quantity, old_values, new_values in zip(
            QUANTITIES[section], zip(*old, strict=True), zip(*new, strict=True), strict=True
        )
    ]
