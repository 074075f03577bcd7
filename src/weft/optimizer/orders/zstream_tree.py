"""The cheapest tree whose every node joins neighbors of the pattern.

Idea        The best tree over an interval of the pattern joins the best trees over two intervals.
Reference   Mei, Madden. ZStream: a Cost-based Query Processor for Adaptively Detecting Composite
            Events. SIGMOD 2009; algorithm 3 and section 4.2 of Kolchinsky, Schuster. Efficient Adaptive
            Detection of Complex Event Patterns. PVLDB 11(11), 2018.
Differs     Contains given sub-trees, each of which stands where its first item does; lists are joined
            to the tree of the others, last. Deciding conditions price all nodes anew. The paper keeps what
            the parts cost as constants, since an earlier invariant would notice a change in them. It would
            not: the parts can become dearer or cheaper without another tree over them being better, and
            those of the other option have no invariants. On random walks of statistics, a third of the
            violations then mean nothing, and a third of the better trees go unnoticed.
Complexity  O(n^3) estimates for n items; optimal among trees over intervals.
"""

from collections.abc import Sequence
from math import fsum

from weft.cost.model import CostModel, PlanStep
from weft.cost.shape import Shape
from weft.optimizer.memoize import memoize
from weft.optimizer.orders.decided import Block, Decided, Side, SteppedTree, against_others, tree_steps
from weft.optimizer.trees import Tree, pair, units_of


class _Intervals:
    """The best trees over all intervals of some units, and the trees that each was chosen from."""

    def __init__(self, units: Sequence[Tree], shape: Shape, model: CostModel) -> None:
        self._shape, self._model = shape, model
        self._best = {
            (place, place + 1): SteppedTree(unit, tree_steps(unit, shape)) for place, unit in enumerate(units)
        }
        self._chosen: dict[tuple[int, int], tuple[list[Side], int]] = {}
        for length in range(2, len(units) + 1):
            for start in range(len(units) - length + 1):
                self._choose(start, start + length)
        self.whole = (0, len(units))

    def _choose(self, start: int, stop: int) -> None:
        """Find the best place to divide an interval."""
        options = [
            self._best[start, place].join(self._best[place, stop], self._shape)
            for place in range(start + 1, stop)
        ]
        costs = [fsum(map(self._price, option.steps)) for option in options]
        best = costs.index(min(costs))
        self._best[start, stop] = options[best]
        self._chosen[start, stop] = [Side(option.steps) for option in options], best

    @memoize
    def _price(self, step: PlanStep) -> float:
        return self._model.node(self._shape, step, self._shape.window)

    def tree(self) -> Tree:
        return self._best[self.whole].tree

    def blocks(self, start: int, stop: int) -> list[Block]:
        """Return why the tree over an interval is as it is."""
        if stop - start == 1:
            return []
        sides, best = self._chosen[start, stop]
        place = start + best + 1
        block = Block(self._best[start, stop].tree.mask, against_others(sides, best))
        return [*self.blocks(start, place), *self.blocks(place, stop), block]


def decide_zstream_tree(shape: Shape, model: CostModel, pinned: Sequence[Tree] = ()) -> Decided:
    """Return the cheapest tree over intervals that contains the given ones, with its other joins explained.

    A condition compares the tree over an interval with the best one, at the time, for another split of
    it. When one is violated, the tree is no longer the best, and the algorithm returns another. The
    converse does not hold beyond three units: another tree may have become the best with sub-trees that
    were not the best of their intervals before, and no condition speaks of these.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.trees import tree_text
    >>> chain = Shape((47.0, 2.0, 9.0), (0, 0b001, 0b011), window=1.0)
    >>> decided = decide_zstream_tree(chain, PartialMatches())
    >>> [(bin(block.mask), len(block.conditions)) for block in decided.blocks]
    [('0b110', 0), ('0b111', 1)]
    >>> tree_text(decided.tree, "abc")
    '(a (b c))'
    >>> decided.blocks[1].conditions[0].values(chain, PartialMatches())  # 9 or 47 pairs of two items
    (208.0, 246.0)
    """
    plain, lists = _parts(shape, pinned)
    intervals = _Intervals(plain, shape, model)
    tree, blocks = intervals.tree(), intervals.blocks(*intervals.whole)
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
