"""Read a file of lines in blocks of bounded size: whole lines, whatever ends them, compressed or not."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from weft.errors import DataError
from weft.io.event_files import COMPRESSIONS

BLOCK_BYTES = 4 << 20
READABLE = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def line_blocks(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file in blocks, each line with a newline at its end."""
    rest, is_first = b"", True
    for part in _parts(file):
        block = rest + part
        if is_first and len(block) >= len(BYTE_ORDER_MARK):
            block, is_first = block.removeprefix(BYTE_ORDER_MARK), False
        if b"\r" in block:
            ends_open = block.endswith(b"\r")  # a newline may follow
            block = block.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            block += b"\r" if ends_open else b""
        end = block.rfind(b"\n") + 1
        if end:
            yield block[:end]
        rest = block[end:]
    if rest:
        yield rest.removesuffix(b"\r") + b"\n"


def _parts(file: Path) -> Iterator[bytes]:
    codec = READABLE.get(file.suffix.lower())
    if codec is None and file.suffix.lower() in COMPRESSIONS:
        raise DataError(
            f"{file}: files that end in {file.suffix} cannot be read without Spark\n"
            f"  hint: compress with {', '.join(READABLE)}, or run on Spark"
        )
    try:
        with pa.input_stream(str(file), compression=codec) as stream:
            while part := stream.read(BLOCK_BYTES):
                yield part
    except (pa.ArrowException, OSError, zlib.error) as error:
        raise DataError(f"{file}: this cannot be read: {str(error).splitlines()[0]}") from None


def lines_of(block: bytes) -> pa.Array:
    r"""Return the lines of a block of valid UTF-8.

    >>> lines_of(b"one\ntwo\n").to_pylist()
    ['one', 'two']
    """
    texts = pa.array([block.removesuffix(b"\n")], pa.large_binary()).cast(pa.large_string())
    return pc.split_pattern(texts, "\n").flatten()


def block_of(lines: pa.Array) -> bytes:
    r"""Return lines as a block.

    >>> block_of(pa.array(["one", "two"]))
    b'one\ntwo\n'
    """
    if not len(lines):
        return b""
    whole = pa.ListArray.from_arrays([0, len(lines)], lines.cast(pa.string()))
    return bytes(pc.binary_join(whole, "\n")[0].as_buffer()) + b"\n"
