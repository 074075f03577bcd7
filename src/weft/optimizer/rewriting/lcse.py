"""Share the longest common sub-expressions, and never look at what it costs: a baseline.

Idea        The longest list of neighboring operands that several queries have becomes an operand itself,
            computed once; then the next longest, until there is none. Everything else in the order in
            which the patterns name it.
Reference   LCSE in section VII-A of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event
            Processing in SAP ESP. ICDE 2017.
Differs     Conditions are part of a sub-expression. Among the longest, the one that most have comes first.
Complexity  O(s n^2) for s sub-expressions shared among n operands in all.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from weft.cost.shape import items_of
from weft.optimizer.rewriting.flat_query import Operator
from weft.optimizer.rewriting.jumbo_graph import joined
from weft.optimizer.rewriting.levels import levels_of
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.trees import Tree, leaf, made_bare, relabelled
from weft.plan.nodes import Extent

Key = TypeVar("Key", bound=Hashable)
Group = tuple[Operator, int, Extent | None]  # what may share: operator, frame and window


@dataclass
class Expression:
    """The items of each operand, and which of them are shared."""

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
                yield self.pattern.labelled(mask).number, start, end - start + 1


def lcse_trees(patterns: Mapping[Key, Pattern]) -> dict[Key, Tree]:
    """Return a tree for every pattern."""
    return _Sharing(patterns).trees()


class _Sharing(Generic[Key]):
    """The expressions of all patterns, and what they share so far."""

    def __init__(self, patterns: Mapping[Key, Pattern]) -> None:
        self.patterns = patterns
        self.levels: dict[Key, dict[int, Expression]] = {}
        self.shared: dict[tuple[Group, int], Expression] = {}
        for key, pattern in patterns.items():
            self.levels[key] = {}
            for level in levels_of(key, pattern):
                own = Expression(pattern, level.query.operator, list(level.masks), set())
                self.levels[key][own.mask] = own
        self._pool = [one for levels in self.levels.values() for one in levels.values()]
        while self._share_longest():
            pass

    def _share_longest(self) -> bool:
        owners: dict[tuple[Group, int], dict[int, tuple[int, int]]] = defaultdict(dict)
        for place, expression in enumerate(self._pool):
            for number, start, length in expression.substrings():
                owners[expression.group, number].setdefault(place, (start, length))
        common = {name: places for name, places in owners.items() if len(places) > 1}
        if not common:
            return False
        name = max(common, key=lambda one: (_length(common[one]), len(common[one]), -one[1]))
        for place, (start, length) in common[name].items():
            if self._pool[place] is not self.shared.get(name):
                self._replace(self._pool[place], name, start, length)
        return True

    def _replace(self, expression: Expression, name: tuple[Group, int], start: int, length: int) -> None:
        """Make one operand of neighbors; the first ones to be replaced say how they are computed."""
        operands = expression.operands[start : start + length]
        if name not in self.shared:
            inner = expression.shared & set(operands)
            self.shared[name] = Expression(expression.pattern, expression.operator, operands, inner)
            self._pool.append(self.shared[name])
        expression.operands[start : start + length] = [sum(operands)]
        expression.shared.add(sum(operands))

    def trees(self) -> dict[Key, Tree]:
        """Return a tree for every pattern, lists last."""
        found = {}
        for key, pattern in self.patterns.items():
            plain = pattern.shape.everything & ~pattern.shape.list_mask
            levels = self.levels[key]
            units = self._units(levels[plain], levels) if plain in levels else [*map(leaf, items_of(plain))]
            units.sort(key=lambda unit: unit.mask & -unit.mask)
            units.extend(map(leaf, items_of(pattern.shape.list_mask)))
            found[key] = pattern.settled(joined(units))
        return found

    def _units(self, expression: Expression, levels: Mapping[int, Expression]) -> list[Tree]:
        """Return the shared parts of an expression, and the items that are in none."""
        units: list[Tree] = []
        for mask in expression.operands:
            if mask in expression.shared:
                units.append(self._placed(expression.group, expression.pattern, mask))
            elif mask & (mask - 1):
                units.extend(self._units(levels[mask], levels))
            else:
                units.append(leaf(mask.bit_length() - 1))
        return units

    def _placed(self, group: Group, pattern: Pattern, mask: int) -> Tree:
        """Return a shared expression as a tree over items of a pattern."""
        label = pattern.labelled(mask)
        shared = self.shared[group, label.number]
        home = next(key for key, one in self.patterns.items() if one is shared.pattern)
        units = sorted(self._units(shared, self.levels[home]), key=lambda unit: unit.mask & -unit.mask)
        origin = {item: place for place, item in enumerate(shared.pattern.labelled(shared.mask).items)}
        return relabelled(made_bare(joined(units)), lambda item: label.items[origin[item]])


def _length(places: Mapping[int, tuple[int, int]]) -> int:
    return max(length for _, length in places.values())
