"""What every valid plan satisfies; checked whenever a plan is built."""

from weft.expressions import variables_of
from weft.pattern.invariants import InvariantError
from weft.plan.dag import topological_order
from weft.plan.nodes import (
    Absence,
    DistinctUnion,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Plan,
    column_variable,
    inputs_of,
    list_columns,
)


def check_plan(plan: Plan, step: str) -> None:
    """Raise InvariantError, naming `step`, unless every node fits its inputs."""
    for node in topological_order(plan):
        problem = _problem(node)
        if problem:
            raise InvariantError(f"after {step}: {type(node).__name__}: {problem}")
    names = [output.query for output in plan.outputs]
    if len(set(names)) != len(names):
        raise InvariantError(f"after {step}: query names are distinct")
    for output in plan.outputs:
        for branch in output.branches:
            if len(list_columns(branch.node)) != len(branch.variables):
                raise InvariantError(f"after {step}: query {output.query} names every column")


def _problem(node: Node) -> str | None:
    width = sum(len(list_columns(source)) for source in inputs_of(node))
    if isinstance(node, NegationCheck):
        return _absence_problem(node.absence, len(list_columns(node.input)))
    if isinstance(node, Filter | Join | KleeneExpand):
        allowed = {column_variable(column) for column in range(width)}
        if not all(variables_of(predicate) <= allowed for predicate in node.predicates):
            return "predicates mention columns of the inputs only"
    if isinstance(node, Join | KleeneExpand):
        pairs = {*node.order, *node.distinct}
        if not all(0 <= column < width for pair in pairs for column in pair):
            return "order and distinct relate existing columns"
        if any((later, earlier) in node.order for earlier, later in node.order):
            return "the order is strict"
    if isinstance(node, KleeneExpand):
        if len(list_columns(node.elements)) != 1 or list_columns(node.elements)[0]:
            return "elements are single events"
        if node.least < 1 or (node.most is not None and node.most < node.least):
            return "1 <= least <= most"
    if isinstance(node, DistinctUnion) and len({list_columns(source) for source in node.inputs}) != 1:
        return "inputs have the same columns"
    extents = [source.extent for source in inputs_of(node) if isinstance(source, Join | KleeneExpand)]
    own = node.extent if isinstance(node, Join | KleeneExpand) else None
    if own is not None and any(
        extent is not None and extent.clock == own.clock and extent.length < own.length for extent in extents
    ):
        return "an input reaches at least as far as its reader"
    return None


def _absence_problem(absence: Absence, n_columns: int) -> str | None:
    width = n_columns + len(list_columns(absence.negated))
    allowed = {column_variable(column) for column in range(width)}
    if not all(variables_of(predicate) <= allowed for predicate in absence.predicates):
        return "predicates mention columns of the inputs only"
    if not all(0 <= column < width for pair in absence.distinct for column in pair):
        return "distinct relates existing columns"
    if not all(0 <= column < n_columns for column in (*absence.after, *absence.before)):
        return "the scope is bounded by columns of the input"
    problems = [_absence_problem(inner, width) for inner in absence.unless]
    return next((problem for problem in problems if problem), None)
