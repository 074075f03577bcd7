"""What is told when kernels have to be compiled while somebody waits, in processes that begin without any."""

import json
import sys
from pathlib import Path

import pytest
from tests.helpers.kernel_folder import KernelFolder

from weft.api.compilation import COMPILATION

pytestmark = pytest.mark.xdist_group("compilation")  # its tests share a folder, in which few kernels suffice

PREPARE = """
import sys
from datetime import UTC, datetime
import pyarrow as pa
import weft

def prepare(query, notices=True):
    times = [datetime(2026, 3, 1, 10, minute, tzinfo=UTC) for minute in range(4)]
    rows = pa.table({"ts": times, "type": list("ABAB"), "id": range(4)})
    return weft.prepare(rows, query, time="ts", type="type", id="id", planning=PLANNING, notices=notices)

def say(*what):
    print(*what, file=sys.stderr)

PLANNING = weft.Planning(plan="trivial")
"""
TWICE = """
for query in ("PATTERN A a", "PATTERN SEQ(A a, B b) WITHIN 1 hour"):
    detection = prepare(query)
    say("prepared", *(notice.kind for notice in detection.notices))
    found = len(detection.matches)
    say(f"found {found};", *(notice.kind for notice in detection.notices))
"""
OTHERS = """
import numba
say(numba.njit(lambda number: number + 1)(1))
"""
QUIET = """
detection = prepare("PATTERN A a", notices=False)
say(f"found {len(detection.matches)};", *(notice.kind for notice in detection.notices))
"""
WORKER = """
from weft.hosts.host import RunOptions
from weft.hosts.local.run import GroupRun
from weft.hosts.spark.steps import BatchStep

detection = prepare("PATTERN A a", notices=False)
group = GroupRun.of(detection._match_work[0], detection.source, detection._options)
rows = [group.wire.events_of(rows)[0] for rows in detection.source.rows.batches(group.wire.read_columns)]
for _ in range(2):
    n_found = sum(batch.num_rows for batch in BatchStep(group.task)(iter(rows)))
    say("found", n_found)
"""
KERNEL = "identity.hash_bindings"  # is soon compiled, and called for every match
COLUMNS = ("--time", "ts", "--type", "type", "--id", "id")
REASON = COMPILATION.reason


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[KernelFolder, list[str]]:
    """A folder of kernels, and what the process said that had to compile them."""
    folder = KernelFolder(tmp_path_factory.mktemp("kernels"))
    return folder, said(folder, TWICE)


@pytest.fixture
def folder(first: tuple[KernelFolder, list[str]]) -> KernelFolder:
    """A folder in which there are the kernels that the queries of these tests call."""
    return first[0]


def said(folder: KernelFolder, script: str) -> list[str]:
    """Return the lines that a script writes to standard error."""
    return folder.run("-c", PREPARE + script)[1].splitlines()


def test_compilation_is_told_once_before_the_result(first: tuple[KernelFolder, list[str]]) -> None:
    _, lines = first
    line = PREPARE.count("\n") + 1 + TWICE[: TWICE.index("detection.matches")].count("\n")
    assert lines == [
        "prepared",
        f"<string>:{line}: NoticeWarning: {REASON}",
        f"  hint: {COMPILATION.remedy}",
        "found 2; compilation",
        "prepared",
        "found 3; compilation",
    ]


def test_neither_what_was_compiled_before_nor_functions_of_others_are_told(folder: KernelFolder) -> None:
    assert said(folder, TWICE + OTHERS) == ["prepared", "found 2;", "prepared", "found 3;", "2"]


def test_compilation_may_be_kept_quiet(folder: KernelFolder) -> None:
    folder.forget(KERNEL)
    assert said(folder, QUIET) == ["found 2; compilation"]


def test_a_worker_of_spark_says_so_once(folder: KernelFolder) -> None:
    folder.forget(KERNEL)
    told, *found = said(folder, WORKER)
    assert told.startswith("kernels of Weft are compiled in a worker of Spark")
    assert sys.executable in told
    assert found == ["found 2", "found 2"]


def test_commands_say_so_once_before_they_answer(folder: KernelFolder, tmp_path: Path) -> None:
    queries, events = tmp_path / "q.weft", tmp_path / "e.csv"
    queries.write_text("QUERY q PATTERN A a")
    events.write_text("ts,type,id\n2026-03-01 10:00:00,A,1\n2026-03-01 10:01:00,B,2\n")
    command = ("run", str(queries), str(events), *COLUMNS, "--plan", "trivial")
    folder.forget(KERNEL)
    shown, told = folder.weft(*command, "--json")
    assert told.splitlines() == [f"notice: {REASON}", f"  hint: {COMPILATION.remedy}"]
    assert [notice["kind"] for notice in json.loads(shown)["notices"]] == ["compilation"]
    folder.forget(KERNEL)
    shown, told = folder.weft(*command, "--json", "--no-notices")
    assert (told, json.loads(shown)["matches"]) == ("", {"q": 1})
