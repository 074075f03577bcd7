"""Evaluation trees over the items of one pattern; an order is a tree that grows to one side."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from weft.cost.shape import Shape
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

    @property
    def parts(self) -> "tuple[Tree, ...]":
        """The two trees that are joined; none for a leaf."""
        return () if self.left is None or self.right is None else (self.left, self.right)


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


def join_all(units: Iterable[Tree]) -> Tree:
    """Return the tree that joins trees one after the other."""
    return reduce(pair, units)


def order_tree(order: Iterable[int]) -> Tree:
    """Return the tree that joins items one after the other.

    >>> [node.mask for node in nodes_of(order_tree([2, 0, 1]))]
    [1, 4, 5, 2, 7]
    """
    return join_all(map(leaf, order))


def nodes_of(tree: Tree) -> Iterator[Tree]:
    """Yield all nodes of a tree, parts before the whole."""
    for part in tree.parts:
        yield from nodes_of(part)
    yield tree


def relabel(tree: Tree, items: Sequence[int] | Mapping[int, int]) -> Tree:
    """Return a tree over other items: `items` says which, for each item of the tree."""
    if tree.left is None or tree.right is None:
        return leaf(items[tree.mask.bit_length() - 1])
    joined = pair(relabel(tree.left, items), relabel(tree.right, items))
    general = tree.computed_for
    if general is not None:
        general = general._replace(order=frozenset((items[a], items[b]) for a, b in general.order))
    return joined._replace(unchecked=tree.unchecked, computed_for=general)


def uncheck(tree: Tree) -> Tree:
    """Return a tree that leaves all negations to its reader."""
    return _change_joins(tree, lambda join: join._replace(unchecked=True))


def check_early(tree: Tree) -> Tree:
    """Return a tree that checks every negation as soon as it can."""
    return _change_joins(tree, lambda join: join._replace(unchecked=False))


def specialize(tree: Tree) -> Tree:
    """Return a tree that is computed for what is demanded of it, and for no one else."""
    return _change_joins(tree, lambda join: join._replace(computed_for=None))


def join_last(tree: Tree, items: int) -> Tree:
    """Return a tree that joins the items of a mask after all others, computed for no one else.

    >>> tree_text(join_last(order_tree([0, 1, 2]), 0b010), "abc")
    '((a c) b)'
    """
    if not tree.mask & items or not tree.mask & ~items:
        return tree
    first = _without(tree, items)
    late = (leaf(item) for item in range(tree.mask.bit_length()) if tree.mask & items & 1 << item)
    return reduce(pair, late, first) if first is not None else tree


def _without(tree: Tree, items: int) -> Tree | None:
    """Return a tree without some items, None if nothing is left."""
    if tree.left is None or tree.right is None:
        return None if tree.mask & items else tree
    left, right = _without(tree.left, items), _without(tree.right, items)
    return pair(left, right) if left is not None and right is not None else left or right


def _change_joins(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    if tree.left is None or tree.right is None:
        return tree
    left, right = _change_joins(tree.left, change), _change_joins(tree.right, change)
    return change(tree._replace(left=left, right=right))


def order_of(tree: Tree) -> tuple[int, ...] | None:
    """Return the items of a tree in the order in which they are joined, None unless it grows to one side.

    Of the two items joined first, the one with the lower number comes first.

    >>> order_of(order_tree([2, 0, 1])), order_of(pair(order_tree([0, 1]), order_tree([2, 3])))
    ((0, 2, 1), None)
    """
    if tree.left is None or tree.right is None:
        return (tree.mask.bit_length() - 1,)
    inner, last = (tree.left, tree.right) if tree.right.is_leaf else (tree.right, tree.left)
    earlier = order_of(inner)
    return (*earlier, last.mask.bit_length() - 1) if last.is_leaf and earlier is not None else None


def tree_text(tree: Tree, names: Sequence[str]) -> str:
    """Return a tree as text.

    >>> tree_text(pair(pair(leaf(0), leaf(2)), leaf(1)), "abc")
    '((a c) b)'
    """
    if tree.is_leaf:
        return names[tree.mask.bit_length() - 1]
    return f"({' '.join(tree_text(part, names) for part in tree.parts)})"


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
