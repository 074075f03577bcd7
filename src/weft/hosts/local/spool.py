"""Record batches that wait: in memory, or in files where they are many."""

import tempfile
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

PORTION = 1 << 20  # bytes, about, of a batch in a file


@dataclass
class Pile:
    """Batches of one schema, the later ones in memory, the earlier ones perhaps in files."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    n_rows: int = 0
    n_bytes: int = 0
    stored: list[tuple[Path, int]] = field(default_factory=list)  # files, and where in each its stream begins

    def add(self, batch: pa.RecordBatch) -> None:
        """Take a batch."""
        self.batches.append(batch)
        self.n_rows += batch.num_rows
        self.n_bytes += batch.nbytes

    def write(self, file: pa.NativeFile, path: Path) -> None:
        """Write what is in memory to a file, small pieces together."""
        if not self.batches:
            return
        batches, self.batches = self.batches, []
        self.stored.append((path, file.tell()))
        with pa.ipc.new_stream(file, batches[0].schema) as writer:
            for pieces in _in_portions(batches):
                writer.write_batch(pa.concat_batches(pieces) if len(pieces) > 1 else pieces[0])

    def take(self) -> pa.Table:
        """Return all rows, and give them up; those in files are mapped, to be read when used."""
        batches, self.batches = self.batches, []
        tables = [_stored(*place) for place in self.stored]
        tables += [pa.Table.from_batches(batches)] if batches else []
        return pa.concat_tables(tables)


def _in_portions(batches: Iterable[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    """Yield batches in lists that have at least so many bytes together, but the last."""
    portion: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        portion.append(batch)
        size += batch.nbytes
        if size >= PORTION:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


def _stored(path: Path, start: int) -> pa.Table:
    with pa.memory_map(str(path)) as content:
        content.seek(start)
        return pa.ipc.open_stream(content).read_all()


class Spool:
    """Piles of batches by key; when they are together larger than `limit` bytes, all go to a new file.

    Several threads may add to it. The files are gone when it is closed; rows that were taken stay.

    >>> with Spool(limit=100) as spool:
    ...     for start in (0, 40):
    ...         spool.add("x", pa.record_batch({"n": range(start, start + 40)}))
    ...     spool.n_written, spool.take("x").num_rows
    (2, 80)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.piles: dict[Any, Pile] = {}
        self.n_written = 0  # files
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
        path = Path(self._directory.name) / f"{self.n_written}.arrows"
        with pa.OSFile(str(path), "wb") as file:
            for pile in self.piles.values():
                pile.write(file, path)
        self._in_memory, self.n_written = 0, self.n_written + 1

    def take(self, key: Any) -> pa.Table:
        """Return the rows of a pile, and give them up."""
        with self._lock:
            pile = self.piles.pop(key)
            self._in_memory -= sum(batch.nbytes for batch in pile.batches)
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
