"""The arguments and options of the command line, with their help."""

from typing import Annotated, Literal

import typer

from weft.adaptation.settings import Decider
from weft.api.session import Placement
from weft.io.sources import Format
from weft.io.times import TimeUnit
from weft.plan.trend_sets import Sharing
from weft.runtime.budget import Budget

Queries = Annotated[
    str,
    typer.Argument(metavar="QUERIES", help="A file of queries, or a directory of *.weft and *.ccl files."),
]
Events = Annotated[
    str,
    typer.Argument(
        metavar="EVENTS",
        help="CSV with a header, JSON lines or Parquet; a file or a directory of files of one format.",
    ),
]
TimeColumn = Annotated[
    str,
    typer.Option("--time", help="The column of the event time: a timestamp, a number or ISO 8601 text."),
]
TypeColumn = Annotated[str, typer.Option("--type", help="The column of the event type.")]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="The column of the event's identity; equal ids count once.")
]
OrderColumn = Annotated[
    str | None, typer.Option("--order-by", help="The column that orders events of equal time.")
]
Unit = Annotated[
    TimeUnit,
    typer.Option("--time-unit", help="What numbers in the time column count: seconds, ms or us."),
]
PlanOption = Annotated[
    str,
    typer.Option(
        "--plan",
        metavar="NAME|FILE.json",
        help="How queries are ordered and shared: auto searches for the best; mcep and motto are the methods "
        "it unites; trivial, reorder, share, mst and lcse are baselines; a file is a plan stored with "
        "--save-plan.",
    ),
]
SavePlan = Annotated[
    str | None, typer.Option("--save-plan", metavar="FILE.json", help="Store the plan that was chosen.")
]
StatisticsOption = Annotated[
    str | None,
    typer.Option(
        "--statistics",
        metavar="FILE.json",
        help="Rates and selectivities; estimated from a sample of the events if not given.",
    ),
]
SaveStatistics = Annotated[
    str | None,
    typer.Option("--save-statistics", metavar="FILE.json", help="Store the statistics that were used."),
]
Explained = Annotated[
    Literal["plan", "analyze"] | None,
    typer.Option(
        "--explain",
        help="Show the plan with the rows expected of each node; analyze: also what each did, and its time.",
    ),
]
PARTIAL_MATCHES = Budget().partial_matches
BudgetOption = Annotated[
    int,
    typer.Option(
        "--budget", min=1, help="Partial matches that a step of a query may build before it is stopped."
    ),
]
SharingOption = Annotated[
    Sharing,
    typer.Option(
        "--sharing",
        help="How trend queries share work: dynamic decides for every burst of events, static always shares, "
        "none never. The results are the same.",
    ),
]
AdaptOption = Annotated[
    Decider,
    typer.Option(
        "--adapt",
        help="When to plan anew while the data drifts: when a condition behind the plan is violated "
        "(invariants), when a statistic has changed by half (threshold), with every batch (unconditional), "
        "or never (off). The matches are the same.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print the summary as one JSON object and nothing else.")
]
PlacementFlag = Annotated[
    bool,
    typer.Option(
        "--placement", help="Show where parts of the queries are best evaluated, and what sites then send."
    ),
]
ExplainedSite = Annotated[
    str | None, typer.Option("--site", help="With --placement: the column of the site at which events arise.")
]
SiteColumn = Annotated[
    str | None,
    typer.Option("--site", help="The column of the site at which an event arose: evaluate queries there."),
]
PlacementOption = Annotated[
    Placement | None,
    typer.Option(
        "--placement",
        help="With --site: muse evaluates parts of queries where that sends least, single-sink each operator "
        "at one site, central all queries outside of the sites. The matches are the same.",
    ),
]
HistoryOption = Annotated[
    str | None,
    typer.Option(
        "--history",
        metavar="EVENTS",
        help="With --site: past events, as weft run takes them. Their sites and rates decide where queries "
        "are evaluated; rows of other sites are rejected and counted.",
    ),
]
PictureOption = Annotated[
    str | None,
    typer.Option("--picture", metavar="FILE.svg", help="With --placement: draw it into a file."),
]
SearchSeconds = Annotated[
    float, typer.Option("--search-seconds", min=0, help="How long to search for a plan at most.")
]
Master = Annotated[str, typer.Option("--master", help="Where Spark runs; local[*] is all of this machine.")]

# Of streams alone
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A directory in which files arrive (CSV with a header, JSON lines or Parquet; move finished "
        "files there), or kafka:BROKERS/TOPIC with JSON objects as values.",
    ),
]
WatermarkOption = Annotated[
    str,
    typer.Option(
        "--watermark",
        metavar="DURATION",
        help="How late events may come: 10s, 5 minutes. Later ones are counted.",
    ),
]
Checkpoint = Annotated[
    str,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Where the stream remembers how far it is. Started again with it, it goes on from there.",
    ),
]
MatchesDirectory = Annotated[
    str,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Where matches go, one file per batch that has any; each match is in exactly one of them.",
    ),
]
MatchesFormat = Annotated[
    Literal["json", "parquet"], typer.Option("--format", help="What is written: JSON lines or Parquet.")
]
LateDirectory = Annotated[
    str | None, typer.Option("--late", metavar="DIR", help="Where time, type and id of late rows go.")
]
SourceFormat = Annotated[
    Format | None,
    typer.Option("--source-format", help="The format of the files; told by their names if not given."),
]
SchemaOption = Annotated[
    str | None,
    typer.Option(
        "--schema",
        metavar="COLUMNS",
        help='Names and types: "id long, ts timestamp, type string". Needed for Kafka and for an empty '
        "directory; otherwise taken from the files that are there when the stream first starts. Rows that "
        "do not fit are rejected and counted.",
    ),
]
AvailableNow = Annotated[
    bool, typer.Option("--available-now", help="Take what is there, then end, instead of waiting for more.")
]
TriggerOption = Annotated[
    str | None,
    typer.Option(
        "--trigger",
        metavar="DURATION",
        help="How often to look for events; one batch after the other by default.",
    ),
]
MaxFiles = Annotated[
    int | None, typer.Option("--max-files", min=1, help="How many files a batch takes at most.")
]
Partitions = Annotated[
    int | None,
    typer.Option(
        "--partitions",
        min=1,
        help="How many parts the state has, fixed at the first start; by default one per core.",
    ),
]
