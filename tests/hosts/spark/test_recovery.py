"""Every match once, whatever is killed: drivers, Python workers, executors, in the middle of a stream.

Each driver is a process of its own, with Spark, its state store and its files as in production. What a
stream gave in the end is compared with what the engine finds in all events at once, without Spark.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.helpers.stream_driver import QUERIES
from tests.helpers.tally import Count

from weft.language.read import read_queries
from weft.optimizer.pipeline import optimize
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import emit, match_schema
from weft.runtime.matches.execute import Executor
from weft.runtime.matches.program import Program
from weft.schema import LONG, STRING, TIMESTAMP, Schema

DRIVER = Path(__file__).parents[2] / "helpers" / "stream_driver.py"
PER_FILE = 3_000
N_FILES, N_SOAK_FILES = 12, 66
N_USERS = 2_000
SPACING = 10_000  # microseconds from event to event
DISORDER = 5_000_000  # half of what the watermark allows
PATIENCE = 600  # seconds without progress

pytestmark = [pytest.mark.spark]
apart = pytest.mark.xdist_group("recovery")  # not with the tests that share a session: they start their own


@dataclass(frozen=True)
class Workload:
    """The files of events, and the matches in all of them.

    `classes` is an archive of the Java classes that Spark loads, with which a driver starts in half the time.
    To make it takes as long as two drivers gain by it; so there is one in a soak only.
    """

    events: Path
    expected: Counter[str]
    classes: Path | None

    @property
    def n_files(self) -> int:
        return sum(1 for _ in self.events.iterdir())


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Workload:
    """The same for all workers of pytest: one makes it, the others wait."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder /= "workload"
    try:
        folder.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + PATIENCE
        while not (folder / "made").exists():
            assert time.monotonic() < deadline, "another worker does not get the workload made"
            time.sleep(0.1)
    else:
        make_workload(folder, is_soak=request.config.getoption("--soak"))
        (folder / "made").touch()
    expected = read_ids(folder / "expected")
    counts = Counter(line.split()[0] for line in expected)
    assert len(counts) == 7, f"every query has matches: {counts}"
    assert set(expected.values()) == {1}
    classes = folder / "classes.jsa"
    return Workload(folder / "events", expected, classes if classes.exists() else None)


def make_workload(folder: Path, *, is_soak: bool) -> None:
    """Write the events and the ids of the matches in them, which a batch on Spark finds too."""
    events = write_events(folder / "events", N_SOAK_FILES if is_soak else N_FILES)
    (folder / "expected").write_text("\n".join(find_ids(events)), encoding="utf-8")
    if is_soak:
        detect_in_batch(folder)
        assert read_ids(folder / "ids") == read_ids(folder / "expected")


def find_ids(events: pa.Table) -> list[str]:
    """Return the ids of the matches in events, after the names of their queries."""
    attributes = {"ts": TIMESTAMP, "kind": STRING, "id": LONG, "user": LONG, "x": LONG}
    schema = Schema(attributes, time="ts")
    layout = Layout(
        time="ts",
        type="kind",
        id="id",
        content=None,
        tie=None,
        attributes={name: (name, kind) for name, kind in attributes.items()},
        type_names=tuple("ABCDEFGHZ"),
    )
    plan = optimize(read_queries(QUERIES, schema), schema)
    found = []
    for matches in Executor(Program(plan)).run(ingest(events, layout)):
        names = [f"c{number}" for number in range(len(matches.output.columns))]
        types = dict(zip(names, (column.type for column in matches.output.columns), strict=True))
        batch = emit(matches, names, match_schema(pa.int64(), types))
        found += [f"{matches.output.query} {one}" for one in batch.column("match_id").to_pylist()]
    return found


def detect_in_batch(folder: Path) -> None:
    """Detect on all events with Spark, and keep the classes that Java loads for that."""
    options = {"master": "local[2]", "events": str(folder / "events"), "ids": str(folder / "ids")}
    with running(options, folder / "log", f"-XX:ArchiveClassesAtExit={folder / 'classes.jsa'}") as process:
        assert process.wait(timeout=PATIENCE) == 0, (folder / "log").read_text()[-3000:]
        deadline = time.monotonic() + PATIENCE
        while processes_of(process):  # the JVM writes the archive after the driver has ended
            assert time.monotonic() < deadline, "the JVM does not end"
            time.sleep(0.1)


