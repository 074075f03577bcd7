"""The plan as a graph: evaluation order, readers, shared nodes."""

from collections.abc import Iterable

from weft.plan.nodes import Node, Output, Plan, inputs_of


def topological_order(plan: Plan) -> tuple[Node, ...]:
    """Return every node once, inputs before their readers, in a deterministic order.

    >>> from weft.plan.nodes import Branch, Filter, Scan
    >>> plan = Plan((Output("q", (), (Branch(Filter(Scan("A"), ()), ("a",), ()),)),))
    >>> topological_order(plan)
    (Scan(type='A', copy=0), Filter(input=Scan(type='A', copy=0), predicates=()))
    """
    ordered: dict[Node, None] = {}
    for root in roots(plan.outputs):
        stack = [(root, False)]
        while stack:
            node, inputs_done = stack.pop()
            if node in ordered:
                continue
            if inputs_done:
                ordered[node] = None
            else:
                stack.append((node, True))
                stack.extend((source, False) for source in reversed(inputs_of(node)))
    return tuple(ordered)


def roots(outputs: Iterable[Output]) -> list[Node]:
    """Return the nodes that the outputs read, in order, with repetitions."""
    return [branch.node for output in outputs for branch in output.all_branches]


def readers(plan: Plan) -> dict[Node, frozenset[str]]:
    """Return, for each node, the queries whose matches depend on it."""
    queries_of: dict[Node, set[str]] = {node: set() for node in topological_order(plan)}
    for output in plan.outputs:
        for branch in output.all_branches:
            queries_of[branch.node].add(output.query)
    for node in reversed(topological_order(plan)):
        for source in inputs_of(node):
            queries_of[source] |= queries_of[node]
    return {node: frozenset(queries) for node, queries in queries_of.items()}
