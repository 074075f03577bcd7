"""Trend queries as templates: counted by a naive machine, and by enumerating every trend."""

from collections.abc import Iterator, Sequence
from itertools import count, groupby, pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from weft.errors import QueryError, Span
from weft.expressions import (
    Aggregate,
    Arithmetic,
    Attribute,
    Comparison,
    ComparisonOperator,
    CountTrends,
    Equivalence,
    Expression,
    Literal,
    Not,
    Or,
    Place,
)
from weft.normalize.template import template_of
from weft.pattern import nodes
from weft.pattern.nodes import (
    Conjunction,
    CountWindow,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Query,
    ReturnColumn,
    TimeWindow,
)
from weft.plan.template import (
    EVENT,
    PREVIOUS,
    START,
    Automaton,
    EdgePredicate,
    Position,
    Template,
    Transition,
    TrendColumn,
    TrendItem,
    TrendSum,
)
from weft.reference.evaluate import holds
from weft.reference.events import ReferenceEvent
from weft.reference.trends import find_trend_results
from weft.schema import BOOLEAN, LONG, STRING, TIMESTAMP, Schema
from weft.tree import find

COUNT = ReturnColumn("n", CountTrends())

A, B, C, D, E, X, Y = (Event(name, name.lower()) for name in "ABCDEXY")


def seq(*operands: Pattern) -> Pattern:
    return nodes.Sequence(operands)


def plus(operand: Pattern, least: int = 1, most: int | None = None) -> Kleene:
    return Kleene(operand, least, most)


def optional(operand: Pattern) -> Kleene:
    return Kleene(operand, 0, 1)


def query_of(pattern: Pattern, *where: Expression | Equivalence) -> Query:
    return Query("q", pattern, where, returns=(COUNT,))


def of(variable: str, name: str = "v", place: Place = "each") -> Attribute:
    return Attribute(variable, name, place, LONG)


def adjacent(variable: str, operator: ComparisonOperator = "<") -> Comparison:
    return Comparison(operator, of(variable, place="previous"), of(variable, place="current"))


def events_of(text: str) -> list[ReferenceEvent]:
    """Read "A1 B2:7": types with their times and, if there is one, the value of v."""
    found = []
    for row, word in enumerate(text.split()):
        time, _, value = word[1:].partition(":")
        attributes = {"v": int(value)} if value else {}
        found.append(ReferenceEvent(row, frozenset(word[0]), int(time), attributes=attributes))
    return found


# The machine, as slow and as plain as can be.


def total(template: Template, events: Sequence[ReferenceEvent]) -> int:
    """Return the number of trends of a template in one window and group."""
    found = 0
    for alternative in template.alternatives:
        trends = 1
        for automaton in alternative:
            trends *= total_of_automaton(automaton, template.items, events)
        found += trends
    return found


def total_of_automaton(
    automaton: Automaton, items: Sequence[TrendItem], events: Sequence[ReferenceEvent]
) -> int:
    held: list[list[tuple[int, ReferenceEvent | None]]] = [
        [(1, None)] if source.position == START else [] for source in automaton.sources
    ]

    def read(feed: Transition, event: ReferenceEvent) -> int:
        steps = automaton.sources[feed.source].steps
        found = (n for n, before in held[feed.source] if all(fits(step, before, event) for step in steps))
        return feed.ways * sum(found)

    for _, group in groupby(sorted(events, key=lambda event: event.time), lambda event: event.time):
        new = []
        together = list(group)
        for event in together:
            for number, position in enumerate(automaton.positions):
                if takes(items[position.item], event):
                    new.append((number, sum(read(feed, event) for feed in position.feeds), event))
        for source, sums in zip(automaton.sources, held, strict=True):
            if any(takes(items[item], event) for item in source.negated for event in together):
                sums.clear()
        for number, trends, event in new:
            for source, sums in zip(automaton.sources, held, strict=True):
                if source.position == number:
                    sums.append((trends, event))
    return sum(feed.ways * n for feed in automaton.ends for n, _ in held[feed.source])


