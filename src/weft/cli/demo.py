"""The command `weft demo`: twenty queries of a bank's fraud desk over a million events."""

import re
import tempfile
import time
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer
from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.rule import Rule
from rich.table import Table

from weft.api.detect import prepare
from weft.api.detection import Detection
from weft.cli.check import within_text
from weft.cli.console import terminal
from weft.cli.options import Master
from weft.cli.report import show_progress, time_line
from weft.cli.spark_engine import report_failures, start_spark
from weft.cli.steps import search_plan
from weft.errors import WeftError
from weft.hosts.progress import no_progress
from weft.hosts.spark.progress import spark_progress
from weft.language.printer import expression_to_text
from weft.plan.dag import readers, topological_order
from weft.plan.nodes import (
    Await,
    Chain,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Plan,
    Project,
    Scan,
    columns_of,
)
from weft_lab.demo_events import N_DAYS, N_USERS, write_events

EXAMPLES = "Example:\n\n  weft demo --events 100000"
SHOWN_MATCHES = ("takeover_abroad", "sim_swap_limit", "card_testing", "spending_spree", "money_mule")
SHOWN_SHARED = 8
WITHOUT = {
    "trivial": "the queries as written, one by one",
    "reorder": "the best order of each, nothing shared",
    "share": "all that can be shared, in written order",
}
ONLY_COLUMN = r'"\$0"\.'  # the table of a filtered scan has one column: no need to say which


def demo(
    events: Annotated[int, typer.Option(min=10_000, help="How many events to make.")] = 1_000_000,
    master: Master = "local[*]",
) -> None:
    """Find fraud in a million events of a bank: twenty queries, one shared plan, some matches to read."""
    with report_failures():
        show(terminal(), n_events=events, spark=start_spark(master))


