"""All trees that a pattern may take when trees of others exist already."""

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from weft.optimizer.trees import Tree, pair


def bare_somewhere(dice: random.Random, tree: Tree) -> Tree:
    """Return a tree some joins of which leave the negations to their readers."""
    if tree.left is None or tree.right is None:
        return tree
    joined = pair(bare_somewhere(dice, tree.left), bare_somewhere(dice, tree.right))
    return joined._replace(unchecked=dice.random() < 0.5)


def replies(units: Sequence[Tree], existing: Mapping[int, Tree], lists: int) -> Iterator[Tree]:
    """Yield every tree of units, and of trees that exist, as they are or with what they left checked."""
    mask = sum(unit.mask for unit in units)
    if len(units) == 1:
        yield units[0]
        return
    if mask in existing:
        yield existing[mask]
        yield existing[mask]._replace(unchecked=False)
    for n_right in range(1, len(units)):
        for right in combinations(units[1:], n_right):
            left = [unit for unit in units if unit not in right]
            if any(is_lists(side, lists) for side in (left, right)):
                continue
            for one in replies(left, existing, lists):
                for other in replies(right, existing, lists):
                    yield pair(one, other)


def is_lists(units: Sequence[Tree], lists: int) -> bool:
    return len(units) > 1 and all(not unit.mask & ~lists for unit in units)