def takes(item: TrendItem, event: ReferenceEvent) -> bool:
    return item.type in event.types and all(holds(part, {EVENT: (event,)}) for part in item.predicates)


def fits(step: EdgePredicate, before: ReferenceEvent | None, event: ReferenceEvent) -> bool:
    assert before is not None, "a source before the first event has no steps"
    comparison = Comparison(step.operator, step.left, step.right)
    return holds(comparison, {PREVIOUS: (before,), EVENT: (event,)})


# Every trend, by recursion over the pattern. A trend is a tuple of tokens: an event with its variable,
# the type of a NOT, or a bracket around a list and each of its elements.

Token = tuple[str, object]


def trends_of(pattern: Pattern, events: Sequence[ReferenceEvent]) -> Iterator[tuple[Token, ...]]:
    match pattern:
        case Event():
            yield from (((pattern.variable, event),) for event in events if pattern.type in event.types)
        case Negation(operand=Event(type=type)):
            yield (("not", type),)
        case nodes.Sequence(operands=operands):
            yield from in_sequence(operands, events)
        case Disjunction(operands=operands):
            for operand in operands:
                yield from trends_of(operand, events)
        case Kleene(operand=operand, least=least, most=most):
            variable = operand.variable if isinstance(operand, Event) else ""
            if least == 0:
                yield ()
            if most == 1 and not variable:
                yield from trends_of(operand, events)
                return
            for length in range(max(least, 1), (len(events) if most is None else most) + 1):
                for trend in in_sequence((operand,) * length, events, in_list=True):
                    yield (("[", variable), *trend, ("]", variable))
        case _:
            raise AssertionError(pattern)


def in_sequence(
    operands: Sequence[Pattern], events: Sequence[ReferenceEvent], *, in_list: bool = False
) -> Iterator[tuple[Token, ...]]:
    if not operands:
        yield ()
        return
    for trend in trends_of(operands[0], events):
        if in_list and not bound(trend):
            continue
        end = max((event.time for event in bound(trend)), default=None)
        left = [event for event in events if end is None or event.time > end]
        shown = (("(", ""), *trend, (")", "")) if in_list else trend
        for rest in in_sequence(operands[1:], left, in_list=in_list):
            yield (*shown, *rest)


def bound(trend: Sequence[Token]) -> list[ReferenceEvent]:
    return [found for _, found in trend if isinstance(found, ReferenceEvent)]


def is_negated(trend: Sequence[Token], events: Sequence[ReferenceEvent]) -> bool:
    for place, (kind, negated) in enumerate(trend):
        if kind == "not":
            before = max((event.time for event in bound(trend[:place])), default=-1)
            after = min((event.time for event in bound(trend[place:])), default=10**9)
            if any(negated in event.types and before < event.time < after for event in events):
                return True
    return False


def lists_of(trend: Sequence[Token]) -> Iterator[list[ReferenceEvent]]:
    """Yield the lists of quantifiers directly on an event: no other list lies inside them."""
    for place, (kind, variable) in enumerate(trend):
        if kind == "[" and variable:
            yield bound(trend[place : trend.index(("]", variable), place)])


def enumerated(pattern: Pattern, events: Sequence[ReferenceEvent], *, rising: bool = False) -> int:
    """Return the number of trends; if `rising`, of those in which v rises along each list of events."""
    found = {
        tuple((kind, getattr(what, "row", None)) for kind, what in trend if kind != "not"): trend
        for trend in trends_of(pattern, events)
        if bound(trend) and not is_negated(trend, events)
    }
    return sum(not rising or all(rises(one) for one in lists_of(trend)) for trend in found.values())


def rises(events: Sequence[ReferenceEvent]) -> bool:
    values = [event.attributes["v"] for event in events]
    return all(isinstance(x, int) and isinstance(y, int) and x < y for x, y in pairwise(values))


# Worked examples.

FIGURE_4 = "A1 A2 C3 B4:0 B5:1 B6:0 B7:2 A8 A9 C10 C11 C12 B13:3 B14:4"
SHAPES = "A1 B2 B3 C4 B5 A6 B7 C8 C9 B10"
VALUES = "A1:5 B2:3 B3:7 A4:1 B5:4 C6:9 B7:2"
TIES = "A1 B2 B2 B3"


