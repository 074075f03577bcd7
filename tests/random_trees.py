"""Evaluation trees drawn at random, of every form that a plan may have."""

import random

from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Tree, leaf, made_bare, pair


def random_tree(pattern: Pattern, dice: random.Random) -> Tree:
    """Return any tree over the items of a pattern; parts of it may leave negations to their readers."""
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
            joined = made_bare(joined) if dice.random() < 0.5 else joined._replace(bare=True)
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
