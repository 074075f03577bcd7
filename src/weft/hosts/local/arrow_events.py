"""Events as batches of Arrow, wherever they lie: in memory or in files that are read as they are needed."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

ReadColumns: TypeAlias = Callable[[Sequence[str], Collection[str]], Iterator[pa.RecordBatch]]
BATCH_ROWS = 1 << 17  # rows of a batch at most


@dataclass(frozen=True, slots=True)
class ArrowEvents:
    """Events that can be read again and again, some columns at a time.

    >>> table = pa.table({"ts": [1, 2], "type": ["A", "B"]})
    >>> events = ArrowEvents(
    ...     table.schema, table.nbytes, lambda names, _: iter(table.select(names).to_batches())
    ... )
    >>> [batch.to_pydict() for batch in events.batches(["type"])]
    [{'type': ['A', 'B']}]
    """

    schema: pa.Schema  # all columns, as users see them
    n_bytes: int  # how much there is to read: of files on disk, of a table in memory
    # Gives batches with the named columns, in this order, each time from the beginning. Of some of them it
    # may give texts as a dictionary and codes, where that takes less time.
    read: ReadColumns
    without_values: frozenset[str] = frozenset()  # columns of CSV whose type no row tells

    def batches(self, columns: Sequence[str], coded: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the events in their order, with the named columns alone, in batches of bounded size.

        The texts of columns that are `coded` may come as a dictionary and codes.
        """
        for batch in self.read(columns, coded):
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)
