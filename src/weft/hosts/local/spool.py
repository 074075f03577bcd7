"""Record batches that wait: in memory, or in files where they are many."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa


class Pile:
    """Batches of one schema, the later ones in memory, the earlier ones perhaps in a file."""

    def __init__(self) -> None:
        self.batches: list[pa.RecordBatch] = []
        self.n_rows = 0
        self.n_bytes = 0
        self._writer: pa.ipc.RecordBatchStreamWriter | None = None
        self._path: Path | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch."""
        self.batches.append(batch)
        self.n_rows += batch.num_rows
        self.n_bytes += batch.nbytes

    def write(self, path: Path) -> None:
        """Write what is in memory to the end of the pile's file."""
        for batch in self.batches:
            if self._writer is None:
                self._path = path
                self._writer = pa.ipc.new_stream(str(path), batch.schema)
            self._writer.write_batch(batch)
        self.batches = []

    def take(self) -> pa.Table:
        """Return all rows, and give them up; those in a file are mapped, to be read when used."""
        batches, self.batches = self.batches, []
        if self._writer is None or self._path is None:
            return pa.Table.from_batches(batches)
        self._writer.close()
        with pa.memory_map(str(self._path)) as content:
            stored = pa.ipc.open_stream(content).read_all()
        self._path.unlink()  # what is mapped stays until nobody refers to it
        return pa.concat_tables([stored, pa.Table.from_batches(batches)]) if batches else stored


class Spool:
    """Piles of batches by key; when they are together larger than `limit` bytes, all go to files.

    Several threads may add to it. The files are gone when it is closed.

    >>> with Spool(limit=100) as spool:
    ...     for start in (0, 40):
    ...         spool.add("x", pa.record_batch({"n": range(start, start + 40)}))
    ...     spool.n_written, spool.take("x").num_rows
    (2, 80)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.piles: dict[Any, Pile] = {}
        self.n_written = 0  # how often everything in memory went to files
        self._in_memory = 0
        self._lock = threading.Lock()
        self._directory: tempfile.TemporaryDirectory[str] | None = None

    def add(self, key: Any, batch: pa.RecordBatch) -> None:
        """Take a batch for a pile."""
        if not batch.num_rows:
            return
        with self._lock:
            self.piles.setdefault(key, Pile()).add(batch)
            self._in_memory += batch.nbytes
            if self._in_memory > self.limit:
                self._write()

    def _write(self) -> None:
        if self._directory is None:
            self._directory = tempfile.TemporaryDirectory(prefix="weft-spool-")
        for number, pile in enumerate(self.piles.values()):
            pile.write(Path(self._directory.name) / f"{number}.arrow")
        self._in_memory, self.n_written = 0, self.n_written + 1

    def take(self, key: Any) -> pa.Table:
        """Return the rows of a pile, and give them up."""
        with self._lock:
            pile = self.piles[key]
        return pile.take()

    def tables(self) -> Iterator[tuple[Any, pa.Table]]:
        """Yield all piles, in the order in which they began, and give them up."""
        for key in list(self.piles):
            yield key, self.take(key)

    def close(self) -> None:
        """Remove the files."""
        if self._directory is not None:
            self._directory.cleanup()
            self._directory = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
