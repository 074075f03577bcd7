"""What every valid plan satisfies; checked whenever a plan is built."""

from collections.abc import Iterable

from weft.expressions import Expression, variables_of
from weft.pattern.canonical import column_variable
from weft.pattern.invariants import InvariantError
from weft.plan.dag import topological_order
from weft.plan.extents import is_instant, is_within, same_clock, span_of
from weft.plan.nodes import (
    Absence,
    Chain,
    DistinctUnion,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Plan,
    Project,
    SubsetJoin,
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
        for branch in output.all_branches:
            if len(list_columns(branch.node)) != len(branch.variables):
                raise InvariantError(f"after {step}: query {output.query} names every column")


def _problem(node: Node) -> str | None:
    match node:
        case NegationCheck(input=source, absence=absence):
            is_bounded = (absence.after and absence.before) or absence.scope != "window"
            if not is_bounded and not is_within(span_of(source), absence.extent):
                return "a scope that the window bounds has an input within that window"
            return _absence_problem(absence, len(list_columns(source)))
        case Project(input=source, columns=columns, extent=extent, order=order):
            if sorted(columns) != list(range(len(list_columns(source)))):
                return "columns are those of the input in some order"
            is_list = list_columns(node)
            related = [column for pair in order for column in pair]
            if not all(0 <= column < len(is_list) and not is_list[column] for column in related):
                return "the order relates columns of single events"
            if extent is not None and _falls_short(source, extent):
                return "the extent is at most that of the input"
        case DistinctUnion(inputs=inputs) if len({list_columns(source) for source in inputs}) != 1:
            return "inputs have the same columns"
        case Filter(input=source, predicates=predicates):
            return _predicate_problem(predicates, len(list_columns(source)))
        case Join(left=left):
            return _pairing_problem(node, len(list_columns(left)))
        case SubsetJoin():
            return _subsets_problem(node)
        case KleeneExpand(elements=elements, least=least, most=most):
            if list_columns(elements) != (False,):
                return "elements are single events"
            if least < 1 or (most is not None and most < least):
                return "1 <= least <= most"
            problem = None if node.passed is None else _absence_problem(node.passed, len(list_columns(node)))
            return problem or _pairing_problem(node, len(list_columns(node)) - 1)
        case Chain():
            return _chain_problem(node)
    return None


def _subsets_problem(node: SubsetJoin) -> str | None:
    width = len(node.inputs)
    if any(list_columns(source) != (False,) for source in node.inputs):
        return "inputs are single events"
    if not all(0 <= a < b < width for a, b in node.distinct):
        return "distinct relates existing columns"
    return _predicate_problem(node.predicates, width)


def _chain_problem(node: Chain) -> str | None:
    is_list = list_columns(node.input)
    if list_columns(node.elements) != (False,):
        return "elements are single events"
    if node.place == "next" and not is_list[-1]:
        return "what comes next is added to a list"
    if any(_falls_short(source, node.extent) for source in inputs_of(node)):
        return "an input reaches at least as far as its reader"
    return _predicate_problem(node.predicates, len(is_list) + 1)


def _pairing_problem(node: Join | KleeneExpand, n_left: int) -> str | None:
    width = len(list_columns(node))
    problem = _predicate_problem(node.predicates, width)
    if problem:
        return problem
    pairs = [*(sorted(pair) for pair in node.order), *node.distinct]
    if not all(a >= 0 and b < width for a, b in pairs):
        return "order and distinct relate existing columns"
    if not all(a < n_left <= b for a, b in pairs):
        return "order and distinct relate one side to the other"
    if any((later, earlier) in node.order for earlier, later in node.order):
        return "the order is strict"
    if any(_falls_short(source, node.extent) for source in inputs_of(node)):
        return "an input reaches at least as far as its reader"
    return None


def _predicate_problem(predicates: Iterable[Expression], width: int) -> str | None:
    allowed = {column_variable(column) for column in range(width)}
    if all(variables_of(predicate) <= allowed for predicate in predicates):
        return None
    return "predicates mention columns of the inputs only"


def _falls_short(source: Node, wanted: Extent | None) -> bool:
    """Whether rows of a source are missing that its reader wants."""
    span = span_of(source)
    if span is None or is_instant(span):
        return False
    return wanted is None or (same_clock(span, wanted) and span.length < wanted.length)


def _absence_problem(absence: Absence, n_columns: int) -> str | None:
    width = n_columns + len(list_columns(absence.negated))
    problem = _predicate_problem(absence.predicates, width)
    if problem:
        return problem
    if not all(0 <= column < width for pair in absence.distinct for column in pair):
        return "distinct relates existing columns"
    if not all(0 <= column < n_columns for column in (*absence.after, *absence.before)):
        return "the scope is bounded by columns of the input"
    if _falls_short(absence.negated, absence.extent):
        return "what is negated reaches at least as far as the check"
    problems = [_absence_problem(inner, width) for inner in absence.unless]
    return next((problem for problem in problems if problem), None)
