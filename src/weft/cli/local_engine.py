"""The local engine of the command line: files to Arrow, results from Arrow."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from weft.cli.engines import EngineName
from weft.hosts.local.arrow_events import ArrowEvents
from weft.hosts.local.result_table import ResultTable
from weft.io import arrow_sinks
from weft.io.arrow_files import open_events
from weft.io.event_files import EventColumns


class LocalEngine:
    """Runs in this process."""

    name: EngineName = "local"

    def read(self, path: str, columns: EventColumns) -> ArrowEvents:
        return open_events(path, columns, delimiter=columns.delimiter)

    def first_rows(self, frame: ResultTable, order: Sequence[str], n: int) -> list[Mapping[str, Any]]:
        keys = [(name, "ascending") for name in order]
        first = pc.sort_indices(frame.arrow, sort_keys=keys).slice(0, n)
        rows: list[Mapping[str, Any]] = frame.arrow.take(first).to_pylist(maps_as_pydicts="lossy")
        return rows

    def reasons(self, rejected: ResultTable, n: int) -> list[str]:
        return sorted(pc.unique(rejected["reason"]).to_pylist())[:n]

    @property
    def write_results(self) -> Callable[..., None]:
        return arrow_sinks.write_results
