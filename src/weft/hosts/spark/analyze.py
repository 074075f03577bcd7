"""What the nodes of plans did in all shards, summed up and shown.

The metrics of a shard travel among its matches: one row per node, with no query, and JSON in place of
the identity of a match. So one run of the public DataFrame API gives both.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.explain.plans import plan_lines
from weft.hosts.spark.trend_analyze import TrendAnalysis
from weft.plan.dag import topological_order
from weft.plan.nodes import Node, Plan
from weft.runtime.budget import NodeMetrics

SHARE, METRICS = "weft_share", "weft_metrics"


@dataclass(frozen=True)
class AnalyzedPlan:
    """A plan, what each of its nodes did in all shards, and the time that each shard took."""

    plan: Plan
    metrics: Mapping[Node, NodeMetrics]
    shard_nanoseconds: Mapping[int, int]
    estimated: Mapping[Node, float] | None = None

    def lines(self) -> list[str]:
        spent = self.shard_nanoseconds.values()
        shards = "1 shard" if len(spent) == 1 else f"{len(spent):,} shards"
        slowest = f"{max(spent, default=0) / 1e6:,.1f} ms in the slowest of {shards}"
        total = f"{sum(spent) / 1e6:,.1f} ms in the nodes"
        return [f"{total}, {slowest}", *plan_lines(self.plan, self.estimated, self.metrics)]


@dataclass(frozen=True)
class Analysis:
    """One run: the matches of each query, what the nodes of the plans did, and trend queries."""

    matches: Mapping[str, int]
    plans: tuple[AnalyzedPlan, ...]
    trends: TrendAnalysis | None = None

    @property
    def counts(self) -> Mapping[str, int]:
        """The number of matches, and of results of trend queries."""
        return {**self.matches, **(self.trends.results if self.trends is not None else {})}

    def __str__(self) -> str:
        parts = ["\n".join(plan.lines()) for plan in self.plans]
        return "\n\n".join(parts if self.trends is None else [*parts, "\n".join(self.trends.lines())])


def is_match() -> Column:
    """Whether a row is a match rather than the metrics of a node."""
    return F.col("query").isNotNull()


def metrics() -> Column:
    """Return the metrics of a row that has them, and NULL for matches."""
    return F.when(~is_match(), F.col("match_id")).alias(METRICS)


def matches_in(rows: Iterable[Row]) -> dict[str, int]:
    """Return the matches of each query, of rows that were counted by query and metrics."""
    matches: dict[str, int] = {}
    for row in rows:
        if row["query"] is not None:
            matches[row["query"]] = matches.get(row["query"], 0) + row["count"]
    return matches


def analysis_of(
    measured: DataFrame, plans: Sequence[Plan], estimated: Sequence[Mapping[Node, float] | None] | None = None
) -> Analysis:
    """Run the shares of a workload, whose rows have the number of their plan in SHARE, and sum them up."""
    rows = measured.groupBy(SHARE, "query", metrics()).count().collect()
    return Analysis(
        matches_in(rows),
        tuple(
            _analyzed(plan, [row for row in rows if row[SHARE] == number], estimates)
            for number, (plan, estimates) in enumerate(
                zip(plans, estimated or [None] * len(plans), strict=True)
            )
        ),
    )


def _analyzed(plan: Plan, rows: Iterable[Row], estimated: Mapping[Node, float] | None) -> AnalyzedPlan:
    nodes = topological_order(plan)
    metrics = dict.fromkeys(nodes, NodeMetrics())
    spent: dict[int, int] = {}
    for row in rows:
        if row[METRICS] is not None:
            found = json.loads(row[METRICS])
            shard, number = found.pop("shard"), found.pop("node")
            metrics[nodes[number]] += NodeMetrics(**found)
            spent[shard] = spent.get(shard, 0) + found["nanoseconds"]
    return AnalyzedPlan(plan, metrics, spent, estimated)
