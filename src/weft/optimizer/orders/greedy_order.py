"""Append, one after the other, the item that leaves the fewest partial matches.

Idea        Each step takes the item with the smallest rate times its selectivities with those taken
            before.
Reference   Algorithm 2 of Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event
            Patterns. PVLDB 11(11), 2018 (after Swami. Optimization of Large Join Queries. SIGMOD 1989);
            deciding conditions as in section 4.1.
Differs     The number of partial matches of the longer prefix is compared itself, so that order, lists
            and negations count too.
Complexity  O(n^2) estimates for n items. Not optimal in general.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from weft.cost.model import PlanStep
from weft.cost.shape import Shape
from weft.optimizer.orders.decided import Block, Decided, Side, against_others
from weft.optimizer.trees import order_tree


class _Position(NamedTuple):
    """The items before a position of an order, those that might have come next, and the one that did."""

    before: int
    candidates: list[int]
    item: int


def greedy_order(shape: Shape, start: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the items in evaluation order, those of `start` first.

    >>> greedy_order(Shape(rates=(47.0, 2.0, 9.0), before=(0, 0b001, 0b011), window=1.0))
    (1, 2, 0)
    """
    return (*start, *(position.item for position in _positions(shape, start)))


def decide_greedy_order(shape: Shape, start: Sequence[int] = ()) -> Decided:
    """Return the tree of the greedy order, with a block for every position after `start`.

    All conditions hold if and only if the algorithm returns the same order. The first two items of an
    order can change places without the tree being another.

    >>> decided = decide_greedy_order(Shape(rates=(47.0, 2.0, 9.0), before=(0, 0b001, 0b011), window=1.0))
    >>> [(bin(block.mask), len(block.conditions)) for block in decided.blocks]
    [('0b10', 2), ('0b110', 1), ('0b111', 0)]
    """
    order, blocks = list(start), []
    for before, candidates, item in _positions(shape, start):
        order.append(item)
        masks = [before | 1 << candidate for candidate in candidates]
        sides = [Side((PlanStep(mask, checks=shape.ready(mask)),)) for mask in masks]
        conditions = against_others(sides, candidates.index(item), counts_matches=True)
        blocks.append(Block(before | 1 << item, conditions))
    return Decided(order_tree(order), tuple(blocks))


def _positions(shape: Shape, start: Sequence[int]) -> Iterator[_Position]:
    mask = sum(1 << item for item in start)
    while mask != shape.everything:
        rest = [item for item in range(shape.n_items) if not mask >> item & 1]
        plain = [item for item in rest if item not in shape.lists]
        candidates = rest if mask or not plain else plain
        following = mask
        item = min(candidates, key=lambda item: shape.instances(following | 1 << item, shape.window))
        yield _Position(mask, candidates, item)
        mask |= 1 << item
