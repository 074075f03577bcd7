"""The trees of a search as tables: what each needs and offers, and what a plan of them costs.

What a tree is, what its nodes are and what they cost is said by `Pattern` and `MultiTree`, as it is for steps
that are not compiled; here it gets a row when somebody asks for the first time.
"""

from collections.abc import Mapping

import numpy as np

from weft.kernels.plans.counts import set_part, set_slot
from weft.kernels.plans.tables import NODE, NOTHING, PART, SLOT, TREE, UNKNOWN, Tables
from weft.optimizer.orders.decided import checks_of
from weft.optimizer.sharing.growing_rows import Answers, GrowingRows
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.search_tables import SearchTables
from weft.optimizer.sharing.sub_patterns import Key, SharablePart
from weft.optimizer.trees import Tree, leaf

DEAREST = 1 << 54  # whole costs of a node; those of a step then never overflow


class TreeTables(SearchTables[Key]):
    """Trees by number, each over the items of one pattern; and how often the plan has what they need."""

    def __init__(self, neighborhood: Neighborhood[Key]) -> None:
        self.trees, self.nodes, self.slots, self.parts = (
            GrowingRows(TREE),
            GrowingRows(NODE),
            GrowingRows(SLOT),
            GrowingRows(PART),
        )
        self.slots_of, self.parts_of = GrowingRows(np.dtype(np.int64)), GrowingRows(np.dtype(np.int64))
        self.joins, self.generals, self.placings, self.fits = Answers(), Answers(), Answers(), Answers()
        self.question = np.zeros(5, np.int64)
        self.tree_at: list[Tree] = []
        self.part_at: list[SharablePart] = []
        self._tree_numbers: dict[tuple[int, Tree], int] = {}
        self._node_numbers: dict[int, int] = {}
        self._slot_numbers: dict[tuple[int, float], int] = {}
        self._part_numbers: dict[SharablePart, int] = {}
        self._fresh_slots: list[tuple[int, float]] = []  # of which it is not known how often they are needed
        self._fresh_parts: list[SharablePart] = []
        self._watched: list[tuple[int, float]] = []  # that patterns outside the search may need too
        super().__init__(neighborhood)
        for number, pattern in enumerate(self.of_number):
            leaves = [self.tree(number, leaf(item)) for item in range(pattern.n_items)]
            self.patterns.array[number]["first_leaf"] = self.leaves.extend(leaves)

    def tables(self) -> Tables:
        """Return all rows for the kernels, as they are now."""
        return Tables(
            self.trees.array,
            self.slots_of.array,
            self.parts_of.array,
            self.nodes.array,
            self.slots.array,
            self.parts.array,
            self.places.array,
            self.patterns.array,
            self.searched,
            self.sub_patterns.array,
            self.users.array,
            self.places_of.array,
            self.grown.array,
            self.leaves.array,
            self.rows.array,
            self.equal.array,
            self.ready.array,
            self.survivals.array,
            self.tariffs,
            self.joins.array,
            self.generals.array,
            self.placings.array,
            self.fits.array,
            self.question,
        )

    def tree(self, number: int, tree: Tree) -> int:
        """Return the number of a tree of a pattern, as it is after `simplify`."""
        known = self._tree_numbers.get((number, tree))
        if known is not None:
            return known
        pattern = self.of_number[number]
        is_whole = tree.mask == pattern.shape.everything
        nodes = (pattern.number_nodes(tree) if is_whole else pattern.part(tree)).nodes
        within = [self.tree(number, part) for part in tree.parts] or [NOTHING, NOTHING]
        sides, reading, is_dear = [NOTHING, NOTHING], NOTHING, False
        if tree.computed_for is not None:
            reading = self._slot(pattern.part(tree._replace(unchecked=True)).nodes[-1])
        elif tree.parts:
            sides = within
            nodes = nodes[sum(len(pattern.part(part).nodes) for part in tree.parts) :]
            is_dear = any(self.trees.array[side]["is_dear"] for side in sides)
        slots = list(map(self._slot, nodes))
        is_dear |= any(self.slots.array[slot]["cost"] >= DEAREST for slot in slots)
        parts, n_offered = self._offered(number, tree)
        row = (
            *(number, tree.mask, *sides, *within, checks_of(tree, pattern.shape)),
            *(UNKNOWN, reading, self.slots_of.extend(slots), len(slots)),
            *(self.parts_of.extend(parts), len(parts), n_offered, is_dear),
        )
        self.tree_at.append(tree)
        found = self._tree_numbers[number, tree] = self.trees.add(row)
        if not tree.unchecked:
            self.trees.array[found]["checked"] = found
        return found

    def _offered(self, number: int, tree: Tree) -> tuple[list[int], int]:
        """Return what a tree offers, besides the trees that it joins; and how much of it is of itself."""
        pattern = self.of_number[number]
        if tree.is_leaf:
            return [], 0
        general = tree.computed_for
        if general is None:
            if not self.is_shareable(pattern.label(tree.mask)):
                return [], 0
            own = self._shareable(pattern.own_parts(tree))
            return own, len(own)
        inner = tree._replace(computed_for=None)
        own = self._shareable((*pattern.own_parts(tree), *pattern.own_parts(inner, general)))
        below = [part for side in inner.parts for part in pattern.parts(side, general)]
        return [*own, *self._shareable(below)], len(own)

    def _shareable(self, parts: "list[SharablePart] | tuple[SharablePart, ...]") -> list[int]:
        labels = self.multitree.numbers.labels
        return [self._part(part) for part in parts if self.is_shareable(labels[part.number])]

    def _part(self, part: SharablePart) -> int:
        known = self._part_numbers.get(part)
        if known is not None:
            return known
        sub_pattern = self.offer(self.multitree.numbers.labels[part.number])
        self.part_at.append(part)
        self._fresh_parts.append(part)
        found = self._part_numbers[part] = self.parts.add((sub_pattern, 0, NOTHING, NOTHING))
        return found

    def _slot(self, needed: tuple[int, float]) -> int:
        known = self._slot_numbers.get(needed)
        if known is not None:
            return known
        name, window = needed
        node = self._node_numbers.get(name)
        if node is None:
            node = self._node_numbers[name] = self.nodes.add((NOTHING, 0))
        row = self.nodes.array[node]
        cost = min(self.multitree.nodes.whole_cost(name, window), DEAREST)
        found = self._slot_numbers[needed] = self.slots.add((node, window, cost, 0, row["first_slot"]))
        self.nodes.array[node]["first_slot"] = found
        self._fresh_slots.append(needed)
        if self._may_be_outside(name):
            self._watched.append(needed)
        return found

    def _may_be_outside(self, name: int) -> bool:
        """Say whether patterns with nothing in common may need a node: of an item, of lists, or negated."""
        shape, step = self.multitree.numbers.priced[name]
        return not step.left or not step.mask & (step.mask - 1) or not step.mask & ~shape.list_mask

    def settle(self) -> None:
        """Count rows that are new as the multitree does, of which no tree has changed since."""
        if not self._fresh_slots and not self._fresh_parts:
            return
        tables = self.tables()
        for needed in self._fresh_slots:
            set_slot(tables, self._slot_numbers[needed], self.multitree.nodes.count(*needed))
        for part in self._fresh_parts:
            set_part(tables, self._part_numbers[part], self.multitree.n_parts(part))
        self._fresh_slots, self._fresh_parts = [], []

    def look_outside(self) -> None:
        """Count what patterns outside the search may need too, as the multitree does."""
        self._fresh_slots += self._watched
        self.settle()

    def trees_of(self, chosen: Mapping[int, int]) -> dict[Key, Tree]:
        """Return trees by the keys of their patterns, given their numbers."""
        return {self.keys[number]: self.tree_at[tree] for number, tree in chosen.items()}
