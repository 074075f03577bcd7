"""Which matches STRATEGY keeps: a filter on the occurrences of each clause that are matches."""

from collections.abc import Iterator
from dataclasses import dataclass

from weft.expressions import Aggregate, Attribute, Expression, variables_of
from weft.pattern.nodes import Event, Kleene
from weft.reference.clauses import Clause, order_of, positive_events
from weft.reference.evaluate import holds
from weft.reference.events import Bindings, ReferenceEvent, agree
from weft.reference.occurrences import Occurrence
from weft.reference.stream import Stream
from weft.tree import find


def is_kept(clause: Clause, match: Occurrence, stream: Stream) -> bool:
    """Say whether a match of a clause counts by the strategy of the query.

    >>> from dataclasses import replace
    >>> from weft.pattern.nodes import Query, Sequence
    >>> from weft.pattern.policies import Policy
    >>> from weft.reference.matcher import find_matches
    >>> query = Query("q", Sequence((Event("A", "a"), Event("B", "b"))))
    >>> stream = [ReferenceEvent(row, frozenset(type), row) for row, type in enumerate("AABB")]
    >>> for strategy in ("any", "next", "strict"):
    ...     found = find_matches(replace(query, policy=Policy(strategy)), stream)
    ...     print(sorted(match.rows["a"] + match.rows["b"] for match in found))
    [(0, 2), (0, 3), (1, 2), (1, 3)]
    [(0, 2), (1, 2)]
    [(1, 2)]
    """
    match stream.query.policy.strategy:
        case "next":
            bindings = {**dict.fromkeys(clause.absent, ()), **match.lists}
            bound = {event.row for event in match.events}
            return not any(
                event.row not in bound and could_take(event, opening, bindings, stream)
                for opening in _openings(clause, match, stream)
                for event in stream.candidates[opening.item]
            )
        case "strict":
            return not any(_is_between(event, match, stream) for event in stream.events)
        case _:
            return True


def _is_between(event: ReferenceEvent, match: Occurrence, stream: Stream) -> bool:
    """Say whether an event lies between two that follow each other in a match: tied with none of them."""
    is_before = [stream.is_before(bound, event) for bound in match.events]
    is_after = [stream.is_before(event, bound) for bound in match.events]
    is_tied = any(not before and not after for before, after in zip(is_before, is_after, strict=True))
    return any(is_before) and any(is_after) and not is_tied and agree(event, match.events[0], stream.keys)


@dataclass(frozen=True, slots=True)
class Opening:
    """Where an event could be taken for an item: after some events of a match and before others.

    `elements` are those of the item's list that it would follow.
    """

    item: Event
    elements: tuple[ReferenceEvent, ...]
    after: tuple[ReferenceEvent, ...]
    before: tuple[ReferenceEvent, ...]
    is_list: bool


def _openings(clause: Clause, match: Occurrence, stream: Stream) -> Iterator[Opening]:
    """Yield where a match could have taken an event earlier, or in addition."""
    order = order_of(clause.whole)
    quantifiers = {kleene.operand: kleene for kleene in find(clause.whole, Kleene)}
    first = next(e for e in match.events if not any(stream.is_before(other, e) for other in match.events))
    for item in positive_events(clause.whole):
        bound = match.lists.get(item.variable, ())
        left = _events_of({name for name, later in order if later == item.variable}, match)
        right = _events_of({name for earlier, name in order if earlier == item.variable}, match)
        quantifier = quantifiers.get(item)
        for place, event in enumerate(bound):
            before = bound[:place]
            yield Opening(item, before, (first, *left, *before), (event,), is_list=quantifier is not None)
        may_grow = quantifier is not None and (quantifier.most is None or len(bound) < quantifier.most)
        if may_grow and right and (left or bound):
            yield Opening(item, bound, (*left, *bound), right, is_list=True)


def _events_of(variables: set[str], match: Occurrence) -> tuple[ReferenceEvent, ...]:
    return tuple(event for name, bound in match.lists.items() if name in variables for event in bound)


def could_take(event: ReferenceEvent, opening: Opening, bindings: Bindings, stream: Stream) -> bool:
    """Say whether an event fits an opening among bound events and satisfies what is asked of it.

    Asked are the keys, and the predicates that mention the item and otherwise only earlier events.
    """
    variable = opening.item.variable
    known = bindings.keys() | {variable}
    return (
        all(stream.is_before(other, event) for other in opening.after)
        and all(stream.is_before(event, other) for other in opening.before)
        and all(agree(event, other, stream.keys) for bound in bindings.values() for other in bound)
        and all(
            holds(conjunct, {**bindings, variable: _taken(conjunct, event, opening)})
            for conjunct in stream.conjuncts
            if variable in variables_of(conjunct) <= known
            and _is_asked(conjunct, event, opening, bindings, stream)
        )
    )


def _taken(conjunct: Expression, event: ReferenceEvent, opening: Opening) -> tuple[ReferenceEvent, ...]:
    """Return the elements of which a predicate is asked: the event, for `v[i-1]` with the one before."""
    is_paired = "previous" in _places(conjunct, opening.item.variable)
    return (*opening.elements[-1:], event) if is_paired else (event,)


def _is_asked(
    conjunct: Expression, event: ReferenceEvent, opening: Opening, bindings: Bindings, stream: Stream
) -> bool:
    """Say whether a predicate is asked of an event: of a single one, and not before the others are known."""
    variable = opening.item.variable
    if opening.is_list and _places(conjunct, variable) & {"first", "last", "whole"}:
        return False
    return all(
        stream.is_before(other, event)
        for name in variables_of(conjunct) - {variable}
        for other in bindings[name][: 1 if _places(conjunct, name) == {"first"} else None]
    )


def _places(conjunct: Expression, variable: str) -> set[str]:
    """Return of which events of a variable a predicate speaks; of the whole list in an aggregate."""
    places: set[str] = {node.place for node in find(conjunct, Attribute) if node.variable == variable}
    is_aggregated = any(node.variable == variable for node in find(conjunct, Aggregate))
    return places | {"whole"} if is_aggregated else places
