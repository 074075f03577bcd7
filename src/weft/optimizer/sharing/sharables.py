"""What patterns could share: sub-patterns that others have too, under the same or under a weaker order.

Idea        SEQ(L) is what an order filter leaves of CONJ(L). So a pattern may use a sub-pattern of another
            whose events and conditions are the same and whose order is a part of its own. Two events that
            one pattern orders and another does not are where to begin; such a pair is grown by
            further events of the other pattern, at random.
Reference   Operator transformation, table I of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for
            Complex Event Processing in SAP ESP. ICDE 2017; on top of the multi-pattern graph of
            Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over Event Streams. SIGMOD 2019.
Differs     Any partial order may serve any stricter one, not CONJ for SEQ alone. Only orders that some
            pattern has are offered: a more general one has at least the rows of all the patterns that
            would read it, so it seldom pays.
Complexity  O(m^2) to find where a pattern of m items may begin, O(m) to grow a pair.
"""

import random
from dataclasses import dataclass, field
from itertools import combinations
from typing import Generic

from weft.optimizer.sharing.multi_pattern_graph import MultiPatternGraph
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key, Label
from weft.pattern.components import connected_components

GROWTH = 0.7  # how often a further event that fits is taken


@dataclass
class UnorderedPair(Generic[Key]):
    """Two events that some patterns leave unordered; these patterns, with the items."""

    label: Label
    owners: dict[Key, int] = field(default_factory=dict)


class Sharables(Generic[Key]):
    """Patterns by a key of the caller's, and what they could share; unless `weakens`, equal orders only."""

    def __init__(self, *, weakens: bool = True) -> None:
        self._weakens = weakens
        self._patterns: dict[Key, Pattern] = {}
        self._new: dict[Key, Pattern] = {}
        self._graph: MultiPatternGraph[Key] = MultiPatternGraph()
        self._pairs: dict[tuple[int, ...], list[UnorderedPair[Key]]] | None = None  # by leaves
        self._components: list[list[Key]] | None = None

    def add(self, key: Key, pattern: Pattern) -> None:
        """Add a pattern; what it has in common with others is found when somebody asks."""
        if key in self._patterns:
            raise ValueError(f"there is a pattern {key!r} already")
        self._patterns[key] = self._new[key] = pattern
        self._pairs = self._components = None

    def remove(self, key: Key) -> None:
        """Remove a pattern."""
        del self._patterns[key]
        if self._new.pop(key, None) is None:
            self._graph.remove(key)
        self._pairs = self._components = None

    @property
    def graph(self) -> MultiPatternGraph[Key]:
        """The multi-pattern graph of all patterns."""
        for key, pattern in self._new.items():
            self._graph.add(key, pattern)
        self._new = {}
        return self._graph

    def of(self, key: Key) -> list[Label]:
        """Return the sub-patterns that a pattern has in common with others, under the same order."""
        return [self._patterns[key].label(mask) for mask in self.graph.common(key)]

    def unordered_pairs(self, key: Key) -> list[UnorderedPair[Key]]:
        """Return the pairs that others leave unordered and a pattern orders."""
        if self._pairs is None:
            self._pairs = self._find_pairs() if self._weakens else {}
        pattern, leaves = self._patterns[key], self._patterns[key].leaves
        own = dict.fromkeys(tuple(sorted((leaves[a], leaves[b]))) for a, b in pattern.own.order)
        near = [pair for both in own for pair in self._pairs.get(both, ())]
        return [pair for pair in near if pattern.weaker(pair.label) is not None]

    def _find_pairs(self) -> dict[tuple[int, ...], list[UnorderedPair[Key]]]:
        pairs: dict[int, UnorderedPair[Key]] = {}
        for key, pattern in self._patterns.items():
            plain = [item for item in range(pattern.n_items) if item not in pattern.shape.lists]
            for a, b in () if pattern.is_chain else combinations(plain, 2):
                mask = 1 << a | 1 << b
                if not pattern.order_within(mask):
                    label = pattern.label(mask)
                    pair = pairs.setdefault(label.number, UnorderedPair(label))
                    pair.owners.setdefault(key, mask)
        by_leaves: dict[tuple[int, ...], list[UnorderedPair[Key]]] = {}
        for pair in pairs.values():
            by_leaves.setdefault(tuple(sorted(pair.label.leaves)), []).append(pair)
        return by_leaves

    def grow(self, key: Key, pair: UnorderedPair[Key], dice: random.Random) -> dict[Key, Label]:
        """Return where a sub-pattern with the pair is in a pattern and in another of which it may use it."""
        other = dice.choice(list(pair.owners))
        pattern, source = self._patterns[key], self._patterns[other]
        mask = pair.owners[other]
        for item in dice.sample(range(source.n_items), source.n_items):
            larger = mask | 1 << item
            is_wanted = larger != mask and dice.random() < GROWTH
            if is_wanted and pattern.weaker(source.label(larger)) is not None:
                mask = larger
        label = source.label(mask)
        mine = pattern.weaker(label)
        return {} if mine is None else {key: mine, other: label}

    def components(self) -> list[list[Key]]:
        """Return the patterns that have something to share with each other, directly or through others."""
        if self._components is None:
            users: dict[int, list[Key]] = {}  # of each pair that somebody orders
            for key in self._patterns:
                for pair in self.unordered_pairs(key):
                    users.setdefault(pair.label.number, list(pair.owners)).append(key)
            groups = [*self.graph.components(), *users.values()]
            self._components = connected_components(self._patterns, groups)
        return self._components
