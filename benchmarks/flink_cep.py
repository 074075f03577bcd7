"""Flink CEP as a peer: its jars, our program compiled against them, and what a run of it found.

The jars come with the Python package `apache-flink-libraries`, one of the extras `bench`. Events go to Flink
as records of equal length in a file, which is read faster than Parquet.
"""

import os
import subprocess
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from workloads import SequenceQuery

from weft.hosts.spark.java import find_java

SOURCES = Path(__file__).parent / "flink"
HEAP = "6g"
RECORD = np.dtype([("ts", "<i8"), ("id", "<i8"), ("key", "<i8"), ("price", "<f8"), ("type", "<i4")])

Matches = set[tuple[int, ...]]  # each by the ids of its events, in order of time


@dataclass(frozen=True)
class Step:
    """An event of a type, or a list of `least` or more; a price is compared with that of an earlier step."""

    type: str
    least: int = 1
    earlier: int = -1
    operator: str = ">"
    factor: float = 1.0


@dataclass(frozen=True)
class FlinkQuery:
    """Steps of which each takes the next event that fits, within microseconds, the end included."""

    name: str
    steps: tuple[Step, ...]
    window: int
    is_keyed: bool = False

    def line(self, types: Sequence[str]) -> str:
        """Return the query as our program reads it.

        >>> login = FlinkQuery("login", (Step("F", 5), Step("L")), 60_000_000, is_keyed=True)
        >>> login.line(["F", "L"])
        'login keyed 60000000 0/5/-1/>/1.0 1/1/-1/>/1.0'
        """
        steps = [
            f"{types.index(one.type)}/{one.least}/{one.earlier}/{one.operator}/{one.factor}"
            for one in self.steps
        ]
        return " ".join([self.name, "keyed" if self.is_keyed else "all", str(self.window), *steps])


@dataclass(frozen=True)
class FlinkRun:
    """The seconds of each run, and what the last one found."""

    seconds: tuple[float, ...]
    counts: Counter[str]
    matches: dict[str, Matches]


def flink_query(query: SequenceQuery) -> FlinkQuery:
    """Return a sequence in which neighbors are compared."""
    later = (
        Step(kind, 1, place, step.operator, step.factor)
        for place, (kind, step) in enumerate(zip(query.types[1:], query.steps, strict=True))
    )
    return FlinkQuery(query.name, (Step(query.types[0]), *later), query.window * 1000)


def flink_jars() -> Path | None:
    """Return the directory of Flink's jars, or None where its package is not installed."""
    try:
        return Path(str(distribution("apache-flink-libraries").locate_file("pyflink/lib")))
    except PackageNotFoundError:
        return None


def why_no_flink() -> str | None:
    """Return why Flink cannot run, or None where it can."""
    if flink_jars() is None:
        return "skipped: no Flink (the package apache-flink-libraries is among the extras `bench`)"
    java = find_java()
    if java is None or not (java / "bin" / "javac").is_file():
        return "skipped: no Java compiler (a JDK, version 17 or newer)"
    return None


def write_records(rows: pa.Table, types: Sequence[str], target: Path) -> None:
    """Write events as records of equal length, with types by their numbers."""
    records = np.empty(rows.num_rows, RECORD)
    for name in ("id", "key", "price"):
        records[name] = rows[name].to_numpy()
    records["ts"] = rows["ts"].cast(pa.int64()).to_numpy()
    records["type"] = pc.index_in(rows["type"], pa.array(types)).to_numpy()
    records.tofile(target)


class Flink:
    """Our program for Flink, compiled in a directory, which also takes the files that it reads."""

    def __init__(self, place: Path) -> None:
        java = find_java()
        if why_no_flink() is not None or java is None:
            raise RuntimeError(why_no_flink())
        self._programs = java / "bin"
        self._place = place
        self._classpath = os.pathsep.join([str(place / "classes"), f"{flink_jars()}/*"])
        options = ["-nowarn", "-d", str(place / "classes"), "-cp", self._classpath]
        self._call("javac", *options, *map(str, sorted(SOURCES.glob("*.java"))))

    def run(self, queries: Sequence[FlinkQuery], rows: pa.Table, *, repeat: int, cores: int = 2) -> FlinkRun:
        """Run queries and count what they find; the first run warms the others up."""
        return self._run(queries, rows, str(cores), str(repeat), "count")

    def find(self, queries: Sequence[FlinkQuery], rows: pa.Table, *, cores: int = 2) -> dict[str, Matches]:
        """Return the matches of each query."""
        return self._run(queries, rows, str(cores), "1", "list").matches

    def _run(self, queries: Sequence[FlinkQuery], rows: pa.Table, *options: str) -> FlinkRun:
        named = {one.type for query in queries for one in query.steps}
        types = sorted(named.union(pc.unique(rows["type"]).to_pylist()))
        events, texts = self._place / "events", self._place / "queries"
        write_records(rows, types, events)
        texts.write_text("".join(f"{query.line(types)}\n" for query in queries))
        java = ["java", f"-Xmx{HEAP}", "-cp", self._classpath, "FlinkCep"]
        return read_run(self._call(*java, str(events), str(texts), *options))

    def _call(self, program: str, *arguments: str) -> str:
        done = subprocess.run(
            [self._programs / program, *arguments], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{program} of the Flink benchmark failed:\n{done.stderr[-4000:]}")
        return done.stdout


def read_run(printed: str) -> FlinkRun:
    """Return what our program printed.

    >>> read_run("seconds 1.5\\ncount q 1\\nmatch q 3 4\\n")
    FlinkRun(seconds=(1.5,), counts=Counter({'q': 1}), matches={'q': {(3, 4)}})
    """
    seconds: list[float] = []
    counts: Counter[str] = Counter()
    matches: defaultdict[str, Matches] = defaultdict(set)
    for line in printed.splitlines():
        match line.split():
            case ["seconds", number]:
                seconds.append(float(number))
            case ["count", query, number]:
                counts[query] = int(number)
            case ["match", query, *ids]:
                matches[query].add(tuple(map(int, ids)))
    return FlinkRun(tuple(seconds), counts, dict(matches))
