"""Adaptive against static, as users run it: through a stream of Spark, and beside it on the engine alone.

Nothing is set but how the plan is adapted, and what is known before the stream starts. The best threshold is
found on the engine. A plan with hindsight knows the statistics of the whole stream, and stays.
"""

from collections.abc import Mapping, Sequence
from statistics import median

from adaptation_spark import Drifting, SparkRun, run_stream
from adaptation_user_streams import flipping, reshuffled, sensors
from adaptation_workloads import HINDSIGHT, SharedRun, check_found, cut, run_shared
from contest import Say
from measures import Measure
from result_tables import Row, report_table
from stream_runs import PARTITIONS, scratch, stream_session
from traffic import why_not

import weft
from weft.adaptation.settings import Adaptation

SHARES = (0.2, 0.5, 2.0)
STATIC, ADAPTIVE, THRESHOLD, UNCONDITIONAL = "static", "default", "best threshold", "unconditional"
LEAST_SHARE, HINDSIGHT_GAIN, LEAST_GAIN, LEAST_OVER_THRESHOLD = 0.99, 2.5, 2.0, 1.3
MOST_SECONDS = 45.0  # of a run on the engine, which is stopped then
WARM_BATCHES = 2

Runs = Mapping[str, Sequence[SparkRun]]


def measure_flip(seconds: float, repeat: int, say: Say) -> list[Measure]:
    """One query whose rates flip."""
    return measure_drifting(flipping(seconds), repeat, say)


def measure_shared(seconds: float, repeat: int, say: Say) -> list[Measure]:
    """A hundred patterns whose rates are reshuffled."""
    return measure_drifting(reshuffled(seconds), repeat, say, over_threshold=LEAST_OVER_THRESHOLD)


def measure_sensors(days: float, repeat: int, say: Say) -> list[Measure]:
    """A hundred patterns on real traffic with all sensors; without the observations, say so."""
    reason = why_not()
    if reason is not None:
        return [Measure("adaptation-users, sensors", "the observations", reason)]
    return measure_drifting(sensors(days), repeat, say)


def measure_calm(flip_seconds: float, shared_seconds: float, repeat: int, say: Say) -> list[Measure]:
    """Streams without drift: nothing is to be gained, and nothing may be lost."""
    streams = (flipping(flip_seconds, is_calm=True), reshuffled(shared_seconds, is_calm=True))
    return [measure for one in streams for measure in measure_drifting(one, repeat, say, is_calm=True)]


def measure_drifting(
    drifting: Drifting, repeat: int, say: Say, *, over_threshold: float | None = None, is_calm: bool = False
) -> list[Measure]:
    """Compare the methods on a stream, on the engine and on Spark."""
    section = f"adaptation-users, {drifting.name}"
    methods = {STATIC: Adaptation("off"), ADAPTIVE: Adaptation()}
    engine, rows = race_engine(drifting, methods, say, is_calm=is_calm)
    if not is_calm:
        share = max(SHARES, key=lambda share: engine[f"threshold {share:.0%}"].throughput)
        engine[THRESHOLD] = engine[f"threshold {share:.0%}"]
        methods |= {
            THRESHOLD: Adaptation("threshold", threshold=share),
            UNCONDITIONAL: Adaptation("unconditional"),
        }
    report_table(f"adaptation_users_engine_{drifting.name.replace(', ', '_')}", rows)
    spark = race_spark(drifting, methods, repeat, say, is_calm=is_calm)
    report_table(f"adaptation_users_spark_{drifting.name.replace(', ', '_')}", [*spark_rows(drifting, spark)])
    return [
        *engine_measures(f"{section}, engine", engine, over_threshold),
        *spark_measures(f"{section}, Spark", spark, over_threshold),
    ]


def race_engine(
    drifting: Drifting, methods: Mapping[str, Adaptation], say: Say, *, is_calm: bool
) -> tuple[dict[str, SharedRun], list[Row]]:
    """Run the shard loop with all methods and thresholds, and with a plan that has hindsight."""
    arena = drifting.arena
    first = arena.plan(drifting.planning(drifting.known))
    n_per_batch = max(1, round(drifting.n_per_batch * drifting.events.n_events / drifting.table.num_rows))
    batches = cut(drifting.events, n_per_batch)
    contestants: dict[str, Adaptation] = dict(methods)
    if not is_calm:
        contestants |= {
            f"threshold {share:.0%}": Adaptation("threshold", threshold=share) for share in SHARES
        }
        contestants[UNCONDITIONAL] = Adaptation("unconditional")
    run_shared(arena, first, batches[:WARM_BATCHES], Adaptation("unconditional", watching=1.0))
    runs: dict[str, SharedRun] = {}
    for name, adaptation in contestants.items():
        wanted = None if adaptation.decide == "off" else adaptation
        runs[name] = run_shared(arena, first, batches, wanted, MOST_SECONDS, waits=True)
        say(_said(drifting, name, runs[name]))
    if not is_calm:
        known = arena.plan(drifting.planning(drifting.hindsight))
        runs[HINDSIGHT] = run_shared(arena, known, batches, None, MOST_SECONDS)
        say(_said(drifting, HINDSIGHT, runs[HINDSIGHT]))
    check_found(drifting.name, runs)
    rows = [{**run.row(name, runs[STATIC]), "alarms kept": run.n_kept} for name, run in runs.items()]
    return runs, rows


