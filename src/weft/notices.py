"""Notices: what a person should know of queries, events or a run, though nothing is refused."""

import sys
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

NoticeKind = Literal[
    "caution",  # a query that is likely to find more than anybody wants, or to be stopped
    "unknown type",  # a type that no event has
    "contradiction",  # conditions that no event can satisfy together
    "odd times",  # events outside of the years in which most are
    "rejected rows",  # rows that are no events
    "renamed columns",  # RETURN columns of one name and several types
    "time zone",  # constants read in a zone that may surprise
    "no events",  # an input without rows
    "no matches",  # a query without matches on events
    "compilation",  # kernels that are compiled while somebody waits
    "short search",  # a search for a plan that was cut short
    "stream",  # what a batch of a stream showed
]

PACKAGE = __name__.split(".")[0]
BETWEEN = (PACKAGE, "numba", "contextlib", "functools")  # whose lines lie between a user's and a warning


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    r"""Something that a person should know: why, what to do about it, which query and batch it is about.

    >>> print(Notice(kind="unknown type", reason="no event is a Tranfser", remedy="did you mean Transfer?"))
    no event is a Tranfser
      hint: did you mean Transfer?
    """

    kind: NoticeKind
    reason: str
    remedy: str | None = None
    query: str | None = None
    batch: int | None = None

    @property
    def text(self) -> str:
        """The reason, and below it what to do about it."""
        return self.reason if self.remedy is None else f"{self.reason}\n  hint: {self.remedy}"

    def to_dict(self) -> Mapping[str, str | int]:
        """Return what there is of it, for JSON."""
        given = {
            "kind": self.kind,
            "query": self.query,
            "batch": self.batch,
            "reason": self.reason,
            "remedy": self.remedy,
        }
        return {name: value for name, value in given.items() if value is not None}

    def __str__(self) -> str:
        return self.text if self.query is None else f"query {self.query}: {self.text}"


class NoticeWarning(UserWarning):
    """A notice as a warning of Python; `notices=False` keeps it quiet."""


def warn_of(notices: Iterable[Notice]) -> None:
    """Tell notices as warnings of Python, at the line that called Weft."""
    notices = list(notices)
    if not notices:
        return
    frame, depth = sys._getframe(), 1  # noqa: SLF001 - only newer versions of Python skip files by themselves
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in BETWEEN:
        frame, depth = frame.f_back, depth + 1
    for notice in notices:
        warnings.warn(str(notice), NoticeWarning, stacklevel=depth)
