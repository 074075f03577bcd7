"""The multi-pattern multitree: an evaluation tree for every pattern, equal sub-trees shared.

Idea        The trees of all patterns in one graph, every node counted once; leaves are shared always.
            Which nodes are shared follows from the trees alone.
Reference   Section 5 and appendix C of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
            Event Streams. SIGMOD 2019.
Differs     A negation is a node above the join that it checks, so that patterns share the join with or
            without it.
Complexity  O(m) to add, remove or replace a tree of m nodes, and for the change of cost.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

from weft.cost.model import CostModel
from weft.optimizer.sharing.ledger import Ledger
from weft.optimizer.sharing.pattern import Numbers, Part, Pattern
from weft.optimizer.trees import Tree, nodes_of

Key = TypeVar("Key", bound=Hashable)


class MultiTree(Generic[Key]):
    """One tree for each pattern, by a key of the caller's, and the cost of all together."""

    def __init__(self, numbers: Numbers, model: CostModel) -> None:
        self.model = model
        self.numbers = numbers
        self.patterns: dict[Key, Pattern] = {}
        self.trees: dict[Key, Tree] = {}
        self.ledger = Ledger(self._price)
        self._parts: dict[int, dict[Part, int]] = {}

    def _price(self, node: int, window: float) -> float:
        shape, step = self.numbers.priced[node]
        return self.model.node(shape, step, window)

    @property
    def cost(self) -> float:
        """The cost of all nodes, each counted once for the longest window that needs it."""
        return self.ledger.cost

    def add(self, key: Key, pattern: Pattern, tree: Tree) -> None:
        """Add the tree of a pattern; nodes that exist are shared."""
        if key in self.trees:
            raise ValueError(f"there is a tree for {key!r} already")
        self.patterns[key], self.trees[key] = pattern, pattern.settled(tree)
        self._enter(pattern, self.trees[key])

    def remove(self, key: Key) -> Tree:
        """Remove the tree of a pattern; nodes that others need stay."""
        pattern, tree = self.patterns.pop(key), self.trees.pop(key)
        self._leave(pattern, tree)
        return tree

    def replace(self, trees: Mapping[Key, Tree]) -> int:
        """Give patterns other trees; return the change of the cost, in the ledger's units."""
        before = self.ledger.total
        for key, given in trees.items():
            pattern, old = self.patterns[key], self.trees[key]
            tree = pattern.settled(given)
            if tree == old:
                continue
            self._leave(pattern, old)
            self._enter(pattern, tree)
            self.trees[key] = tree
        return self.ledger.total - before

    def _enter(self, pattern: Pattern, tree: Tree) -> None:
        self.ledger.add(pattern.numbered(tree).nodes, pattern.window)
        for part in pattern.parts(tree):
            trees = self._parts.setdefault(part.number, {})
            trees[part] = trees.get(part, 0) + 1

    def _leave(self, pattern: Pattern, tree: Tree) -> None:
        self.ledger.remove(pattern.numbered(tree).nodes, pattern.window)
        for part in pattern.parts(tree):
            trees = self._parts[part.number]
            trees[part] -= 1
            if not trees[part]:
                del trees[part]

    def existing(self, key: Key, common: Mapping[int, int]) -> dict[int, Tree]:
        """Return the trees of other patterns that a pattern could use, by its items.

        `common` are the sub-patterns that it shares, as the multi-pattern graph tells them.
        """
        pattern = self.patterns[key]
        own = Counter(pattern.parts(self.trees[key]))
        found: dict[int, Tree] = {}
        for mask, number in common.items():
            for part, count in self._parts.get(number, {}).items():
                if count > own[part]:
                    tree = pattern.fitted(part, mask)
                    if tree is not None:
                        found[mask] = tree
                        break
        return found

    def shared_parts(self, key: Key) -> list[Tree]:
        """Return the largest parts of a pattern's tree that others need too."""
        pattern, tree = self.patterns[key], self.trees[key]
        own = Counter(pattern.parts(tree))
        return list(self._largest_shared(pattern, tree, own))

    def _largest_shared(self, pattern: Pattern, tree: Tree, own: Mapping[Part, int]) -> Iterator[Tree]:
        if tree.left is None or tree.right is None:
            return
        part = pattern.parts(tree)[-1]
        if self._parts[part.number][part] > own[part]:
            yield tree
            return
        yield from self._largest_shared(pattern, tree.left, own)
        yield from self._largest_shared(pattern, tree.right, own)

    def n_shared(self) -> int:
        """Return how many joins of all trees are computed for several patterns."""
        counts: dict[int, int] = {}
        for key, tree in self.trees.items():
            numbers = {self.patterns[key].part(node).number for node in nodes_of(tree) if not node.is_leaf}
            for number in numbers:
                counts[number] = counts.get(number, 0) + 1
        return sum(count > 1 for count in counts.values())
