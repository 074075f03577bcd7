"""The definition of a query's match set, as a search through all bindings of its variables.

The pattern is split into clauses. In each clause every binding of its variables to events of the
right type is tried; it is a match when order, window, equivalences and predicates hold and no match
of a negated pattern lies in the scope of the negation. Of these matches, the policy of the query says
which ones count.
"""

from collections.abc import Callable, Iterator, Sequence

from weft.errors import Problem, QueryError
from weft.expressions import Expression, variables_of
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query
from weft.reference.clauses import Clause, clauses_of, positive_variables
from weft.reference.evaluate import holds
from weft.reference.events import Bindings, ReferenceEvent, agree
from weft.reference.matches import Match, bindings_text, match_of
from weft.reference.occurrences import Occurrence, negations, occurrences
from weft.reference.strategy import is_kept
from weft.reference.stream import Stream, prepare
from weft.reference.walk import skip_matches, suppress_matches
from weft.tree import find


def find_matches(
    query: Query,
    events: Sequence[ReferenceEvent],
    *,
    tie_break: bool = False,
    identity: Callable[[Match], str] = bindings_text,
) -> set[Match]:
    """Return the matches of a bound query that count; the order of `events` does not matter.

    `identity` is the `match_id` of a match, by which those that are alike in all else are walked in order.

    >>> from weft.pattern import nodes
    >>> query = Query("q", nodes.Sequence((Event("A", "a"), Event("B", "b"))), window=nodes.TimeWindow(10))
    >>> arrivals = [("A", 0), ("A", 5), ("B", 10), ("B", 15)]
    >>> stream = [ReferenceEvent(row, frozenset(type), time) for row, (type, time) in enumerate(arrivals)]
    >>> sorted((match.rows["a"], match.rows["b"]) for match in find_matches(query, stream))
    [((0,), (2,)), ((1,), (2,)), ((1,), (3,))]
    """
    _refuse_repeated_groups(query.pattern)
    stream = prepare(query, events, tie_break=tie_break)
    return suppress_matches(skip_matches(strategic_matches(stream), stream, identity), stream, identity)


def strategic_matches(stream: Stream) -> set[Match]:
    """Return the matches that the strategy of the query keeps, in some clause."""
    return {match_of(found.lists) for clause, found in _found(stream) if is_kept(clause, found, stream)}


def _refuse_repeated_groups(pattern: Pattern) -> None:
    for kleene in find(pattern, Kleene):
        is_optional = kleene.most == 1 and not isinstance(kleene.operand, Negation)
        if not is_optional and not isinstance(kleene.operand, Event):
            message = "a repeated group is not supported in a query that returns matches"
            raise QueryError([Problem(message, kleene.span, "repeat a single event, or count trends")])


def matching_occurrences(stream: Stream) -> Iterator[Occurrence]:
    """Yield the occurrences of a query's pattern that are matches; a match may occur in several clauses."""
    return (occurrence for _, occurrence in _found(stream))


def _found(stream: Stream) -> Iterator[tuple[Clause, Occurrence]]:
    pattern = stream.query.pattern
    positive = positive_variables(pattern)
    conditions = [conjunct for conjunct in stream.conjuncts if variables_of(conjunct) <= positive]
    return _matching(pattern, stream.events, conditions, {}, stream)


def _matching(
    pattern: Pattern,
    events: Sequence[ReferenceEvent],
    conditions: Sequence[Expression],
    outer: Bindings,
    stream: Stream,
) -> Iterator[tuple[Clause, Occurrence]]:
    """Yield the matches of each clause among `events`; `outer` are bindings around a negated pattern.

    An absent optional variable is bound to the empty list, so that it has a count. A condition on a
    variable that is bound neither here nor outside belongs to a branch not taken: it is dropped.
    """
    for clause in clauses_of(pattern):
        positive = positive_variables(clause.pattern)
        if clause.pattern is None or not positive:
            continue
        around = {**outer, **dict.fromkeys(clause.absent, ())}
        applicable = [part for part in conditions if variables_of(part) <= positive | around.keys()]
        for occurrence in occurrences(clause.pattern, events, stream):
            if all(_satisfies(occurrence, condition, around) for condition in applicable) and not any(
                _has_match(negation.operand, scope, occurrence, around, stream)
                for negation, scope in negations(occurrence, stream)
            ):
                yield clause, occurrence


def _satisfies(occurrence: Occurrence, condition: Expression, around: Bindings) -> bool:
    """Say whether a condition holds for every combination of the events that it speaks of.

    When all its variables are in one repeated group, it is a condition on each occurrence of the group.
    """
    variables = variables_of(condition)
    for group, parts in occurrence.repeats.items():
        if variables and variables <= positive_variables(group):
            return all(_satisfies(part, condition, around) for part in parts)
    unbound = dict.fromkeys(variables, ())
    return holds(condition, {**unbound, **around, **occurrence.bindings})


def _has_match(
    pattern: Pattern, scope: Sequence[ReferenceEvent], match: Occurrence, around: Bindings, stream: Stream
) -> bool:
    """Say whether a negated pattern has a match in a scope, of events that the match does not bind.

    Its conditions are those that mention a variable of its own, and none that it negates in turn.
    """
    bound = match.events
    free = [
        event
        for event in scope
        if all(event.row != other.row and agree(event, other, stream.keys) for other in bound)
    ]
    positive = positive_variables(pattern)
    hidden = {item.variable for item in find(pattern, Event)} - positive
    conditions = [
        conjunct
        for conjunct in stream.conjuncts
        if variables_of(conjunct) & positive and not variables_of(conjunct) & hidden
    ]
    outer = {**around, **match.bindings}
    return any(True for _ in _matching(pattern, free, conditions, outer, stream))
