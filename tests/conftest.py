"""What every test shares: one Spark session, and fixed seeds."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from weft.spark.local import local_session

settings.register_profile("weft", deadline=None, derandomize=True)
settings.load_profile("weft")

# Most of the time of a short run goes to compiling Java; so does that of the processes that tests start.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use Spark, and keep them on one worker, which has the only session, unless they say.

    They come first: what takes long on one worker should not begin when the others are about to end.
    """
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("spark") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("spark"))
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two cores, two shuffle partitions, no UI, UTC."""
    session = local_session("local[2]", name="weft tests")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()
