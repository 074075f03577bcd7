"""The operators of a pattern as flat queries over numbers, and where other flat queries stand in them."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Generic, TypeVar

from weft.optimizer.rewriting.division import operator_tree
from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol, canonical_key
from weft.optimizer.rewriting.transformation import transformed
from weft.optimizer.sharing.numbering import Labelled
from weft.optimizer.sharing.pattern import Pattern

Key = TypeVar("Key", bound=Hashable)

MOST_PLACES = 8  # at which a query with repeated operands is looked for in another


@dataclass(frozen=True)
class Level(Generic[Key]):
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
            for masks in _embeddings(query, self.query, self.masks):
                yield self.pattern.labelled(sum(masks))
        elif self._unordered is not None and query.operator == "CONJ":
            for masks in _embeddings(query, *self._unordered):
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


def levels_of(key: Key, pattern: Pattern) -> list[Level[Key]]:
    """Return the operators over the single events of a pattern, inner ones first.

    There are none where fewer than two events are single, or their order is that of no operators.
    """
    plain = [item for item in range(pattern.n_items) if item not in pattern.shape.lists]
    tree = operator_tree(plain, pattern.own.order) if len(plain) > 1 else None
    found: list[Level[Key]] = []

    def visit(node: Symbol) -> tuple[Symbol, int]:
        if not isinstance(node, FlatQuery):
            item = int(node)
            return pattern.leaves[item], 1 << item
        operands = [visit(operand) for operand in node.operands]
        if node.operator != "SEQ":
            operands.sort(key=_by_number)
        masks = tuple(mask for _, mask in operands)
        query = FlatQuery(node.operator, tuple(symbol for symbol, _ in operands))
        found.append(Level(key, pattern, query, masks, is_whole=node is tree))
        return pattern.labelled(sum(masks)).number, sum(masks)

    if tree is not None:
        visit(tree)
    return found


def _by_number(operand: tuple[Symbol, int]) -> tuple[int, int, str]:
    return canonical_key(operand[0])


def _embeddings(query: FlatQuery, whole: FlatQuery, masks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the items of the operands wherever a query stands in another as a subsequence."""

    def search(n_found: int, start: int) -> Iterator[tuple[int, ...]]:
        if n_found == len(query.operands):
            yield ()
            return
        for place in range(start, len(whole.operands) - len(query.operands) + n_found + 1):
            if whole.operands[place] == query.operands[n_found]:
                for rest in search(n_found + 1, place + 1):
                    yield (masks[place], *rest)

    return islice(search(0, 0), MOST_PLACES)