@pytest.mark.parametrize(
    ("pattern", "events", "expected"),
    [
        (seq(A, plus(B)), FIGURE_4, 132),
        (seq(C, plus(B)), FIGURE_4, 72),
        (seq(A, plus(B)), "A1 A2 C3 B4 B5 B6 B7 B8 B9 B10 B11", 510),
        (seq(C, plus(B)), "A1 A2 C3 B4 B5 B6 B7 B8 B9 B10 B11", 255),
        (plus(B), SHAPES, 31),
        (seq(A, plus(B)), SHAPES, 34),
        (seq(plus(B), C), SHAPES, 33),
        (seq(A, plus(B), C), SHAPES, 35),
        (plus(seq(A, plus(B))), SHAPES, 55),
        (plus(seq(A, plus(B), C)), SHAPES, 41),
        (seq(plus(A), plus(B)), SHAPES, 37),
        (seq(A, plus(B), Negation(C)), SHAPES, 18),
        (seq(A, Negation(C), plus(B)), SHAPES, 26),
        (seq(A, plus(B)), TIES, 5),
        (seq(A, plus(B)), "A0 B1 C2 B4 A5 B6 B8", 18),
        (seq(A, plus(B)), "A5 B6 B8 C11 B13", 7),
        (seq(A, plus(B)), "C11 B13", 0),
        (seq(C, plus(B)), "A0 B1 C2 B4 A5 B6 B8 C11 B13", 16),
        (seq(C, plus(B)), "A5 B6 B8 C11 B13", 1),
    ],
)
def test_counts_of_the_paper(pattern: Pattern, events: str, expected: int) -> None:
    assert total(template_of(query_of(pattern)), events_of(events)) == expected
    if expected < 300:
        assert enumerated(pattern, events_of(events)) == expected


@pytest.mark.parametrize(
    ("condition", "events", "expected"),
    [
        (Comparison(">", of("b"), Literal(2, LONG)), VALUES, 8),
        (adjacent("b"), VALUES, 8),
        (Comparison(">", of("b", place="current"), of("b", place="previous")), VALUES, 8),
        (Not(Comparison("<=", of("b", place="current"), of("b", place="previous"))), VALUES, 8),
        (Literal(False, BOOLEAN), VALUES, 0),
    ],
)
def test_conditions_on_events_and_on_neighbors(condition: Expression, events: str, expected: int) -> None:
    assert total(template_of(query_of(seq(A, plus(B)), condition)), events_of(events)) == expected


def test_an_edge_that_does_not_hold() -> None:
    """The paper's figure 5(c): only the step from the second B to the third is forbidden."""
    events = events_of("A1 A2 C3 B4:1 B5:9 B6:2 B7:9 A8 A9 C10 C11 C12 B13:9 B14:9")
    shift = Arithmetic("+", of("b", place="current"), Literal(7, LONG))
    condition = Comparison("!=", of("b", place="previous"), shift)
    assert total(template_of(query_of(seq(A, plus(B)))), events) == 132
    assert total(template_of(query_of(seq(C, plus(B)), condition)), events) == 56


def test_at_one_time_a_negated_event_neither_precedes_nor_follows() -> None:
    template = template_of(query_of(seq(Negation(X), A, Negation(X), B, Negation(X))))
    assert total(template, events_of("A1 X1 B2")) == 1
    assert total(template, events_of("A1 B2 X2")) == 1
    assert total(template, events_of("X0 A1 B2")) == 0
    assert total(template, events_of("A1 X2 B3")) == 0
    assert total(template, events_of("A1 B2 X3")) == 0


