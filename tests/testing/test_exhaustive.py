"""The search finds what a check of every conceivable binding finds: its pruning loses and adds nothing."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

from tests.helpers.notation import without_negations
from tests.helpers.strategies import random_case

from weft.expressions import Equivalence, variables_of
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, CountWindow, Event, Kleene, Negation, Pattern, Query, TimeWindow
from weft.testing.clauses import Clause, clauses_of, positive_events
from weft.testing.evaluate import holds
from weft.testing.events import Bindings, ReferenceEvent, agree, deduplicate, is_before, positions
from weft.testing.matcher import find_matches

MOST_BINDINGS = 5_000


def test_random_queries_on_short_streams() -> None:
    n_compared = n_matched = 0
    for seed in range(250):
        case = random_case(seed, most_events=6)
        for query in map(without_negations, case.queries):
            if n_bindings(query, len(case.events)) > MOST_BINDINGS:
                continue
            found = find_matches(query, case.events, tie_break=case.tie_break)
            expected = set(exhaustive(query, deduplicate(case.events), case.tie_break))
            assert {match.bindings for match in found} == expected, case
            n_compared += 1
            n_matched += bool(found)
    assert n_compared > 150
    assert n_matched > 50


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
    """Yield the bindings, out of all there are, that satisfy a query without negations."""
    for clause in clauses_of(query.pattern):
        items = list(positive_events(clause.pattern))
        for lists in product(*(lists_of(item, clause, events) for item in items)):
            bindings = {item.variable: bound for item, bound in zip(items, lists, strict=True)}
            if items and is_match(query, clause, bindings, events, tie_break):
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
