"""What every test shares: one Spark session, and fixed seeds."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from weft.hosts.spark.local import local_session

settings.register_profile("weft", deadline=None, derandomize=True)
settings.load_profile("weft")

# Most of the time of a short run goes to compiling Java; so does that of the processes that tests start.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


TWO_PARTITIONS = "spark.sql.shuffle.partitions", "2"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use Spark, and put all tests in an order in which two workers are soon done.

    Tests without Spark come first: they compile the kernels, which each of Spark's own workers would do for
    itself as long as they are not there. They begin at both ends of the tree, so that what one worker
    compiles is there when the other comes to it. Then come groups, which take long on one worker.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
    apart, spark, others = [], [], []
    for item in items:
        (apart if _has(item, "xdist_group") else spark if _has(item, "spark") else others).append(item)
    both_ends = [item for pair in zip(others, reversed(others), strict=True) for item in pair]
    items[:] = [*dict.fromkeys(both_ends), *apart, *spark]


def _has(item: pytest.Item, name: str) -> bool:
    return item.get_closest_marker(name) is not None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two shuffle partitions, no UI, UTC."""
    session = local_session("local[2]", name="weft tests")
    session.conf.set(*TWO_PARTITIONS)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _two_shuffle_partitions(request: pytest.FixtureRequest) -> None:
    """Undo what a command set that another test ran: it takes the session that is there, and sets its own."""
    if "spark" in request.fixturenames:
        request.getfixturevalue("spark").conf.set(*TWO_PARTITIONS)
