"""The options of the commands that run Spark, in groups: a group is a dataclass whose fields are options."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, Literal, get_type_hints

import typer

from weft.adaptation.settings import Decider
from weft.api.options import PlacementName
from weft.errors import WeftError
from weft.io.sources import Format
from weft.io.stream_sinks import MatchFormat
from weft.io.times import TimeUnit
from weft.optimizer.pipeline import SECONDS
from weft.optimizer.planning import CostName, NeighborhoodName
from weft.optimizer.weave import Heuristic
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: each field of a group becomes an option of its own.

    >>> @dataclass(frozen=True, kw_only=True)
    ... class Greeting:
    ...     word: str = "Hello"
    >>> @with_groups
    ... def greet(name: str, *, greeting: Greeting) -> None:
    ...     print(greeting.word, name)
    >>> str(inspect.signature(greet))
    "(name: str, *, word: str = 'Hello') -> None"
    >>> greet("Ann", word="Good day,")
    Good day, Ann
    """
    signature = inspect.signature(command)
    annotations = {name: given.annotation for name, given in signature.parameters.items()}
    groups: dict[str, Any] = {name: kind for name, kind in annotations.items() if is_dataclass(kind)}

    @wraps(command)
    def called(*arguments: Any, **options: Any) -> None:
        made = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(*arguments, **options, **made)

    parameters = [part for given in signature.parameters.values() for part in _parameters(given)]
    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {}  # those of the groups are none of the options
    return called


def _parameters(given: inspect.Parameter) -> Iterator[inspect.Parameter]:
    if not is_dataclass(given.annotation):
        yield given
        return
    hints = get_type_hints(given.annotation, include_extras=True)
    for field in fields(given.annotation):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(field.name, given.kind, default=default, annotation=hints[field.name])


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
TimeColumn = Annotated[
    str,
    typer.Option(help="The column of the event time: a timestamp, a number or ISO 8601 text."),
]
TypeColumn = Annotated[str, typer.Option(help="The column of the event type.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object and nothing else.")
]
Master = Annotated[str, typer.Option(help="Where Spark runs; local[*] is all of this machine.")]
BudgetOption = Annotated[
    int,
    typer.Option(min=1, help="Partial matches that a step of a query may build before it is stopped."),
]
PARTIAL_MATCHES = Budget().partial_matches
SharingOption = Annotated[
    Sharing,
    typer.Option(
        help="How trend queries share work: dynamic decides for every burst of events, static always shares, "
        "none never. The results are the same."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """The columns of the events."""

    time: TimeColumn
    type: TypeColumn
    id: Annotated[
        str | None, typer.Option(help="The column of the event's identity; equal ids count once.")
    ] = None
    time_unit: Annotated[
        TimeUnit, typer.Option(help="What numbers in the time column count: seconds, ms or us.")
    ] = "ms"
    order_by: Annotated[str | None, typer.Option(help="The column that orders events of equal time.")] = None


@dataclass(frozen=True, kw_only=True)
class UsualColumnOptions(ColumnOptions):
    """The columns of the events, with their usual names."""

    time: TimeColumn = "ts"
    type: TypeColumn = "type"


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """How the plan is chosen."""

    plan: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE.json",
            help="How queries are ordered and shared: auto searches for the best; mcep and motto are the "
            "methods it unites; trivial, reorder, share, mst and lcse are baselines; a file is a plan stored "
            "with --save-plan.",
        ),
    ] = "auto"
    statistics: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.json",
            help="Rates and selectivities; estimated from a sample of the events if not given.",
        ),
    ] = None
    search_seconds: Annotated[float, typer.Option(min=0, help="How long to search for a plan at most.")] = (
        SECONDS
    )
    steps: Annotated[
        int | None,
        typer.Option(min=0, help="Search for so many steps instead: the same seed then gives the same plan."),
    ] = None
    seed: Annotated[int, typer.Option(help="Of all that the search leaves to chance.")] = 0
    heuristic: Annotated[
        Heuristic,
        typer.Option(
            help="How to search: replies improves one query after the other, with annealing in between; "
            "annealing and tabu are the searches of the MCEP paper by themselves."
        ),
    ] = "replies"
    neighborhood: Annotated[
        NeighborhoodName,
        typer.Option(help="What a step changes: edge two queries that share a part, vertex several."),
    ] = "edge"
    neighborhood_size: Annotated[
        int | None, typer.Option(metavar="K", min=2, help="How many queries a step of vertex changes.")
    ] = None
    prefix_only: Annotated[
        bool, typer.Option("--prefix-only", help="Evaluate orders, sharing their prefixes only, no trees.")
    ] = False
    cost: Annotated[
        CostName,
        typer.Option(
            help="By which cost plans are compared: measured is the time that this engine takes, "
            "partial-matches the count of the papers."
        ),
    ] = "measured"


