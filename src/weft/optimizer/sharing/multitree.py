"""The multi-pattern multitree: an evaluation tree for every pattern, equal sub-trees shared.

Idea        The trees of all patterns in one graph, every node counted once; leaves are shared always.
            Which nodes are shared follows from the trees alone.
Reference   Section 5 and appendix C of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
            Event Streams. SIGMOD 2019.
Differs     A negation is a node above the join that it checks, so that patterns share the join with or
            without it. So is the filter by which a pattern takes what it wants of a join that is computed
            for a longer window or a weaker order.
Complexity  O(m) to add, remove or replace a tree of m nodes, and for the change of cost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic

from weft.cost.model import CostModel
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.shared_nodes import SharedNodes
from weft.optimizer.sharing.sub_patterns import InternTable, Key, Label, Offer, SharablePart
from weft.optimizer.trees import Tree


class MultiTree(Generic[Key]):
    """One tree for each pattern, by a key of the caller's, and the cost of all together.

    Unless it `weakens`, no pattern is offered what another computes under a weaker order.
    """

    def __init__(self, numbers: InternTable, model: CostModel, *, weakens: bool = True) -> None:
        self.model = model
        self.weakens = weakens
        self.numbers = numbers
        self.patterns: dict[Key, Pattern] = {}
        self.trees: dict[Key, Tree] = {}
        self.nodes = SharedNodes(self.price)
        self._parts: dict[int, dict[SharablePart, int]] = {}
        self._unordered: dict[int, dict[int, Label]] = {}  # by the first leaf, then by number

    def price(self, node: int, window: float) -> float:
        """Return what a node costs that is needed for a window in seconds."""
        shape, step = self.numbers.priced[node]
        return self.model.node(shape, step, window)

    @property
    def cost(self) -> float:
        """The cost of all nodes, each counted once for the longest window that needs it."""
        return self.nodes.cost

    def add(self, key: Key, pattern: Pattern, tree: Tree) -> None:
        """Add the tree of a pattern; nodes that exist are shared."""
        if key in self.trees:
            raise ValueError(f"there is a tree for {key!r} already")
        self.patterns[key], self.trees[key] = pattern, pattern.simplify(tree)
        self._enter(pattern, self.trees[key])

    def remove(self, key: Key) -> Tree:
        """Remove the tree of a pattern; nodes that others need stay."""
        pattern, tree = self.patterns.pop(key), self.trees.pop(key)
        self._leave(pattern, tree)
        return tree

    def replace(self, trees: Mapping[Key, Tree]) -> int:
        """Give patterns other trees; return the change of the cost, in units of 1 / SCALE."""
        before = self.nodes.total
        for key, given in trees.items():
            pattern, old = self.patterns[key], self.trees[key]
            tree = pattern.simplify(given)
            if tree == old:
                continue
            self._leave(pattern, old)
            self._enter(pattern, tree)
            self.trees[key] = tree
        return self.nodes.total - before

    def change_by(self, trees: Mapping[Key, Tree]) -> int:
        """Return by how much other trees would change the cost."""
        before = {key: self.trees[key] for key in trees}
        change = self.replace(trees)
        self.replace(before)
        return change

    def _enter(self, pattern: Pattern, tree: Tree) -> None:
        self.nodes.add(pattern.number_nodes(tree).nodes)
        for part in pattern.parts(tree):
            trees = self._parts.setdefault(part.number, {})
            trees[part] = trees.get(part, 0) + 1
            label = self.numbers.labels[part.number]
            if label.is_unordered:
                self._unordered.setdefault(label.leaves[0], {})[part.number] = label

    def _leave(self, pattern: Pattern, tree: Tree) -> None:
        self.nodes.remove(pattern.number_nodes(tree).nodes)
        for part in pattern.parts(tree):
            trees = self._parts[part.number]
            trees[part] -= 1
            if not trees[part]:
                del trees[part]
            if not trees:
                first = self.numbers.labels[part.number].leaves[0]
                self._unordered.get(first, {}).pop(part.number, None)

    def existing(self, key: Key, sharables: Iterable[Label]) -> dict[int, Offer]:
        """Return the trees of other patterns that a pattern could use, by its items: the cheapest to read."""
        pattern = self.patterns[key]
        own = Counter(pattern.parts(self.trees[key]))
        offers: dict[int, Offer] = {}
        for sharable in (*sharables, *self._weaker(pattern)):
            mask = sharable.mask
            for part, count in self._parts.get(sharable.number, {}).items():
                if mask in offers and not offers[mask].cost:
                    break
                tree = pattern.fit(part, sharable) if count > own[part] else None
                if tree is not None:
                    offer = Offer(tree, self._reading(pattern, tree))
                    offers[mask] = min(offers.get(mask, offer), offer, key=lambda option: option.cost)
        return offers

    def _weaker(self, pattern: Pattern) -> Iterator[Label]:
        """Yield what there is under a weaker order than that of a pattern."""
        if self.weakens and pattern.own.order:
            for leaf in sorted(pattern.leaf_set & self._unordered.keys()):
                for label in self._unordered[leaf].values():
                    usable = pattern.weaker(label)
                    if usable is not None:
                        yield usable

    def _reading(self, pattern: Pattern, tree: Tree) -> float:
        """Return what it costs to take from an existing tree what a pattern wants of it.

        That is a filter, and what waits there for the last event of a match of this pattern.
        """
        if tree.computed_for is None and not self.numbers.counts_latency:
            return 0.0
        *inner, last = pattern.part(tree._replace(unchecked=True)).nodes
        own = [node for node in inner if self.numbers.priced[node[0]][1].is_wait]
        if tree.computed_for is not None:
            own.append(last)
        return sum(self.price(node, window) for node, window in own if node not in self.nodes)

    def n_parts(self, part: SharablePart) -> int:
        """Return how often all trees have a part."""
        return self._parts.get(part.number, {}).get(part, 0)

    def shared_parts(self, key: Key) -> list[Tree]:
        """Return the largest parts of a pattern's tree that others need too."""
        pattern, tree = self.patterns[key], self.trees[key]
        own = Counter(pattern.parts(tree))
        return list(self._largest_shared(pattern, tree, own))

    def _largest_shared(
        self, pattern: Pattern, tree: Tree, own: Mapping[SharablePart, int]
    ) -> Iterator[Tree]:
        if tree.left is None or tree.right is None:
            return
        inner = tree.computed_for
        offered = pattern.own_parts(tree)
        if inner is not None:
            offered = (*offered, *pattern.own_parts(tree._replace(computed_for=None), inner))
        if any(self._parts[part.number][part] > own[part] for part in offered):
            yield tree
        elif inner is None:
            yield from self._largest_shared(pattern, tree.left, own)
            yield from self._largest_shared(pattern, tree.right, own)

    def n_shared(self) -> int:
        """Return how many joins of all trees are computed for several patterns."""
        counts: Counter[int] = Counter()
        for key, tree in self.trees.items():
            numbers = {number for number, _ in self.patterns[key].number_nodes(tree).nodes}
            counts.update(number for number in numbers if self.numbers.priced[number][1].is_join)
        return sum(count > 1 for count in counts.values())
