"""Conditions on aggregates, and columns calculated from them, drawn at random and added to trend queries."""

from dataclasses import replace

from hypothesis import strategies as st

from weft import expressions
from weft.expressions import Aggregate, Attribute, CountTrends, Expression, Literal
from weft.language.findings import Findings
from weft.language.scope import variables_in
from weft.language.typing_of_expressions import Typing
from weft.pattern.nodes import Event, Query, ReturnColumn, TimeWindow
from weft.pattern.policies import Policy, Suppression
from weft.schema import DOUBLE, LONG, TIMESTAMP, Schema

SCHEMA = Schema({"ts": TIMESTAMP, "x": LONG, "g": LONG, "k": LONG, "y": DOUBLE}, time="ts")
HUGE = 2**62  # many products of it have more than 64 bits
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")


@st.composite
def with_thresholds(draw: st.DrawFn, workload: list[Query]) -> list[Query]:
    """The queries with HAVING, with calculated columns, or both."""
    return [draw(with_threshold(query)) for query in workload]


@st.composite
def with_threshold(draw: st.DrawFn, query: Query) -> Query:
    names = [own.event.variable for own in variables_in(query.pattern) if not own.negations]
    typing = Typing(SCHEMA, findings := Findings(), is_trend=True)
    own = operands(names, query.group_by, is_single=isinstance(query.pattern, Event))
    having = tuple(map(typing.predicate, draw(st.lists(predicates(own), max_size=2))))
    columns = tuple(
        ReturnColumn(f"e{place}", typing.value(expression))
        for place, expression in enumerate(
            draw(st.lists(st.one_of(values(own), predicates(own)), min_size=not having, max_size=2))
        )
    )
    assert not findings.problems
    return replace(query, having=having, returns=(*query.returns, *columns))


@st.composite
def with_quiet_times(draw: st.DrawFn, workload: list[Query]) -> list[Query]:
    """The queries that have windows, with SUPPRESS, some of them PER attributes of their groups."""
    return [
        replace(query, policy=Policy(suppression=draw(suppressions(query.group_by))))
        if query.window is not None
        else query
        for query in workload
    ]


def suppressions(group_by: tuple[str, ...]) -> st.SearchStrategy[Suppression]:
    some = st.lists(st.sampled_from(group_by), max_size=1) if group_by else st.just([])
    per = some.map(lambda names: tuple(Attribute("b", name, type=LONG) for name in names))
    return st.builds(Suppression, st.integers(1, 20), per)


@st.composite
def single_queries(draw: st.DrawFn) -> Query:
    """A query of a single event with all aggregates that such a one may have."""
    length = draw(st.none() | st.integers(1, 8))
    bound = Literal(draw(st.integers(-1, 1)), LONG)
    where = draw(
        st.sampled_from(
            [(), (), (expressions.Comparison(">=", Attribute("b", "x", type=LONG), bound),), (KEY,)]
        )
    )
    query = Query(
        "q",
        Event("B", "b"),
        where,
        None if length is None else TimeWindow(length),
        returns=tuple(
            ReturnColumn(f"c{place}", shown)
            for place, shown in enumerate(
                [CountTrends(), *draw(st.lists(st.sampled_from(SINGLE), max_size=3))]
            )
        ),
        slide=None if length is None else draw(st.none() | st.integers(1, length + 3)),
        group_by=draw(st.sampled_from([(), ("g",), ("g", "k")])),
    )
    return draw(with_threshold(query)) if draw(st.booleans()) else query


KEY = expressions.Equivalence(("k",))
SINGLE = [
    Aggregate(function, "b", name, DOUBLE if name == "y" else LONG)
    for function in ("distinct", "stddev")
    for name in ("x", "y", "k")
] + [Aggregate("avg", "b", "y", DOUBLE), Aggregate("sum", "b", "x", LONG)]
SINGLE_COLUMNS = st.lists(st.sampled_from(SINGLE), max_size=3)


def operands(
    names: list[str], group_by: tuple[str, ...], *, is_single: bool
) -> st.SearchStrategy[Expression]:
    """Aggregates of some variables, attributes of the group, and constants."""
    aggregates: list[Expression] = [CountTrends()]
    for name in names:
        if is_single:
            aggregates += [Aggregate(kind, name, own) for kind in ("distinct", "stddev") for own in "xy"]
        aggregates += [Aggregate("count", name), Aggregate("count", name, "x")]
        aggregates += [Aggregate(function, name, "x") for function in ("sum", "avg", "min", "max")]
        aggregates += [Aggregate("sum", name, "y"), Aggregate("max", name, "y")]
    aggregates += [Attribute(names[0], name) for name in group_by if names]
    constants = [Literal(value, LONG) for value in (0, 1, 2, HUGE)] + [Literal(0.5, DOUBLE)]
    large = [expressions.Arithmetic("*", own, Literal(HUGE, LONG)) for own in aggregates[:2]]
    kinds = aggregates, aggregates, [*constants, *large]
    return st.one_of(*map(st.sampled_from, kinds))


def values(own: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.recursive(
        own,
        lambda inner: st.one_of(
            st.builds(expressions.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
            st.builds(expressions.Negate, inner),
            st.builds(expressions.Absolute, inner),
        ),
        max_leaves=4,
    )


def predicates(own: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    value = values(own)
    constants = st.lists(st.sampled_from([Literal(n, LONG) for n in (0, 1, 3)]), min_size=1).map(tuple)
    leaves = st.one_of(
        st.builds(expressions.Comparison, st.sampled_from(COMPARISONS), value, value),
        st.builds(expressions.IsNull, value),
        st.builds(expressions.InList, value, constants),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(expressions.And, st.tuples(inner, inner)),
            st.builds(expressions.Or, st.tuples(inner, inner)),
            st.builds(expressions.Not, inner),
        ),
        max_leaves=3,
    )
