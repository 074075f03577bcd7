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
from collections.abc import Hashable, Sequence
from typing import Generic, TypeVar

from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.numbering import Labelled
from weft.optimizer.sharing.sharables import Sharables
from weft.optimizer.trees import Tree, made_bare, made_specific, relabelled
from weft.plan.extents import longest

Key = TypeVar("Key", bound=Hashable)
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
        if k < 2:
            raise ValueError(f"a neighborhood changes at least 2 patterns, not {k}")
        self.multitree, self.plans, self.k = multitree, plans, k
        self.common = {key: sharables.of(key) for key in keys}
        self.users: dict[int, dict[Key, list[Labelled]]] = {}
        for key, found in self.common.items():
            for sharable in found:
                self.users.setdefault(sharable.number, {}).setdefault(key, []).append(sharable)
        self.keys = [key for key in keys if self.common[key]]
        self.size = sum(map(len, self.common.values()))

    def propose(self, dice: random.Random) -> dict[Key, Tree] | None:
        """Return other trees for some patterns; None when there is nothing to share."""
        for _ in range(MOST_TRIES if self.keys else 0):
            key = dice.choice(self.keys)
            chance = dice.randrange(len(self.common[key]) + 1)
            if chance == len(self.common[key]):
                changes = {key: self._completed(key, [], dice)}
                if changes[key] != self.multitree.trees[key]:
                    return changes
                continue
            sharable = self.common[key][chance]
            users = self.users[sharable.number]
            others = [user for user in users if user != key]
            chosen = dice.sample(others, min(self.k - 1, len(others)))
            places = {key: sharable, **{other: dice.choice(users[other]) for other in chosen}}
            changes = self._shared(places, dice)
            if any(tree != self.multitree.trees[changed] for changed, tree in changes.items()):
                return changes
        return None

    def _shared(self, places: dict[Key, Labelled], dice: random.Random) -> dict[Key, Tree]:
        """Return trees that contain the same tree over the sub-pattern at these places."""
        (first, sharable), patterns = next(iter(places.items())), self.multitree.patterns
        shared = self.plans.part(patterns[first], sharable.mask)
        if dice.random() < 0.5:
            offer = self.multitree.existing(first, [sharable]).get(sharable.mask)
            shared = shared if offer is None else made_specific(offer.tree)
        extent = longest(patterns[key].extent for key in places)
        negations = {patterns[key].negations_in(one.items) for key, one in places.items()}
        if len(negations) > 1 or not all(patterns[key].is_own(one, extent) for key, one in places.items()):
            shared = made_bare(shared)
        origin = {item: place for place, item in enumerate(sharable.items)}
        general = relabelled(shared, origin.__getitem__)
        return {
            key: self._completed(key, [patterns[key].placed(general, one, extent)], dice)
            for key, one in places.items()
        }

    def _completed(self, key: Key, pinned: list[Tree], dice: random.Random) -> Tree:
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
