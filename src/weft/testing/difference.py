"""The difference between what rules are to find and what they find, as a person reads it.

Lines of a match begin with `-` for what was expected and not found, with `+` for what was found and not
expected; an expected match stands beside a found one that differs from it in one event.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from weft.testing.expectation import Expectation, ExpectedEvents, Ids
from weft.testing.known_events import KnownEvents
from weft.testing.rule_results import RuleMatch, RuleResults
from weft.testing.trend_difference import trend_lines

MOST_SHOWN = 10  # matches of a rule, of each kind
Member = TypeVar("Member")


def difference(expected: Expectation, found: RuleResults, events: KnownEvents) -> str:
    """Return how what was found differs from what is expected, nothing where it does not.

    >>> no_events = KnownEvents()
    >>> expected = Expectation({"q": (("1", "2"),)}, {}, {})
    >>> print(difference(expected, RuleResults({"q": ()}, {}, {}, {}), no_events))
    rule q: 1 match missing
      missing [1, 2]
        - 1
        - 2
    """
    lines: list[str] = []
    for name in sorted(found.stopped.keys() & expected.rules):
        lines.append(f"rule {name} was stopped: {found.stopped[name]}")
    for name, ids in expected.matches.items():
        lines += _match_lines(name, ids, found.matches[name], events) if name in found.matches else []
    for name, timeouts in expected.timeouts.items():
        own = found.timeouts.get(name)
        lines += [] if own is None else _timeout_lines(name, timeouts, own, events)
    for name, rows in expected.trends.items():
        results = found.trends.get(name)
        lines += [] if results is None else trend_lines(name, rows, results, events.start)
    return "\n".join(lines)


def _match_lines(
    rule: str, expected: Sequence[Ids], found: Sequence[RuleMatch], events: KnownEvents
) -> Iterator[str]:
    lacking = Counter(expected) - Counter(match.ids for match in found)
    missing = [ExpectedEvents(ids) for ids in lacking.elements()]
    unexpected = _beyond(found, Counter(expected))
    return _difference_lines(f"rule {rule}", ("match", "matches"), missing, unexpected, events)


def _timeout_lines(
    rule: str, expected: Sequence[ExpectedEvents], found: Sequence[RuleMatch], events: KnownEvents
) -> Iterator[str]:
    """Yield the difference in timeouts; what is missing is compared where the test says it."""
    left = list(found)
    missing = []
    for timeout in expected:
        same = [
            match
            for match in left
            if match.ids == timeout.ids and timeout.missing in (None, match.missing or "none")
        ]
        if same:
            left.remove(same[0])
        else:
            missing.append(timeout)
    yield from _difference_lines(f"rule {rule}", ("timeout", "timeouts"), missing, left, events)


def _beyond(found: Iterable[RuleMatch], expected: Counter[Ids]) -> list[RuleMatch]:
    """Return the matches that are found more often than they are expected."""
    left = Counter(expected)
    beyond = []
    for match in found:
        if left[match.ids] > 0:
            left[match.ids] -= 1
        else:
            beyond.append(match)
    return beyond


def _difference_lines(
    rule: str,
    names: tuple[str, str],
    missing: list[ExpectedEvents],
    unexpected: list[RuleMatch],
    events: KnownEvents,
) -> Iterator[str]:
    if not missing and not unexpected:
        return
    counts = []
    for number, what in ((len(missing), "missing"), (len(unexpected), "not expected")):
        counts += [f"{number} {names[number != 1]} {what}"] if number else []
    yield f"{rule}: {', '.join(counts)}"
    pairs, missing, unexpected = _nearest(missing, unexpected)
    for own, match in _first(pairs):
        yield f"  expected {_expected_text(own, events)}, found {_found_text(match)}"
        yield from _aligned(own.ids, match, events)
    for own in _first(missing):
        yield f"  missing {_expected_text(own, events)}"
        yield from _aligned(own.ids, RuleMatch(()), events)
    for match in _first(unexpected):
        yield f"  not expected {_found_text(match)}"
        yield from _aligned((), match, events)
    hidden = sum(max(0, len(own) - MOST_SHOWN) for own in (pairs, missing, unexpected))
    if hidden:
        yield f"  and {hidden} more"


def _first(members: Sequence[Member]) -> Sequence[Member]:
    return members[:MOST_SHOWN]


def _nearest(
    missing: list[ExpectedEvents], unexpected: list[RuleMatch]
) -> tuple[list[tuple[ExpectedEvents, RuleMatch]], list[ExpectedEvents], list[RuleMatch]]:
    """Return pairs of a missing match and one in its place that differs in one event, and what is left."""
    pairs, alone, left = [], [], list(unexpected)
    for own in missing:
        near = next((match for match in left if _differs_in_one(own.ids, match.ids)), None)
        if near is None:
            alone.append(own)
        else:
            left.remove(near)
            pairs.append((own, near))
    return pairs, alone, left


def _differs_in_one(one: Ids, other: Ids) -> bool:
    """Return whether one event is another, too many, or lacking; and others are the same.

    >>> _differs_in_one(("1", "2"), ("1", "3")), _differs_in_one(("1", "2"), ("3", "4"))
    (True, False)
    """
    gone, come = Counter(one) - Counter(other), Counter(other) - Counter(one)
    n_same = len(one) - gone.total()
    return gone.total() <= 1 and come.total() <= 1 and n_same > 0


def _aligned(ids: Ids, match: RuleMatch, events: KnownEvents) -> Iterator[str]:
    """Yield the events of an expected match and of a found one, in order of time; equal ones once."""
    left = Counter(ids)
    rows = []
    for bound in match.events:
        sign = " " if left[bound.id] > 0 else "+"
        left[bound.id] -= sign == " "
        rows.append((bound.time, sign, events.line(bound.id, bound)))
    for lacking in left.elements():
        rows.append((events.times.get(lacking, 0), "-", events.line(lacking)))
    widths = [max(map(len, column)) for column in zip(*(cells for *_, cells in rows), strict=True)]
    for _, sign, cells in sorted(rows, key=lambda row: row[0]):
        line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        yield f"    {sign} {line.rstrip()}"


def _found_text(match: RuleMatch) -> str:
    return _list_text([event.id for event in match.events], match.missing)


def _expected_text(expected: ExpectedEvents, events: KnownEvents) -> str:
    ordered = sorted(expected.ids, key=lambda event: events.times.get(event, 0))
    return _list_text(ordered, expected.missing)


def _list_text(ids: Sequence[str], missing: str | None) -> str:
    return f"[{', '.join(ids)}]{f' without {missing}' if missing else ''}"
