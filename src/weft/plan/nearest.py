"""Joins of whose pairs only the nearest are wanted: all that read them forbid events between."""

from collections.abc import Mapping, Sequence

from weft.expressions import Attribute, Comparison, Expression
from weft.pattern.canonical import canonical
from weft.plan.dag import roots, topological_order
from weft.plan.nodes import (
    Absence,
    DistinctUnion,
    Filter,
    Join,
    NegationCheck,
    Node,
    Plan,
    Project,
    Scan,
    columns_of,
    inputs_of,
)
from weft.plan.order import closed_order
from weft.tree import transform_up


def nearest_joins(plan: Plan) -> dict[Join, int]:
    """Return the joins with a column of single events of which each row of the other side needs the earliest.

    That comes after the row, and fits. An event of a pair that is left out has one before it that whoever
    reads the join forbids.

    >>> from weft.plan.nodes import Branch, Extent, Output
    >>> pairs = Join(Scan("A"), Scan("B"), ((0, 1),), (), (), Extent("time", 9))
    >>> first = NegationCheck(pairs, Absence(Scan("B"), (0,), (1,), (), (), Extent("time", 9)))
    >>> nearest_joins(Plan((Output("q", (), (Branch(first, ("a", "b"), ()),)),))) == {pairs: 1}
    True
    >>> nearest_joins(Plan((Output("q", (), (Branch(pairs, ("a", "b"), ()),)),)))
    {}
    """
    read_by: dict[Node, list[Node]] = {node: [] for node in topological_order(plan)}
    for node in read_by:
        for source in dict.fromkeys(inputs_of(node)):
            read_by[source].append(node)
    delivered = set(roots(plan.outputs))
    nearest = {}
    for node in read_by:
        if isinstance(node, Join):
            columns = range(len(columns_of(node)))
            wanted = _nearest_to_all(node, node, columns, read_by, delivered)
            if wanted:
                nearest[node] = min(wanted)
    return nearest


def _nearest_to_all(
    join: Join,
    node: Node,
    columns: Sequence[int],
    read_by: Mapping[Node, Sequence[Node]],
    delivered: set[Node],
) -> set[int]:
    """Return the columns of a join of which all that read a node want the nearest.

    The node has the rows of the join, or some of them; `columns` says which column of the join each is.
    """
    if node in delivered or not read_by[node]:
        return set()
    wanted: list[set[int]] = []
    for reader in read_by[node]:
        match reader:
            case NegationCheck(input=source, absence=absence) if source == node != absence.negated:
                above = _nearest_to_all(join, reader, columns, read_by, delivered)
                wanted.append(above | _forbidden_before(join, absence, columns))
            case Project(columns=chosen):
                moved = [columns[column] for column in chosen]
                wanted.append(_nearest_to_all(join, reader, moved, read_by, delivered))
            case _:
                return set()
    return set.intersection(*wanted)


def _forbidden_before(join: Join, absence: Absence, columns: Sequence[int]) -> set[int]:
    """Return the column of a join before which an absence forbids what could be in it as well, if any."""
    if len(absence.before) != 1 or not absence.after or absence.distinct or absence.unless:
        return set()
    column = columns[absence.before[0]]
    n_left = len(columns_of(join.left))
    is_right = column >= n_left
    after = [columns[earlier] for earlier in absence.after]
    is_across = all((earlier >= n_left) != is_right for earlier in after)
    order = closed_order(join)
    if not is_across or not all((earlier, column) in order for earlier in after):
        return set()
    if absence.negated != _leaf_of(join, column):
        return set()
    renamed = [_in_columns_of_join(predicate, columns, column) for predicate in absence.predicates]
    is_asked = all(p in join.predicates or _is_key(p, join) for p in renamed)
    return {column} if is_asked else set()


def _leaf_of(node: Node, column: int) -> Node | None:
    """Return the events of a column, where they come straight from a scan."""
    match node:
        case Scan() | Filter():
            return node
        case Join(left=left, right=right):
            n_left = len(columns_of(left))
            return _leaf_of(left, column) if column < n_left else _leaf_of(right, column - n_left)
        case NegationCheck(input=source):
            return _leaf_of(source, column)
        case Project(input=source, columns=columns):
            return _leaf_of(source, columns[column])
        case DistinctUnion():
            return None
    return None


def _in_columns_of_join(predicate: Expression, columns: Sequence[int], negated: int) -> Expression:
    """Return a predicate on a negated event as one on a column of a join."""

    def rename(node: object) -> object:
        if isinstance(node, Attribute):
            own = int(node.variable[1:])
            column = columns[own] if own < len(columns) else negated
            return Attribute(f"${column}", node.name, node.place, node.type)
        return node

    return canonical(transform_up(predicate, rename))


def _is_key(predicate: Expression, join: Join) -> bool:
    """Say whether a predicate is agreement on an attribute on which both sides of a join agree."""
    name = _agreed(predicate)
    return name is not None and any(_agreed(own) == name for own in join.predicates)


def _agreed(predicate: Expression) -> str | None:
    match predicate:
        case Comparison(operator="=", left=Attribute() as a, right=Attribute() as b) if a.name == b.name:
            return a.name
    return None
