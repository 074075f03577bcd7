"""Which interpreter the Python workers of Spark use."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from weft.hosts.spark.java import find_java
from weft.hosts.spark.local import WORKER_PYTHON, use_this_python

SCRIPT = """
from pyspark.sql import SparkSession

session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

import weft

rows = [(1, "A"), (2, "B"), (3, "B")]
events = session.createDataFrame(rows, "at long, type string").selectExpr("timestamp_seconds(at) ts", "type")
print("matches:", weft.detect(events, "PATTERN SEQ(A a, B b) WITHIN 1 hour", time="ts", type="type").count())
"""


class Session:
    """A session of which only the settings matter."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self.settings = dict(settings)

    @property
    def conf(self) -> "Session":
        return self

    def get(self, name: str, default: str | None) -> str | None:
        return self.settings.get(name, default)

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value


def chosen(**settings: str) -> str | None:
    """Return the interpreter of the workers of a session with these settings."""
    session = Session({name.replace("_", "."): value for name, value in settings.items()})
    use_this_python(cast(SparkSession, session))
    return session.get(WORKER_PYTHON, None)


def test_workers_on_this_machine_use_this_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert chosen(spark_master="local[2]") == sys.executable
    assert chosen(spark_master="spark://host:7077") is None


def test_an_interpreter_that_was_chosen_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert chosen(spark_master="local", spark_pyspark_python="/opt/python") is None
    assert chosen(spark_master="local", spark_sql_execution_pyspark_python="/opt/python") == "/opt/python"
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert chosen(spark_master="local") is None


@pytest.mark.spark
def test_a_script_of_an_environment_that_is_not_activated(tmp_path: Path) -> None:
    """The session is the user's own, and the `python3` of the PATH has no Weft."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(Path(sys.base_prefix) / "bin" / "python3")
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "JAVA_HOME": str(find_java()),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    imports = [tmp_path / "bin" / "python3", "-c", "import numba"]
    plain = subprocess.run(imports, env=environment, capture_output=True, check=False)
    assert plain.returncode  # otherwise this shows nothing
    ran = subprocess.run(
        [sys.executable, tmp_path / "script.py"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert "matches: 2" in ran.stdout, ran.stderr
