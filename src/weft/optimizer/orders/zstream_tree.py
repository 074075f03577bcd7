"""The cheapest tree whose every node joins neighbors of the pattern.

Idea        The best tree over an interval of the pattern joins the best trees over two intervals.
Reference   Mei, Madden. ZStream: a Cost-based Query Processor for Adaptively Detecting Composite
            Events. SIGMOD 2009; algorithm 3 and section 4.2 of Kolchinsky, Schuster. Efficient Adaptive
            Detection of Complex Event Patterns. PVLDB 11(11), 2018.
Differs     Contains given sub-trees, each of which stands where its first item does; lists are joined
            to the tree of the others, last. Deciding conditions price all nodes anew, unless asked to
            keep the paper's constants.
Complexity  O(n^3) estimates for n items; optimal among trees over intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from weft.cost.model import CostModel
from weft.cost.shape import Shape
from weft.optimizer.orders.decided import (
    ROUNDING,
    Block,
    Condition,
    Decided,
    PricedTree,
    Side,
    against_others,
    joined,
    prices_of,
    unit_option,
)
from weft.optimizer.trees import Tree, pair, units_of


@dataclass(frozen=True, slots=True)
class _Split:
    """The best tree over an interval that is divided at a place, and what its nodes cost."""

    option: PricedTree
    below: tuple[float, ...]
    own: tuple[float, ...]
    place: int = 0

    @property
    def prices(self) -> tuple[float, ...]:
        return self.below + self.own

    def side(self, *, constant: bool) -> Side:
        if constant:
            return Side(self.option.own, fsum(self.below))
        return Side(self.option.steps)


class _Intervals:
    """The best trees over all intervals of some units."""

    def __init__(self, units: Sequence[Tree], shape: Shape, model: CostModel) -> None:
        self._shape, self._model = shape, model
        self._best: dict[tuple[int, int], _Split] = {}
        self._all: dict[tuple[int, int], list[_Split]] = {}
        for place, unit in enumerate(units):
            option = unit_option(unit, shape)
            self._best[place, place + 1] = _Split(option, (), prices_of(option.own, shape, model))
        for length in range(2, len(units) + 1):
            for start in range(len(units) - length + 1):
                interval = (start, start + length)
                self._all[interval] = self._splits(*interval)
                self._best[interval] = min(self._all[interval], key=lambda split: fsum(split.prices))
        self.whole = (0, len(units))

    def tree(self) -> Tree:
        return self._best[self.whole].option.tree

    def blocks(self, start: int, stop: int, *, constant: bool) -> list[Block]:
        """Return why the tree over an interval is as it is."""
        if stop - start == 1:
            return []
        best = self._best[start, stop]
        parts = self.blocks(start, best.place, constant=constant)
        parts += self.blocks(best.place, stop, constant=constant)
        sides = [split.side(constant=constant) for split in self._all[start, stop]]
        rounding = ROUNDING if constant else 0.0
        conditions: tuple[Condition, ...] = against_others(sides, best.place - start - 1, rounding=rounding)
        return [*parts, Block(best.option.tree.mask, conditions)]

    def _splits(self, start: int, stop: int) -> list[_Split]:
        found = []
        for place in range(start + 1, stop):
            left, right = self._best[start, place], self._best[place, stop]
            option = joined(left.option, right.option, self._shape)
            own = prices_of(option.own, self._shape, self._model)
            found.append(_Split(option, left.prices + right.prices, own, place))
        return found


def zstream_decided(
    shape: Shape, model: CostModel, pinned: Sequence[Tree] = (), *, constant: bool = False
) -> Decided:
    """Return the cheapest tree over intervals that contains the given ones, with its other joins explained.

    A condition compares the tree over an interval with the best one, at the time, for another split of
    it. When one is violated, the tree is no longer the best, and the algorithm returns another. The
    converse does not hold beyond three units: another tree may have become the best with sub-trees that
    were not the best of their intervals before, and no condition speaks of these.

    With `constant`, only the last joins are priced anew; the parts cost what they did (section 4.2, to
    verify a condition in constant time). The argument for this is that an earlier invariant would notice
    a change in the parts. It would not: the parts can become dearer or cheaper without another tree
    over them being better, and the parts of the other option have no invariants. So a condition can be
    violated although the tree is still the best: on random walks of statistics, a third of the
    violations by the measured cost were of this kind, and a third of the better trees went unnoticed.
    And where the last join costs the same in both options, which it always does by the number of partial
    matches as long as there are no negations, a condition can never be violated at all.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.trees import shown
    >>> chain = Shape((47.0, 2.0, 9.0), (0, 0b001, 0b011), window=1.0)
    >>> decided = zstream_decided(chain, PartialMatches())
    >>> [(bin(block.mask), len(block.conditions)) for block in decided.blocks]
    [('0b110', 0), ('0b111', 1)]
    >>> shown(decided.tree, "abc")
    '(a (b c))'
    >>> decided.blocks[1].conditions[0].values(chain, PartialMatches())  # 9 or 47 pairs of two items
    (208.0, 246.0)
    """
    plain, lists = _parts(shape, pinned)
    intervals = _Intervals(plain, shape, model)
    tree, blocks = intervals.tree(), intervals.blocks(*intervals.whole, constant=constant)
    for unit in lists:
        tree = pair(tree, unit)
        blocks.append(Block(tree.mask, ()))
    return Decided(tree, tuple(blocks))


def _parts(shape: Shape, pinned: Sequence[Tree]) -> tuple[list[Tree], list[Tree]]:
    """Return the units that form intervals, and the lists to be joined to these."""
    units = units_of(shape, pinned)
    plain = [unit for unit in units if unit.mask & ~shape.list_mask]
    lists = [unit for unit in units if not unit.mask & ~shape.list_mask]
    return (plain, lists) if plain else (lists[:1], lists[1:])
