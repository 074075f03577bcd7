"""Start a Spark session on this machine, with the settings under which Weft runs well."""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import IO

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from weft.errors import WeftError
from weft.hosts.spark.java import OLDEST_JAVA, find_java

GIGABYTE = 1 << 30
WORKER_PYTHON = "spark.sql.execution.pyspark.python"  # the interpreter of the workers, of a session that runs
LOG_LEVEL = "WEFT_SPARK_LOG"  # the environment variable that lets Spark log, at the level it names
NO_JAVA = (
    f"Spark needs Java {OLDEST_JAVA} or newer and none was found.\n"
    "  hint: install one (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to where it is"
)


def local_session(master: str = "local[*]", *, name: str = "weft") -> SparkSession:
    """Return a quiet Spark session in UTC; Python workers use this very interpreter.

    Raises
    ------
    WeftError
        When there is no Java that can run Spark; the message says how to get one.
    """
    _prepare_environment()
    log_settings = files("weft.hosts.spark") / "log4j2.properties"
    settings = {
        "spark.driver.memory": f"{driver_gigabytes(_physical_memory())}g",
        "spark.driver.extraJavaOptions": f'"-Dlog4j2.configurationFile={log_settings}"',
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # More than there are cores, so that Spark can merge them to tasks of equal size.
        "spark.sql.shuffle.partitions": str(16 * local_cores(master)),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # Spark checks what a checkpoint holds itself. Without this, each of its files has a second one for
        # Hadoop's checksum, which is never computed, and ten processes are started to write the two.
        "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    }
    builder = SparkSession.Builder().master(master).appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _jvm_output() as output:
        try:
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            raise WeftError(f"Spark does not start: {start_failure(output()) or error}") from None


def use_this_python(spark: SparkSession) -> None:
    """Let the Python workers of a session on this machine use this interpreter, unless another was chosen.

    Otherwise they take the `python3` of the PATH, which need not have Weft. The machines of a cluster, or of
    a Connect server, have interpreters of their own.
    """
    if os.environ.get("PYSPARK_PYTHON"):
        return
    if any(spark.conf.get(name, None) for name in (WORKER_PYTHON, "spark.pyspark.python")):
        return
    is_here = "SPARK_LOCAL_REMOTE" in os.environ or not is_connect(spark)
    if is_here and (spark.conf.get("spark.master", None) or "").startswith("local"):
        spark.conf.set(WORKER_PYTHON, sys.executable)


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session speaks to Spark over the network, by Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def start_failure(output: str) -> str:
    r"""Return what the JVM said when it did not start, without warnings and stack traces.

    >>> start_failure('WARNING: incubator\nException in thread "main" a.b.E: no such master\n\tat a.b.C')
    'no such master'
    """
    lines = (line for line in output.splitlines() if not line.startswith(("\t", "  ", "WARNING: ")))
    return "\n  ".join(re.sub(r'^Exception in thread "main" [\w.$]+: ', "", line) for line in lines)


def driver_gigabytes(physical_bytes: int) -> int:
    """Return a quarter of the machine's memory in whole gigabytes, at least 1 and at most 8.

    >>> driver_gigabytes(16 * GIGABYTE), driver_gigabytes(2 * GIGABYTE), driver_gigabytes(256 * GIGABYTE)
    (4, 1, 8)
    """
    return min(8, max(1, physical_bytes // (4 * GIGABYTE)))


def local_cores(master: str) -> int:
    """Return how many cores a local master uses; any other master counts as this machine's cores.

    >>> local_cores("local[3]"), local_cores("local")
    (3, 1)
    """
    if master == "local":
        return 1
    limited = re.fullmatch(r"local\[(\d+)(?:,.*)?\]", master)
    return int(limited.group(1)) if limited else os.cpu_count() or 1


@contextmanager
def _jvm_output() -> Iterator[Callable[[], str]]:
    """Keep what the JVM prints off the terminal; yield a function that tells what it has printed.

    The JVM inherits the descriptors of standard output and error once, when it starts. With
    WEFT_SPARK_LOG set, both go to standard error instead.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    with tempfile.TemporaryFile() as kept:
        target = saved[1] if LOG_LEVEL in os.environ else kept.fileno()
        os.dup2(target, 1)
        os.dup2(target, 2)
        try:
            yield lambda: _whole_text(kept)
        finally:
            for descriptor, original in zip((1, 2), saved, strict=True):
                os.dup2(original, descriptor)
                os.close(original)


def _whole_text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _prepare_environment() -> None:
    """Point Spark to a Java that works, and its Python workers to this interpreter."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    home = find_java()
    if home is None:
        raise WeftError(NO_JAVA)
    os.environ["JAVA_HOME"] = str(home)
