"""Run the benchmarks and show their numbers as one table; README.md says what each section means."""

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

import pyspark
from adaptation_distance import measure_distance
from adaptation_observed import streams_of
from adaptation_shuffle import measure_shuffle
from adaptation_steady import measure_steady
from adaptation_stream import measure_watched_stream
from adaptation_traffic import measure_adaptive_traffic
from adaptation_users import measure_calm, measure_flip, measure_sensors, measure_shared
from calibrate import measure_costs
from compare import compare_with
from first_contact import measure_first_contact
from flink_peer import measure_flink
from generate import events_parquet
from graph import measure_graph
from local_host import measure_local
from mcep_figures import (
    DENSITY,
    EVENT_WINDOWS,
    PATTERNS,
    RATES,
    SIZES,
    WINDOWS,
    Axis,
    Effort,
    measure_axis,
    measure_search,
)
from measures import Measure
from memory import measure_memory
from motto_figures import measure_motto
from next_matches import measure_next
from one_core import measure_one_core, print_profile
from optimum import measure_optimum
from parse_and_bind import measure_parse
from peers import measure_peers
from placement_cluster import measure_cluster
from placement_figures import measure_placement
from placement_reference import measure_reference
from public_plans import measure_public_plans
from pyspark.sql import SparkSession
from q_error import measure_q_error
from ratios import measure_ratio
from result_tables import RESULTS
from rewriting import measure_rewriting
from rewriting_sensitivity import measure_sensitivity
from rich.console import Console
from rich.table import Table
from scale import measure_scale
from search_speed import measure_search_speed
from stream_runs import measure_growth, measure_latency, measure_recovery, measure_stream
from traffic_weave import measure_traffic
from trend_windows import measure_windows
from trends import measure_trends
from weave100 import measure_weave
from workloads import Workload, keyed, queries20, queries100

from adaptation import measure_adaptation
from weft.hosts.spark.local import local_session

MASTER = "local[2]"
console = Console(log_path=False)


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    n_events: int
    n_memory_events: int
    repeat: int
    seconds_per_peer: float
    profile: bool
    search_seconds: float
    stock_seconds: float
    small_workloads: int
    run_seconds: float
    draws: int
    largest_count: int
    largest_size: int
    traffic_days: float
    n_trades: int
    exact_seconds: float
    drift_windows: int
    drift_streams: str
    drift_repeat: int
    shuffle_seconds: float
    flip_seconds: float
    shared_seconds: float
    sensor_days: float
    user_repeat: int
    n_networks: int
    n_flink_events: int
    figure_seconds: float
    figure_search_seconds: float

    @property
    def effort(self) -> Effort:
        """What each point of the figures of MCEP may take."""
        return Effort(self.figure_seconds, self.figure_search_seconds, self.repeat)


def start_spark() -> SparkSession:
    """Start the session that all sections share."""
    return local_session(MASTER, name="weft benchmarks")


def ratio_section(workload: Workload, target: float) -> Callable[[Settings], list[Measure]]:
    """Return the section that compares a workload with its floor."""

    def section(settings: Settings) -> list[Measure]:
        return measure_ratio(
            start_spark(),
            events_parquet(settings.n_events),
            settings.n_events,
            workload,
            target=target,
            repeat=settings.repeat,
            say=console.log,
        )

    return section


def peers_section(settings: Settings) -> list[Measure]:
    """Compare the first workload with self-joins in SQL engines."""
    spark = start_spark()
    place = events_parquet(settings.n_events)
    return measure_peers(spark, place, queries20(), settings.seconds_per_peer, console.log)


def local_section(settings: Settings) -> list[Measure]:
    """Compare the local host with Spark, DuckDB and Polars on the same files."""
    return measure_local(
        start_spark(),
        events_parquet(settings.n_events),
        [keyed(), queries20(), queries100()],
        repeat=settings.repeat,
        say=console.log,
    )


def flink_section(settings: Settings) -> list[Measure]:
    """Compare with Flink CEP on queries that find one match at a time."""
    return measure_flink(
        start_spark,
        settings.n_flink_events,
        settings.n_events,
        settings.repeat,
        console.log,
    )


