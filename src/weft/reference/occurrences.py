"""The occurrences of a pattern: every binding of its variables that fits types, order, window and keys."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Pattern
from weft.reference.clauses import clauses_of, positive_variables
from weft.reference.events import Bindings, ReferenceEvent
from weft.reference.stream import Stream


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A way to bind the variables of a clause, which is a whole alternative or that of a repeated group.

    `lists` are the events of each variable, in order, and `repeats` the occurrences that a repeated group
    is made of. What is absent is in neither.
    """

    clause: Pattern
    lists: Bindings = field(default_factory=dict)
    repeats: Mapping[Kleene, tuple["Occurrence", ...]] = field(default_factory=dict)

    @property
    def identity(self) -> Hashable:
        """The rows that are bound: two occurrences with the same ones are one match."""
        rows = {(variable, tuple(event.row for event in bound)) for variable, bound in self.lists.items()}
        lists = {(group, tuple(part.identity for part in parts)) for group, parts in self.repeats.items()}
        return frozenset(rows), frozenset(lists)

    @property
    def bindings(self) -> dict[str, tuple[ReferenceEvent, ...]]:
        """The events of each variable, in a repeated group those of all its occurrences."""
        bindings = dict(self.lists)
        for parts in self.repeats.values():
            for part in parts:
                for variable, bound in part.bindings.items():
                    bindings[variable] = bindings.get(variable, ()) + bound
        return bindings

    @property
    def events(self) -> list[ReferenceEvent]:
        """All events that are bound."""
        return [event for bound in self.bindings.values() for event in bound]


def occurrences(clause: Pattern, events: Sequence[ReferenceEvent], stream: Stream) -> Iterator[Occurrence]:
    """Yield the occurrences of a clause among `events`; its negations are not looked at.

    >>> from weft.pattern.nodes import Query
    >>> from weft.reference.stream import prepare
    >>> pattern = nodes.Sequence((Event("A", "a"), Kleene(Event("B", "b"), 1, None)))
    >>> arrivals = [ReferenceEvent(row, frozenset(type), time=row) for row, type in enumerate("ABB")]
    >>> stream = prepare(Query("q", pattern), arrivals, tie_break=False)
    >>> [
    ...     [event.row for event in occurrence.events]
    ...     for occurrence in occurrences(pattern, stream.events, stream)
    ... ]
    [[0, 1], [0, 1, 2], [0, 2]]
    """
    match clause:
        case Event(variable=variable):
            rows = {event.row for event in events}
            for event in stream.candidates[clause]:
                if event.row in rows:
                    yield Occurrence(clause, {variable: (event,)})
        case Kleene(operand=operand, least=least, most=most):
            for parts in _lists(operand, events, len(events) if most is None else most, stream):
                if len(parts) < least:
                    continue
                if isinstance(operand, Event):
                    run = tuple(event for part in parts for event in part.events)
                    yield Occurrence(clause, {operand.variable: run})
                else:
                    yield Occurrence(clause, repeats={clause: parts})
        case nodes.Sequence(operands=operands) | Conjunction(operands=operands):
            positive = [operand for operand in operands if not isinstance(operand, Negation)]
            for parts in _combine(positive, events, stream, ordered=isinstance(clause, nodes.Sequence)):
                lists = {variable: bound for part in parts for variable, bound in part.lists.items()}
                repeats = {group: inner for part in parts for group, inner in part.repeats.items()}
                yield Occurrence(clause, lists, repeats)
        case _:
            raise ValueError(f"not part of a clause: {clause}")


def _lists(
    pattern: Pattern, events: Sequence[ReferenceEvent], longest: int, stream: Stream
) -> Iterator[tuple[Occurrence, ...]]:
    """Yield every list of at most `longest` occurrences, each wholly before the next; the empty one too."""
    yield ()
    if longest > 0:
        for clause in clauses_of(pattern):
            if clause.pattern is not None and positive_variables(clause.pattern):
                for first in occurrences(clause.pattern, events, stream):
                    left = _compatible(events, first, stream, ordered=True)
                    for rest in _lists(pattern, left, longest - 1, stream):
                        yield (first, *rest)


def _combine(
    operands: Sequence[Pattern], events: Sequence[ReferenceEvent], stream: Stream, *, ordered: bool
) -> Iterator[tuple[Occurrence, ...]]:
    """Yield the ways to bind all operands, each wholly before the next if they are `ordered`."""
    if not operands:
        yield ()
        return
    for first in occurrences(operands[0], events, stream):
        left = _compatible(events, first, stream, ordered=ordered)
        for rest in _combine(operands[1:], left, stream, ordered=ordered):
            yield (first, *rest)


def _compatible(
    events: Sequence[ReferenceEvent], occurrence: Occurrence, stream: Stream, *, ordered: bool
) -> list[ReferenceEvent]:
    """Return the events that can be bound along with an occurrence, and after it if `ordered`."""
    bound = occurrence.events
    return [
        event
        for event in events
        if (not ordered or all(stream.is_before(other, event) for other in bound))
        and all(stream.fit_together(other, event) for other in bound)
    ]


def negations(occurrence: Occurrence, stream: Stream) -> Iterator[tuple[Negation, list[ReferenceEvent]]]:
    """Yield the negations of a clause and of its repeated groups, each with the events in its scope."""
    yield from _negations(occurrence.clause, occurrence, stream)
    for parts in occurrence.repeats.values():
        for part in parts:
            yield from negations(part, stream)


def _negations(
    pattern: Pattern, occurrence: Occurrence, stream: Stream
) -> Iterator[tuple[Negation, list[ReferenceEvent]]]:
    if not isinstance(pattern, nodes.Sequence | Conjunction):
        return
    for index, operand in enumerate(pattern.operands):
        if not isinstance(operand, Negation):
            yield from _negations(operand, occurrence, stream)
        elif isinstance(pattern, nodes.Sequence):
            yield operand, _scope_in_sequence(pattern.operands, index, occurrence, stream)
        else:
            yield operand, _scope_in_conjunction(occurrence, stream)


def _scope_in_sequence(
    operands: Sequence[Pattern], index: int, occurrence: Occurrence, stream: Stream
) -> list[ReferenceEvent]:
    """Return the events between the nearest positive operands before and after operand `index`.

    Where there is none, the window of the whole match ends the scope.
    """
    bound = occurrence.events
    previous = _nearest(operands[:index][::-1], occurrence)
    following = _nearest(operands[index + 1 :], occurrence)
    return [
        event
        for event in stream.events
        if (previous or stream.is_from_window_before(event, bound))
        and (following or stream.is_up_to_window_after(event, bound))
        and all(stream.is_before(other, event) for other in previous)
        and all(stream.is_before(event, other) for other in following)
    ]


def _nearest(operands: Sequence[Pattern], occurrence: Occurrence) -> list[ReferenceEvent]:
    """Return the events of the first positive operand, none if there is no such operand."""
    for operand in operands:
        if not isinstance(operand, Negation):
            variables = positive_variables(operand)
            return [e for name, bound in occurrence.bindings.items() if name in variables for e in bound]
    return []


def _scope_in_conjunction(occurrence: Occurrence, stream: Stream) -> list[ReferenceEvent]:
    """Return the events from the first event of the match to the end of the window it begins."""
    bound = occurrence.events
    return [
        event
        for event in stream.events
        if stream.is_from_first(event, bound) and stream.is_up_to_window_after(event, bound)
    ]
