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
from generate import events_parquet
from measures import Measure
from memory import measure_memory
from one_core import measure_one_core, print_profile
from parse_and_bind import measure_parse
from peers import measure_peers
from ratios import measure_ratio
from rich.console import Console
from rich.table import Table
from workloads import Workload, keyed, queries20, queries100

from weft.spark.local import local_session

RESULTS = Path(__file__).parent / "results"
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


SECTIONS: dict[str, Callable[[Settings], list[Measure]]] = {
    "queries20": ratio_section(queries20(), 1.5),
    "keyed": ratio_section(keyed(), 1.5),
    "queries100": ratio_section(queries100(), 3.0),
    "peers": peers_section,
    "one_core": one_core_section,
    "memory": memory_section,
    "parse": parse_section,
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
        target = "" if one.at_most is None else f"≤ {one.at_most:g} {one.unit}".rstrip()
        table.add_row("" if one.section == section else one.section, one.what, one.shown, target, verdict)
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
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="where to write the numbers (benchmarks/results)"
    )
    return parser.parse_args()


def main() -> None:
    """Run the sections, then show and save what they measured."""
    given = arguments()
    settings = Settings(given.events, given.memory_events, given.repeat, given.peer_seconds, given.profile)
    measures: list[Measure] = []
    for name, section in SECTIONS.items():
        if given.only is None or name in given.only:
            console.log(f"[bold]{name}")
            measures += section(settings)
    show(measures)
    console.print(f"written to {save(measures, settings, given.json)}")


if __name__ == "__main__":
    main()
