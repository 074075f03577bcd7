"""Neighbors of a shared plan: make two patterns, or k of them, share one more sub-pattern.

Idea        Choose a pattern, a sub-pattern that others contain too, and one (edge) or up to k - 1
            (vertex) of these others; give all of them trees that contain the same tree for it, and
            otherwise the best. Whether a pattern keeps what it shares already is left to chance. The
            empty sub-pattern counts too: then a pattern gives up sharing and takes its best tree.
Reference   Sections 4.2 and 5 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event
            Streams. SIGMOD 2019.
Differs     A pattern comes first, then one of its sub-patterns, then the others: no list of edges is
            needed. Where a tree for the sub-pattern exists in the plan, half of the neighbors take it.
            Besides keeping all or nothing, a pattern may reply to the others as well as it can. What is
            shared is computed for the longest window, and for the weakest order, of those that share it.
Complexity  k calls of the algorithm for single patterns.
"""

import random
from collections.abc import Sequence
from copy import copy
from typing import Generic

from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.sharables import Sharables
from weft.optimizer.sharing.sub_patterns import Key, Label
from weft.optimizer.trees import Tree, relabel, specialize, uncheck
from weft.plan.extents import longest

MOST_TRIES = 20


class Neighborhood(Generic[Key]):
    """Proposes changes to a multitree: other trees for `k` patterns (2 for an edge)."""

    def __init__(
        self,
        multitree: MultiTree[Key],
        sharables: Sharables[Key],
        plans: LocalPlans,
        keys: Sequence[Key],
        k: int = 2,
    ) -> None:
        self.multitree, self.sharables, self.plans, self.k = multitree, sharables, plans, _checked(k)
        self.common = {key: sharables.of(key) for key in keys}
        self.users: dict[int, dict[Key, list[Label]]] = {}
        for key, own in self.common.items():
            for sharable in own:
                self.users.setdefault(sharable.number, {}).setdefault(key, []).append(sharable)
        self.unordered = {key: sharables.unordered_pairs(key) for key in keys}
        self.keys = [key for key in keys if self.common[key] or self.unordered[key]]
        self.size = sum(len(self.common[key]) + len(self.unordered[key]) for key in keys)

    def changing(self, k: int) -> "Neighborhood[Key]":
        """Return the neighborhood whose steps change up to `k` of the same patterns."""
        other = copy(self)
        other.k = _checked(k)
        return other

    def propose(self, dice: random.Random) -> dict[Key, Tree] | None:
        """Return other trees for some patterns; None when there is nothing to share."""
        for _ in range(MOST_TRIES if self.keys else 0):
            key = dice.choice(self.keys)
            n_common, n_unordered = len(self.common[key]), len(self.unordered[key])
            chance = dice.randrange(n_common + n_unordered + 1)
            if chance < n_common:
                changes = self._share(self._with_others({key: self.common[key][chance]}, dice), dice)
            elif chance < n_common + n_unordered:
                grown = self.sharables.grow(key, self.unordered[key][chance - n_common], dice)
                changes = self._share(self._with_others(grown, dice), dice) if grown else {}
            else:
                changes = {key: self._complete(key, [], dice)}
            if any(tree != self.multitree.trees[changed] for changed, tree in changes.items()):
                return changes
        return None

    def _with_others(self, places: dict[Key, Label], dice: random.Random) -> dict[Key, Label]:
        """Add further patterns that have the sub-pattern, up to k in all."""
        number = next(iter(places.values())).number
        users = self.users.get(number, {})
        others = [user for user in users if user not in places]
        chosen = dice.sample(others, min(self.k - len(places), len(others)))
        return {**places, **{other: dice.choice(users[other]) for other in chosen}}

    def _share(self, places: dict[Key, Label], dice: random.Random) -> dict[Key, Tree]:
        """Return trees that contain the same tree over the sub-pattern at these places."""
        (first, sharable), patterns = next(iter(places.items())), self.multitree.patterns
        shared = self.plans.part(patterns[first], sharable.mask)
        if dice.random() < 0.5:
            offer = self.multitree.existing(first, [sharable]).get(sharable.mask)
            shared = shared if offer is None else specialize(offer.tree)
        extent = longest(patterns[key].extent for key in places)
        negations = {patterns[key].negations_in(label.items) for key, label in places.items()}
        is_own = all(patterns[key].is_own(label, extent) for key, label in places.items())
        if len(negations) > 1 or not is_own:
            shared = uncheck(shared)
        general = relabel(shared, sharable.places)
        return {
            key: self._complete(key, [patterns[key].place(general, label, extent)], dice)
            for key, label in places.items()
        }

    def _complete(self, key: Key, pinned: list[Tree], dice: random.Random) -> Tree:
        """Return a tree with the given parts that gives up, keeps or weighs what is shared already."""
        pattern, way = self.multitree.patterns[key], dice.randrange(3)
        if way == 0:
            return self.plans.best(pattern, pinned)
        taken = sum(tree.mask for tree in pinned)
        if way == 1:
            kept = [tree for tree in self.multitree.shared_parts(key) if not tree.mask & taken]
            return self.plans.best(pattern, [*pinned, *kept])
        existing = self.multitree.existing(key, self.common[key])
        return self.plans.reply(pattern, existing, pinned)


def _checked(k: int) -> int:
    if k < 2:
        raise ValueError(f"a neighborhood changes at least 2 patterns, not {k}")
    return k
