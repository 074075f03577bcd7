"""Queries written as trees of operators over types, such as SEQ(AND(C, L), F), and their projections.

Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks. SIGMOD 2021,
definition 2 and section 4.4: an operator that a projection leaves with one operand vanishes, SEQ finds the
product of what its operands find and AND that times their number; every pair of items has a selectivity.

What differs: a SEQ left directly inside a SEQ is merged with it, which changes no rate. An AND left directly
inside an AND is not: by the rule AND(A, AND(B, C)) finds 2 x 2 times the product and AND(A, B, C) 3 times.
Operands of an AND are sorted, so that equal projections of different queries have equal texts; only where a
projection is a whole query, its text is as that query is written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

from weft.placement.network import bits
from weft.placement.projection import ProjectedQuery, Projection

Selectivities = Mapping[frozenset[str], float]


@dataclass(frozen=True, slots=True)
class TreeItem:
    """An event of a type; `name` is how the query writes it, such as B2 for the second event of type B."""

    name: str
    type: str
    items: int  # its own bit; none for negated events


@dataclass(frozen=True, slots=True)
class Operator:
    """SEQ or AND of two or more operands, and the bits of their items."""

    kind: str
    operands: "tuple[TreeItem | Operator | NegatedOperand, ...]"
    items: int


@dataclass(frozen=True, slots=True)
class NegatedOperand:
    """What must not occur between the operands of a SEQ before and after it, whose items are its context."""

    operand: TreeItem | Operator
    context: int

    def is_checked(self, items: int) -> bool:
        """Whether the projection to some items has the whole context."""
        return self.context == self.context & items


Tree = TreeItem | Operator


class OperatorTreeQuery(ProjectedQuery):
    """A query given by its operator tree; its items are the positive ones, in the order they are written."""

    def __init__(
        self, name: str, tree: Tree, selectivities: Selectivities, spellings: Mapping[str, str]
    ) -> None:
        super().__init__()
        self.name = name
        self.tree = tree
        self.kinds = tuple(item.type for item in leaves(tree) if item.items)
        self._negations = tuple(_negations(tree))
        self.selectivities = selectivities
        self._spellings = spellings
        self._order: dict[int, frozenset[tuple[str, str]]] = {}

    def _project(self, items: int) -> Projection:
        if not items & self.whole or items & ~self.whole:
            raise ValueError(f"query {self.name} has no projection to the items {bits(items)}")
        types = tuple(self.kinds[number] for number in bits(items))
        text, factor = _restrict(self.tree, items)
        factor *= prod(self.selectivities.get(frozenset(pair), 1.0) for pair in combinations(types, 2))
        return Projection(self._spellings.get(text, text), types, factor)

    @property
    def operators(self) -> tuple[int, ...]:
        """The items of each operator as the query is written, inner ones first; the last has all."""
        return tuple(_operators(self.tree))

    def implies(self, items: int, other: ProjectedQuery, other_items: int) -> bool:
        """Whether every match of a projection is one of another: the same types in fewer orders, or as many.

        >>> from weft_lab.placement.operator_tree_text import parse_operator_tree
        >>> trees = map(parse_operator_tree, ("SEQ(A, B, C)", "AND(A, C)"))
        >>> ordered, unordered = operator_tree_queries(trees, {})
        >>> ordered.implies(0b101, unordered, 0b11), unordered.implies(0b11, ordered, 0b101)
        (True, False)
        """
        if super().implies(items, other, other_items):
            return True
        if not isinstance(other, OperatorTreeQuery) or other.checked_negations(other_items):
            return False
        types = self.projection(items).kinds
        return (
            len(set(types)) == len(types)
            and sorted(types) == sorted(other.projection(other_items).kinds)
            and other.before(other_items) <= self.before(items)
            and (self.selectivities is other.selectivities or self.selectivities == other.selectivities)
        )

    def before(self, items: int) -> frozenset[tuple[str, str]]:
        """Return the pairs of types of which the first comes before the second."""
        if items not in self._order:
            pairs = _ordered_pairs(self.tree, items)
            self._order[items] = frozenset((self.kinds[a], self.kinds[b]) for a, b in pairs)
        return self._order[items]

    def checked_negations(self, items: int) -> frozenset[int]:
        """Return the numbers of the negations that the projection to some items checks."""
        return frozenset(
            number for number, negation in enumerate(self._negations) if negation.is_checked(items)
        )

    def negated_kinds(self, negation: int) -> tuple[str, ...]:
        """Return the types of events that a negation forbids."""
        return tuple(dict.fromkeys(item.type for item in leaves(self._negations[negation].operand)))


def operator_tree_queries(
    trees: Iterable[Tree], selectivities: Selectivities
) -> tuple[OperatorTreeQuery, ...]:
    """Return queries for trees, named q1, q2 and so on; a pair of types without a selectivity has 1.

    >>> from weft_lab.placement.operator_tree_text import parse_operator_tree
    >>> (query,) = operator_tree_queries([parse_operator_tree("SEQ(AND(C, L), F)")], {frozenset("CL"): 0.01})
    >>> [query.projection(items).text for items in (0b011, 0b101, 0b111)]
    ['AND(C, L)', 'SEQ(C, F)', 'SEQ(AND(C, L), F)']
    >>> query.projection(0b011).factor
    0.02
    """
    trees = tuple(trees)
    spellings = {_restrict(tree, tree.items)[0]: tree_to_text(tree) for tree in reversed(trees)}
    return tuple(
        OperatorTreeQuery(f"q{number}", tree, selectivities, spellings)
        for number, tree in enumerate(trees, start=1)
    )


def leaves(tree: Tree | NegatedOperand) -> list[TreeItem]:
    """Return the items of a tree, negated ones too, in the order they are written."""
    if isinstance(tree, TreeItem):
        return [tree]
    if isinstance(tree, NegatedOperand):
        return leaves(tree.operand)
    return [item for operand in tree.operands for item in leaves(operand)]


def tree_to_text(tree: Tree | NegatedOperand) -> str:
    """Return the text of a tree as it was written."""
    if isinstance(tree, TreeItem):
        return tree.name
    if isinstance(tree, NegatedOperand):
        return f"NOT {tree_to_text(tree.operand)}"
    return f"{tree.kind}({', '.join(map(tree_to_text, tree.operands))})"


def _negations(tree: Tree | NegatedOperand) -> list[NegatedOperand]:
    if isinstance(tree, TreeItem):
        return []
    if isinstance(tree, NegatedOperand):
        return [tree]
    return [negation for operand in tree.operands for negation in _negations(operand)]


def _operators(tree: Tree | NegatedOperand) -> list[int]:
    if not isinstance(tree, Operator):
        return []
    return [items for operand in tree.operands for items in _operators(operand)] + [tree.items]


def _ordered_pairs(tree: Tree, items: int) -> list[tuple[int, int]]:
    """Return the pairs of items, by number, of which the first comes before the second."""
    if isinstance(tree, TreeItem):
        return []
    operands = [operand for operand in tree.operands if not isinstance(operand, NegatedOperand)]
    pairs = [pair for operand in operands for pair in _ordered_pairs(operand, items)]
    if tree.kind == "SEQ":
        numbers = [bits(operand.items & items) for operand in operands]
        for first, second in combinations(numbers, 2):
            pairs.extend(product(first, second))
    return pairs


def _restrict(tree: Tree, items: int) -> tuple[str, float]:
    """Return the text of a tree restricted to items, and how often it finds the product of their rates."""
    if isinstance(tree, TreeItem):
        return tree.type, 1.0
    texts: list[str] = []
    factors: list[float] = []
    for operand in tree.operands:
        if isinstance(operand, NegatedOperand):
            if operand.is_checked(items):
                texts.append(f"NOT {_all_of(operand.operand)}")
        elif not operand.items or operand.items & items:
            text, factor = _restrict(operand, items)
            texts.append(text)
            factors.append(factor)
    if len(factors) == 1:
        return texts[0], factors[0]
    if tree.kind == "AND":
        return f"AND({', '.join(sorted(texts))})", len(factors) * prod(factors)
    return f"SEQ({', '.join(text[4:-1] if text.startswith('SEQ(') else text for text in texts)})", prod(
        factors
    )


def _all_of(negated: Tree) -> str:
    return _restrict(negated, 0)[0]  # negated items have no bits, so that nothing of them is left out
