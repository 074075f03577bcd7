"""The canonical form of sub-patterns: equal ones become equal, whatever a query names and how it orders them.

Predicates have one spelling (`canonical`) and speak of columns `$0`, `$1` ... instead of variables
(`in_columns`). Items stand in the order that gives the least description (`least_labelling`): only those
that look the same are exchanged.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, permutations, product
from typing import TypeVar

from weft.expressions import (
    Aggregate,
    And,
    Attribute,
    Comparison,
    ComparisonOperator,
    Expression,
    Literal,
    Not,
    Or,
    flip,
    variables_of,
)
from weft.pattern.normal_form import Item, NormalForm
from weft.tree import find, transform_up

MOST_KNOWN = 1 << 16  # predicates of which it is known how they are spelled over columns
MOST_LABELLINGS = 24  # orders of items that look the same; with more, equal sub-patterns may differ

OPPOSITE: dict[ComparisonOperator, ComparisonOperator] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}

T = TypeVar("T", bound=Hashable)
Description = TypeVar("Description", str, tuple[int, ...])


def least_labelling(
    labellings: Iterable[tuple[T, ...]], description: Callable[[tuple[T, ...]], Description]
) -> tuple[Description, tuple[T, ...]]:
    """Return the least description of a sub-pattern, and the order of its items that gives it.

    >>> least_labelling(exchanges([["a", "b"], ["c"]]), lambda items: f"{items[0]} after {items[1]}")
    ('a after b', ('a', 'b', 'c'))
    """
    return min((description(items), items) for items in islice(labellings, MOST_LABELLINGS))


def exchanges(ties: Sequence[Sequence[T]]) -> Iterator[tuple[T, ...]]:
    """Yield the orders of items in which those of a tie, which look the same, are exchanged.

    >>> list(exchanges(["a", "bc"]))
    [('a', 'b', 'c'), ('a', 'c', 'b')]
    """
    for choice in product(*map(permutations, ties)):
        yield tuple(item for tie in choice for item in tie)


def column_variable(column: int) -> str:
    """Return the variable that stands for a column."""
    return f"${column}"


def in_columns(predicates: Iterable[Expression], variables: Sequence[str]) -> tuple[Expression, ...]:
    """Return predicates in canonical spelling and order, each once, with columns for variables.

    >>> less = Comparison("<", Attribute("b", "x"), Attribute("a", "x"))
    >>> [(p.operator, p.left.variable) for p in in_columns([less], ["a", "b"])]
    [('>', '$0')]
    """
    if not predicates:
        return ()
    columns = {variable: column for column, variable in enumerate(variables)}
    spelled = dict.fromkeys(
        _in_columns(p, tuple((name, columns[name]) for name in sorted(variables_of(p)))) for p in predicates
    )
    return tuple(sorted(spelled, key=repr)) if len(spelled) > 1 else tuple(spelled)


@lru_cache(maxsize=MOST_KNOWN)
def _in_columns(predicate: Expression, columns: tuple[tuple[str, int], ...]) -> Expression:
    """Return one predicate so; patterns of a workload are much alike."""
    return canonical(rename_variables(predicate, {name: column_variable(column) for name, column in columns}))


def rename_variables(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Return an expression with other names for its variables.

    >>> rename_variables(Attribute("$0", "x"), {"$0": "a"})
    Attribute(variable='a', name='x', place='each', type=None)
    """

    def rename(node: object) -> object:
        if isinstance(node, Attribute):
            return Attribute(names[node.variable], node.name, node.place, node.type)
        if isinstance(node, Aggregate):
            return Aggregate(node.function, names[node.variable], node.name, node.argument_type)
        return node

    return transform_up(expression, rename)


def own_predicates(item: Item, form: NormalForm) -> list[Expression]:
    """Return the predicates on single events of an item; constant ones count for the first item.

    Of a form that is SOME, they count for every item, as any may be the only one.
    """
    constant: frozenset[str] = frozenset()
    has_constant = form.is_some or item == form.items[0]
    about = ({item.variable}, constant) if has_constant else ({item.variable},)
    return [
        p for p in form.predicates if variables_of(p) in about and not (item.is_list and speaks_of_list(p))
    ]


def speaks_of_list(predicate: Expression) -> bool:
    """Whether a predicate on one variable concerns more than one element at a time."""
    return any(attribute.place != "each" for attribute in find(predicate, Attribute)) or any(
        find(predicate, Aggregate)
    )


def canonical(expression: Expression) -> Expression:
    """Return one spelling of an expression: NOT inward, AND and OR flat and sorted, comparisons oriented."""
    return transform_up(expression, _canonical_node)


def _canonical_node(node: Expression) -> Expression:
    match node:
        case Not(operand=operand):
            return _negate(operand)
        case And(operands=operands):
            return _flat(And, operands)
        case Or(operands=operands):
            return _flat(Or, operands)
        case Comparison():
            return _orient(node)
    return node


def _negate(operand: Expression) -> Expression:
    match operand:
        case Not(operand=inner):
            return inner
        case And(operands=operands):
            return _flat(Or, tuple(map(_negate, operands)))
        case Or(operands=operands):
            return _flat(And, tuple(map(_negate, operands)))
        case Comparison(operator=operator, left=left, right=right):
            return Comparison(OPPOSITE[operator], left, right)
    return Not(operand)


def _flat(kind: type[And] | type[Or], operands: tuple[Expression, ...]) -> Expression:
    members: dict[Expression, None] = {}
    for operand in operands:
        for member in operand.operands if isinstance(operand, kind) else (operand,):
            members.setdefault(member)
    ordered = sorted(members, key=repr)
    return ordered[0] if len(ordered) == 1 else kind(tuple(ordered))


def _orient(comparison: Comparison) -> Comparison:
    """Put the smaller operand (by its text) on the left, a literal always on the right."""
    left, right = ((isinstance(side, Literal), repr(side)) for side in (comparison.left, comparison.right))
    return comparison if left <= right else flip(comparison)
