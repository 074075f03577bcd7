"""Start a Kafka broker of one node for a test, where its jars can be had."""

import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pyspark import __version__ as spark_version

from weft.hosts.spark.java import find_java

KAFKA = "3.9.1"  # the clients that the connectors below are made for
CONNECTORS = (
    (spark_version, spark_version),  # the connector and its token provider as they should be
    ("4.2.0", "4.0.0"),  # the newest pair in the repositories, which works with the Spark of today
)
MOST_SECONDS = 120  # for a download
START_SECONDS = 60
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion>
<groupId>weft</groupId><artifactId>weft-test</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>{dependencies}</dependencies>
</project>
"""
ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={logs}
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class NotToBeHadError(Exception):
    """Something that the test needs and this machine cannot get."""


@dataclass(frozen=True)
class Jars:
    """What Spark needs to read Kafka, and what a broker needs to run."""

    spark: tuple[str, ...]
    broker: tuple[str, ...]


def fetch_jars() -> Jars:
    """Return the jars from Maven's cache, which is filled on the first call."""
    broker = _class_path([("org.apache.kafka", "kafka_2.13", KAFKA), ("org.slf4j", "slf4j-simple", "1.7.36")])
    clients = [jar for jar in broker if Path(jar).name.startswith("kafka-clients-")]
    reasons = []
    for connector, provider in CONNECTORS:
        wanted = [
            ("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector),
            ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", provider),
            ("org.apache.commons", "commons-pool2", "2.12.1"),
        ]
        try:
            return Jars((*_class_path(wanted, is_alone=True), *clients), broker)
        except NotToBeHadError as error:
            reasons.append(str(error))
    raise NotToBeHadError("; ".join(reasons))


def _class_path(artifacts: Sequence[tuple[str, str, str]], *, is_alone: bool = False) -> tuple[str, ...]:
    """Return the jars of artifacts, with those they depend on unless they are to stand alone."""
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"{ALONE if is_alone else ''}</dependency>"
        for group, name, version in artifacts
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pom.xml").write_text(POM.format(dependencies=dependencies), encoding="utf-8")
        if not any(_maven(Path(folder), *mode) for mode in (["-o"], [])):  # from its cache, if all is there
            raise NotToBeHadError(f"Maven has no {' '.join(artifacts[0])} here, or not all that goes with it")
        return tuple(Path(folder, "jars").read_text(encoding="utf-8").strip().split(os.pathsep))


def _maven(folder: Path, *mode: str) -> bool:
    """Have Maven write the class path of the project in a folder; return whether it could."""
    command = ["mvn", "-q", "-B", *mode, "dependency:build-classpath", "-DincludeScope=runtime"]
    try:
        run = subprocess.run(
            [*command, "-Dmdep.outputFile=jars"],
            cwd=folder,
            capture_output=True,
            timeout=MOST_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise NotToBeHadError("there is no Maven to fetch the jars of Kafka") from None
    except subprocess.TimeoutExpired:
        raise NotToBeHadError(f"Maven did not fetch the jars of Kafka within {MOST_SECONDS} s") from None
    return run.returncode == 0


@contextmanager
def running_broker(jars: Sequence[str], folder: Path) -> Iterator[str]:
    """Yield the address of a broker that keeps everything in a folder and ends with the block."""
    port, controller = _free_ports(2)
    settings = folder / "server.properties"
    logs = folder / "logs"
    settings.write_text(
        PROPERTIES.format(port=port, controller=controller, logs=logs.as_posix()), encoding="utf-8"
    )
    home = find_java()
    if home is None:
        raise NotToBeHadError("there is no Java to run Kafka")
    java = [str(Path(home, "bin", "java")), "-Xmx384m", "-cp", os.pathsep.join(jars)]
    output = folder / "broker.log"
    with output.open("w", encoding="utf-8") as log:
        identity = "".join(("weft-test-", uuid4().hex))[:22]
        storage = ["kafka.tools.StorageTool", "format", "-t", identity, "-c", str(settings)]
        subprocess.run([*java, *storage], stdout=log, stderr=log, check=True, timeout=START_SECONDS)
        broker = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=log, cwd=folder)
        try:
            _wait_until_open(port, broker, output)
            yield f"127.0.0.1:{port}"
        finally:
            broker.terminate()
            try:
                broker.wait(20)
            except subprocess.TimeoutExpired:
                broker.kill()
                broker.wait()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def _wait_until_open(port: int, broker: "subprocess.Popen[bytes]", output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and broker.poll() is None:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    said = output.read_text(encoding="utf-8")[-3000:]
    raise AssertionError(f"the broker did not start:\n{said}")
