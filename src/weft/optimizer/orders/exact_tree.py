"""The cheapest tree of all, by dynamic programming over subsets.

Idea        The best tree over a subset joins the best trees over some two parts of it.
Reference   Vance, Maier. Rapid Bushy Join-order Optimization with Cartesian Products. SIGMOD 1996; for
            events Kolchinsky, Schuster. Join Query Optimization Techniques for Complex Event Processing
            Applications. PVLDB 11(11), 2018; deciding conditions as section 4.3 of their Efficient
            Adaptive Detection of Complex Event Patterns, in the same volume, has them.
Differs     Contains given sub-trees, and may use trees that exist already: as they are, or with the
            negations checked that they have left to their readers.
Complexity  O(3^n) for n items and given sub-trees; optimal among trees that check every negation as soon
            as its items are there. Beyond MOST_EXACT items, the better of the greedy order and
            ZStream's tree is returned, which reads trees that exist as long as one more makes it cheaper.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import or_

import numpy as np

from weft.cost.model import CostModel
from weft.cost.shape import MOST_EXACT, Array, Shape
from weft.kernels.matches.subsets import Prices, cheapest_splits
from weft.optimizer.memoize import memoize
from weft.optimizer.orders.decided import (
    ROUNDING,
    Block,
    Decided,
    Side,
    SteppedTree,
    against_others,
    checks_of,
    local_cost,
    node_steps,
    tree_steps,
)
from weft.optimizer.orders.greedy_order import decide_greedy_order
from weft.optimizer.orders.zstream_tree import decide_zstream_tree
from weft.optimizer.trees import Tree, nodes_of, pair, units_of

MOST_TRIED = 16  # trees that exist which a tree of many items is tried with, those that save most


def exact_tree(
    shape: Shape,
    model: CostModel,
    pinned: Sequence[Tree] = (),
    existing: Mapping[int, Tree] | None = None,
    reading: Mapping[int, float] | None = None,
) -> Tree:
    """Return the cheapest tree that contains the given sub-trees.

    `existing` are trees, by their items, that are computed anyway: one only has to read them, which
    costs something where `reading` says so.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.trees import leaf, pair, tree_text
    >>> chain = Shape((47.0, 2.0, 9.0), (0, 0b001, 0b011), window=1.0)
    >>> tree_text(exact_tree(chain, PartialMatches()), "abc")
    '(a (b c))'
    >>> tree_text(exact_tree(chain, PartialMatches(), existing={0b101: pair(leaf(0), leaf(2))}), "abc")
    '((a c) b)'
    """
    if shape.n_items > MOST_EXACT:
        return greedy_reply(shape, model, pinned, existing or {}, reading or {})
    return _Table(shape, model, pinned, existing or {}, reading or {}).tree()


def decide_exact_tree(shape: Shape, model: CostModel, pinned: Sequence[Tree] = ()) -> Decided:
    """Return the cheapest tree that contains the given ones, with a block for every other join of it.

    A condition compares the tree over some items with the best one, at the time, for another split of
    them. When one is violated, there is a cheaper tree, and the algorithm returns another. The converse
    does not hold beyond three units: another tree may have become the best with sub-trees that were not
    the best of their items before, and no condition speaks of these. A tie, up to rounding, is no
    violation.

    Beyond MOST_EXACT items, the conditions are those of the algorithm whose tree was the better one, and
    one more that it was. Then a violation does not promise a cheaper tree.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> decided = decide_exact_tree(Shape((47.0, 2.0, 9.0), (0, 0, 0), window=1.0), PartialMatches())
    >>> [(bin(block.mask), len(block.conditions)) for block in decided.blocks]
    [('0b110', 0), ('0b111', 2)]
    """
    if shape.n_items > MOST_EXACT:
        return _approximate(shape, model, pinned)
    table = _Table(shape, model, pinned, {}, {})
    return Decided(table.tree(), tuple(table.blocks(table.whole)))


class _Table:
    """The best trees over all subsets of the units."""

    def __init__(
        self,
        shape: Shape,
        model: CostModel,
        pinned: Sequence[Tree],
        existing: Mapping[int, Tree],
        reading: Mapping[int, float],
    ) -> None:
        self._shape = shape
        self._units = units = units_of(shape, pinned)
        masks = _subset_masks(units)
        usable = {mask: tree for mask, tree in existing.items() if _contains(tree, pinned)}
        covered = reduce(or_, usable, 0)  # the leaves below a tree that exists do too
        usable_at = {
            1 << place: unit for place, unit in enumerate(units) if not unit.is_leaf or unit.mask & covered
        }
        usable_at |= {subset: usable[mask] for subset, mask in enumerate(masks.tolist()) if mask in usable}
        given, costs = np.full(masks.size, -1, np.int64), np.zeros(masks.size)
        for subset, tree in usable_at.items():  # these cost the same in every plan
            given[subset] = checks_of(tree, shape)
            costs[subset] = reading.get(tree.mask, 0.0) if subset & (subset - 1) else 0.0
        self._given = usable_at
        self._lists = sum(1 << place for place, unit in enumerate(units) if not unit.mask & ~shape.list_mask)
        prices = _unit_prices(model.prices(shape), masks)
        _, self._parts_of = cheapest_splits(prices, given, costs, self._lists)
        self.whole = masks.size - 1

    def tree(self) -> Tree:
        return built_tree(self.whole, self._parts_of, self._units, self._given)

    def blocks(self, subset: int) -> list[Block]:
        """Return why the tree over a subset of the units is as it is, where no trees exist already."""
        if subset & (subset - 1) == 0:
            return []
        left, right = (int(part) for part in self._parts_of[subset])
        splits = list(self._splits(subset))
        sides = [Side(self._join(*split).steps) for split in splits]
        conditions = against_others(sides, splits.index((left, right)), rounding=ROUNDING)
        block = Block(self._best(subset).tree.mask, conditions)
        return [*self.blocks(left), *self.blocks(right), block]

    def _splits(self, subset: int) -> Iterator[tuple[int, int]]:
        """Yield the splits of a subset in the order of their trial."""
        lowest = subset & -subset
        part = rest = subset ^ lowest
        while part:
            part = (part - 1) & rest
            left, right = part | lowest, rest ^ part
            only_lists = [not side & ~self._lists and side & (side - 1) != 0 for side in (left, right)]
            if not any(only_lists) or (self._lists == self.whole and not all(only_lists)):
                yield left, right

    @memoize
    def _best(self, subset: int) -> SteppedTree:
        if subset & (subset - 1):
            return self._join(*(int(part) for part in self._parts_of[subset]))
        unit = self._units[subset.bit_length() - 1]
        return SteppedTree(unit, tree_steps(unit, self._shape))

    def _join(self, left: int, right: int) -> SteppedTree:
        return self._best(left).join(self._best(right), self._shape)


def _contains(tree: Tree, pinned: Sequence[Tree]) -> bool:
    """Say whether a tree contains all the given ones that it has items of."""
    parts = set(nodes_of(tree))
    return all(part in parts for part in pinned if part.mask & tree.mask)


def _approximate(shape: Shape, model: CostModel, pinned: Sequence[Tree]) -> Decided:
    """Return the better of two trees that take little time to find."""
    if pinned:
        return decide_zstream_tree(shape, model, pinned)
    options = [decide_zstream_tree(shape, model), decide_greedy_order(shape)]
    sides = [Side(tree_steps(option.tree._replace(unchecked=False), shape)) for option in options]
    costs = [side.value(shape, model) for side in sides]
    best = costs.index(min(costs))
    last = Block(shape.everything, against_others(sides, best))
    return replace(options[best], blocks=(*options[best].blocks, last))


def greedy_reply(
    shape: Shape,
    model: CostModel,
    pinned: Sequence[Tree],
    existing: Mapping[int, Tree],
    reading: Mapping[int, float],
) -> Tree:
    """Return a tree for many items that reads existing trees, one more while that makes it cheaper."""
    given, best = list(pinned), _approximate(shape, model, pinned).tree
    least = local_cost(best, shape, model)
    saved = {mask: _joined(tree, shape, model) - reading.get(mask, 0.0) for mask, tree in existing.items()}
    for mask in sorted(saved, key=lambda mask: (-saved[mask], mask))[:MOST_TRIED]:
        if existing[mask] in given or not _contains(existing[mask], given):
            continue
        parts = [*(part for part in given if not part.mask & mask), existing[mask]]
        option = decide_zstream_tree(shape, model, parts).tree._replace(unchecked=False)
        there = sum(saved[part.mask] for part in parts if part not in pinned)
        cost = local_cost(option, shape, model) - there
        if cost < least:
            given, best, least = parts, option, cost
    return best


def _joined(tree: Tree, shape: Shape, model: CostModel) -> float:
    """Return what the joins and checks of a tree cost; its leaves are read in every tree."""
    joins = (node_steps(node, shape) for node in nodes_of(tree) if not node.is_leaf)
    return Side(tuple(chain.from_iterable(joins))).value(shape, model)


def _subset_masks(units: Sequence[Tree]) -> Array:
    """Return the items of every subset of the units."""
    masks = np.zeros(1, np.int64)
    for unit in units:
        masks = np.concatenate([masks, masks | unit.mask])
    return masks


def _unit_prices(prices: Prices, masks: Array) -> Prices:
    """Return the prices of subsets of units."""
    rows, equal, ready, survivals, tariff, factors = prices
    return Prices(rows[masks], equal[masks], ready[masks], survivals, tariff, factors[masks])


def built_tree(part: int, parts_of: Array, units: Sequence[Tree], given: Mapping[int, Tree]) -> Tree:
    """Return the tree that `cheapest_splits` describes, from units and from trees that are there.

    >>> from weft.optimizer.trees import leaf
    >>> parts_of = np.array([[0, 0], [0, 0], [0, 0], [0b01, 0b10]])
    >>> built_tree(0b11, parts_of, [leaf(0), leaf(1)], {}) == pair(leaf(0), leaf(1))
    True
    """
    if part < 0:
        return given[-part]
    if part & (part - 1) == 0:
        return units[part.bit_length() - 1]
    left, right = parts_of[part].tolist()
    if not right:
        return given[part]._replace(unchecked=False)
    return pair(built_tree(left, parts_of, units, given), built_tree(right, parts_of, units, given))
