"""Time the first answers of the command line beside those of a bare interpreter."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measures import Measure

RUNS = 9
SECONDS_ALLOWED = {"weft --help": 0.5, "weft check": 1.0}
QUERY = "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 minutes"
BARE = "python -c pass"


def measure_first_contact(runs: int = RUNS) -> list[Measure]:
    """Return the medians of commands run by turns, and how many times a bare interpreter each takes."""
    weft = str(Path(sys.executable).with_name("weft"))
    with tempfile.TemporaryDirectory(prefix="weft-first-contact-") as directory:
        queries = Path(directory, "q.weft")
        queries.write_text(QUERY, encoding="utf-8")
        commands = {
            BARE: [sys.executable, "-c", "pass"],
            "weft --help": [weft, "--help"],
            "weft check": [weft, "check", str(queries)],
        }
        taken: dict[str, list[float]] = {what: [] for what in commands}
        for _ in range(runs + 1):
            for what, command in commands.items():
                taken[what].append(_seconds(command))
    medians = {what: statistics.median(seconds[1:]) for what, seconds in taken.items()}  # the first warms up
    measures = [Measure("first_contact", BARE, medians[BARE], "s")]
    for what, allowed in SECONDS_ALLOWED.items():
        measures.append(Measure("first_contact", what, medians[what], "s", allowed))
        measures.append(Measure("first_contact", f"{what} / {BARE}", medians[what] / medians[BARE], "times"))
    return measures


def _seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


if __name__ == "__main__":
    for one in measure_first_contact():
        print(f"{one.what:<30} {one.shown:>8}  {one.target}")
