"""Run the benchmarks and show their numbers as one table; README.md says what each section means."""

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyspark
from adaptation_distance import measure_distance
from adaptation_shuffle import measure_shuffle
from adaptation_steady import measure_steady
from adaptation_stream import measure_watched_stream
from adaptation_traffic import measure_adaptive_traffic
from calibrate import measure_costs
from generate import events_parquet
from graph import measure_graph
from measures import Measure
from memory import measure_memory
from one_core import measure_one_core, print_profile
from optimum import measure_optimum
from parse_and_bind import measure_parse
from peers import measure_peers
from placement_cluster import measure_cluster
from placement_figures import measure_placement
from placement_reference import measure_reference
from ratios import measure_ratio
from result_tables import RESULTS
from rewriting import measure_rewriting
from rewriting_sensitivity import measure_sensitivity
from rich.console import Console
from rich.table import Table
from scale import measure_scale
from stream_runs import measure_growth, measure_latency, measure_recovery, measure_stream
from traffic_weave import measure_traffic
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
    drift_repeat: int
    shuffle_seconds: float
    n_networks: int


def ratio_section(workload: Workload, target: float) -> Callable[[Settings], list[Measure]]:
    """Return the section that compares a workload with its floor."""

    def section(settings: Settings) -> list[Measure]:
        return measure_ratio(
            local_session(MASTER, name="weft benchmarks"),
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
    spark = local_session(MASTER, name="weft benchmarks")
    place = events_parquet(settings.n_events)
    return measure_peers(spark, place, queries20(), settings.seconds_per_peer, console.log)


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


def optimum_section(settings: Settings) -> list[Measure]:
    """Compare the search with the optimum of small workloads."""
    return measure_optimum(settings.small_workloads, console.log)


def weave_section(settings: Settings) -> list[Measure]:
    """Compare plans for a hundred patterns on the stock stream."""
    return measure_weave(
        lambda: local_session(MASTER, name="weft benchmarks"),
        settings.stock_seconds,
        settings.search_seconds,
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


def traffic_section(settings: Settings) -> list[Measure]:
    """Compare plans for a hundred patterns on real traffic."""
    return measure_traffic(settings.traffic_days, settings.search_seconds, settings.repeat, console.log)


def costs_section(settings: Settings) -> list[Measure]:
    """Fit the prices of the measured cost, and compare costs with times."""
    return measure_costs(settings.stock_seconds / 5, console.log)


def graph_section(settings: Settings) -> list[Measure]:
    """Find out what patterns have in common."""
    return measure_graph(settings.largest_count, settings.repeat)


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
    return measure_adaptation(settings.drift_windows, settings.drift_repeat, console.log)


def distance_section(settings: Settings) -> list[Measure]:
    """Compare distances of invariants that were chosen with the best ones."""
    return measure_distance(settings.drift_windows, settings.drift_repeat, console.log)


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
    "queries100": ratio_section(queries100(), 3.0),
    "peers": peers_section,
    "one_core": one_core_section,
    "memory": memory_section,
    "parse": parse_section,
    "optimum": optimum_section,
    "weave100": weave_section,
    "scale": scale_section,
    "traffic": traffic_section,
    "costs": costs_section,
    "graph": graph_section,
    "stream": stream_section,
    "growth": growth_section,
    "latency": latency_section,
    "recovery": recovery_section,
    "trends": trends_section,
    "rewriting": rewriting_section,
    "rewriting-sensitivity": sensitivity_section,
    "adaptation": adaptation_section,
    "adaptation-distance": distance_section,
    "adaptation-steady": steady_section,
    "adaptation-stream": watched_stream_section,
    "adaptation-shuffle": shuffle_section,
    "adaptation-traffic": adaptive_traffic_section,
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


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--events", type=int, default=5_000_000, help="events in the stream")
    parser.add_argument("--memory-events", type=int, default=20_000_000, help="events for section memory")
    parser.add_argument(
        "--only",
        action="append",
        choices=SECTIONS,
        metavar="NAME",
        help=f"run this section alone, may be repeated: {', '.join(SECTIONS)}",
    )
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each side; the best counts")
    parser.add_argument("--peer-seconds", type=float, default=120, help="time box of each peer")
    parser.add_argument("--profile", action="store_true", help="in one_core, print a profile of the runtime")
    parser.add_argument("--search-seconds", type=float, default=5, help="time of each search for a plan")
    parser.add_argument(
        "--stock-seconds",
        type=float,
        default=3000,
        help="length of the stock stream in weave100; costs uses a fifth of it",
    )
    parser.add_argument("--small-workloads", type=int, default=200, help="workloads in optimum")
    parser.add_argument(
        "--run-seconds", type=float, default=5, help="time that each plan is to run for in scale"
    )
    parser.add_argument("--draws", type=int, default=3, help="workloads for each point of scale")
    parser.add_argument("--largest-count", type=int, default=1000, help="patterns in graph, at most in scale")
    parser.add_argument(
        "--largest-size", type=int, default=8, help="average size of patterns in scale, at most"
    )
    parser.add_argument("--traffic-days", type=float, default=42, help="days of traffic")
    parser.add_argument(
        "--trades",
        type=int,
        default=500_000,
        help="trades in rewriting, with twice as many events of the data center; the paper has 2000000",
    )
    parser.add_argument(
        "--exact-seconds", type=float, default=60, help="time of exact planning in rewriting-sensitivity"
    )
    parser.add_argument("--networks", type=int, default=5, help="networks for each point of placement")
    parser.add_argument(
        "--drift-windows", type=int, default=30, help="length of the streams that drift, in windows"
    )
    parser.add_argument(
        "--drift-repeat", type=int, default=1, help="runs of each method in adaptation; the fastest counts"
    )
    parser.add_argument(
        "--shuffle-seconds", type=float, default=240, help="length of the stream in adaptation-shuffle"
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="where to write the numbers (benchmarks/results)"
    )
    return parser.parse_args()


def main() -> None:
    """Run the sections, then show and save what they measured."""
    given = arguments()
    settings = Settings(
        n_events=given.events,
        n_memory_events=given.memory_events,
        repeat=given.repeat,
        seconds_per_peer=given.peer_seconds,
        profile=given.profile,
        search_seconds=given.search_seconds,
        stock_seconds=given.stock_seconds,
        small_workloads=given.small_workloads,
        run_seconds=given.run_seconds,
        draws=given.draws,
        largest_count=given.largest_count,
        largest_size=given.largest_size,
        traffic_days=given.traffic_days,
        n_trades=given.trades,
        exact_seconds=given.exact_seconds,
        drift_windows=given.drift_windows,
        drift_repeat=given.drift_repeat,
        shuffle_seconds=given.shuffle_seconds,
        n_networks=given.networks,
    )
    measures: list[Measure] = []
    for name, section in SECTIONS.items():
        if given.only is None or name in given.only:
            console.log(f"[bold]{name}")
            measures += section(settings)
    show(measures)
    console.print(f"written to {save(measures, settings, given.json)}")


if __name__ == "__main__":
    main()
