"""Evaluation trees over the items of one pattern; an order is a tree that grows to one side."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from weft.cost.shape import Shape, items_of
from weft.plan.nodes import Extent


class Demands(NamedTuple):
    """What the rows of a tree satisfy: an order of items, transitively closed, and an extent."""

    order: frozenset[tuple[int, int]]
    extent: Extent | None


class Tree(NamedTuple):
    """A node over the items of `mask`: a leaf, or the join of two trees.

    Negations are checked as soon as their items are there, unless the tree is `unchecked`: then it checks
    none, and whoever reads it does.

    A join with demands that it is `computed_for` is computed, with all that is below it, for these: a weaker
    order or a longer extent, so that others can use it too. Of its rows the reader takes those that
    meet the demands on the tree itself.
    """

    mask: int
    left: "Tree | None" = None
    right: "Tree | None" = None
    unchecked: bool = False
    computed_for: Demands | None = None

    @property
    def is_leaf(self) -> bool:
        return self.left is None


def leaf(item: int) -> Tree:
    """Return the tree of one item."""
    return Tree(1 << item)


def pair(left: Tree, right: Tree) -> Tree:
    """Return the join of two trees, the one with the first item on the left.

    >>> pair(leaf(1), leaf(0)) == pair(leaf(0), leaf(1))
    True
    """
    if left.mask & -left.mask > right.mask & -right.mask:
        left, right = right, left
    return Tree(left.mask | right.mask, left, right)


def order_tree(order: Sequence[int], start: Tree | None = None) -> Tree:
    """Return the tree that joins items one after the other.

    >>> [node.mask for node in nodes_of(order_tree([2, 0, 1]))]
    [1, 4, 5, 2, 7]
    """
    tree = start
    for item in order:
        tree = leaf(item) if tree is None else pair(tree, leaf(item))
    if tree is None:
        raise ValueError("an order names at least one item")
    return tree


def nodes_of(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes of a tree, parts before the whole."""
    if tree.left is not None and tree.right is not None:
        yield from nodes_of(tree.left)
        yield from nodes_of(tree.right)
    yield tree


def relabelled(tree: Tree, item_of: Callable[[int], int]) -> Tree:
    """Return a tree over other items."""
    if tree.left is None or tree.right is None:
        return leaf(item_of(tree.mask.bit_length() - 1))
    joined = pair(relabelled(tree.left, item_of), relabelled(tree.right, item_of))
    general = tree.computed_for
    if general is not None:
        moved = frozenset((item_of(a), item_of(b)) for a, b in general.order)
        general = general._replace(order=moved)
    return joined._replace(unchecked=tree.unchecked, computed_for=general)


def made_unchecked(tree: Tree) -> Tree:
    """Return a tree that leaves all negations to its reader."""
    if tree.left is None or tree.right is None:
        return tree
    return Tree(
        tree.mask,
        made_unchecked(tree.left),
        made_unchecked(tree.right),
        unchecked=True,
        computed_for=tree.computed_for,
    )


def made_checking(tree: Tree) -> Tree:
    """Return a tree that checks every negation as soon as it can."""
    if tree.left is None or tree.right is None:
        return tree
    return Tree(
        tree.mask, made_checking(tree.left), made_checking(tree.right), computed_for=tree.computed_for
    )


def made_specific(tree: Tree) -> Tree:
    """Return a tree that is computed for what is demanded of it, and for no one else."""
    if tree.left is None or tree.right is None:
        return tree
    return Tree(tree.mask, made_specific(tree.left), made_specific(tree.right), tree.unchecked)


def order_of(tree: Tree) -> tuple[int, ...]:
    """Return the items of a one-sided tree in the order in which they are joined.

    Of the two items joined first, the one with the lower number comes first.

    >>> order_of(order_tree([2, 0, 1]))
    (0, 2, 1)
    """
    if tree.left is None or tree.right is None:
        return (tree.mask.bit_length() - 1,)
    inner, last = (tree.left, tree.right) if tree.right.is_leaf else (tree.right, tree.left)
    if not last.is_leaf:
        raise ValueError("the tree is not one-sided")
    return (*order_of(inner), last.mask.bit_length() - 1)


def is_order(tree: Tree) -> bool:
    """Say whether a tree grows to one side: each join adds one item.

    >>> is_order(order_tree([2, 0, 1])), is_order(pair(order_tree([0, 1]), order_tree([2, 3])))
    (True, False)
    """
    if tree.left is None or tree.right is None:
        return True
    return (tree.left.is_leaf and is_order(tree.right)) or (tree.right.is_leaf and is_order(tree.left))


def shown(tree: Tree, names: Sequence[str]) -> str:
    """Return a tree as text.

    >>> shown(pair(pair(leaf(0), leaf(2)), leaf(1)), "abc")
    '((a c) b)'
    """
    if tree.left is None or tree.right is None:
        return names[next(items_of(tree.mask))]
    return f"({shown(tree.left, names)} {shown(tree.right, names)})"


def units_of(shape: Shape, pinned: Sequence[Tree]) -> list[Tree]:
    """Return the given trees and a leaf for every other item, by their first items.

    >>> units = units_of(Shape((1.0, 1.0, 1.0), (0, 0, 0), 1.0), [pair(leaf(0), leaf(2))])
    >>> [unit.mask for unit in units]
    [5, 2]
    """
    taken = 0
    for tree in pinned:
        if tree.mask & taken:
            raise ValueError("given sub-trees have no item in common")
        taken |= tree.mask
    rest = [leaf(item) for item in range(shape.n_items) if not taken >> item & 1]
    return sorted((*pinned, *rest), key=lambda unit: unit.mask & -unit.mask)
