"""The operators of a pattern as flat queries over numbers, and where other flat queries stand in them."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Generic, TypeVar

from weft.optimizer.rewriting.division import divided, operator_tree
from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol, canonical_key
from weft.optimizer.rewriting.merge import merges
from weft.optimizer.rewriting.transformation import transformed
from weft.optimizer.sharing.numbering import Labelled
from weft.optimizer.sharing.pattern import Pattern

Key = TypeVar("Key", bound=Hashable)


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

    def places_of(self, query: FlatQuery) -> Iterator[Labelled]:
        """Yield the sub-patterns of the level that a query stands for, under a weaker order if need be."""
        if query.operator == self.query.operator:
            for merge in merges(query, self.query):
                yield self.pattern.labelled(sum(self.masks[place] for place in merge.places))
        elif self._unordered is not None and query.operator == "CONJ":
            weak, weak_masks = self._unordered
            for merge in merges(query, weak):
                masks = [weak_masks[place] for place in merge.places]
                order = frozenset(pair for mask in masks for pair in self.pattern.order_within(mask))
                yield self.pattern.labelled(sum(masks), order)

    @cached_property
    def _unordered(self) -> tuple[FlatQuery, tuple[int, ...]] | None:
        """The level with its operands in any order."""
        weak = transformed(self.query, "CONJ")
        if weak is None:
            return None
        pairs = sorted(zip(self.query.operands, self.masks, strict=True), key=_by_number)
        return weak, tuple(mask for _, mask in pairs)


def levels_of(key: Key, pattern: Pattern) -> list[OperatorLevel[Key]]:
    """Return the operators over the single events of a pattern, inner ones first.

    There are none where fewer than two events are single, or their order is that of no operators.
    """
    plain = [item for item in range(pattern.n_items) if item not in pattern.shape.lists]
    tree = operator_tree(plain, pattern.own.order) if len(plain) > 1 else None
    if not isinstance(tree, FlatQuery):
        return []
    known: dict[Symbol, tuple[Symbol, int]] = {item: (pattern.leaves[item], 1 << item) for item in plain}
    found: list[OperatorLevel[Key]] = []
    for node in chain.from_iterable(divided(tree)):
        operands = [known[operand] for operand in node.operands]
        if node.operator != "SEQ":
            operands.sort(key=_by_number)
        masks = tuple(mask for _, mask in operands)
        query = FlatQuery(node.operator, tuple(symbol for symbol, _ in operands))
        found.append(OperatorLevel(key, pattern, query, masks, is_whole=node is tree))
        known[node] = pattern.labelled(sum(masks)).number, sum(masks)
    return found


def _by_number(operand: tuple[Symbol, int]) -> tuple[int, int, str]:
    return canonical_key(operand[0])