def write_events(folder: Path, n_files: int) -> pa.Table:
    """Write files in order of arrival: out of order within the watermark, one event in fifty twice.

    The last file has nothing but much later events that no query names: they decide all matches. All events
    are returned, in the order of their times.
    """
    n_events = PER_FILE * n_files
    dice = np.random.default_rng(1)
    ids = np.arange(n_events)
    times = ids * SPACING + dice.integers(0, SPACING, n_events)
    table = event_table(
        ids,
        times,
        pa.array(list("ABCDEFGH")).take(pa.array(dice.integers(0, 8, n_events))),
        dice.integers(0, N_USERS, n_events),
        dice.integers(0, 1000, n_events),
    )
    rows = np.concatenate([ids, np.flatnonzero(dice.random(n_events) < 0.02)])
    arrivals = times[rows] + dice.integers(0, DISORDER, rows.size)
    arrived = table.take(pa.array(rows[np.argsort(arrivals, kind="stable")]))
    cuts = np.linspace(0, arrived.num_rows, n_files).astype(int)
    parts = [arrived.slice(start, stop - start) for start, stop in zip(cuts, cuts[1:], strict=False)]
    after = np.arange(12)
    hour, minute = 3_600_000_000, 60_000_000
    later = int(times[-1]) + hour + after * minute
    parts.append(event_table(n_events + after, later, pa.array(["Z"] * 12), after, after))
    folder.mkdir()
    for number, part in enumerate(parts):
        file = folder / f"{number:04}.parquet"
        pq.write_table(part, file)
        os.utime(file, (1_000_000_000 + number,) * 2)  # Spark reads files in order of their times
    return pa.concat_tables([table, parts[-1]])


def event_table(
    ids: np.ndarray, times: np.ndarray, kinds: pa.Array, users: np.ndarray, x: np.ndarray
) -> pa.Table:
    moments = pa.array(times, pa.timestamp("us", tz="UTC"))
    return pa.table({"ts": moments, "kind": kinds, "id": ids, "user": users, "x": x})


def read_ids(file: Path) -> Counter[str]:
    return Counter(file.read_text().splitlines())


