"""The multi-pattern graph in its compact form: which patterns have which sub-patterns in common.

Idea        Two hash tables: from a sub-pattern to the patterns that contain it, and from a pattern to
            its sub-patterns. Edges and the subsets of common sub-patterns follow from them.
Reference   Section 4.1 and appendix A of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
            Event Streams. SIGMOD 2019.
Differs     Common sub-patterns grow item by item from smaller common ones (every part of a common
            sub-pattern is common), instead of by intersecting all pairs of patterns; so the time goes
            with what is common, not with the number of pairs. Windows do not restrict what is common,
            and negations do not either, since checks stand above joins.
Complexity  O(g m) to add or remove a pattern of m items with g common sub-patterns, O(1) to look up.
"""

from collections.abc import Iterator
from typing import Generic

from weft.cost.shape import items_of
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key
from weft.pattern.components import connected_components


class MultiPatternGraph(Generic[Key]):
    """Patterns by a key of the caller's, and their common sub-patterns by number."""

    def __init__(self) -> None:
        self._patterns: dict[Key, Pattern] = {}
        self._owners: dict[int, dict[Key, list[int]]] = {}
        self._numbers: dict[Key, dict[int, int]] = {}

    def add(self, key: Key, pattern: Pattern) -> None:
        """Add a pattern; what it has in common with others is found on the way."""
        if key in self._patterns:
            raise ValueError(f"there is a pattern {key!r} already")
        self._patterns[key], self._numbers[key] = pattern, {}
        waiting = [(key, 1 << item) for item in range(pattern.n_items)]
        while waiting:
            owner, mask = waiting.pop()
            if mask not in self._numbers[owner]:
                waiting += self._register(owner, mask)

    def remove(self, key: Key) -> None:
        """Remove a pattern."""
        del self._patterns[key]
        for number in set(self._numbers.pop(key).values()):
            owners = self._owners[number]
            del owners[key]
            if not owners:
                del self._owners[number]

    def _register(self, key: Key, mask: int) -> list[tuple[Key, int]]:
        """Note a sub-pattern; return those that may be common now."""
        number = self._patterns[key].label(mask).number
        self._numbers[key][mask] = number
        owners = self._owners.setdefault(number, {})
        owners.setdefault(key, []).append(mask)
        if len(owners) < 2:
            return []
        concerned = owners if len(owners) == 2 else (key,)  # the first two find it common together
        grown = [(owner, place) for owner in concerned for place in owners[owner]]
        return [(owner, larger) for owner, place in grown for larger in self._larger(owner, place)]

    def _larger(self, key: Key, mask: int) -> Iterator[int]:
        """Yield the sub-patterns of one item more, all parts of which are common."""
        for item in range(self._patterns[key].n_items):
            larger = mask | 1 << item
            if larger != mask and larger not in self._numbers[key]:
                parts = (larger ^ 1 << other for other in items_of(larger))
                if all(self._is_common(key, part) for part in parts):
                    yield larger

    def _is_common(self, key: Key, mask: int) -> bool:
        number = self._numbers[key].get(mask)
        return number is not None and len(self._owners[number]) > 1

    def owners(self, number: int) -> dict[Key, list[int]]:
        """Return the patterns that contain a sub-pattern, each with the items that form it."""
        return self._owners.get(number, {})

    def common(self, key: Key) -> dict[int, int]:
        """Return the sub-patterns of two items or more that a pattern shares, by their items.

        Those of lists alone are left out: a list is expanded next to something, not next to nothing.
        """
        lists = self._patterns[key].shape.list_mask
        return {
            mask: number
            for mask, number in self._numbers[key].items()
            if mask & (mask - 1) and mask & ~lists and len(self._owners[number]) > 1
        }

    def maximal(self, key: Key, other: Key) -> list[int]:
        """Return the maximal common sub-patterns of two patterns, as items of the first."""
        shared = [mask for mask, number in self._numbers[key].items() if other in self._owners[number]]
        return sorted(
            mask for mask in shared if not any(mask != more and mask & more == mask for more in shared)
        )

    def neighbors(self, key: Key) -> set[Key]:
        """Return the patterns that share two items or more with a pattern."""
        owners = {owner for number in self.common(key).values() for owner in self._owners[number]}
        return owners - {key}

    def components(self) -> list[list[Key]]:
        """Return the connected components, each in the order in which its patterns were added."""
        sizes = {number: mask for numbers in self._numbers.values() for mask, number in numbers.items()}
        several = [owners for number, owners in self._owners.items() if sizes[number].bit_count() > 1]
        return connected_components(self._patterns, several)