def test_neighbors_are_compared_on_the_transition_between_them() -> None:
    later = Comparison(">", of("b"), of("a"))
    events = events_of("A1:5 A2:1 B3:3 C4 B5:7")
    assert total(template_of(query_of(seq(A, B, optional(C)), later)), events) == 4
    assert total(template_of(query_of(seq(A, Negation(C), B), later)), events) == 1
    (automaton,) = template_of(query_of(seq(A, Negation(C), B), later)).alternatives[0]
    assert automaton.sources[1] == TrendSum(0, (1,), (EdgePredicate("<", of(PREVIOUS), of(EVENT)),))
    assert total(template_of(query_of(plus(seq(A, B)), later)), events) == 3
    twice = template_of(query_of(plus(seq(A, B), 2, 2), later))
    assert total(twice, events_of("A1:5 B2:6 A3:1 B4:0 A5:2 B6:3")) == 2


# What a template looks like.


def test_the_template_of_figure_3() -> None:
    template = template_of(query_of(seq(A, plus(B))))
    assert template == Template(
        query="q",
        items=(TrendItem("A"), TrendItem("B")),
        alternatives=(
            (
                Automaton(
                    positions=(
                        Position("a", 0, (Transition(0),)),
                        Position("b", 1, (Transition(1), Transition(2))),
                    ),
                    sources=(TrendSum(START), TrendSum(0), TrendSum(1)),
                    ends=(Transition(2),),
                ),
            ),
        ),
        keys=(),
        group_by=(),
        length=None,
        slide=None,
        columns=(TrendColumn("n", "count", None, None, None),),
    )


def test_a_list_of_lists_goes_from_an_event_to_the_next_in_two_ways() -> None:
    (automaton,) = template_of(query_of(plus(plus(A)))).alternatives[0]
    assert automaton.positions[0].feeds == (Transition(0), Transition(1, 2))


def test_the_steps_of_a_list_are_not_those_between_lists() -> None:
    (automaton,) = template_of(query_of(plus(plus(A)), adjacent("a"))).alternatives[0]
    assert automaton.sources == (
        TrendSum(START),
        TrendSum(0),
        TrendSum(0, (), (EdgePredicate("<", of(PREVIOUS), of(EVENT)),)),
    )
    assert automaton.positions[0].feeds == (Transition(0), Transition(1), Transition(2))
    assert automaton.ends == (Transition(1),)


def test_copies_keep_the_name_of_the_variable() -> None:
    (automaton,) = template_of(query_of(plus(A, 2, 4))).alternatives[0]
    assert [position.variable for position in automaton.positions] == ["a"] * 4
    assert [automaton.sources[feed.source].position for feed in automaton.ends] == [1, 2, 3]


def test_equal_items_are_one() -> None:
    first, second, negated = Event("A", "f"), Event("A", "s"), Event("A", "x")
    large = [Comparison(">", of(name), Literal(2, LONG)) for name in "fsx"]
    template = template_of(query_of(seq(first, Negation(negated), second), *large))
    assert template.items == (TrendItem("A", (Comparison(">", of(EVENT), Literal(2, LONG)),)),)
    other = template_of(query_of(seq(first, Negation(negated), second), *large[:2]))
    assert [len(item.predicates) for item in other.items] == [1, 0]


def test_predicates_of_an_item_are_in_one_order() -> None:
    some = Comparison("<", of("a"), Literal(9, LONG)), Comparison(">", Literal(3, LONG), of("a", "w"))
    assert template_of(query_of(A, *some)).items == template_of(query_of(A, *reversed(some))).items


def test_negations_in_a_row_are_crossed_together_and_optional_operands_skipped() -> None:
    template = template_of(query_of(seq(A, Negation(X), optional(B), Negation(Event("Y", "y")), C)))
    assert [item.type for item in template.items] == ["A", "X", "B", "Y", "C"]
    (automaton,) = template.alternatives[0]
    crossing = TrendSum(0, (1,)), TrendSum(0, (1, 3)), TrendSum(1, (3,))
    assert automaton.sources == (TrendSum(START), *crossing, TrendSum(2))
    assert automaton.positions[2].feeds == (Transition(2), Transition(3))


def test_the_operands_of_and_are_automata_of_their_own() -> None:
    pattern = Disjunction((Conjunction((seq(A, plus(B)), Conjunction((C,)))), plus(Event("D", "d"))))
    template = template_of(query_of(pattern))
    assert [len(alternative) for alternative in template.alternatives] == [2, 1]
    assert total(template, events_of("C1 A2 B3 C4 B5 D6 D7")) == 3 * 2 + 3


