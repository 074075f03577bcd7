"""Which matches the walks keep, AFTER MATCH SKIP and SUPPRESS: what is kept decides about what follows."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from weft.expressions import Attribute
from weft.reference.events import ReferenceEvent, positions
from weft.reference.matches import Match, value_of
from weft.reference.stream import Stream
from weft.reference.values import ORDER, Value, compare


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A match with its first and last event; tied ones are in order of their ids."""

    match: Match
    first: ReferenceEvent
    last: ReferenceEvent
    values: tuple[Value, ...]  # of the attributes for each of which there is a walk of its own
    by_completion: tuple[int, int, int, str]
    by_length: tuple[int, int, int, str]


def skip_matches(matches: Iterable[Match], stream: Stream, identity: Callable[[Match], str]) -> set[Match]:
    """Return the matches that AFTER MATCH SKIP keeps, in each partition of the query.

    >>> from weft.pattern.nodes import Event, Kleene, Query
    >>> from weft.pattern.policies import Policy
    >>> from weft.reference.matcher import find_matches
    >>> pattern = Kleene(Event("A", "a"), 2, 3)
    >>> stream = [ReferenceEvent(row, frozenset("A"), row) for row in range(5)]
    >>> for policy in (Policy(skip="past last"), Policy(skip="past last", prefer_longest=True)):
    ...     print(
    ...         sorted(match.rows["a"] for match in find_matches(Query("q", pattern, policy=policy), stream))
    ...     )
    [(0, 1), (2, 3)]
    [(0, 1, 4)]
    """
    policy = stream.query.policy
    if policy.skip in (None, "none"):
        return set(matches)
    found: set[Match] = set()
    for walk in _walks(_candidates(matches, stream, identity)):
        kept: list[_Candidate] = []
        for one in sorted(
            walk, key=lambda one: one.by_length if policy.prefer_longest else one.by_completion
        ):
            if policy.skip == "to next":
                counts = all(one.first.row != other.first.row for other in kept)
            else:
                counts = not kept or stream.is_before(kept[-1].last, one.first)
            if counts:
                kept.append(one)
                found.add(one.match)
    return found


def suppress_matches(
    matches: Iterable[Match], stream: Stream, identity: Callable[[Match], str]
) -> set[Match]:
    """Return the matches that SUPPRESS keeps, each with how many the quiet time before it swallowed.

    >>> from weft.pattern.nodes import Event, Query
    >>> from weft.pattern.policies import Policy, Suppression
    >>> from weft.reference.matcher import find_matches
    >>> query = Query("q", Event("A", "a"), policy=Policy(suppression=Suppression(3)))
    >>> stream = [ReferenceEvent(row, frozenset("A"), row) for row in range(5)]
    >>> sorted((match.start, match.swallowed) for match in find_matches(query, stream))
    [(0, 0), (3, 2)]
    """
    suppression = stream.query.policy.suppression
    if suppression is None:
        return set(matches)
    found: set[Match] = set()
    for walk in _walks(_candidates(matches, stream, identity, suppression.per)):
        quiet_until, swallowed = -math.inf, 0
        for one in sorted(walk, key=attrgetter("by_completion")):
            if one.match.end < quiet_until:
                swallowed += 1
                continue
            found.add(replace(one.match, swallowed=swallowed))
            quiet_until, swallowed = one.match.end + suppression.length, 0
    return found


def _candidates(
    matches: Iterable[Match],
    stream: Stream,
    identity: Callable[[Match], str],
    per: Sequence[Attribute] = (),
) -> Iterator[_Candidate]:
    """Yield matches with what decides about their place; the values are those of `per`, or of the keys."""
    by_row = {event.row: event for event in stream.events}
    ranks = positions(stream.events, (), tie_break=stream.tie_break)
    for match in matches:
        events = [by_row[row] for rows in match.rows.values() for row in rows]
        events.sort(key=lambda event: (ranks[event.row], ORDER(event.identity)))
        first, last, name = ranks[events[0].row], ranks[events[-1].row], identity(match)
        yield _Candidate(
            match,
            first=events[0],
            last=events[-1],
            values=tuple(value_of(attribute, match, by_row) for attribute in per)
            or tuple(events[0].value(key) for key in stream.keys),
            by_completion=(last, first, -len(events), name),
            by_length=(first, -last, -len(events), name),
        )


def _walks(candidates: Iterable[_Candidate]) -> list[list[_Candidate]]:
    """Divide matches by their values; NULL is a value like any other."""
    walks: list[list[_Candidate]] = []
    for one in candidates:
        for walk in walks:
            if all(map(_is_same, walk[0].values, one.values)):
                walk.append(one)
                break
        else:
            walks.append([one])
    return walks


def _is_same(left: Value, right: Value) -> bool:
    return left is right if left is None or right is None else compare(left, right) == 0