def _said(drifting: Drifting, method: str, run: SharedRun) -> str:
    return (
        f"{drifting.name}, engine: {method} {run.throughput:,.0f} events/s, {run.n_changes} changes, "
        f"{run.n_events:,} events in {run.seconds:.1f} s"
    )


def race_spark(
    drifting: Drifting, methods: Mapping[str, Adaptation], repeat: int, say: Say, *, is_calm: bool
) -> Runs:
    """Run the stream with all methods in turn, after one that is short and warms up; all find the same."""
    spark = stream_session()
    spark.conf.set(PARTITIONS, "1")  # the queries of a stream share one shard
    contestants = {
        name: (drifting.known, weft.Streaming() if name == ADAPTIVE else weft.Streaming(adapt=one))
        for name, one in methods.items()
    }
    if not is_calm:
        contestants[HINDSIGHT] = drifting.hindsight, weft.Streaming(adapt="off")
    runs: dict[str, list[SparkRun]] = {name: [] for name in contestants}
    with scratch() as directory:
        files = drifting.write(directory / "events")
        few = directory / "few"
        few.mkdir()
        for file in sorted(files.glob("*.parquet"))[:WARM_BATCHES]:
            (few / file.name).symlink_to(file)
        run_stream(spark, drifting, few, *contestants[STATIC])
        for number in range(repeat):
            for name, (known, streaming) in contestants.items():
                run = run_stream(spark, drifting, files, known, streaming)
                runs[name].append(run)
                say(
                    f"{drifting.name}, Spark {number + 1}/{repeat}: {name} {run.throughput:,.0f} events/s, "
                    f"{run.n_changes} changes, {run.n_kept} kept, {run.adapting:.2f} s adapting, processor "
                    f"{run.worker_seconds:.1f} + {run.jvm_seconds:.1f} s"
                )
    if len({run.n_matches for own in runs.values() for run in own}) != 1:
        raise RuntimeError(f"methods find different numbers of matches on {drifting.name}")
    return runs


def best(runs: Sequence[SparkRun]) -> SparkRun:
    """Return the fastest run: what disturbs one only ever makes it slower."""
    return min(runs, key=lambda run: run.seconds)


def spark_rows(drifting: Drifting, runs: Runs) -> list[Row]:
    """Return a line for each method, of its fastest run."""
    static = best(runs[STATIC])
    return [
        {
            "method": name,
            "events": drifting.table.num_rows,
            "events/s": round(run.throughput),
            "over static": round(run.throughput / static.throughput, 3),
            "step s": round(run.step_seconds, 2),
            "adapting s": round(run.adapting, 3),
            "changes": run.n_changes,
            "alarms kept": run.n_kept,
            "processor s, workers": round(run.worker_seconds, 2),
            "processor s, JVM": round(run.jvm_seconds, 2),
            "matches": run.n_matches,
        }
        for name, run in ((name, best(own)) for name, own in runs.items())
    ]


def engine_measures(
    section: str, runs: Mapping[str, SharedRun], over_threshold: float | None
) -> list[Measure]:
    """Return what the shard loop gains, with the goals."""
    found = [Measure(section, f"{name}, events/s", run.throughput) for name, run in runs.items()]
    gains = {name: run.throughput / runs[STATIC].throughput for name, run in runs.items()}
    return [*found, *_gain_measures(section, gains, over_threshold)]


def spark_measures(section: str, runs: Runs, over_threshold: float | None) -> list[Measure]:
    """Return what a stream gains, by the clock and in processor time, with the goals."""
    found = [Measure(section, f"{name}, events/s", best(own).throughput) for name, own in runs.items()]
    pairs = {name: list(zip(own, runs[STATIC], strict=True)) for name, own in runs.items()}
    gains = {name: median(run.throughput / one.throughput for run, one in own) for name, own in pairs.items()}
    found += _gain_measures(section, gains, over_threshold)
    for name in runs.keys() - {STATIC}:
        ratio = median(one.processor_seconds / run.processor_seconds for run, one in pairs[name])
        found.append(Measure(section, f"{name} / static, by processor time", ratio))
    run = best(runs[ADAPTIVE])
    return [
        *found,
        Measure(section, "default: changes of the plan", run.n_changes),
        Measure(section, "default: alarms, the plan kept", run.n_kept),
        Measure(section, "default: time for adapting", run.adapting, "s"),
        Measure(section, "the same, of the run", 100 * run.adapting / run.seconds, "%"),
    ]


def _gain_measures(section: str, gains: Mapping[str, float], over_threshold: float | None) -> list[Measure]:
    least = LEAST_GAIN if gains.get(HINDSIGHT, 0.0) >= HINDSIGHT_GAIN else LEAST_SHARE
    found = [Measure(section, f"{ADAPTIVE} / {STATIC}", gains[ADAPTIVE], at_least=least)]
    for name in (THRESHOLD, UNCONDITIONAL, HINDSIGHT):
        if name in gains:
            found.append(Measure(section, f"{name} / {STATIC}", gains[name]))
    if THRESHOLD in gains:
        ratio = gains[ADAPTIVE] / gains[THRESHOLD]
        found.append(Measure(section, f"{ADAPTIVE} / {THRESHOLD}", ratio, at_least=over_threshold))
    return found
