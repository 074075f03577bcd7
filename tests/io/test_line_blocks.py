"""Files of lines in blocks, wherever these end."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from tests.helpers.odd_files import write

from weft.errors import DataError
from weft.io import line_blocks as blocks
from weft.io.line_blocks import block_of, line_blocks, lines_of


@pytest.mark.parametrize("size", [1, 2, 3, 5, 1 << 20])
def test_lines_are_whole_and_end_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    found = list(line_blocks(write(tmp_path / "a.txt", "one\r\n\r\ntwo\rthree\nfour,é\r\nlast")))
    assert all(block.endswith(b"\n") for block in found)
    assert b"".join(found).decode() == "one\n\ntwo\nthree\nfour,é\nlast\n"
    assert len(found) > 1 or size > 20


def test_a_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert list(line_blocks(write(tmp_path / "a.txt", "\ufeffone\n"))) == [b"one\n"]
    assert list(line_blocks(write(tmp_path / "b.txt", ""))) == []


@pytest.mark.parametrize(
    ("suffix", "compress"),
    [
        (".gz", gzip.compress),
        (".bz2", bz2.compress),
        (".zst", lambda text: pa.compress(text, codec="zstd", asbytes=True)),
    ],
)
def test_compressed_files(tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]) -> None:
    assert list(line_blocks(write(tmp_path / f"a.csv{suffix}", compress(b"one\ntwo")))) == [
        b"one\n",
        b"two\n",
    ]
    broken = write(tmp_path / f"b.csv{suffix}", b"one\ntwo")
    with pytest.raises(DataError, match="this cannot be read"):
        list(line_blocks(broken))


def test_other_compressions_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv.lz4", b"")
    with pytest.raises(DataError) as error:
        list(line_blocks(path))
    assert str(error.value) == (
        f"{path}: files that end in .lz4 cannot be read without Spark\n"
        "  hint: compress with .gz, .bz2, .zst, or run on Spark"
    )


def test_lines_and_blocks_are_inverse() -> None:
    for block in (b"", b"one\n", b"\n\ntwo\n\n"):
        assert block_of(lines_of(block)) == block or not block
