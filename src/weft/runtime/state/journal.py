"""The journal of a shard: how far it is, which segments it has, which queries it serves.

A small JSON text, written anew in every step; the rows themselves are in the segments of its logs.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Protocol

from weft.codec import Plain, from_json, stored, to_json
from weft.errors import DataError

BEGINNING = -(1 << 62)  # before all time
MILLISECOND = 1_000
REMEMBERED_STEPS = 64
JOURNAL = "journal"


class Store(Protocol):
    """Where the state of a shard lives: a journal, segments by their numbers, and a timer in milliseconds."""

    def journal(self) -> str | None: ...
    def set_journal(self, text: str) -> None: ...
    def segment(self, number: int) -> bytes: ...
    def set_segment(self, number: int, content: bytes) -> None: ...
    def remove_segment(self, number: int) -> None: ...
    def clear(self) -> None: ...
    def wake(self, moment: int | None, previous: int | None) -> None: ...


@stored
class Segment:
    """Rows kept under a number: how many, how large, until when, and in which steps they came.

    `level` says how often they were merged with others.
    """

    number: int
    n_rows: int
    n_bytes: int
    last_time: int
    first_step: int
    last_step: int
    level: int = 0


@stored
class ServedQuery:
    """A query in a shard: what it asks, as a fingerprint, and the first step whose events it sees.

    `stopped` says why it no longer runs, `limits` under which budget that was.
    """

    fingerprint: str
    since: int = 0
    stopped: str | None = None
    limits: str | None = None


@stored
class Journal:
    """The state of a shard after a step.

    `assignment` tells how events are assigned to shards, which cannot change while there is state. Each of
    the `logs` is a sequence of segments: that of events, at sites also those of matches that came. A token
    tells a step from any other that was tried. Where positions count, the log has all events since the time
    `oldest`:
    those that it has of before are not next to each other any more.

    >>> journal = Journal("2 shards", step=7, tokens=("a",), logs={"events": (Segment(0, 1, 9, 5, 7, 7),)})
    >>> Journal.from_json(journal.to_json()) == journal
    True
    """

    assignment: str
    step: int = 0
    frontier: int = BEGINNING
    next_number: int = 0
    logs: Mapping[str, tuple[Segment, ...]] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()  # of the latest steps
    queries: Mapping[str, ServedQuery] = field(default_factory=dict)
    wake: int | None = None  # milliseconds
    oldest: int = BEGINNING
    adaptation: Mapping[str, Any] | None = None  # what an adapter remembers of every step
    adapted: Segment | None = None  # and the rest, which few steps change

    @property
    def segments(self) -> list[Segment]:
        """The segments of all logs, and what changes the plan has written."""
        others = [] if self.adapted is None else [self.adapted]
        return [segment for log in self.logs.values() for segment in log] + others

    def frontier_at(self, watermark: int) -> int:
        """Return the frontier, in microseconds, that a watermark in milliseconds stands for.

        No event to come is before it. It never goes back; zero, as in Spark, is no watermark yet.

        >>> Journal("").frontier_at(0) == BEGINNING, Journal("", frontier=9_000).frontier_at(7)
        (True, 9000)
        """
        return max(watermark * MILLISECOND if watermark > 0 else BEGINNING, self.frontier)

    def has_passed(self, step: int, token: str) -> bool:
        """Say whether a step, told by its token, is one of the latest that led here."""
        place = len(self.tokens) - 1 - (self.step - step)
        return 0 <= place < len(self.tokens) and self.tokens[place] == token

    def next_step(self, token: str, frontier: int) -> "Journal":
        """Return the journal of the next step."""
        tokens = (*self.tokens, token)[-REMEMBERED_STEPS:]
        return replace(self, step=self.step + 1, tokens=tokens, frontier=frontier)

    def to_json(self) -> str:
        """Return the journal as text."""
        plain: Any = None if self.adaptation is None else Plain(self.adaptation)
        return to_json(JOURNAL, replace(self, adaptation=plain))

    @staticmethod
    def from_json(text: str) -> "Journal":
        """Return the journal written by `to_json`."""
        journal: Journal = from_json(JOURNAL, text, "the state of a shard")
        adaptation: Any = journal.adaptation
        return replace(journal, adaptation=adaptation.value) if isinstance(adaptation, Plain) else journal


def journal_in(store: Store, assignment: str) -> Journal:
    """Return the journal in a store, a new one where there is none; refuse that of another assignment."""
    text = store.journal()
    if text is None:
        return Journal(assignment)
    journal = Journal.from_json(text)
    if journal.assignment != assignment:
        raise DataError(
            f"the checkpoint was written for {journal.assignment}, and its state is divided so; the stream "
            f"now has {assignment}. Give the queries, sites and partitions of the first start, or start with "
            "a new checkpoint"
        )
    return journal


def wake_after(moment: int) -> int:
    """Return the first watermark, in milliseconds, that is past a time.

    >>> wake_after(4_999), wake_after(5_000), wake_after(-7)
    (5, 6, 1)
    """
    return max(1, moment // MILLISECOND + 1)
