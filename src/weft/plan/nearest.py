"""Joins of whose pairs only the nearest are wanted: all that read them forbid events between."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from weft.expressions import Aggregate, Attribute, Comparison, Expression
from weft.pattern.canonical import canonical
from weft.pattern.components import connected_components
from weft.pattern.normal_form import EVERY_TYPE
from weft.plan.dag import roots, topological_order
from weft.plan.nodes import (
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
    negated_nodes,
)
from weft.plan.order import closed_order
from weft.tree import find, transform_up

Columns: TypeAlias = tuple[int | None, ...]  # of a join: the one that each column of a reader is


def nearest_joins(plan: Plan) -> dict[Join, int]:
    """Return the joins with a column of single events of which each row of the other side needs the earliest.

    That comes after the row, and fits. An event of a pair that is left out has one before it that whoever
    reads the join forbids.

    >>> from weft.plan.nodes import Absence, Branch, Extent, Output
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
            columns = tuple(range(len(columns_of(node))))
            wanted = _nearest_to_all(node, node, columns, read_by, delivered)
            if wanted:
                nearest[node] = min(wanted)
    return nearest


def _nearest_to_all(
    join: Join,
    node: Node,
    columns: Columns,
    read_by: Mapping[Node, Sequence[Node]],
    delivered: set[Node],
) -> set[int]:
    """Return the columns of a join of which all that read a node want the nearest.

    The node has the rows of the join, or some of them, alone or with others; `columns` says which column of
    the join each of its columns is, if any.
    """
    if node in delivered or not read_by[node]:
        return set()
    wanted: list[set[int]] = []
    for reader in read_by[node]:
        match reader:
            case NegationCheck(input=source, absence=absence) if source == node and node not in negated_nodes(
                absence
            ):
                above = _nearest_to_all(join, reader, columns, read_by, delivered)
                wanted.append(above | _forbidden_before(join, reader, columns))
            case Project(columns=chosen):
                moved = tuple(columns[column] for column in chosen)
                wanted.append(_nearest_to_all(join, reader, moved, read_by, delivered))
            case Join(left=left, right=right) if left != right:
                others = (None,) * (len(columns_of(reader)) - len(columns))
                moved = (*columns, *others) if left == node else (*others, *columns)
                wanted.append(_nearest_to_all(join, reader, moved, read_by, delivered))
            case _:
                return set()
    return set.intersection(*wanted)


def _forbidden_before(join: Join, check: NegationCheck, columns: Columns) -> set[int]:
    """Return the column of a join before which a check forbids what could be in it as well, if any."""
    absence = check.absence
    if len(absence.before) != 1 or not absence.after or absence.distinct or absence.unless:
        return set()
    column = columns[absence.before[0]]
    if column is None:
        return set()
    others = _other_side(join, column)
    after = [columns[earlier] for earlier in absence.after]
    order = closed_order(join)
    if not all(earlier in others and (earlier, column) in order for earlier in after):
        return set()
    leaf = _leaf_of(join, column)
    if absence.negated != leaf and not _is_of_every_type(absence.negated, leaf):
        return set()
    is_asked = all(
        _agrees_before(join, column, predicate, check)
        or _in_columns_of_join(predicate, columns, column, others) in join.predicates
        for predicate in absence.predicates
    )
    return {column} if is_asked else set()


def _other_side(join: Join, column: int) -> range:
    """Return the columns of a join that come from the input that a column does not come from."""
    n_left = len(columns_of(join.left))
    return range(n_left, len(columns_of(join))) if column < n_left else range(n_left)


def _agrees_before(join: Join, column: int, predicate: Expression, check: NegationCheck) -> bool:
    """Say whether a check asks agreement of a negated event which all in a column of a join have.

    These agree with an event of the other side, so with each other; and the one that is in a row that is
    checked agrees with what the negated event is to agree with.
    """
    name = _agreed(predicate)
    width = len(columns_of(check.input))
    outer = [n for n in _columns_in(predicate) if n < width]
    return (
        name is not None
        and len(outer) == 1
        and check.absence.before[0] in _agreeing_with(outer[0], check.input, name)
        and any(other in _other_side(join, column) for other in _agreeing_with(column, join, name))
    )


def _agreeing_with(column: int, node: Node, name: str) -> list[int]:
    """Return the columns of a node that agree with one of them on an attribute, itself included."""
    classes = connected_components(list(range(len(columns_of(node)))), _agreeing(node, name))
    return next(members for members in classes if column in members)


def _agreeing(node: Node, name: str) -> list[tuple[int, int]]:
    """Return the pairs of columns of a node that joins make agree on an attribute."""
    match node:
        case Join(left=left, right=right, predicates=predicates):
            n_left = len(columns_of(left))
            own = [_columns_in(predicate) for predicate in predicates if _agreed(predicate) == name]
            moved = [(a + n_left, b + n_left) for a, b in _agreeing(right, name)]
            return [*_agreeing(left, name), *moved, *((pair[0], pair[1]) for pair in own)]
        case NegationCheck(input=source):
            return _agreeing(source, name)
    return []


def _is_of_every_type(node: Node, leaf: Node | None) -> bool:
    """Say whether a node has all events, those of a leaf among them."""
    return isinstance(node, Scan) and node.type == EVERY_TYPE and leaf is not None


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


def _in_columns_of_join(
    predicate: Expression, columns: Columns, negated: int, others: range
) -> Expression | None:
    """Return a predicate on a negated event as one on a column of a join.

    None where it is on anything else but that and the columns of the other side.
    """
    own = [columns[column] for column in _columns_in(predicate) if column < len(columns)]
    if not all(column in others for column in own) or any(find(predicate, Aggregate)):
        return None

    def rename(node: object) -> object:
        if isinstance(node, Attribute):
            number = int(node.variable[1:])
            column = columns[number] if number < len(columns) else negated
            return Attribute(f"${column}", node.name, node.place, node.type)
        return node

    return canonical(transform_up(predicate, rename))


def _columns_in(predicate: Expression) -> list[int]:
    return [int(attribute.variable[1:]) for attribute in find(predicate, Attribute)]


def _agreed(predicate: Expression) -> str | None:
    """Return the attribute on which a predicate has all events of two columns agree, if it does."""
    match predicate:
        case Comparison(operator="=", left=Attribute() as a, right=Attribute() as b):
            return a.name if a.name == b.name and a.place == b.place == "each" else None
    return None