def next_section(settings: Settings) -> list[Measure]:
    """Let queries find one match at a time: how time grows, and what it costs beside chains of NOT."""
    return measure_next(
        start_spark,
        settings.n_events,
        settings.repeat,
        console.log,
    )


def one_core_section(settings: Settings) -> list[Measure]:
    """Run the first workload without Spark; with --profile, show where it and the third spend their time."""
    place = events_parquet(settings.n_events)
    if settings.profile:
        for workload in (queries20(), queries100()):
            print_profile(place, workload)
    return measure_one_core(place, settings.n_events, queries20(), settings.repeat)


def memory_section(settings: Settings) -> list[Measure]:
    """Watch the memory of Python workers on a larger stream."""
    place = events_parquet(settings.n_memory_events)
    found: list[Measure] = []
    for workload in (queries20(), keyed()):
        found += measure_memory(MASTER, place, settings.n_memory_events, workload, console.log)
    return found


def parse_section(settings: Settings) -> list[Measure]:
    """Parse and bind a thousand queries."""
    return measure_parse(settings.repeat)


def first_contact_section(settings: Settings) -> list[Measure]:
    """Time the first answers of the command line."""
    return measure_first_contact(3 * settings.repeat)


def optimum_section(settings: Settings) -> list[Measure]:
    """Compare the search with the optimum of small workloads."""
    return measure_optimum(settings.small_workloads, console.log)


def weave_section(settings: Settings) -> list[Measure]:
    """Compare plans for a hundred patterns on the stock stream."""
    return measure_weave(
        start_spark,
        settings.stock_seconds,
        settings.search_seconds,
        settings.repeat,
        console.log,
    )


def public_plans_section(settings: Settings) -> list[Measure]:
    """Compare strategies as users run them: everything counts, and nothing is given but the strategy."""
    return measure_public_plans(
        start_spark,
        settings.stock_seconds,
        settings.traffic_days,
        settings.repeat,
        console.log,
    )


def scale_section(settings: Settings) -> list[Measure]:
    """Compare plans for more and for larger patterns."""
    return measure_scale(
        settings.search_seconds,
        settings.run_seconds,
        settings.draws,
        settings.largest_count,
        settings.largest_size,
        console.log,
    )


def figure_section(axis: Axis) -> Callable[[Settings], list[Measure]]:
    """Return the section that varies one parameter of MCEP's workloads, through the public path."""
    return lambda settings: measure_axis(axis, settings.effort, console.log)


def search_section(settings: Settings) -> list[Measure]:
    """Let the searches take more and more time, through the public path."""
    return measure_search(settings.effort, console.log)


def motto_section(settings: Settings) -> list[Measure]:
    """Compare exact planning with annealing alone, and one core with two."""
    return measure_motto(
        settings.n_trades, settings.exact_seconds, settings.figure_seconds, settings.repeat, console.log
    )


def traffic_section(settings: Settings) -> list[Measure]:
    """Compare plans for a hundred patterns on real traffic."""
    return measure_traffic(settings.traffic_days, settings.search_seconds, settings.repeat, console.log)


def q_error_section(settings: Settings) -> list[Measure]:
    """Compare the rows that joins build with those expected, on a bank, on traffic and on a cluster."""
    return measure_q_error(settings.traffic_days, console.log)


def costs_section(settings: Settings) -> list[Measure]:
    """Fit the prices of the measured cost, and compare costs with times."""
    return measure_costs(settings.stock_seconds / 5, console.log)


def graph_section(settings: Settings) -> list[Measure]:
    """Find out what patterns have in common."""
    return measure_graph(settings.largest_count, settings.repeat)


def search_speed_section(settings: Settings) -> list[Measure]:
    """Take steps of a search, and plan many patterns."""
    return measure_search_speed(settings.largest_count, settings.search_seconds)


