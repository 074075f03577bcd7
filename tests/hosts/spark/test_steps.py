"""Steps in real workers of Spark: they find what was compiled before, and say so if they do not."""

from pathlib import Path

import pytest
from tests.helpers.kernel_folder import KernelFolder

DETECT = """
import os
import weft
from weft.hosts.spark.local import LOG_LEVEL, local_session

os.environ[LOG_LEVEL] = "WARN"  # shows what workers write to their logs
spark = local_session("local[1]")
rows = spark.sql("SELECT id, timestamp_seconds(id) AS ts, 'A' AS type FROM range(3)")
found = weft.detect(rows, "PATTERN A a", time="ts", type="type", id="id", partitions=1, notices=False)
print(found.count())
spark.stop()
"""
SAID = "kernels of Weft are compiled in a worker of Spark"


@pytest.mark.spark
@pytest.mark.soak
def test_a_worker_says_that_it_compiles_and_keeps_what_it_compiled(tmp_path: Path) -> None:
    folder = KernelFolder(tmp_path)
    shown, told = folder.run("-c", DETECT)
    assert shown.split() == ["3"]
    assert told.count(SAID) == 1
    shown, told = folder.run("-c", DETECT)
    assert shown.split() == ["3"]
    assert SAID not in told
