"""Evaluation trees drawn at random, of every form that a plan may have."""

import random
from dataclasses import replace

from weft.optimizer.sharing.pattern import Order, Pattern
from weft.optimizer.trees import Demands, Tree, leaf, pair, uncheck


def random_tree(pattern: Pattern, dice: random.Random) -> Tree:
    """Return any tree over the items of a pattern.

    Parts of it may leave negations to their readers, or be computed for more general demands.
    """
    return generalized(_plain_tree(pattern, dice), pattern, pattern.own, dice)


def generalized(tree: Tree, pattern: Pattern, around: Demands, dice: random.Random) -> Tree:
    """Return a tree some joins of which are computed for a weaker order or a longer window."""
    if tree.left is None or tree.right is None:
        return tree
    general = None
    if dice.random() < 0.25:
        general = _weaker(around, tree.mask, dice, keeps_order=bool(tree.mask & pattern.shape.list_mask))
        tree = uncheck(tree)._replace(unchecked=tree.unchecked)
    left = generalized(tree.left, pattern, general or around, dice)
    right = generalized(tree.right, pattern, general or around, dice)
    return tree._replace(left=left, right=right, computed_for=general)


def _weaker(around: Demands, mask: int, dice: random.Random, *, keeps_order: bool) -> Demands:
    within = [(a, b) for a, b in around.order if mask >> a & 1 and mask >> b & 1]
    kept = within if keeps_order else [pair for pair in sorted(within) if dice.random() < 0.5]
    extent = around.extent
    if extent is not None:
        extent = replace(extent, length=extent.length * dice.randint(1, 3))
    return Demands(_closed(frozenset(kept)), extent)


def _closed(order: Order) -> Order:
    while True:
        implied = {(a, d) for a, b in order for c, d in order if b == c}
        if implied <= order:
            return order
        order |= implied


def _plain_tree(pattern: Pattern, dice: random.Random) -> Tree:
    lists = pattern.shape.list_mask
    parts = [leaf(item) for item in range(pattern.n_items)]
    while len(parts) > 1:
        left, right = dice.sample(parts, 2)
        if any(_is_only_lists(part, lists) and not part.is_leaf for part in (left, right)):
            continue
        only_lists = _is_only_lists(left, lists) and _is_only_lists(right, lists)
        if only_lists and any(not _is_only_lists(part, lists) for part in parts):
            continue
        joined = pair(left, right)
        if dice.random() < 0.3:
            joined = uncheck(joined) if dice.random() < 0.5 else joined._replace(unchecked=True)
        parts = [part for part in parts if part not in (left, right)] + [joined]
        if len(parts) > 1 and all(_is_only_lists(part, lists) for part in parts):
            return _chain(parts, dice)
    return parts[0]


def _is_only_lists(tree: Tree, lists: int) -> bool:
    return not tree.mask & ~lists


def _chain(parts: list[Tree], dice: random.Random) -> Tree:
    """Lists alone are joined one at a time."""
    parts.sort(key=lambda part: part.is_leaf)
    tree, rest = parts[0], parts[1:]
    dice.shuffle(rest)
    for part in rest:
        tree = pair(tree, part)
    return tree