def stream_section(settings: Settings) -> list[Measure]:
    """Run the first workload as a stream."""
    place = events_parquet(settings.n_events)
    return measure_stream(place, settings.n_events, queries20(), settings.repeat, console.log)


def growth_section(settings: Settings) -> list[Measure]:
    """Run a keyed workload in many small batches."""
    return measure_growth(events_parquet(settings.n_events), settings.n_events, console.log)


def latency_section(settings: Settings) -> list[Measure]:  # noqa: ARG001 - all sections are called alike
    """Time matches on a stream that arrives as it happens."""
    return measure_latency(console.log)


def recovery_section(settings: Settings) -> list[Measure]:
    """Restart a stream with much state."""
    place = events_parquet(settings.n_events)
    return measure_recovery(place, min(1_000_000, settings.n_events // 4), console.log)


def trend_windows_section(settings: Settings) -> list[Measure]:
    """Let windows of trend queries overlap, and close a large one, on one core."""
    return measure_windows(settings.repeat, console.log)


def trends_section(settings: Settings) -> list[Measure]:
    """Compare ways to aggregate the trends of many queries, on one core."""
    return measure_trends(settings.repeat, console.log)


def rewriting_section(settings: Settings) -> list[Measure]:
    """Compare strategies on queries with seven types of sharing."""
    return measure_rewriting(settings.n_trades, settings.search_seconds, settings.repeat, console.log)


def sensitivity_section(settings: Settings) -> list[Measure]:
    """Vary the number of these queries, their windows and how deep they are nested."""
    return measure_sensitivity(
        settings.n_trades, settings.search_seconds, settings.exact_seconds, settings.repeat, console.log
    )


def adaptation_section(settings: Settings) -> list[Measure]:
    """Compare decision functions on streams that drift."""
    streams = streams_of(settings.drift_streams)
    return measure_adaptation(settings.drift_windows, settings.drift_repeat, console.log, streams)


def distance_section(settings: Settings) -> list[Measure]:
    """Compare distances of invariants that were chosen with the best ones."""
    streams = streams_of(settings.drift_streams)
    return measure_distance(settings.drift_windows, settings.drift_repeat, console.log, streams)


def steady_section(settings: Settings) -> list[Measure]:
    """Watch streams that do not drift."""
    return measure_steady(settings.drift_windows, settings.drift_repeat, console.log)


def watched_stream_section(settings: Settings) -> list[Measure]:
    """Let the plan of a stream on Spark follow its statistics."""
    return measure_watched_stream(
        events_parquet(settings.n_events), queries20(), settings.repeat, console.log
    )


def shuffle_section(settings: Settings) -> list[Measure]:
    """Reshuffle the arrival rates under a hundred patterns."""
    return measure_shuffle(settings.shuffle_seconds, settings.search_seconds, console.log)


def adaptive_traffic_section(settings: Settings) -> list[Measure]:
    """Let plans follow the hours of real traffic."""
    return measure_adaptive_traffic(settings.traffic_days, settings.search_seconds, console.log)


def flip_section(settings: Settings) -> list[Measure]:
    """Let the plan of one query follow rates that flip, as users run it."""
    return measure_flip(settings.flip_seconds, settings.user_repeat, console.log)


def shared_section(settings: Settings) -> list[Measure]:
    """Let the shared plan of a hundred patterns follow rates that are reshuffled, as users run it."""
    return measure_shared(settings.shared_seconds, settings.user_repeat, console.log)


def sensors_section(settings: Settings) -> list[Measure]:
    """Let a shared plan follow real traffic with all sensors, as users run it."""
    return measure_sensors(settings.sensor_days, settings.user_repeat, console.log)


def calm_section(settings: Settings) -> list[Measure]:
    """Adapt plans on streams that do not drift, as users run them."""
    return measure_calm(
        settings.flip_seconds, 20 * settings.shared_seconds, 3 * settings.user_repeat, console.log
    )


def placement_section(settings: Settings) -> list[Measure]:
    """Place queries in random networks, as figures 5 to 7 of the paper on MuSE graphs have it."""
    return measure_placement(settings.n_networks, settings.search_seconds, console.log)


def cluster_section(settings: Settings) -> list[Measure]:
    """Place queries on the nodes of a cluster: what is predicted, and what Spark sends."""
    return measure_cluster(settings.search_seconds, console.log)


def reference_section(settings: Settings) -> list[Measure]:  # noqa: ARG001 - all sections are called alike
    """Place reference problems, and compare with the best costs known for them."""
    return measure_reference(console.log)


SECTIONS: dict[str, Callable[[Settings], list[Measure]]] = {
    "queries20": ratio_section(queries20(), 1.5),
    "keyed": ratio_section(keyed(), 1.5),
    "local": local_section,
    "queries100": ratio_section(queries100(), 3.0),
    "peers": peers_section,
    "flink": flink_section,
    "next": next_section,
    "one_core": one_core_section,
    "memory": memory_section,
    "parse": parse_section,
    "first_contact": first_contact_section,
    "optimum": optimum_section,
    "weave100": weave_section,
    "public-plans": public_plans_section,
    "scale": scale_section,
    "mcep-patterns": figure_section(PATTERNS),
    "mcep-sizes": figure_section(SIZES),
    "mcep-search": search_section,
    "mcep-windows": figure_section(WINDOWS),
    "mcep-event-windows": figure_section(EVENT_WINDOWS),
    "mcep-density": figure_section(DENSITY),
    "mcep-rates": figure_section(RATES),
    "traffic": traffic_section,
    "q_error": q_error_section,
    "costs": costs_section,
    "graph": graph_section,
    "search_speed": search_speed_section,
    "stream": stream_section,
    "growth": growth_section,
    "latency": latency_section,
    "recovery": recovery_section,
    "trends": trends_section,
    "trend-windows": trend_windows_section,
    "rewriting": rewriting_section,
    "rewriting-sensitivity": sensitivity_section,
    "motto-figures": motto_section,
    "adaptation": adaptation_section,
    "adaptation-distance": distance_section,
    "adaptation-steady": steady_section,
    "adaptation-stream": watched_stream_section,
    "adaptation-shuffle": shuffle_section,
    "adaptation-traffic": adaptive_traffic_section,
    "adaptation-users-flip": flip_section,
    "adaptation-users-shared": shared_section,
    "adaptation-users-sensors": sensors_section,
    "adaptation-users-calm": calm_section,
    "placement": placement_section,
    "placement-cluster": cluster_section,
    "placement-reference": reference_section,
}


def show(measures: list[Measure]) -> None:
    """Print all numbers as one table."""
    table = Table(title=f"Weft on {MASTER}", title_justify="left")
    table.add_column("section")
    table.add_column("measure")
    for heading in ("value", "target"):
        table.add_column(heading, justify="right")
    table.add_column("met")
    section = ""
    for one in measures:
        if section and one.section != section:
            table.add_section()
        verdict = {True: "[green]yes", False: "[bold red]no", None: ""}[one.is_met]
        table.add_row("" if one.section == section else one.section, one.what, one.shown, one.target, verdict)
        section = one.section
    console.print(table)


def save(measures: list[Measure], settings: Settings, target: Path | None) -> Path:
    """Write all numbers, with what one needs to know about the machine, as JSON."""
    now = datetime.now(UTC)
    path = target or RESULTS / f"{now:%Y%m%dT%H%M%SZ}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "date": now.isoformat(timespec="seconds"),
        "machine": {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()},
        "versions": {"python": platform.python_version(), "pyspark": pyspark.__version__},
        "master": MASTER,
        "settings": asdict(settings),
        "measures": [asdict(one) | {"met": one.is_met} for one in measures],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")
    return path


def section_names(text: str) -> list[str]:
    """Return the sections that a list with commas names."""
    names = text.split(",")
    for name in names:
        if name not in SECTIONS:
            raise argparse.ArgumentTypeError(f"unknown section {name!r}; there are {', '.join(SECTIONS)}")
    return names


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )

    def option(name: str, field: str, default: float | str, about: str) -> None:
        """Add an option that sets a field of the settings."""
        parser.add_argument(f"--{name}", dest=field, type=type(default), default=default, help=about)

    parser.add_argument(
        "--only",
        action="extend",
        type=section_names,
        metavar="NAME,...",
        help=f"run these sections alone: {', '.join(SECTIONS)}",
    )
    parser.add_argument(
        "--before", metavar="COMMIT", help="compare the times of sections with those of this commit, by turns"
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns of both sides, with --before")
    option("events", "n_events", 5_000_000, "events in the stream")
    option("memory-events", "n_memory_events", 20_000_000, "events for section memory")
    option("repeat", "repeat", 3, "timed runs of each side; the best counts")
    option("flink-events", "n_flink_events", 200_000, "events for twenty queries in flink; fewer get more")
    option("peer-seconds", "seconds_per_peer", 120.0, "time box of each peer")
    parser.add_argument("--profile", action="store_true", help="in one_core, print a profile of the runtime")
    option("search-seconds", "search_seconds", 5.0, "time of each search for a plan")
    option(
        "stock-seconds",
        "stock_seconds",
        3000.0,
        "length of the stock stream in weave100; costs uses a fifth of it",
    )
    option("small-workloads", "small_workloads", 200, "workloads in optimum")
    option("run-seconds", "run_seconds", 5.0, "time that each plan is to run for in scale")
    option("draws", "draws", 3, "workloads for each point of scale")
    option("largest-count", "largest_count", 1000, "patterns in graph, at most in scale")
    option("largest-size", "largest_size", 8, "average size of patterns in scale, at most")
    option("traffic-days", "traffic_days", 42.0, "days of traffic")
    option(
        "trades",
        "n_trades",
        500_000,
        "trades in rewriting, with twice as many events of the data center; the paper has 2000000",
    )
    option("exact-seconds", "exact_seconds", 60.0, "time of exact planning in rewriting-sensitivity")
    option(
        "figure-seconds",
        "figure_seconds",
        1.0,
        "processor time that the trivial plan is to run for at a point of mcep-* and motto-figures",
    )
    option("figure-search-seconds", "figure_search_seconds", 1.0, "time of each search in mcep-*")
    option("networks", "n_networks", 5, "networks for each point of placement")
    option("drift-windows", "drift_windows", 30, "length of the streams that drift, in windows")
    option("drift-streams", "drift_streams", "skewed,even,traffic", "streams in adaptation and -distance")
    option("drift-repeat", "drift_repeat", 1, "runs of each method in adaptation; the fastest counts")
    option("shuffle-seconds", "shuffle_seconds", 240.0, "length of the stream in adaptation-shuffle")
    option("flip-seconds", "flip_seconds", 40.0, "length of the stream in adaptation-users-flip and -calm")
    option(
        "shared-seconds",
        "shared_seconds",
        16.0,
        "of the stream in adaptation-users-shared; -calm: 20 times as long",
    )
    option("sensor-days", "sensor_days", 14.0, "days of traffic in adaptation-users-sensors")
    option("user-repeat", "user_repeat", 1, "runs of each stream on Spark in adaptation-users; -calm: thrice")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="where to write the numbers (benchmarks/results)"
    )
    return parser.parse_args()


def measured(settings: Settings, given: argparse.Namespace) -> list[Measure]:
    """Run the sections, or compare their times with those of another commit."""
    if given.before is not None:
        options = [f"--events={settings.n_events}", f"--repeat={settings.repeat}"]
        return compare_with(given.before, given.only, given.rounds, options, console.log)
    measures: list[Measure] = []
    for name, section in SECTIONS.items():
        if given.only is None or name in given.only:
            console.log(f"[bold]{name}")
            measures += section(settings)
    return measures


def main() -> None:
    """Show and save what the command line asked for."""
    given = arguments()
    settings = Settings(**{field.name: getattr(given, field.name) for field in fields(Settings)})
    measures = measured(settings, given)
    show(measures)
    console.print(f"written to {save(measures, settings, given.json)}")


if __name__ == "__main__":
    main()
