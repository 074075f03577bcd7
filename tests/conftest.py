"""What every test shares: one Spark session, fixed seeds, what is long, and a count of what was done."""

import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession
from tests.helpers.tally import PREFIX, Count, totals

from weft.hosts.spark.local import local_session

settings.register_profile("weft", deadline=None, derandomize=True)
settings.load_profile("weft")

# Most of the time of a short run goes to compiling Java; so does that of the processes that tests start.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

TWO_PARTITIONS = "spark.sql.shuffle.partitions", "2"
# Spark generates and compiles Java for each of its stages; on a few rows that takes longer than all the rest.
# A soak does it, and so do the processes that tests start.
NO_CODE = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("weft")
    group.addoption("--soak", action="store_true", help="run the long tests, and no others")
    group.addoption("--update", action="store_true", help="write what tests/cases expect, by the reference")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put the tests that share the session into one group, before pytest-xdist asks for it."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.spark)
        item.add_marker(pytest.mark.xdist_group("spark"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is too long or too short, and order the rest.

    First come tests of kernels: one that has changed since set-up is compiled there, and not by each of
    Spark's own processes for itself. All tests that share the session are one group,
    which one worker then begins with; the other one goes on with tests that start Spark on their own and take
    long. At the end are many short ones, of which both workers take some.
    """
    wanted, others = [], []
    for item in items:
        is_long = item.get_closest_marker("soak") is not None
        (wanted if is_long == config.getoption("--soak") else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = sorted(wanted, key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.nodeid.startswith(("tests/kernels/", "tests/runtime/")):
        return 0
    return 1 if item.get_closest_marker("spark") is not None else 2


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """Two cores, two shuffle partitions, no UI, UTC; one for all workers of pytest."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        (tmp_path_factory.getbasetemp().parent / "spark").mkdir()  # a second session would double the time
    session = local_session("local[2]", name="weft tests")
    session.conf.set(*TWO_PARTITIONS)
    if not request.config.getoption("--soak"):
        for name, value in NO_CODE.items():
            session.conf.set(name, value)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _two_shuffle_partitions(request: pytest.FixtureRequest) -> None:
    """Undo what a command set that another test ran: it takes the session that is there, and sets its own."""
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").conf.set(*TWO_PARTITIONS)


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Count:
    """Count what a test did, for the summary: `count(cases=20, matches=91)`."""

    def add(**numbers: int) -> None:
        request.node.user_properties.extend((PREFIX + name, number) for name, number in numbers.items())

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the tests did together."""
    done = totals(terminalreporter.getreports("passed") + terminalreporter.getreports("failed"))
    if done:
        counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in sorted(done.items()))
        terminalreporter.write_line(f"{counts}; {time.monotonic() - STARTED:,.0f} seconds")
