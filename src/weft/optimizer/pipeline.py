"""From queries to one shared plan: normalize each, assemble each, share what is equal."""

from collections.abc import Sequence

from weft.expressions import Expression, type_of
from weft.normalize.pipeline import normalize
from weft.normalize.resolve_absent import substitute_absent
from weft.optimizer.assemble import Assembled, Context, assemble, rename
from weft.optimizer.orders.pattern_order import pattern_order
from weft.pattern.nodes import Query
from weft.plan.invariants import check_plan
from weft.plan.nodes import Branch, DistinctUnion, Node, Output, Plan, ReturnedColumn
from weft.schema import Schema


def optimize(queries: Sequence[Query], schema: Schema | None) -> Plan:
    """Return one plan for bound queries; equal nodes of different queries are one node.

    Without a schema the plan can be shown but not run.

    >>> from weft.pattern.nodes import Event, Sequence
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> plan = optimize([Query("p", Sequence((a, b))), Query("q", Sequence((a, b, c)))], None)
    >>> plan.outputs[0].branches[0].node == plan.outputs[1].branches[0].node.left
    True
    """
    context = Context(
        attribute_type=_unknown if schema is None else schema.type_of,
        types_overlap=schema is not None and schema.types_overlap,
        order_of=pattern_order,
    )
    plan = Plan(tuple(_output(query, context, typed=schema is not None) for query in queries))
    check_plan(plan, "assemble")
    return plan


def _unknown(attribute: str) -> None:  # noqa: ARG001 - stands in for a schema's look-up
    return None


def _output(query: Query, context: Context, *, typed: bool) -> Output:
    by_variables: dict[tuple[str, ...], list[Assembled]] = {}
    for form in normalize(query):
        built = assemble(form, context)
        by_variables.setdefault(built.variables, []).append(built)
    branches = tuple(
        Branch(_union(same), variables, _returns(query, variables))
        for variables, same in by_variables.items()
    )
    columns = tuple(
        ReturnedColumn(column.name, type_of(column.expression)) for column in query.returns if typed
    )
    return Output(query.name, columns, branches)


def _union(same: list[Assembled]) -> Node:
    nodes = tuple(dict.fromkeys(built.node for built in same))
    return nodes[0] if len(nodes) == 1 else DistinctUnion(nodes)


def _returns(query: Query, variables: tuple[str, ...]) -> tuple[Expression, ...]:
    """The RETURN expressions over the columns of one branch, in the order of RETURN."""
    present = frozenset(variables)
    return tuple(
        rename([substitute_absent(column.expression, present)], variables)[0] for column in query.returns
    )
