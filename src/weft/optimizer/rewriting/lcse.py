"""Share the longest common sub-expressions, and never look at what it costs: a baseline.

Idea        The longest list of neighboring operands that several queries have becomes an operand itself,
            computed once; then the next longest, until there is none. Everything else in the order in
            which the patterns name it.
Reference   LCSE in section VII-A of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     Conditions are part of a sub-expression. Among the longest, the one that most have comes first.
Complexity  O(c l^2 log n) for c times that an expression of at most l operands changes, among n in all.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic

from weft.cost.shape import items_of
from weft.optimizer.rewriting.flat_query import Operator
from weft.optimizer.rewriting.levels import levels_of
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree, join_all, leaf, relabel, uncheck
from weft.plan.nodes import Extent

Group = tuple[Operator, int, Extent | None]  # what may share: operator, frame and window
Name = tuple[int, int]  # of a sub-expression: its group and its number
Rank = tuple[int, int, int]


@dataclass
class CommonExpression(Generic[Key]):
    """The items of each operand, and which of them are shared, at home in one pattern."""

    key: Key
    pattern: Pattern
    operator: Operator
    operands: list[int]
    shared: set[int]

    @property
    def mask(self) -> int:
        return sum(self.operands)

    @property
    def group(self) -> Group:
        return self.operator, self.pattern.frame, self.pattern.extent

    def substrings(self) -> Iterator[tuple[int, int, int]]:
        """Yield the number of every list of neighbors, where it starts, and its length."""
        for start in range(len(self.operands)):
            mask = self.operands[start]
            for end in range(start + 1, len(self.operands)):
                mask |= self.operands[end]
                yield self.pattern.label(mask).number, start, end - start + 1


def lcse_trees(patterns: Mapping[Key, Pattern]) -> dict[Key, Tree]:
    """Return a tree for every pattern."""
    return _Sharing(patterns).trees()


class _Sharing(Generic[Key]):
    """The expressions of all patterns, what they share so far, and who has which sub-expression.

    The heap has every sub-expression that several had when one of them last changed; what is out of date
    is skipped.
    """

    def __init__(self, patterns: Mapping[Key, Pattern]) -> None:
        self.patterns = patterns
        self.levels: dict[Key, dict[int, CommonExpression[Key]]] = {}
        self.shared: dict[Name, CommonExpression[Key]] = {}
        self._pool: list[CommonExpression[Key]] = []
        self._owners: dict[Name, dict[int, tuple[int, int]]] = defaultdict(dict)
        self._names: dict[int, set[Name]] = {}
        self._groups: dict[Group, int] = {}
        self._heap: list[tuple[Rank, Name]] = []
        for key, pattern in patterns.items():
            self.levels[key] = {}
            for level in levels_of(key, pattern):
                own = CommonExpression(key, pattern, level.query.operator, list(level.masks), set())
                self.levels[key][own.mask] = own
                self._pool.append(own)
        self._note(range(len(self._pool)))
        while self._heap:
            rank, name = heapq.heappop(self._heap)
            if rank == self._rank(name):
                self._share(name)

    def _note(self, changed: Iterable[int]) -> None:
        """Look again at the sub-expressions of changed expressions."""
        touched: dict[Name, None] = {}
        for place in changed:
            expression = self._pool[place]
            for name in self._names.pop(place, ()):
                del self._owners[name][place]
                touched[name] = None
            group = self._groups.setdefault(expression.group, len(self._groups))
            own = self._names[place] = set()
            for number, start, length in expression.substrings():
                name = group, number
                if name not in own:
                    own.add(name)
                    self._owners[name][place] = start, length
                    touched[name] = None
        for name in touched:
            if len(self._owners[name]) > 1:
                heapq.heappush(self._heap, (self._rank(name), name))

    def _rank(self, name: Name) -> Rank:
        """Return what comes first: long ones, those that many have, low numbers."""
        owners = self._owners[name].values()
        return (-max((length for _, length in owners), default=0), -len(owners), name[1])

    def _share(self, name: Name) -> None:
        """Make one operand of neighbors in all that have them; the first says how they are computed."""
        changed = []
        for place, (start, length) in sorted(self._owners[name].items()):
            expression = self._pool[place]
            operands = expression.operands[start : start + length]
            if name not in self.shared:
                inner = expression.shared & set(operands)
                new = CommonExpression(
                    expression.key, expression.pattern, expression.operator, operands, inner
                )
                self.shared[name] = new
                changed.append(len(self._pool))
                self._pool.append(new)
            if expression is not self.shared[name]:
                expression.operands[start : start + length] = [sum(operands)]
                expression.shared.add(sum(operands))
                changed.append(place)
        self._note(changed)

    def trees(self) -> dict[Key, Tree]:
        """Return a tree for every pattern, lists last."""
        trees = {}
        for key, pattern in self.patterns.items():
            plain = pattern.shape.everything & ~pattern.shape.list_mask
            levels = self.levels[key]
            units = self._units(levels[plain], levels) if plain in levels else [*map(leaf, items_of(plain))]
            units.sort(key=lambda unit: unit.mask & -unit.mask)
            units.extend(map(leaf, items_of(pattern.shape.list_mask)))
            trees[key] = pattern.simplify(join_all(units))
        return trees

    def _units(
        self, expression: CommonExpression[Key], levels: Mapping[int, CommonExpression[Key]]
    ) -> list[Tree]:
        """Return the shared parts of an expression, and the items that are in none."""
        units: list[Tree] = []
        for mask in expression.operands:
            if mask in expression.shared:
                units.append(self._place(expression.group, expression.pattern, mask))
            elif mask & (mask - 1):
                units.extend(self._units(levels[mask], levels))
            else:
                units.append(leaf(mask.bit_length() - 1))
        return units

    def _place(self, group: Group, pattern: Pattern, mask: int) -> Tree:
        """Return a shared expression as a tree over items of a pattern."""
        label = pattern.label(mask)
        shared = self.shared[self._groups[group], label.number]
        units = sorted(self._units(shared, self.levels[shared.key]), key=lambda unit: unit.mask & -unit.mask)
        tree = relabel(uncheck(join_all(units)), shared.pattern.label(shared.mask).places)
        return relabel(tree, label.items)
