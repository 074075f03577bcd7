"""What sharing did for trend queries in all shards, summed up and shown."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows

from weft.hosts.spark.trend_worker import COUNTERS
from weft.runtime.trends.emit import BEYOND
from weft.runtime.trends.shared import Counters

METRICS = "weft_metrics"


@dataclass(frozen=True)
class TrendAnalysis:
    """One run of trend queries: the number of results of each, and what sharing did in all shards."""

    results: Mapping[str, int]
    counters: Counters
    n_shards: int

    def lines(self) -> list[str]:
        """Write what was counted.

        >>> for line in TrendAnalysis({"q": 3}, Counters(bursts=4, graphlets=7), 2).lines()[:3]:
        ...     print(line)
        Trends: 3 results in 2 shards
          bursts              4
          graphlets           7
        """
        counters = self.counters
        counted = {
            "bursts": counters.bursts,
            "graphlets": counters.graphlets,
            "shared graphlets": counters.shared_graphlets,
            "graphlet snapshots": counters.graphlet_snapshots,
            "event snapshots": counters.event_snapshots,
            "splits": counters.splits,
            "merges": counters.merges,
            "other events": counters.other_events,
        }
        n_results = sum(self.results.values())
        results = "1 result" if n_results == 1 else f"{n_results:,} results"
        shards = "1 shard" if self.n_shards == 1 else f"{self.n_shards:,} shards"
        return [
            f"Trends: {results} in {shards}",
            *(f"  {name:<18}  {count:,}" for name, count in counted.items()),
        ]


def trend_analysis_of(measured: DataFrame) -> TrendAnalysis:
    """Run trend queries, whose rows without a query say what sharing did, and sum up."""
    metrics = F.when(F.col("query").isNull(), F.col(BEYOND)[COUNTERS]).alias(METRICS)
    results: dict[str, int] = {}
    counters, n_shards = Counters(), 0
    for row in measured.groupBy("query", metrics).count().collect():
        if row["query"] is not None:
            results[row["query"]] = row["count"]
            continue
        n_shards += row["count"]
        for _ in range(row["count"]):
            counters += Counters(**json.loads(row[METRICS]))
    return TrendAnalysis(results, counters, n_shards)
