"""Options of commands, in groups: a group is a dataclass whose fields are options."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import typer

from weft.api.options import PlacementName
from weft.cli.groups import option
from weft.errors import WeftError
from weft.io.event_files import EventColumns, Format
from weft.io.targets import MatchFormat
from weft.io.units import TimeUnit
from weft.optimizer.planning import SECONDS, CostName, NeighborhoodName
from weft.optimizer.weave import Heuristic
from weft.runtime.budget import Budget, OnBudget

Events = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS",
        help="CSV with a header, JSON lines or Parquet; a file or a directory of files of one format.",
    ),
]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A directory in which files arrive (CSV with a header, JSON lines or Parquet; move finished "
        "files there), or kafka:BROKERS/TOPIC with JSON objects as values.",
    ),
]
Master = Annotated[str, typer.Option(help="Where Spark runs; local[*] is all of this machine.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object and nothing else.")
]
BudgetOption = Annotated[
    int,
    typer.Option(min=1, help="Partial matches that a step of a query may build before it is stopped."),
]
OnBudgetOption = Annotated[
    OnBudget,
    typer.Option(
        help="A query that exceeds its budget is stopped by itself while the others go on (stop), or ends "
        "the command with status 1 (error)."
    ),
]
PARTIAL_MATCHES = Budget().partial_matches
Explained = Annotated[
    Literal["plan", "analyze"] | None,
    typer.Option(
        "--explain",
        help="Show the plan with the rows expected of each node; analyze: also what each did, and its time.",
    ),
]
NoticesOption = Annotated[
    bool,
    typer.Option(
        "--notices/--no-notices",
        help="Say on standard error what a person should know: types that no event has, queries that are "
        "likely to explode or found nothing, rows that are no events, kernels that have to be compiled.",
    ),
]
TIME_HELP = "The column of the event time: a timestamp, a number or ISO 8601 text."
TYPE_HELP = "The column of the event type; needed unless --types derives all types."
TYPES_HELP = (
    'A type derived from other columns: --types "BigTrade=volume > 10000", with a condition as in WHERE. '
    "May be given several times; an event may have several types."
)
EXAMPLE_OF_TYPES = 'as in --types "BigTrade=volume > 10000"'
_TYPE_AND_CONDITION = re.compile(
    r'\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^\W\d]\w*))\s*=(?P<condition>.*)', re.S
)


def types_option(written: Iterable[str]) -> dict[str, str]:
    """Return the conditions of derived types by name, each written as one option.

    >>> types_option(["Big=volume >= 10000", '"odd type"=up'])
    {'Big': 'volume >= 10000', 'odd type': 'up'}
    >>> types_option(["volume > 10000"])
    Traceback (most recent call last):
    weft.errors.WeftError: --types volume > 10000: expected a name, = and a condition
      hint: write a name before it, as in --types "BigTrade=volume > 10000"
    """
    conditions: dict[str, str] = {}
    for text in written:
        found = _TYPE_AND_CONDITION.fullmatch(text)
        condition = "" if found is None else found["condition"].strip()
        if found is None or not condition or condition.startswith("="):
            hint = f"write a name before it, {EXAMPLE_OF_TYPES}"
            raise WeftError(f"--types {text}: expected a name, = and a condition\n  hint: {hint}")
        name = found["plain"] or found["quoted"].replace('""', '"')
        if name in conditions:
            hint = f'write one condition: --types "{name}={conditions[name]} OR {found["condition"].strip()}"'
            raise WeftError(f"--types gives the type {name} twice\n  hint: {hint}")
        conditions[name] = condition
    return conditions


@dataclass(frozen=True, kw_only=True)
class ColumnOptions(EventColumns):
    """The columns of the events."""

    time: str = option(TIME_HELP)
    type: str | None = option(TYPE_HELP, default=None)
    types: list[str] | None = option(TYPES_HELP, metavar="NAME=CONDITION", default=None)
    id: str | None = option("The column of the event's identity; equal ids count once.", default=None)
    time_unit: TimeUnit = option("What numbers in the time column count: s, ms, us or ns.", default="ms")
    order_by: str | None = option("The column that orders events of equal time.", default=None)
    delimiter: str = option("What stands between the fields of CSV; tab is a tab.", default=",")

    def __post_init__(self) -> None:
        try:
            types = self.conditions  # what it cannot be is said at once
        except WeftError as error:
            raise typer.BadParameter(str(error)) from None
        if self.type is None and not types:
            raise typer.BadParameter(
                f"say which column has the type of an event: --type, or derive types, {EXAMPLE_OF_TYPES}"
            )

    @property
    def conditions(self) -> dict[str, str]:
        """The conditions of derived types, by name."""
        return types_option(self.types or ())


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What runs the queries."""

    engine: Literal["auto", "local", "spark"] = option(
        "local: this process, without Java; spark: Spark. auto is local for files on this machine of up to "
        "10 GB, unless --master is given. The results are the same.",
        default="auto",
    )
    master: str | None = option(
        "Where Spark runs, for example local[4]; local[*], all of this machine, if not given.", default=None
    )