@dataclass(frozen=True, kw_only=True)
class StoredPlanOptions(PlanOptions):
    """How the plan is chosen, and where it and its statistics are stored."""

    save_plan: Annotated[
        str | None, typer.Option(metavar="FILE.json", help="Store the plan that was chosen.")
    ] = None
    save_statistics: Annotated[
        str | None, typer.Option(metavar="FILE.json", help="Store the statistics that were used.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SiteOptions:
    """The sites at which events arise, and where queries are then evaluated."""

    site: Annotated[
        str | None,
        typer.Option(help="The column of the site at which an event arose: evaluate queries there."),
    ] = None
    placement: Annotated[
        PlacementName | None,
        typer.Option(
            help="With --site: muse evaluates parts of queries where that sends least, single-sink each "
            "operator at one site, central all queries outside of the sites. The matches are the same."
        ),
    ] = None

    def check(self) -> None:
        """Refuse options that speak of sites where there are none."""
        _require_site(self.site, "--placement", self.placement)


@dataclass(frozen=True, kw_only=True)
class StreamSiteOptions(SiteOptions):
    """The sites of a stream, and the past that tells them."""

    history: Annotated[
        str | None,
        typer.Option(
            metavar="EVENTS",
            help="With --site: past events, as weft run takes them. Their sites and rates decide where "
            "queries are evaluated; rows of other sites are rejected and counted.",
        ),
    ] = None

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

    placement: Annotated[
        bool,
        typer.Option(
            "--placement",
            help="Show where parts of the queries are best evaluated, and what sites then send.",
        ),
    ] = False
    site: Annotated[
        str | None,
        typer.Option(help="With --placement: the column of the site at which events arise."),
    ] = None
    picture: Annotated[
        str | None,
        typer.Option(metavar="FILE.svg", help="With --placement: draw it into a file."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Where the outcomes of a stream go."""

    out: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Where matches go, one file per batch that has any; each match is in exactly one of them.",
        ),
    ]
    format: Annotated[MatchFormat, typer.Option(help="What is written: JSON lines or Parquet.")] = "json"
    late: Annotated[
        str | None, typer.Option(metavar="DIR", help="Where time, type and id of late rows go.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """What the source of a stream holds, and how late it comes."""

    watermark: Annotated[
        str,
        typer.Option(
            metavar="DURATION", help="How late events may come: 10s, 5 minutes. Later ones are counted."
        ),
    ]
    source_format: Annotated[
        Format | None, typer.Option(help="The format of the files; told by their names if not given.")
    ] = None
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS",
            help='Names and types: "id long, ts timestamp, type string". Needed for Kafka and for an empty '
            "directory; otherwise taken from the files that are there when the stream first starts. Rows "
            "that do not fit are rejected and counted.",
        ),
    ] = None
    max_files: Annotated[int | None, typer.Option(min=1, help="How many files a batch takes at most.")] = None


@dataclass(frozen=True, kw_only=True)
class RunningOptions:
    """The state of a stream, when its batches begin, and when it plans anew."""

    checkpoint: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Where the stream remembers how far it is. Started again with it, it goes on from there.",
        ),
    ]
    available_now: Annotated[
        bool,
        typer.Option("--available-now", help="Take what is there, then end, instead of waiting for more."),
    ] = False
    trigger: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION", help="How often to look for events; one batch after the other by default."
        ),
    ] = None
    partitions: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many parts the state has, fixed at the first start; by default one per core."
        ),
    ] = None
    adapt: Annotated[
        Decider,
        typer.Option(
            help="When to plan anew while the data drifts: when a condition behind the plan is violated "
            "(invariants), when a statistic has changed by half (threshold), with every batch "
            "(unconditional), or never (off). The matches are the same."
        ),
    ] = "off"


Explained = Annotated[
    Literal["plan", "analyze"] | None,
    typer.Option(
        "--explain",
        help="Show the plan with the rows expected of each node; analyze: also what each did, and its time.",
    ),
]
