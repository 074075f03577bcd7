"""Make the stored checkpoint of the tests: python -m tests.helpers.make_checkpoint [FILE].

To be run once for each version of the state, with the Weft that writes it. A checkpoint that is stored
stays as it is: it stands for the streams that people have running.
"""

import json
import random
import sys
import tarfile
import tempfile
from pathlib import Path

from pyspark.sql import DataFrame, Row, SparkSession

import weft
from weft.codec import VERSION
from weft.hosts.spark.local import local_session

PLACE = b"/weft-stored-checkpoint"  # stands for the folder, which Spark writes into its logs
STORED = Path(__file__).parents[1] / "hosts" / "spark" / "checkpoints" / f"v{VERSION}.tar.gz"
SCHEMA = (
    "id long, ts timestamp, type string, user string, "
    "amount double, price decimal(10,2), day date, ok boolean"
)
QUERIES = """
QUERY takeover
PATTERN SEQ(PasswordChange p, NOT SupportCall c, Transfer t)
WHERE [user] AND t.amount > p.amount AND t.price >= p.price
WITHIN 1 hour
RETURN p.user AS user, p.amount AS before, t.amount AS amount, p.day AS day, p.ok AS ok

QUERY spree
PATTERN SEQ(Transfer{2,3} t[], Logout l)
WHERE [user]
WITHIN 1 hour
RETURN COUNT(t) AS n

QUERY anyone
PATTERN SEQ(PasswordChange a, Logout b)
WITHIN 30 minutes

QUERY counted
PATTERN SEQ(Transfer a, Transfer b)
WITHIN 3 EVENTS
"""
KINDS = ("PasswordChange", "Transfer", "Transfer", "Transfer", "Login", "Login", "SupportCall", "Logout")
SEED = 30
USERS = ("ann", "bob", "cid")
WATERMARK = "1 minute"
N_STORED, N_ALL, PER_FILE = 48, 96, 12


def rows_between(first: int, last: int) -> list[tuple[object, ...]]:
    """Return events as text, one every 50 seconds, the same ones in every run; some values are missing."""
    rows: list[tuple[object, ...]] = []
    for number in range(first, last):
        dice = random.Random(f"{SEED} {number}")
        days, seconds = divmod(50 * number, 86_400)
        clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        amount = None if dice.random() < 0.1 else float(dice.randint(1, 99))
        price, day = f"{dice.randint(0, 9)}.25", f"2026-03-{dice.randint(1, 28):02d}"
        kind, user, ok = dice.choice(KINDS), dice.choice(USERS), dice.random() < 0.5
        rows.append((number, f"2026-03-{2 + days:02d} {clock}", kind, user, amount, price, day, ok))
    return rows


def write_events(spark: SparkSession, folder: Path, first: int, last: int) -> None:
    """Add files of a few events each; only Parquet keeps every type."""
    text = "id long, ts string, type string, user string, amount double, price string, day string, ok boolean"
    for start in range(first, last, PER_FILE):
        rows = spark.createDataFrame(rows_between(start, min(start + PER_FILE, last)), text)
        typed = rows.selectExpr(
            "id",
            "to_timestamp(ts) AS ts",
            "type",
            "user",
            "amount",
            "CAST(price AS decimal(10,2)) AS price",
            "CAST(day AS date) AS day",
            "ok",
        )
        typed.coalesce(1).write.mode("append").parquet(str(folder))


def run_stream(spark: SparkSession, folder: Path) -> list[Row]:
    """Run the workload over what is new in the events of a folder, with the state beside them."""
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 2).parquet(str(folder / "events"))
    matches = weft.detect(
        events,
        QUERIES,
        time="ts",
        type="type",
        id="id",
        watermark=WATERMARK,
        streaming=weft.Streaming(checkpoint=str(folder / "state")),
        planning=weft.Planning(plan="share"),
    )
    found: list[Row] = []

    def collect(rows: DataFrame, _: int) -> None:
        found.extend(rows.collect())

    running = (
        matches.writeStream.foreachBatch(collect)
        .option("checkpointLocation", str(folder / "state"))
        .trigger(availableNow=True)
        .start()
    )
    running.awaitTermination()
    return found


def store(folder: Path, target: Path) -> None:
    """Put a folder into a file, without sums that Hadoop makes anew and without the name of the folder."""
    for sums in folder.rglob("*.crc"):
        sums.unlink()
    _replace(folder, str(folder).encode(), PLACE)
    target.parent.mkdir(exist_ok=True)
    with tarfile.open(target, "w:gz") as archive:
        for part in sorted(folder.iterdir()):
            archive.add(part, part.name, filter=_anonymous)


def restore(stored: Path, folder: Path) -> None:
    """Unpack a stored checkpoint into a folder, and tell Spark's logs where they are now."""
    with tarfile.open(stored) as archive:
        archive.extractall(folder, filter="data")
    _replace(folder, PLACE, str(folder).encode())


def _replace(folder: Path, old: bytes, new: bytes) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and old in path.read_bytes():
            path.write_bytes(path.read_bytes().replace(old, new))


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    return entry


def main(target: Path) -> None:
    """Run the stored part of the events, and put the checkpoint into a file with them."""
    spark = local_session("local[2]", name="make checkpoint")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_events(spark, folder / "events", 0, N_STORED)
        found = sorted(row["match_id"] for row in run_stream(spark, folder))
        (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")
        store(folder, target)
    spark.stop()
    print(f"{target}: {target.stat().st_size:,} bytes, {len(found)} matches found so far")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else STORED)
