"""What cannot be events: said with what it is, and what to give instead."""

from collections.abc import Mapping
from os import PathLike
from typing import NoReturn

from weft.errors import DataError, absent_path

TAKEN = "a Spark DataFrame, an Arrow table, any frame that gives its columns as Arrow (pandas, Polars)"
READERS = ("collect", "compute", "to_table")  # of frames that are lazy
MAX_REPEATED = 60  # characters of what was given that a message repeats


def refuse_events(events: object) -> NoReturn:
    """Raise the error of something that was given as events and is none.

    >>> refuse_events(None)
    Traceback (most recent call last):
    weft.errors.DataError: `events` is None, which holds no events
      hint: was the frame ever assigned? A function without return gives None, and so does DataFrame.show()
    """
    if isinstance(events, str | PathLike):
        _refuse_path(str(events))
    raise DataError(f"`events` is {_shown(events)}, which holds no events\n  hint: {_remedy(events)}")


def _refuse_path(path: str) -> NoReturn:
    if "PATTERN" in path.upper() and any(character.isspace() for character in path):
        raise DataError(
            "`events` is the text of a query\n"
            "  hint: the events come first, as in weft.detect(events, queries, ...)"
        )
    raise absent_path(path, "events")


def _remedy(events: object) -> str:
    """Return what to do about something that is no frame."""
    if events is None:
        return (
            "was the frame ever assigned? A function without return gives None, and so does DataFrame.show()"
        )
    if isinstance(events, type):
        return "give a frame, not its class"
    for name in READERS:
        if callable(getattr(type(events), name, None)):
            return f"it is not read yet: give what its {name}() returns"
    if isinstance(events, Mapping):
        return "make a table of the columns: pyarrow.table(events)"
    if isinstance(events, list | tuple):
        return "make a table of the rows: pyarrow.Table.from_pylist(events), each row a dict"
    if _is_frame(events):
        return (
            "it does not give its columns as Arrow (__arrow_c_stream__): convert it, for example with "
            "pyarrow.table(...) or pyarrow.Table.from_pandas(...), or take a newer version of its library"
        )
    return f"give {TAKEN}, or the path of files"


def _is_frame(events: object) -> bool:
    """Return whether something looks like a frame of whatever library."""
    return hasattr(events, "columns") and (hasattr(events, "__len__") or hasattr(events, "dtypes"))


def _shown(events: object) -> str:
    """Return what was given, in few words."""
    kind = type(events)
    text = repr(events) if isinstance(events, int | float | type) or events is None else ""
    return text if 0 < len(text) <= MAX_REPEATED else f"a {kind.__module__}.{kind.__qualname__}"
