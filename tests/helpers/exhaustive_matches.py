"""The meaning of a query as docs/semantics.md defines it, checked on every conceivable binding.

Written apart from the reference, whose pruning and whose negation it is compared with: here a match is
everything that satisfies the definition, and a negation is looked for among all sets of events in its scope.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise, product

from weft.expressions import Equivalence, variables_of
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, CountWindow, Event, Kleene, Negation, Pattern, Query, TimeWindow
from weft.reference.clauses import Clause, clauses_of, positive_events
from weft.reference.evaluate import holds
from weft.reference.events import Bindings, ReferenceEvent, agree, is_before, positions
from weft.tree import find


def n_bindings(query: Query, n_events: int) -> int:
    """Return an upper bound of the bindings that exhaustive() tries in one clause."""
    lists = {kleene.operand for kleene in nodes_of(query.pattern)}
    total = 1
    for item in positive_events(query.pattern):
        total *= 2**n_events if item in lists else n_events
    return total


def nodes_of(pattern: Pattern) -> Iterator[Kleene]:
    match pattern:
        case Kleene():
            yield pattern
        case nodes.Sequence() | Conjunction() | nodes.Disjunction() | nodes.Some():
            for operand in pattern.operands:
                yield from nodes_of(operand)


def exhaustive(
    query: Query, events: Sequence[ReferenceEvent], tie_break: bool
) -> Iterator[frozenset[tuple[str, tuple[int, ...]]]]:
    """Yield the bindings, out of all there are, that satisfy a query."""
    for clause in clauses_of(query.pattern):
        items = list(positive_events(clause.pattern))
        for lists in product(*(lists_of(item, clause, events) for item in items)):
            bindings = {item.variable: bound for item, bound in zip(items, lists, strict=True)}
            if items and is_match(query, clause, bindings, events, tie_break):
                if is_rejected(Scene(query, events, tie_break), clause.pattern, bindings, clause.absent, {}):
                    continue
                yield frozenset(
                    (name, tuple(event.row for event in bound)) for name, bound in bindings.items()
                )


def lists_of(
    item: Event, clause: Clause, events: Sequence[ReferenceEvent]
) -> list[tuple[ReferenceEvent, ...]]:
    """Return every list of events, of the lengths that the item allows."""
    least, most = 1, 1
    for kleene in nodes_of(clause.pattern) if clause.pattern is not None else ():
        if kleene.operand == item:
            least, most = kleene.least, len(events) if kleene.most is None else kleene.most
    in_order = sorted(events, key=lambda event: (event.time, event.tie is not None, event.tie or 0))
    return [chosen for size in range(least, most + 1) for chosen in combinations(in_order, size)]


def is_match(
    query: Query, clause: Clause, bindings: Bindings, events: Sequence[ReferenceEvent], tie_break: bool
) -> bool:
    bound = [event for each in bindings.values() for event in each]
    keys = [name for each in query.where if isinstance(each, Equivalence) for name in each.attributes]
    known = {**dict.fromkeys(clause.absent, ()), **bindings}
    return (
        len({event.row for event in bound}) == len(bound)
        and all(
            item.type in event.types
            for item in positive_events(clause.pattern)
            for event in bindings[item.variable]
        )
        and all(
            is_before(*pair, tie_break=tie_break) for each in bindings.values() for pair in pairwise(each)
        )
        and is_ordered(clause.pattern, bindings, tie_break)
        and is_in_window(query, bound, events, tie_break)
        and all(agree(one, other, [*keys, *query.partition_by]) for one in bound for other in bound)
        and all(
            holds(each, known)
            for each in query.where
            if not isinstance(each, Equivalence) and variables_of(each) <= known.keys()
        )
    )


def is_ordered(pattern: Pattern | None, bindings: Bindings, tie_break: bool) -> bool:
    if not isinstance(pattern, nodes.Sequence | Conjunction):
        return True
    operands = [operand for operand in pattern.operands if not isinstance(operand, Negation)]
    groups = [[e for item in positive_events(each) for e in bindings[item.variable]] for each in operands]
    return all(is_ordered(operand, bindings, tie_break) for operand in operands) and (
        isinstance(pattern, Conjunction)
        or all(
            is_before(left, right, tie_break=tie_break)
            for before, after in combinations(groups, 2)
            for left in before
            for right in after
        )
    )


def is_in_window(
    query: Query, bound: Sequence[ReferenceEvent], events: Sequence[ReferenceEvent], tie_break: bool
) -> bool:
    match query.window:
        case TimeWindow(length=length):
            return max(event.time for event in bound) - min(event.time for event in bound) <= length
        case CountWindow(length=length):
            rank = positions(events, query.partition_by, tie_break=tie_break)
            return max(rank[event.row] for event in bound) - min(rank[event.row] for event in bound) < length
        case None:
            return True


# Negation: the table of docs/semantics.md.


@dataclass(frozen=True)
class Scene:
    """What all negations of a query have in common."""

    query: Query
    events: Sequence[ReferenceEvent]
    tie_break: bool

    @cached_property
    def keys(self) -> list[str]:
        equal = [each for each in self.query.where if isinstance(each, Equivalence)]
        return [*self.query.partition_by, *(name for each in equal for name in each.attributes)]

    @cached_property
    def places(self) -> dict[int, int]:
        return positions(self.events, self.query.partition_by, tie_break=self.tie_break)

    def clock(self, event: ReferenceEvent) -> int:
        """What the window counts: time, or positions."""
        return self.places[event.row] if isinstance(self.query.window, CountWindow) else event.time

    @property
    def reach(self) -> float:
        """How far the window reaches, inclusive."""
        match self.query.window:
            case TimeWindow(length=length):
                return length
            case CountWindow(length=length):
                return length - 1
        return float("inf")

    def before(self, left: ReferenceEvent, right: ReferenceEvent) -> bool:
        return is_before(left, right, tie_break=self.tie_break)


def is_rejected(
    scene: Scene,
    pattern: Pattern | None,
    bindings: Bindings,
    absent: frozenset[str],
    around: Bindings,
) -> bool:
    """Say whether some negation of a clause has a match in its scope; `around` is bound outside of a NOT."""
    own = [event for bound in bindings.values() for event in bound]
    known = {**around, **dict.fromkeys(absent, ()), **bindings}
    for operator, place in negations_of(pattern):
        scope = [event for event in scene.events if is_in_scope(scene, event, operator, place, bindings)]
        free = [
            event
            for event in scope
            if all(event.row != other.row and agree(event, other, scene.keys) for other in own)
        ]
        negation = operator.operands[place]
        assert isinstance(negation, Negation)
        if any(
            is_found(scene, clause, negation.operand, free, known) for clause in clauses_of(negation.operand)
        ):
            return True
    return False


def negations_of(pattern: Pattern | None) -> Iterator[tuple[nodes.Sequence | Conjunction, int]]:
    """Yield the operators of a clause, outside of negations, with the places of their negations."""
    if isinstance(pattern, nodes.Sequence | Conjunction):
        for place, operand in enumerate(pattern.operands):
            if isinstance(operand, Negation):
                yield pattern, place
            else:
                yield from negations_of(operand)


def is_in_scope(
    scene: Scene,
    event: ReferenceEvent,
    operator: nodes.Sequence | Conjunction,
    place: int,
    bindings: Bindings,
) -> bool:
    """Look up the table: where the NOT stands says from where and to where it looks."""
    clocks = [scene.clock(other) for bound in bindings.values() for other in bound]
    at = scene.clock(event)
    up_to_window = at <= min(clocks) + scene.reach
    if isinstance(operator, Conjunction):
        return min(clocks) <= at and up_to_window
    left = [each for each in operator.operands[:place] if not isinstance(each, Negation)]
    right = [each for each in operator.operands[place + 1 :] if not isinstance(each, Negation)]
    after = all(scene.before(other, event) for other in bound_in(left[-1:], bindings))
    before = all(scene.before(event, other) for other in bound_in(right[:1], bindings))
    if left and right:
        return after and before
    return after and up_to_window if left else before and at >= max(clocks) - scene.reach


def bound_in(operands: Sequence[Pattern], bindings: Bindings) -> list[ReferenceEvent]:
    return [event for each in operands for item in positive_events(each) for event in bindings[item.variable]]


def is_found(
    scene: Scene, clause: Clause, negated: Pattern, free: Sequence[ReferenceEvent], around: Bindings
) -> bool:
    """Say whether free events make a match of an alternative of a negated pattern."""
    items = list(positive_events(clause.pattern))
    own_names = {item.variable for item in positive_events(negated)}
    hidden = {item.variable for item in find(negated, Event)} - own_names
    conditions = [
        each
        for each in scene.query.where
        if not isinstance(each, Equivalence)
        and variables_of(each) & own_names
        and not variables_of(each) & hidden
    ]
    for lists in product(*(lists_of(item, clause, free) for item in items)):
        bindings = {item.variable: bound for item, bound in zip(items, lists, strict=True)}
        bound = [event for each in bindings.values() for event in each]
        known = {**around, **dict.fromkeys(clause.absent, ()), **bindings}
        if (
            items
            and len({event.row for event in bound}) == len(bound)
            and all(item.type in event.types for item in items for event in bindings[item.variable])
            and all(scene.before(*pair) for each in bindings.values() for pair in pairwise(each))
            and is_ordered(clause.pattern, bindings, scene.tie_break)
            and max(map(scene.clock, bound)) - min(map(scene.clock, bound)) <= scene.reach
            and all(agree(one, other, scene.keys) for one in bound for other in bound)
            and all(holds(each, known) for each in conditions if variables_of(each) <= known.keys())
            and not is_rejected(scene, clause.pattern, bindings, clause.absent, around)
        ):
            return True
    return False
