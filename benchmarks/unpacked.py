"""What a stream costs without packs: rows fed one by one to a stateful operator that only counts them."""

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues
from workloads import Workload

N_GROUPS = 8


def counted_rows(events: DataFrame, workload: Workload) -> DataFrame:
    """Return a stream that hands the rows a workload asks for to Python, in groups, and counts them."""
    rows = events.where(F.col("type").isin(list(workload.types))).withWatermark("ts", "10 seconds")
    grouped = rows.select(*workload.columns, F.pmod(F.hash("id"), F.lit(N_GROUPS)).alias("part"))
    return grouped.groupBy("part").transformWithStateInPandas(_counter(), "n long", "append", "eventTime")


def _counter() -> StatefulProcessor:
    """Return the operator; as a local class it travels by value, so workers need not import this."""

    class Counter(StatefulProcessor):
        def init(self, handle: StatefulProcessorHandle) -> None:
            self._total = handle.getValueState("total", "n long")

        def handleInputRows(
            self,
            key: Any,
            rows: Iterator[pd.DataFrame],
            timerValues: TimerValues,
        ) -> Iterator[pd.DataFrame]:
            n_rows = sum(len(frame) for frame in rows)
            found = self._total.get()
            self._total.update((n_rows + (0 if found is None else found[0]),))
            yield pd.DataFrame({"n": [n_rows]})

        def close(self) -> None:
            pass

    return Counter()
