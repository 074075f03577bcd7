"""The rows of TIMEOUTS: how far a pattern got from each of its first events that begins no match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from weft.pattern import nodes
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query
from weft.reference.events import Bindings, ReferenceEvent
from weft.reference.matcher import strategic_matches
from weft.reference.matches import Match, match_of
from weft.reference.strategy import Opening, could_take
from weft.reference.stream import Stream, prepare
from weft.reference.values import ORDER


@dataclass(frozen=True, slots=True)
class Timeout:
    """The longest chain from an event, and the variable that it does not reach; None if it reaches all."""

    chain: Match
    missing: str | None


def find_timeouts(query: Query, events: Sequence[ReferenceEvent], *, tie_break: bool = False) -> set[Timeout]:
    """Return the timeouts of a query whose pattern is a SEQ of single events and lists.

    >>> pattern = nodes.Sequence((Event("A", "a"), Event("B", "b"), Event("C", "c")))
    >>> arrivals = [("A", 0), ("B", 5), ("C", 15)]
    >>> stream = [ReferenceEvent(row, frozenset(type), time) for row, (type, time) in enumerate(arrivals)]
    >>> (timeout,) = find_timeouts(Query("q", pattern, window=nodes.TimeWindow(10)), stream)
    >>> sorted(timeout.chain.rows.items()), timeout.missing
    ([('a', (0,)), ('b', (1,))], 'c')
    """
    stream = prepare(query, events, tie_break=tie_break)
    first, *others = _operands(query.pattern)
    begun = {match.rows[first.item.variable][0] for match in strategic_matches(stream)}
    return {
        _longest_chain(event, first.item, others, stream)
        for event in stream.candidates[first.item]
        if event.row not in begun and _fits(event, first, {}, stream)
    }


@dataclass(frozen=True, slots=True)
class _Operand:
    item: Event
    least: int
    is_list: bool


def _operands(pattern: Pattern) -> Iterator[_Operand]:
    """Yield the positive operands of a SEQ in flat form."""
    match pattern:
        case nodes.Sequence(operands=operands):
            for operand in operands:
                yield from _operands(operand)
        case Event():
            yield _Operand(pattern, 1, is_list=False)
        case Kleene(operand=Event() as item, least=least):
            yield _Operand(item, least, is_list=True)
        case Negation():
            return
        case _:
            raise ValueError(f"TIMEOUTS with an operand that is neither an event nor a list: {pattern}")


def _longest_chain(
    start: ReferenceEvent, first: Event, operands: Sequence[_Operand], stream: Stream
) -> Timeout:
    """Take for each operand the earliest events that fit, as many as it wants at least."""
    chain: dict[str, tuple[ReferenceEvent, ...]] = {first.variable: (start,)}
    for operand in operands:
        for _ in range(operand.least):
            fitting = [
                event
                for event in stream.candidates[operand.item]
                if stream.is_up_to_window_after(event, [start]) and _fits(event, operand, chain, stream)
            ]
            if not fitting:
                return Timeout(match_of(chain), operand.item.variable)
            taken = chain.get(operand.item.variable, ())
            chain[operand.item.variable] = (*taken, _earliest(fitting, stream))
    return Timeout(match_of(chain), None)


def _fits(event: ReferenceEvent, operand: _Operand, chain: Bindings, stream: Stream) -> bool:
    """Say whether an event after all of a chain could be taken next."""
    elements = chain.get(operand.item.variable, ())
    after = tuple(other for bound in chain.values() for other in bound)
    return could_take(event, Opening(operand.item, elements, after, (), operand.is_list), chain, stream)


def _earliest(events: Sequence[ReferenceEvent], stream: Stream) -> ReferenceEvent:
    """Return the first of some events; of several that are tied, the one with the smallest id."""
    first = [event for event in events if not any(stream.is_before(other, event) for other in events)]
    return min(first, key=lambda event: ORDER(event.identity))
