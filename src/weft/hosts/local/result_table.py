"""Results as an Arrow table, with other libraries' frames a call away."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from weft.errors import WeftError

if TYPE_CHECKING:
    import pandas as pd

SHOWN_ROWS = 10


class ResultTable:
    """Rows of results: an Arrow table, with `to_pandas` and `to_polars` beside it.

    All of Arrow's methods are there (`num_rows`, `column_names`, `to_pylist()`, `filter(...)` ...), and
    whatever takes Arrow's PyCapsule interface takes it as it is: DuckDB, Polars, pandas, pyarrow.

    >>> table = ResultTable(pa.table({"query": ["q", "q"], "amount": [1, 2]}))
    >>> table.num_rows, table["amount"].to_pylist(), len(table)
    (2, [1, 2], 2)
    >>> table.to_pandas()["amount"].sum()
    np.int64(3)
    """

    def __init__(self, table: pa.Table) -> None:
        self.arrow = table

    def to_pandas(self, **options: Any) -> "pd.DataFrame":
        """Return a frame of pandas; `options` are those of `pyarrow.Table.to_pandas`."""
        return self.arrow.to_pandas(**options)

    def to_polars(self) -> Any:
        """Return a frame of Polars, which has to be installed."""
        try:
            polars = import_module("polars")
        except ImportError:
            raise WeftError(
                "Polars is not installed\n  hint: pip install polars, or take .arrow or .to_pandas()"
            ) from None
        return polars.from_arrow(self.arrow)

    def show(self, n: int = SHOWN_ROWS) -> None:
        """Print the first rows."""
        print(self._text(n))  # noqa: T201 - that is what it is for

    def _text(self, n: int) -> str:
        shown = self.arrow.slice(0, n)
        more = self.arrow.num_rows - shown.num_rows
        lines = [", ".join(f"{name}={value}" for name, value in row.items()) for row in shown.to_pylist()]
        return "\n".join([*lines, *([f"... and {more:,} more"] if more else [])] or ["(no rows)"])

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __getitem__(self, key: Any) -> Any:
        return self.arrow[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "arrow":
            raise AttributeError(name)
        return getattr(self.arrow, name)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        columns = ", ".join(self.arrow.column_names)
        return f"<ResultTable of {self.arrow.num_rows:,} rows: {columns}>"
