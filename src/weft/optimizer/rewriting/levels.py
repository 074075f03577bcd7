"""Patterns and nested queries divided into flat queries, level by level, and where others stand in them.

Idea        The inner queries of a level become queries of their own, whose composite events are
            operands of the level above. A partial order is divided as the nesting it stands for.
Reference   Definition 2 and tables II and III in section IV-D of Zhang, Vo, Dahlmeier, He. Multi-Query
            Optimization for Complex Event Processing in SAP ESP. ICDE 2017.
Differs     A composite event is named by the query that it is a match of. So equal composites have equal
            names from the beginning, and every pair of flat queries is looked at once.
Complexity  O(n) for a nested query of n operands.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Generic

from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol, canonical_key
from weft.optimizer.rewriting.merge import merges
from weft.optimizer.rewriting.transformation import without_order
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key, Label
from weft.pattern.series_parallel import Nesting, nesting_of


@dataclass(frozen=True)
class OperatorLevel(Generic[Key]):
    """An operator of a pattern: its operands as numbers, and the items of each.

    A single event has the number of its leaf, a composite one that of its sub-pattern. So equal numbers
    mean equal operands, conditions included; conditions between operands are not told.
    """

    key: Key
    pattern: Pattern
    query: FlatQuery
    masks: tuple[int, ...]
    is_whole: bool

    def places_of(self, query: FlatQuery) -> Iterator[Label]:
        """Yield the sub-patterns of the level that a query stands for, under a weaker order if need be."""
        if query.operator == self.query.operator:
            for places in merges(query, self.query):
                yield self.pattern.label(sum(self.masks[place] for place in places))
        elif query.operator == "CONJ":
            weak, weak_masks = self._level_without_order
            for places in merges(query, weak):
                masks = [weak_masks[place] for place in places]
                order = frozenset(pair for mask in masks for pair in self.pattern.order_within(mask))
                yield self.pattern.label(sum(masks), order)

    @cached_property
    def _level_without_order(self) -> tuple[FlatQuery, tuple[int, ...]]:
        """The level with its operands in any order."""
        pairs = sorted(zip(self.query.operands, self.masks, strict=True), key=_by_number)
        return without_order(self.query), tuple(mask for _, mask in pairs)


def levels_of(key: Key, pattern: Pattern) -> list[OperatorLevel[Key]]:
    """Return the operators over the single events of a pattern, inner ones first.

    There are none where fewer than two events are single, or their order is that of no operators.
    """
    plain = [item for item in range(pattern.n_items) if item not in pattern.shape.lists]
    tree = operator_tree(plain, pattern.own.order) if len(plain) > 1 else None
    if not isinstance(tree, FlatQuery):
        return []
    known: dict[Symbol, tuple[Symbol, int]] = {item: (pattern.leaves[item], 1 << item) for item in plain}
    levels: list[OperatorLevel[Key]] = []
    for node in inner_first(tree):
        operands = [known[operand] for operand in node.operands]
        if node.operator != "SEQ":
            operands.sort(key=_by_number)
        masks = tuple(mask for _, mask in operands)
        query = FlatQuery(node.operator, tuple(symbol for symbol, _ in operands))
        levels.append(OperatorLevel(key, pattern, query, masks, is_whole=node is tree))
        known[node] = pattern.label(sum(masks)).number, sum(masks)
    return levels


def _by_number(operand: tuple[Symbol, int]) -> tuple[int, int, str]:
    return canonical_key(operand[0])


def nested_level(query: FlatQuery) -> int:
    """Return how many levels a query has, the innermost being 1."""
    return 1 + max(
        (nested_level(operand) for operand in query.operands if isinstance(operand, FlatQuery)), default=0
    )


def inner_first(query: FlatQuery) -> list[FlatQuery]:
    """Return the flat queries of a nested one, each once, level by level, the innermost first.

    >>> from weft.optimizer.rewriting.flat_query import conjunction, names, sequence
    >>> names(inner_first(sequence("E1", conjunction("E2", "E3"))))
    ['CONJ(E2 & E3)', 'SEQ(E1, CONJ(E2 & E3))']
    """
    inner = [
        flat for operand in query.operands if isinstance(operand, FlatQuery) for flat in inner_first(operand)
    ]
    return sorted(dict.fromkeys([*inner, query]), key=nested_level)


def operator_tree(items: Sequence[int], order: Set[tuple[int, int]]) -> FlatQuery | int | None:
    """Return the nesting of SEQ and CONJ that a strict partial order stands for, None where none gives it.

    >>> print(operator_tree([0, 1, 2], {(0, 1), (0, 2)}))
    SEQ(0, CONJ(1 & 2))
    """
    nesting = nesting_of(items, order)
    return None if nesting is None else _flat_query(nesting)


def _flat_query(nesting: Nesting[int] | int) -> FlatQuery | int:
    if isinstance(nesting, int):
        return nesting
    return FlatQuery(
        "SEQ" if nesting.operator == "SEQ" else "CONJ", tuple(map(_flat_query, nesting.operands))
    )
