"""What a shard knows of its own state: which segments there are, how far it is, which queries it serves.

A small JSON text, written anew in every step; the events themselves are in the segments.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from weft.errors import DataError

VERSION = 1
BEGINNING = -(1 << 62)  # before all time
REMEMBERED_STEPS = 64


@dataclass(frozen=True, slots=True)
class Segment:
    """Events kept under a number: how many, how large, until when, and in which steps they came.

    `level` says how often they were put together with others.
    """

    number: int
    n_events: int
    n_bytes: int
    last_time: int
    first_step: int
    last_step: int
    level: int = 0


@dataclass(frozen=True, slots=True)
class Served:
    """A query in a shard: what it asks, as a fingerprint, and the first step whose events it sees.

    `stopped` says why it no longer runs, `limits` under which budget that was.
    """

    fingerprint: str
    since: int = 0
    stopped: str | None = None
    limits: str | None = None


@dataclass(frozen=True)
class Journal:
    """The state of a shard after a step; `token` tells this step from any other that was tried.

    Where positions count, the segments have all events since the time `oldest`: those that they have of
    before are not next to each other any more.

    >>> journal = Journal(n_shards=2, step=7, tokens=("a",))
    >>> Journal.from_json(journal.to_json()) == journal
    True
    """

    n_shards: int
    step: int = 0
    frontier: int = BEGINNING
    next_number: int = 0
    segments: tuple[Segment, ...] = ()
    tokens: tuple[str, ...] = ()  # of the latest steps
    queries: Mapping[str, Served] = field(default_factory=dict)
    wake: int | None = None  # milliseconds
    oldest: int = BEGINNING
    adaptation: Mapping[str, Any] | None = None  # the state of what changes the plan, if anything does

    def has_passed(self, step: int, token: str) -> bool:
        """Say whether a step, told by its token, is one of the latest that led here."""
        place = len(self.tokens) - 1 - (self.step - step)
        return 0 <= place < len(self.tokens) and self.tokens[place] == token

    def advanced(self, token: str, frontier: int) -> "Journal":
        """Return the journal of the next step."""
        tokens = (*self.tokens, token)[-REMEMBERED_STEPS:]
        return replace(self, step=self.step + 1, tokens=tokens, frontier=frontier)

    def to_json(self) -> str:
        found = {"version": VERSION, **{one.name: getattr(self, one.name) for one in fields(self)}}
        found["segments"] = [asdict(segment) for segment in self.segments]
        found["queries"] = {name: asdict(served) for name, served in self.queries.items()}
        return json.dumps(found, ensure_ascii=False)

    @staticmethod
    def from_json(text: str) -> "Journal":
        """Return the journal written by `to_json`."""
        found = json.loads(text)
        version = found.pop("version", None)
        if version != VERSION:
            raise DataError(
                f"the state of a shard has version {version!r}, expected {VERSION}; it was written by a "
                "newer Weft: go on with that one, or start with a new checkpoint"
            )
        found["segments"] = tuple(Segment(**segment) for segment in found["segments"])
        found["tokens"] = tuple(found["tokens"])
        found["queries"] = {name: Served(**served) for name, served in found["queries"].items()}
        return Journal(**found)


def merging(segments: Sequence[Segment], fan: int) -> tuple[Segment, ...]:
    """Return segments that should become one: the first `fan` neighbors of one level, or none.

    Every event is then rewritten a number of times that grows with the logarithm of the segments.

    >>> [s.number for s in merging([Segment(n, 1, 1, 0, n, n, level=n < 1) for n in range(4)], 3)]
    [1, 2, 3]
    """
    run: list[Segment] = []
    for segment in segments:
        run = [*run, segment] if run and run[-1].level == segment.level else [segment]
        if len(run) == fan:
            return tuple(run)
    return ()