@dataclass(frozen=True, kw_only=True)
class UsualColumnOptions(ColumnOptions):
    """The columns of the events, with their usual names."""

    time: str = option(TIME_HELP, default="ts")
    type: str | None = option(f"{TYPE_HELP} `type` by default.", default=None)

    def __post_init__(self) -> None:
        if self.type is None and not self.types:
            object.__setattr__(self, "type", "type")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How the plan is chosen."""

    plan: str = option(
        "How queries are ordered and shared: auto searches for the best; mcep and motto are the methods it "
        "unites; trivial, reorder, share, mst, lcse and spass are baselines; a file is a plan stored "
        "with --save-plan.",
        metavar="NAME|FILE.json",
        default="auto",
    )
    statistics: str | None = option(
        "Rates and selectivities; estimated from a sample of the events if not given.",
        metavar="FILE.json",
        default=None,
    )
    search_seconds: float | None = option(
        f"How long to search for a plan at most; by default as the work to come deserves, up to {SECONDS:g} "
        "seconds. A stored plan is improved only if this is given, or --steps.",
        min=0,
        default=None,
    )
    steps: int | None = option(
        "Search for so many steps instead: the same seed then gives the same plan.", min=0, default=None
    )
    seed: int = option("Of all that the search leaves to chance.", default=0)
    heuristic: Heuristic = option(
        "How to search: replies improves one query after the other, and anneals in between, as has paid so "
        "far; annealing and tabu are the searches of the MCEP paper by themselves.",
        default="replies",
    )
    neighborhood: NeighborhoodName = option(
        "What a step changes: edge two queries that share a part, vertex several, mixed as has paid so far.",
        default="mixed",
    )
    neighborhood_size: int | None = option(
        "How many queries a step of vertex changes at most.", metavar="K", min=2, default=None
    )
    prefix_only: bool = option(
        "Evaluate orders, sharing their prefixes only, no trees.", "--prefix-only", default=False
    )
    cost: CostName = option(
        "By which cost plans are compared: measured is the time that this engine takes, partial-matches the "
        "count of the papers.",
        default="measured",
    )
    objective: str = option(
        "What is to be low: throughput the work in all, latency the work that is left when the last event of "
        "a match comes; a number from 0 to 1 weighs the two.",
        metavar="throughput|latency|WEIGHT",
        default="throughput",
    )


@dataclass(frozen=True, kw_only=True)
class StoredPlanOptions(PlanOptions):
    """How the plan is chosen, and where it and its statistics are stored."""

    save_plan: str | None = option("Store the plan that was chosen.", metavar="FILE.json", default=None)
    save_statistics: str | None = option(
        "Store the statistics that were used; with --explain analyze, as the run found them.",
        metavar="FILE.json",
        default=None,
    )


@dataclass(frozen=True, kw_only=True)
class SiteOptions:
    """The sites at which events arise, and where queries are then evaluated."""

    site: str | None = option(
        "The column of the site at which an event arose: evaluate queries there.", default=None
    )
    placement: PlacementName | None = option(
        "With --site: muse evaluates parts of queries where that sends least, single-sink each operator at "
        "one site, central all queries outside of the sites. The matches are the same.",
        default=None,
    )

    def check(self) -> None:
        """Refuse options that speak of sites where there are none."""
        _require_site(self.site, "--placement", self.placement)


@dataclass(frozen=True, kw_only=True)
class StreamSiteOptions(SiteOptions):
    """The sites of a stream, and the past that tells them."""

    history: str | None = option(
        "With --site: past events, as weft run takes them. Their sites and rates decide where queries are "
        "evaluated; rows of other sites are rejected and counted.",
        metavar="EVENTS",
        default=None,
    )

    def check(self) -> None:
        """Refuse options that speak of sites where there are none, and sites of which nothing is known."""
        super().check()
        _require_site(self.site, "--history", self.history)
        if self.site is not None and self.history is None:
            raise WeftError(
                "--site needs --history on a stream: its sites are not known before it starts\n"
                "  hint: name a file or a directory of past events, from which sites and rates are counted"
            )


def _require_site(site: str | None, option: str, value: str | None) -> None:
    if value is not None and site is None:
        raise WeftError(f"{option} needs --site, the column of the site at which events arise")


@dataclass(frozen=True, kw_only=True)
class PlacementOptions:
    """What `weft explain` shows of a placement."""

    placement: bool = option(
        "Show where parts of the queries are best evaluated, and what sites then send.",
        "--placement",
        default=False,
    )
    site: str | None = option("With --placement: the column of the site at which events arise.", default=None)
    picture: str | None = option("With --placement: draw it into a file.", metavar="FILE.svg", default=None)


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the outcomes of a stream go."""

    out: str = option(
        "Where matches go, one file per batch that has any; each match is in exactly one of them.",
        metavar="DIR",
    )
    format: MatchFormat = option("What is written: JSON lines or Parquet.", default="json")
    late: str | None = option("Where time, type and id of late rows go.", metavar="DIR", default=None)


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What the source of a stream holds, and how late it comes."""

    watermark: str = option(
        "How late events may come: 10s, 5 minutes. Later ones are counted.", metavar="DURATION"
    )
    source_format: Format | None = option(
        "The format of the files; told by their names if not given.", default=None
    )
    schema: str | None = option(
        'Names and types: "id long, ts timestamp, type string". Needed for Kafka and for an empty directory; '
        "otherwise taken from the files that are there when the stream first starts. Rows that do not fit "
        "are rejected and counted.",
        metavar="COLUMNS",
        default=None,
    )
    max_files: int | None = option("How many files a batch takes at most.", min=1, default=None)


@dataclass(frozen=True, kw_only=True)
class RunningOptions:
    """The state of a stream, and when its batches begin."""

    checkpoint: str = option(
        "Where the stream remembers how far it is. Started again with it, it goes on from there.",
        metavar="DIR",
    )
    available_now: bool = option(
        "Take what is there, then end, instead of waiting for more.", "--available-now", default=False
    )
    trigger: str | None = option(
        "How often to look for events; one batch after the other by default.",
        metavar="DURATION",
        default=None,
    )
    partitions: int | None = option(
        "How many parts the state has, fixed at the first start; by default one per core.",
        min=1,
        default=None,
    )