def show(console: Console, *, n_events: int, spark: SparkSession) -> None:
    """Make the events, run the queries, and tell about the plan and the matches."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="weft-demo-") as directory:
        write_events(Path(directory), n_events)
        console.print(Rule("A week in a bank"))
        console.print(
            f"{n_events:,} events of {N_USERS:,} customers in {N_DAYS} days, some of them crimes; "
            f"made in {time.perf_counter() - started:.1f} s."
        )
        events = spark.read.parquet(directory)
        detection = prepare(
            events, demo_queries(), time="ts", type="type", id="id", origin="demo.weft", notices=False
        )
        _weave(console, detection, spark)
        _show_sharing(console, detection)
        started = time.perf_counter()
        matches = detection.matches.persist(StorageLevel.MEMORY_AND_DISK)
        with show_progress("Finding matches", spark_progress(spark)):
            counted = {row["query"]: row["count"] for row in matches.groupBy("query").count().collect()}
        seconds = time.perf_counter() - started
        _show_counts(console, detection, counted, seconds)
        _show_local(console, directory, counted, seconds)
        _show_matches(console, detection, matches, events)
        matches.unpersist()


def _weave(console: Console, detection: Detection, spark: SparkSession) -> None:
    """Choose the plan, and say what that gains."""
    started = time.perf_counter()
    with show_progress("Looking at a sample of the events", spark_progress(spark)):
        detection.sample_statistics()
    search_plan(detection)
    spent = time.perf_counter() - started
    costs = detection.costs()
    chosen = costs.pop("this plan")
    others = ", ".join(f"{cost / chosen:.1f} times for {WITHOUT[name]}" for name, cost in costs.items())
    console.print(Rule("One plan for all queries"))
    console.print(f"Chosen in {spent:.1f} s from a sample of the events. Expected work: {others}.")


def demo_queries() -> str:
    """Return the text of the queries."""
    return (files("weft_lab") / "demo.weft").read_text(encoding="utf-8")


def sharing(plan: Plan) -> tuple[int, int, dict[Node, frozenset[str]]]:
    """Return the number of nodes, what it would be without sharing, and the readers of shared nodes.

    >>> from weft.language.parser import parse
    >>> queries = parse("QUERY p PATTERN SEQ(A, B)  QUERY q PATTERN SEQ(A, C)")
    >>> from weft.optimizer.pipeline import optimize
    >>> n_nodes, n_alone, shared = sharing(optimize(queries, None))
    >>> n_nodes, n_alone, {node.type: sorted(queries) for node, queries in shared.items()}
    (5, 6, {'A': ['p', 'q']})
    """
    queries_of = readers(plan)
    n_alone = sum(len(topological_order(Plan((output,)))) for output in plan.outputs)
    shared = {node: queries for node, queries in queries_of.items() if len(queries) > 1}
    return len(queries_of), n_alone, shared


def node_text(node: Node) -> str:
    """Return in a few words what a node computes.

    >>> from weft.language.parser import parse
    >>> from weft.optimizer.pipeline import optimize
    >>> plan = optimize(parse("QUERY q PATTERN SEQ(A a, NOT C c, B b) WHERE b.x > 3"), None)
    >>> [node_text(node) for node in topological_order(plan)]
    ['all A', 'all B', 'B where x > 3', 'join of A, B', 'all C', 'absence of C in A, B']
    """
    types = _types_in(node)
    match node:
        case Scan():
            return f"all {types}"
        case Filter(predicates=predicates):
            condition = " AND ".join(map(expression_to_text, predicates))
            return f"{types} where {re.sub(ONLY_COLUMN, '', condition)}"
        case Join():
            return f"join of {types}"
        case KleeneExpand():
            return f"lists in {types}"
        case NegationCheck(absence=absence):
            return f"absence of {_types_in(absence.negated)} in {types}"
        case Await():
            return f"{types} in order"
        case Chain():
            return f"the nearest of {types}"
        case Project():
            return f"selection of {types}"
        case _:
            return f"union over {types}"


def _types_in(node: Node) -> str:
    return ", ".join(name for name, _ in columns_of(node))


def _show_sharing(console: Console, detection: Detection) -> None:
    n_nodes, n_alone, shared = sharing(detection.shared_plan)
    console.print(
        f"{len(detection.queries)} queries need {n_nodes} operators, {n_alone} if each ran alone; "
        f"{len(shared)} operators serve several queries, for example:"
    )
    table = Table("what is computed once", "queries", "that read it")
    # Joins before scans: they are what costs.
    ranked = sorted(shared.items(), key=lambda item: (isinstance(item[0], Scan), -len(item[1])))
    for node, queries in ranked[:SHOWN_SHARED]:
        table.add_row(node_text(node), str(len(queries)), ", ".join(sorted(queries)))
    console.print(table)


def _show_counts(console: Console, detection: Detection, counted: Mapping[str, int], seconds: float) -> None:
    console.print(Rule("What was found"))
    table = Table("query", "within", "matches")
    table.columns[2].justify = "right"
    for query in detection.queries:
        table.add_row(query.name, within_text(query), f"{counted.get(query.name, 0):,}")
    console.print(table)
    console.print(
        f"{sum(counted.values()):,} matches in {seconds:.1f} s, all queries together; "
        "in a first run that is mostly Spark warming up."
    )


def _show_local(console: Console, directory: str, counted: Mapping[str, int], on_spark: float) -> None:
    """Do the same work without Spark, from the files to the matches, and say how long that took."""
    started = time.perf_counter()
    with show_progress("Finding them once more, without Spark", no_progress):
        local = prepare(
            directory, demo_queries(), time="ts", type="type", id="id", origin="demo.weft", notices=False
        )
        found = local.run().counts
    seconds = time.perf_counter() - started
    if {name: count for name, count in found.items() if count} != dict(counted):
        raise WeftError("the local engine and Spark disagree: this is a mistake in Weft, please report it")
    console.print(
        f"The same matches without Spark, in this process, its own plan included: {seconds:.1f} s "
        f"({on_spark / seconds:.0f} times as fast). weft run does so by itself with files on one machine."
    )


def _show_matches(console: Console, detection: Detection, matches: DataFrame, events: DataFrame) -> None:
    console.print(Rule("Some of it, read closely"))
    first = (
        matches.where(F.col("query").isin(*SHOWN_MATCHES))
        .groupBy("query")
        .agg(F.min_by(F.struct("*"), F.struct("start", "match_id")).alias("match"))
    )
    examples = {row["query"]: row["match"] for row in first.collect()}
    bound = [event["id"] for match in examples.values() for event in match["events"]]
    details = {row["id"]: _details(row) for row in events.where(F.col("id").isin(*bound)).collect()}
    for query in (name for name in SHOWN_MATCHES if name in examples):
        match = examples[query]
        returned = {name: match[column] for name, column in detection.return_columns[query].items()}
        console.print(time_line(match.asDict(recursive=True), returned, details), soft_wrap=True)
        console.print()


def _details(event: Row) -> str:
    """Return what is worth knowing of an event of the bank."""
    fields: dict[str, Any] = event.asDict()
    amount = "" if fields["amount"] is None else f"{fields['amount']:,.2f} €"
    return f"{amount:>12}  {fields['country']}  {fields['device']}"