@contextmanager
def running(options: dict[str, object], log: Path, java: str = "") -> Iterator[subprocess.Popen[bytes]]:
    """Start a driver in a session of its own; whatever is left of it at the end is killed.

    `java` is an option for its JVM.
    """
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_SUBMIT_OPTS": java}
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, str(DRIVER), json.dumps(options)],
            stdout=output,
            stderr=output,
            env=environment,
            cwd=log.parent,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            kill_all(process)


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """Kill a driver, its JVM and their workers at once, and wait until none is left.

    Spark's Python workers have a process group of their own, but no session of their own.
    """
    while found := processes_of(process):
        for pid in found:
            kill(pid)
        process.poll()
    process.wait()


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def processes_of(process: subprocess.Popen[bytes]) -> dict[int, tuple[int, str]]:
    """Return the processes of a driver's session that live: id -> (id of the parent, command)."""
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            state, parent, _, session = (place / "stat").read_text().rsplit(")", 1)[1].split()[:4]
            if int(session) == process.pid and state != "Z":
                found[int(place.name)] = (int(parent), (place / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # it has ended
    return found


def python_workers(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the workers: the processes that Spark's Python daemon has forked."""
    found = processes_of(process)
    daemons = {pid for pid, (_, command) in found.items() if "pyspark.daemon" in command}
    return [pid for pid in daemons if found[pid][0] in daemons]


def executors(process: subprocess.Popen[bytes]) -> list[int]:
    return [pid for pid, (_, command) in processes_of(process).items() if "CoarseGrainedExecutor" in command]


@dataclass
class Run:
    """A stream that is started again until it has come to its end."""

    folder: Path
    workload: Workload
    sink: str = "files"
    master: str = "local[2]"
    files_per_batch: int = 1
    killed_within_a_batch: int = 0
    options: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self.options = {
            "master": self.master,
            "events": str(self.workload.events),
            "checkpoint": str(self.folder / "checkpoint"),
            "matches": str(self.folder / "matches"),
            "ids": str(self.folder / "ids"),
            "sink": self.sink,
            "files_per_batch": self.files_per_batch,
        }

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def n_started(self) -> int:
        """The micro-batches that have begun."""
        return self._count("offsets")

    @property
    def n_done(self) -> int:
        """The micro-batches that are committed."""
        return self._count("commits")

    def _count(self, kind: str) -> int:
        place = self.folder / "checkpoint" / kind
        return sum(file.name.isdigit() for file in place.iterdir()) if place.is_dir() else 0

    def driver(self, **changed: object) -> AbstractContextManager[subprocess.Popen[bytes]]:
        """Start a driver of this stream."""
        archive = self.workload.classes
        java = "" if archive is None else f"-XX:SharedArchiveFile={archive}"
        return running({**self.options, **changed}, self.log, java)

    def wait_until(self, process: subprocess.Popen[bytes], condition: Callable[[], bool]) -> None:
        """Wait for progress; a driver that ends before has failed, or has too little to do."""
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert process.poll() is None, f"the driver ended: {self.log.read_text()[-3000:]}"
            assert time.monotonic() < deadline, f"no progress: {self.log.read_text()[-3000:]}"
            time.sleep(0.01)

    def live_and_die(self, dice: random.Random) -> None:
        """Start a driver, and kill it soon after it has begun or finished a batch."""
        with self.driver() as process:
            before = self.n_started + self.n_done
            n_more = dice.choice([1, 1, 2, 3])
            self.wait_until(process, lambda: self.n_started + self.n_done >= before + n_more)
            time.sleep(dice.choice([0.0, dice.uniform(0, 0.3), dice.uniform(0, 1.2)]))
            kill_all(process)
            assert process.returncode == -signal.SIGKILL, "the driver ended before it was killed"
        self.killed_within_a_batch += self.n_started > self.n_done

    def live(self) -> None:
        """Start a driver that nobody kills; it may take larger steps."""
        with self.driver(files_per_batch=8) as process:
            self.finish(process)

    def finish(self, process: subprocess.Popen[bytes]) -> None:
        assert process.wait(timeout=2 * PATIENCE) == 0, self.log.read_text()[-3000:]

    def check(self) -> None:
        """Compare what the stream gave with what detection on all events gives."""
        found, expected = read_ids(self.folder / "ids"), self.workload.expected
        assert not found - expected, f"given twice, or wrong: {list((found - expected).items())[:5]}"
        assert not expected - found, f"lost: {list((expected - found).items())[:5]}"


@apart
@pytest.mark.parametrize("n_kills", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_drivers_killed_at_random(tmp_path: Path, workload: Workload, n_kills: int, count: Count) -> None:
    run, dice = Run(tmp_path, workload), random.Random(n_kills)
    for _ in range(n_kills):
        run.live_and_die(dice)
    assert run.killed_within_a_batch > 0
    assert run.n_done < workload.n_files, "every kill was in the middle of the stream"
    run.live()
    run.check()
    count(kills=n_kills, matches=run.workload.expected.total())


@apart
@pytest.mark.soak
def test_batches_written_under_their_numbers(tmp_path: Path, workload: Workload, count: Count) -> None:
    """The recipe for sinks without transactions: `foreachBatch` and a write that replaces."""
    run, dice = Run(tmp_path, workload, sink="batches", files_per_batch=6), random.Random(8)
    for _ in range(3):
        run.live_and_die(dice)
    run.live()
    run.check()
    count(kills=3, matches=run.workload.expected.total())


@apart
@pytest.mark.soak
def test_python_workers_killed(tmp_path: Path, workload: Workload, count: Count) -> None:
    """Spark runs the tasks again, with new workers, or else the stream goes on from its checkpoint."""
    run = Run(tmp_path, workload, master="local[2,4]", files_per_batch=6)
    with run.driver() as process:
        for n_done in (1, 3, 5):
            run.wait_until(
                process,
                lambda n_done=n_done: (
                    run.n_done >= n_done and run.n_started > run.n_done and bool(python_workers(process))
                ),
            )
            for pid in python_workers(process):
                kill(pid)
        ended = process.wait(timeout=2 * PATIENCE)
    if ended != 0:
        run.live()
    run.check()
    count(kills=3, matches=run.workload.expected.total())


@apart
@pytest.mark.soak
def test_executor_killed(tmp_path: Path, workload: Workload, count: Count) -> None:
    """A cluster of several processes loses one of them."""
    run = Run(tmp_path, workload, master="local-cluster[2,1,1024]", files_per_batch=6)
    with run.driver() as process:
        run.wait_until(process, lambda: run.n_done >= 2 and run.n_started > run.n_done)
        before = executors(process)
        assert len(before) == 2
        kill(before[0])
        run.finish(process)
    run.check()
    count(kills=1, matches=run.workload.expected.total())
