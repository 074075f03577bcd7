"""Weft and Flink CEP on the same queries and events, each from a file to matches that are counted."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from flink_cep import Flink, FlinkQuery, Matches, Step, flink_query, why_no_flink
from generate import events_parquet
from logins import FAILURE, LOGIN, login_events
from measures import Measure
from next_queries import ONE_BY_ONE_FROM_FIRST, login_workload, with_clauses
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from ratios import count_matches, prepared, seconds_to_discard
from result_tables import Row, report_table
from workloads import Workload, keyed, queries20, queries100

MOST_COMPARED = 20_000  # events of which matches are compared one by one

Say = Callable[[str], None]


@dataclass(frozen=True)
class Contest:
    """A workload as both systems have it, and as many events as Flink has the time for."""

    workload: Workload
    queries: tuple[FlinkQuery, ...]
    n_events: int
    events: Callable[[int], pa.Table]

    @property
    def name(self) -> str:
        return self.workload.name


def contests(n_events: int) -> tuple[Contest, ...]:
    """Return what is compared; twenty sequences get `n_events`, less work gets more events."""
    return (
        _of_sequences(_one_sequence(), 5 * n_events),
        _of_sequences(queries20(), n_events),
        _of_sequences(queries100(), n_events // 2),
        Contest(_from_first(keyed()), (keyed_query(),), 5 * n_events, stream_events),
        _of_logins("logins of 1,000 users", n_events, 1000, 20),
        _of_logins("failures of one user", n_events // 400, 1, None),
    )


def _one_sequence() -> Workload:
    one = queries20().sequences[:1]
    return replace(queries20(), name="1 sequence", types=tuple(sorted(one[0].types)), sequences=one)


def _of_sequences(workload: Workload, n_events: int) -> Contest:
    queries = tuple(map(flink_query, workload.sequences))
    return Contest(with_clauses(workload, ONE_BY_ONE_FROM_FIRST), queries, n_events, stream_events)


def _from_first(workload: Workload) -> Workload:
    return replace(workload, text=f"{workload.text}\n{ONE_BY_ONE_FROM_FIRST}")


def keyed_query() -> FlinkQuery:
    """Return the keyed sequence for Flink."""
    steps = (Step("T00"), Step("T01"), Step("T02", 1, 0, ">", 1.1))
    return FlinkQuery("keyed", steps, 600_000_000, is_keyed=True)


def _of_logins(name: str, n_events: int, n_users: int, failures: int | None) -> Contest:
    query = FlinkQuery("login", (Step(FAILURE, 5), Step(LOGIN)), 60_000_000, is_keyed=True)
    workload = replace(login_workload("1 minute"), name=name)
    return Contest(
        workload, (query,), n_events, lambda n: login_events(n, n_users=n_users, failures=failures)
    )


def stream_events(n_events: int) -> pa.Table:
    """Return the first events of the stream of the other sections."""
    return pq.read_table(events_parquet(n_events))


def measure_flink(
    session: Callable[[], SparkSession], n_events: int, n_all: int, repeat: int, say: Say
) -> list[Measure]:
    """Return events per second of both, on events for which Flink has the time, and of Weft on all."""
    missing = why_no_flink()
    if missing is not None:
        return [Measure("flink", "Flink CEP", missing)]
    rows: list[Row] = []
    for one in contests(n_events):
        with tempfile.TemporaryDirectory(prefix="weft-flink-") as place:
            rows.append(_contest_row(session(), one, Path(place), repeat))
        say(f"flink: {rows[-1]}")
    report_table("flink", rows)
    gains = [Measure("flink", f"{row['workload']}: Weft / Flink", row["Weft / Flink"]) for row in rows]
    return [*gains, *_on_all(session(), n_all, repeat)]


def _contest_row(spark: SparkSession, contest: Contest, place: Path, repeat: int) -> Row:
    """Compare the matches of a few events, the numbers of matches of all, and the best times."""
    rows, flink = contest.events(contest.n_events), Flink(place)
    few = rows.slice(0, MOST_COMPARED)
    check_equal(contest, weft_matches(spark, contest, few, place), flink.find(contest.queries, few))
    pq.write_table(rows, place / "all.parquet")
    events = spark.read.parquet(str(place / "all.parquet"))
    counts = count_matches(events, contest.workload)
    ours = min(seconds_to_discard(events, contest.workload) for _ in range(repeat))
    theirs = flink.run(contest.queries, rows, repeat=1 + repeat)
    if +theirs.counts != counts:
        raise RuntimeError(f"Flink counts {theirs.counts} matches of {contest.name}, Weft {counts}")
    n, seconds = rows.num_rows, min(theirs.seconds)
    return {
        "workload": contest.name,
        "events": n,
        "matches": counts.total(),
        "Flink, events per second": round(n / seconds),
        "Weft": round(n / ours),
        "Weft / Flink": round(seconds / ours, 1),
    }


def weft_matches(spark: SparkSession, contest: Contest, rows: pa.Table, place: Path) -> dict[str, Matches]:
    """Return what Weft finds for each query."""
    pq.write_table(rows, place / "few.parquet")
    found = prepared(spark.read.parquet(str(place / "few.parquet")), contest.workload).matches
    matches: dict[str, Matches] = {query.name: set() for query in contest.queries}
    for query, ids in found.select("query", F.col("events.id")).collect():
        matches[query].add(tuple(ids))
    return matches


def check_equal(contest: Contest, ours: dict[str, Matches], theirs: dict[str, Matches]) -> None:
    """Refuse to compare the speed of two that do not find the same."""
    for name, own in ours.items():
        other = theirs.get(name, set())
        if own != other:
            alone = f"Weft alone finds {sorted(own - other)[:3]}, Flink alone {sorted(other - own)[:3]}"
            raise RuntimeError(f"{contest.name}, {name}: {alone}")


def _on_all(spark: SparkSession, n_all: int, repeat: int) -> list[Measure]:
    """Return Weft's speed on the events of the other sections, for which Flink has no time."""
    events, found = spark.read.parquet(str(events_parquet(n_all))), []
    for workload in (with_clauses(one, ONE_BY_ONE_FROM_FIRST) for one in (queries20(), queries100())):
        count_matches(events, workload)
        best = min(seconds_to_discard(events, workload) for _ in range(repeat))
        found.append(Measure("flink", f"{workload.name}: Weft on all events", n_all / best, "1/s"))
    return found
