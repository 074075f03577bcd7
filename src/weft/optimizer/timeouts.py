"""Where the timeouts of a query come from: chains of the nearest events, as far as they get without a match.

A chain begins with an event of the first operand and takes for each next one the first event that fits: one
node per step. A row of a step times out when neither a row of the next step nor a match begins with its first
event, which is known when the window is over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from weft.expressions import EVENT, Attribute, Comparison, Expression, Place, variables_of
from weft.normalize.apply_strategy import about_event, speaks_of_whole
from weft.normalize.pipeline import normalize
from weft.normalize.resolve_absent import substitute_absent
from weft.normalize.simplify_predicates import simplify_predicates
from weft.optimizer.assemble import Assembled, add_filter
from weft.optimizer.demands import Context, extent_of, key_of
from weft.pattern.canonical import column_variable, in_columns
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query
from weft.pattern.nodes import Sequence as Seq
from weft.plan.nodes import (
    MOMENT,
    Absence,
    Await,
    Branch,
    Chain,
    Extent,
    NegationCheck,
    Node,
    Scan,
    TimeoutBranch,
    list_columns,
)
from weft.schema import LONG
from weft.tree import find


def timeouts_of(query: Query, branches: Sequence[Branch], context: Context) -> tuple[TimeoutBranch, ...]:
    """Return what the timeouts of a query are read from, given the branches that its matches come from."""
    if not query.policy.timeouts:
        return ()
    extent = extent_of(normalize(query)[0])
    if extent is None or extent.clock != "time":
        raise ValueError(f"query {query.name} asks for timeouts without a window of time")
    chains = list(_chains(query, extent, context))
    timeouts = []
    for chain, longer in zip_longest(chains, chains[1:]):
        node = chain.node
        first = chain.variables[0]
        followers = [] if longer is None else [(longer.node, 0)]
        followers += [(branch.node, branch.variables.index(first)) for branch in branches]
        for follower, column in followers:
            node = NegationCheck(node, _beginning_alike(node, follower, column, extent))
        missing = None if longer is None else longer.variables[-1]
        timeouts.append(TimeoutBranch(node, chain.variables, returns_of(query, chain.variables), missing))
    return tuple(timeouts)


def returns_of(query: Query, variables: tuple[str, ...]) -> tuple[Expression, ...]:
    """Return the RETURN expressions over the columns of one branch, in the order of RETURN."""
    present = frozenset(variables)
    return tuple(
        in_columns([substitute_absent(column.expression, present)], variables)[0] for column in query.returns
    )


def _beginning_alike(node: Node, follower: Node, column: int, extent: Extent) -> Absence:
    """Return the absence of rows whose event in a column is the first event of a row."""
    columns = column_variable(0), column_variable(len(list_columns(node)) + column)
    first, other = (Attribute(name, EVENT, type=LONG) for name in columns)
    return Absence(follower, (), (), (), (Comparison("=", first, other),), extent)


@dataclass(frozen=True, slots=True)
class _Step:
    """An operand to reach, or with a list, an element of it."""

    item: Event
    place: Literal["single", "first", "next"]


def _steps(pattern: Pattern) -> Iterator[_Step]:
    """Yield what a chain takes one after the other; it passes over what may be empty or is negated."""
    match pattern:
        case Seq(operands=operands):
            for operand in operands:
                yield from _steps(operand)
        case Event():
            yield _Step(pattern, "single")
        case Kleene(operand=Event() as item, least=least):
            for number in range(least):
                yield _Step(item, "next" if number else "first")
        case Negation():
            return
        case _:
            raise ValueError(f"no chain of events reaches {pattern}")


def _chains(query: Query, extent: Extent, context: Context) -> Iterator[Assembled]:
    """Yield the chain up to each step: the variables that it has reached are its columns."""
    first, *others = _steps(query.pattern)
    variable = first.item.variable
    own, _ = _asked(query, first, {variable})
    keys = [key_of(variable, key, context) for key in query.keys]
    present = [Comparison("=", key, key) for key in keys]  # unless the key is NULL
    chain = Assembled(add_filter(Scan(first.item.type), [*own, *present], (variable,)), (variable,))
    yield chain
    for step in others:
        chain = _go_on(chain, step, query, extent, context)
        yield chain


def _go_on(chain: Assembled, step: _Step, query: Query, extent: Extent, context: Context) -> Assembled:
    """Return the chain with what a step takes."""
    variable = step.item.variable
    reached = chain.variables if step.place == "next" else (*chain.variables, variable)
    own, crossing = _asked(query, step, set(reached))
    elements = add_filter(Scan(step.item.type), own, (variable,))
    taken = _taken(step)
    first = chain.variables[0]
    keys = [Comparison("=", key_of(first, key, context), key_of(taken, key, context)) for key in query.keys]
    conditions = in_columns([*crossing, *keys], (*chain.variables, taken))
    return Assembled(Chain(chain.node, Await(elements, MOMENT), conditions, extent, step.place), reached)


def _taken(step: _Step) -> str:
    """Return a name for the event that a step takes, which no variable has."""
    return f"{step.item.variable} taken"


def _asked(query: Query, step: _Step, reached: set[str]) -> tuple[list[Expression], list[Expression]]:
    """Return what is asked of the event that a step takes: of it alone, and of it with those before it.

    Those are the conditions that otherwise mention only what is reached; but nothing that speaks of the whole
    list that the event is in. Of the event alone they are about the variable of the step.
    """
    variable, taken = step.item.variable, _taken(step)
    asked: dict[Expression, None] = {}
    for condition in query.conditions:
        mentioned = variables_of(condition)
        speaks_of_pairs = any(
            a.place == "previous" for a in find(condition, Attribute) if a.variable == variable
        )
        if (
            variable in mentioned <= reached
            and not (step.place != "single" and speaks_of_whole(condition, variable))
            and not (speaks_of_pairs and step.place == "first")
        ):
            after: Place | None = "last" if step.place == "next" else None
            asked |= dict.fromkeys(simplify_predicates([about_event(condition, variable, taken, after)]))
    crossing = [part for part in asked if not variables_of(part) <= {taken}]
    own = [about_event(part, taken, variable, None) for part in asked if part not in crossing]
    return own, crossing