def test_an_optional_operand_of_and_may_be_missing() -> None:
    template = template_of(query_of(Conjunction((plus(A, 0), optional(B), C))))
    assert total(template, events_of("A1 C2 A3 B4 C5")) == (3 + 1) * (1 + 1) * 2
    only_optional = template_of(query_of(Conjunction((plus(A, 0), optional(B)))))
    assert total(only_optional, events_of("A1 C2 A3 B4 C5")) == (3 + 1) * (1 + 1) - 1


def test_or_of_the_same_type_gives_two_trends_but_nothing_bound_is_nothing_twice() -> None:
    twice = Disjunction((A, Event("A", "again")))
    assert total(template_of(query_of(twice)), events_of("A1")) == 2
    nothing = seq(C, Disjunction((optional(A), optional(B))))
    assert total(template_of(query_of(nothing)), events_of("C1")) == 1


def test_keys_windows_and_columns() -> None:
    query = Query(
        "q",
        seq(A, plus(B)),
        where=(Equivalence(("user", "site")),),
        window=TimeWindow(600),
        partition_by=("tenant",),
        returns=(
            COUNT,
            ReturnColumn("place", Attribute("a", "site", type=STRING)),
            ReturnColumn("mean", Aggregate("avg", "b", "v", LONG)),
            ReturnColumn("events", Aggregate("count", "b")),
        ),
        slide=60,
        group_by=("zone", "site"),
    )
    template = template_of(query, Schema({"zone": LONG, "ts": TIMESTAMP}, "ts"))
    assert template.keys == ("site", "tenant", "user", "zone")
    assert template.group_by == ("zone", "site")
    assert (template.length, template.slide) == (600, 60)
    assert template.columns == (
        TrendColumn("zone", None, None, "zone", LONG),
        TrendColumn("n", "count", None, None, None),
        TrendColumn("place", None, None, "site", STRING),
        TrendColumn("mean", "avg", "b", "v", LONG),
        TrendColumn("events", "count", "b", None, None),
    )
    assert template_of(query).columns[0].type is None


def test_without_slide_windows_do_not_overlap() -> None:
    template = template_of(Query("q", A, window=TimeWindow(600), returns=(COUNT,)))
    assert (template.length, template.slide) == (600, 600)


# What is refused.

PLACE = Span(3, 9)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (seq(A, Conjunction((B, C), PLACE)), "AND inside another operator"),
        (Kleene(seq(A, Negation(X)), 1, None, PLACE), "NOT comes first or last in a repeated group"),
        (Kleene(seq(Negation(X), A), 0, 2, PLACE), "NOT comes first or last in a repeated group"),
        (Kleene(seq(optional(A), Negation(X), B), 1, None, PLACE), "NOT comes first or last"),
        (Disjunction((A, Negation(X, PLACE))), "NOT stands by itself"),
        (Conjunction((A, Negation(seq(X, Y), PLACE))), "NOT of more than a single event"),
        (seq(A, Negation(seq(B, C), PLACE), C), "NOT of more than a single event"),
        (Conjunction((seq(A, B), plus(Event("B", "other"))), PLACE), "the type B in common"),
        (Conjunction((seq(A, Negation(X), B), plus(Event("X", "other"))), PLACE), "the type X in common"),
        (Kleene(A, 65, 65, PLACE), "more than 64 events"),
        (Kleene(A, 10**12, None, PLACE), "more than 64 events"),
        (Kleene(plus(A, 9, 9), 9, None, PLACE), "more than 64 events"),
        (Kleene(A, 2, 1, PLACE), "expected {n,m}"),
        (
            seq(
                Disjunction(
                    (
                        seq(optional(A), Negation(X), optional(B)),
                        seq(optional(C), Negation(Y), optional(D)),
                    ),
                    PLACE,
                ),
                E,
            ),
            "two operands of OR may bind nothing",
        ),
        (
            Conjunction((nodes.Sequence((optional(A), Negation(X), optional(B)), PLACE), C)),
            "an operand of AND with NOT may bind nothing",
        ),
    ],
)
def test_patterns_that_are_refused(pattern: Pattern, message: str) -> None:
    with pytest.raises(QueryError, match=message) as refused:
        template_of(query_of(pattern))
    (problem,) = refused.value.problems
    assert problem.span == PLACE
    assert problem.query == "q"
    assert problem.hint


