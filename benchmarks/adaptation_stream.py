"""What it costs a stream on Spark to watch its statistics, as a share of the time of its batches."""

import statistics
from pathlib import Path

from contest import Say
from generate import EVENTS_PER_FILE
from measures import Measure
from ratios import prepared
from stream_runs import BATCH_EVENTS, PARTITIONS, WATERMARK, arriving, drained, in_order, reports_in, scratch
from stream_runs import stream_session as session
from workloads import Workload

import weft

MOST_SHARE = 1.0  # percent


def measure_watched_stream(place: Path, workload: Workload, repeat: int, say: Say) -> list[Measure]:
    """Run a stream that adapts its plan; batches after the first count, with which the operator starts."""
    spark, place = session(), in_order(place)
    known = prepared(spark.read.parquet(str(place)), workload).statistics
    spark.conf.set(PARTITIONS, "1")  # these queries share one shard
    shares, shares_of_steps, n_changes = [], [], 0
    for number in range(repeat + 1):  # the first round warms up
        with scratch() as directory:
            stream = weft.prepare(
                arriving(spark, place, BATCH_EVENTS // EVENTS_PER_FILE),
                workload.text,
                time="ts",
                type="type",
                id="id",
                watermark=WATERMARK,
                planning=weft.Planning(statistics=known),
                streaming=weft.Streaming(adapt="invariants"),
            )
            query = drained(stream.matches, directory / "state")
        batches = [progress for progress in query.recentProgress if progress.numInputRows][1:]
        reports = [report for progress in batches for report in reports_in(progress)]
        adapting = sum(report["adapting"] for report in reports)
        seconds = sum(progress.durationMs["triggerExecution"] for progress in batches) / 1000
        shares.append(100 * adapting / seconds)
        shares_of_steps.append(100 * adapting / sum(report["seconds"] for report in reports))
        n_changes = sum(len(report["changes"]) for report in reports)
        say(f"adaptation-stream {number}/{repeat}: {shares[-1]:.2f} % of {seconds:.1f} s")
    section = "adaptation-stream"
    return [
        Measure(section, "time for adapting", statistics.median(shares[1:]), "%", at_most=MOST_SHARE),
        Measure(section, "of the steps of the shard alone", statistics.median(shares_of_steps[1:]), "%"),
        Measure(section, "changes of the plan", n_changes),
    ]
