"""The arguments and options of the command line, with their help."""

from typing import Annotated, Literal

import typer

from weft.spark.times import TimeUnit

Queries = Annotated[
    str, typer.Argument(metavar="QUERIES", help="A file of queries, or a directory of *.weft files.")
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
        help="How queries are ordered and shared: auto searches for the best; trivial, reorder and share "
        "are baselines; a file is a plan stored with --save-plan.",
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
SearchSeconds = Annotated[
    float, typer.Option("--search-seconds", min=0, help="How long to search for a plan at most.")
]
Master = Annotated[str, typer.Option("--master", help="Where Spark runs; local[*] is all of this machine.")]