def test_the_places_of_all_alternatives_count() -> None:
    optional_operands = tuple(optional(Event(f"T{number}", f"t{number}")) for number in range(40))
    with pytest.raises(QueryError, match="more than 64 events"):
        template_of(query_of(Conjunction(optional_operands)))


@pytest.mark.parametrize(
    ("pattern", "condition", "message"),
    [
        (seq(A, plus(B)), Comparison("<", of("a"), of("b"), PLACE), "b is no single event"),
        (
            seq(A, optional(C), B),
            Comparison("<", of("a"), of("b"), PLACE),
            "neither always comes",
        ),
        (seq(A, C, B), Comparison("<", of("a"), of("b"), PLACE), "neither always comes"),
        (Conjunction((A, B)), Comparison("<", of("a"), of("b"), PLACE), "AND does not order them"),
        (seq(plus(seq(C, A)), B), Comparison("<", of("a"), of("b"), PLACE), "not in the same repeated group"),
        (plus(seq(B, A)), Comparison("<", of("b"), of("a"), PLACE), None),
        (plus(seq(C, plus(A), B)), Comparison("<", of("b"), of("c"), PLACE), "neither always comes"),
        (seq(Disjunction((A, C)), B), Comparison("<", of("a"), of("b"), PLACE), "neither always comes"),
        (seq(A, Negation(X), B), Comparison("<", of("a"), of("x"), PLACE), "x is no single event"),
        (seq(A, B), Or((Comparison("<", of("a"), of("b")),) * 2, PLACE), None),
        (
            seq(A, B),
            Or((Comparison("<", of("a"), of("b")), Comparison("<", of("a"), Literal(1, LONG))), PLACE),
            "no comparison of one of them alone",
        ),
        (
            seq(A, B),
            Comparison("<", Arithmetic("-", of("b"), of("a")), Literal(3, LONG), PLACE),
            "no comparison of one of them alone",
        ),
        (plus(A), Comparison("<", Aggregate("count", "a"), Literal(3, LONG), PLACE), "COUNT in WHERE"),
        (plus(A), Comparison("<", of("a", place="first"), Literal(3, LONG), PLACE), r"FIRST\(a\) in WHERE"),
        (
            plus(A),
            Comparison("<", of("a", place="previous"), Literal(3, LONG), PLACE),
            r"expected a\[i-1\] alone on one side",
        ),
        (
            plus(A),
            Comparison(
                "<", Arithmetic("-", of("a", place="current"), of("a", place="previous")), of("a"), PLACE
            ),
            r"expected a\[i-1\] alone on one side",
        ),
        (
            seq(B, plus(A)),
            Comparison("<", of("a", place="previous"), of("b"), PLACE),
            "mentions other variables as well",
        ),
        (
            plus(seq(A, B)),
            Comparison("<", of("a", place="previous"), of("a", place="current"), PLACE),
            "needs a quantifier directly on the event of a",
        ),
    ],
)
def test_conditions_that_are_refused(pattern: Pattern, condition: Expression, message: str | None) -> None:
    query = query_of(pattern, condition)
    if message is None:
        template_of(query)
        return
    with pytest.raises(QueryError, match=message) as refused:
        template_of(query)
    (problem,) = refused.value.problems
    assert problem.span == PLACE
    assert "ask for matches" in str(problem.hint)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Query("q", A, window=CountWindow(5), returns=(COUNT,)), "WITHIN 5 EVENTS counts events"),
        (Query("q", A, slide=5, returns=(COUNT,)), "SLIDE without WITHIN"),
        (Query("q", A, window=TimeWindow(5), slide=0, returns=(COUNT,)), "SLIDE needs a length above 0"),
        (Query("q", A, returns=(COUNT, ReturnColumn("x", of("a")))), "the attribute v is not in GROUP BY"),
        (
            Query("q", A, group_by=("n",), returns=(COUNT,)),
            "RETURN has a column named n, as GROUP BY has",
        ),
        (
            Query("q", seq(A, Negation(X)), returns=(COUNT, ReturnColumn("x", Aggregate("count", "x")))),
            "COUNT of x, which no trend binds",
        ),
    ],
)
def test_clauses_that_are_refused(query: Query, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        template_of(query)


def test_a_match_query_has_no_template() -> None:
    with pytest.raises(ValueError, match="q is no trend query"):
        template_of(Query("q", A))


# Random patterns and streams.

QUANTIFIERS = [(1, None), (0, None), (0, 1), (2, 2), (1, 2), (2, None), (0, 2)]


def patterns() -> st.SearchStrategy[Pattern]:
    leaves = st.sampled_from("ABC").map(lambda name: Event(name, name))
    negations = leaves.map(Negation)

    def composite(inner: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
        mixed = st.lists(st.one_of(inner, inner, negations), min_size=2, max_size=4)
        mixed = mixed.filter(lambda operands: not all(isinstance(one, Negation) for one in operands))
        return st.one_of(
            mixed.map(tuple).map(nodes.Sequence),
            st.lists(inner, min_size=2, max_size=2).map(tuple).map(Disjunction),
            st.builds(lambda operand, bounds: Kleene(operand, *bounds), inner, st.sampled_from(QUANTIFIERS)),
        )

    return st.recursive(leaves, composite, max_leaves=5).map(with_own_variables)


def with_own_variables(pattern: Pattern) -> Pattern:
    numbers = count()

    def renamed(node: Pattern) -> Pattern:
        match node:
            case Event():
                return Event(node.type, f"{node.type.lower()}{next(numbers)}")
            case Negation(operand=operand):
                return Negation(renamed(operand))
            case Kleene(operand=operand):
                return Kleene(renamed(operand), node.least, node.most)
            case _:
                return type(node)(tuple(renamed(operand) for operand in node.operands))

    return renamed(pattern)


streams = st.lists(st.tuples(st.sampled_from("AABBC"), st.integers(1, 6), st.integers(0, 3)), max_size=6).map(
    lambda rows: [
        ReferenceEvent(row, frozenset(name), time, attributes={"v": value})
        for row, (name, time, value) in enumerate(rows)
    ]
)


def rising_lists(pattern: Pattern) -> list[Comparison]:
    quantified = [kleene.operand for kleene in find(pattern, Kleene)]
    return [adjacent(operand.variable) for operand in quantified if isinstance(operand, Event)]


@given(patterns(), streams)
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_patterns_count_what_enumeration_finds(pattern: Pattern, events: list[ReferenceEvent]) -> None:
    try:
        template = template_of(query_of(pattern))
    except QueryError:
        assume(False)
    assert total(template, events) == enumerated(pattern, events)


@given(patterns(), streams)
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_patterns_whose_lists_rise(pattern: Pattern, events: list[ReferenceEvent]) -> None:
    conditions = rising_lists(pattern)
    assume(conditions)
    try:
        template = template_of(query_of(pattern, *conditions))
    except QueryError:
        assume(False)
    assert total(template, events) == enumerated(pattern, events, rising=True)


@given(patterns(), streams, st.data())
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_patterns_with_neighbors_compared_count_as_the_reference_does(
    pattern: Pattern, events: list[ReferenceEvent], data: st.DataObject
) -> None:
    variables = sorted(event.variable for event in find(pattern, Event))
    one, other = (data.draw(st.sampled_from(variables)) for _ in range(2))
    conditions = [Comparison("<=", of(one), of(other)), *rising_lists(pattern)]
    query = query_of(pattern, *conditions)
    try:
        template = template_of(query)
    except QueryError:
        assume(False)
    found = find_trend_results(query, events)
    assert total(template, events) == found.get((None, ()), {"n": 0})["n"]
