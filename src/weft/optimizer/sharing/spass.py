"""Share what is most redundant, and keep every pattern in the order in which it is written: a rival.

Idea        A list of neighboring items that is in several places has a redundancy ratio: the share of the
            work for it that is done again where it could be done once. Every pattern is covered by lists
            that do not overlap, those with the most redundant work first, as long as sharing saves any;
            what no list covers is joined as the pattern names it.
Reference   SPASS: Ray, Lei, Rundensteiner. Scalable Pattern Sharing on Event Streams. SIGMOD 2016; as the
            method SH-RR in section 6.2.2 of Kolchinsky, Schuster. Real-Time Multi-Pattern Detection over
            Event Streams. SIGMOD 2019, describes it.
Differs     That description has no formula: the work is that of our cost model, and the minimum
            substring cover is approximated greedily, by ratio times work. Patterns of any partial
            order are covered, without their lists of events, and a shared part is computed for the longest
            window of its readers. Work for a negation is not counted, as it stands above what is shared.
Complexity  O(n m^2) lists for n patterns of m items, each scored again whenever one of its places is taken.
"""

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from weft.cost.model import CostModel
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree, join_all, order_tree, relabel, uncheck, units_of
from weft.plan.extents import is_within
from weft.plan.nodes import Extent

Name = TypeVar("Name")
Part = tuple[int, Extent | None]  # a sub-pattern by its number, and the extent that it is computed for


class Place(NamedTuple, Generic[Key]):
    """Neighboring items of a pattern."""

    key: Key
    mask: int


@dataclass(frozen=True)
class SharedCover(Generic[Key]):
    """A tree for every pattern, and the redundancy ratio of each part that is shared."""

    trees: Mapping[Key, Tree]
    ratios: Sequence[float]

    def note(self) -> str:
        """Say how much is shared.

        >>> SharedCover({}, [0.5, 0.8]).note()
        'Redundancy: 2 sub-patterns shared, of whose work 50% to 80% was done again'
        >>> SharedCover({}, []).note()
        'Redundancy: no sub-pattern is worth sharing'
        """
        if not self.ratios:
            return "Redundancy: no sub-pattern is worth sharing"
        shared = "1 sub-pattern" if len(self.ratios) == 1 else f"{len(self.ratios)} sub-patterns"
        least, most = f"{min(self.ratios):.0%}", f"{max(self.ratios):.0%}"
        share = least if least == most else f"{least} to {most}"
        return f"Redundancy: {shared} shared, of whose work {share} was done again"


def spass_trees(patterns: Mapping[Key, Pattern], model: CostModel) -> SharedCover[Key]:
    """Return a tree for every pattern, its items as written but for what is shared."""
    work = _Work(patterns, model)
    cover = substring_cover(_common_lists(patterns), work.saved)
    shared: dict[Key, list[Tree]] = {key: [] for key in patterns}
    for part, places in cover.items():
        for place, tree in zip(places, work.shared_trees(part, places), strict=True):
            shared[place.key].append(tree)
    trees = {key: _as_written(pattern, shared[key]) for key, pattern in patterns.items()}
    return SharedCover(
        trees, [work.saved(part, places) / work.alone(places) for part, places in cover.items()]
    )


def substring_cover(
    common: Mapping[Name, Sequence[Place[Key]]], saved: Callable[[Name, Sequence[Place[Key]]], float]
) -> dict[Name, list[Place[Key]]]:
    """Return the lists that save most, one after the other, each in those of its places that are free.

    >>> common = {
    ...     "ab": [Place("p", 0b011), Place("q", 0b011), Place("r", 0b011)],
    ...     "bc": [Place("p", 0b110), Place("q", 0b110)],
    ... }
    >>> cover = substring_cover(common, lambda name, places: {"ab": 2, "bc": 7}[name] * (len(places) - 1))
    >>> {name: [place.key for place in places] for name, places in cover.items()}
    {'bc': ['p', 'q']}
    """
    names, taken = list(common), dict[Key, int]()
    waiting = [(-saved(name, _free(common[name], {})), number) for number, name in enumerate(names)]
    heapq.heapify(waiting)
    cover: dict[Name, list[Place[Key]]] = {}
    while waiting:
        expected, number = heapq.heappop(waiting)
        name = names[number]
        places = _free(common[name], taken)
        gain = saved(name, places) if len(places) > 1 else 0.0
        if gain <= 0:
            continue
        if -gain > expected:  # less than before, as some places are taken
            heapq.heappush(waiting, (-gain, number))
            continue
        cover[name] = places
        for place in places:
            taken[place.key] = taken.get(place.key, 0) | place.mask
    return cover


def _free(places: Sequence[Place[Key]], taken: Mapping[Key, int]) -> list[Place[Key]]:
    """Return the places without a taken item, those of one pattern apart from each other."""
    own, free = dict(taken), []
    for place in places:
        if not own.get(place.key, 0) & place.mask:
            own[place.key] = own.get(place.key, 0) | place.mask
            free.append(place)
    return free


def _common_lists(patterns: Mapping[Key, Pattern]) -> dict[Part, list[Place[Key]]]:
    """Return where each list of neighbors is, for each extent that one of its places has."""
    by_number: dict[int, list[Place[Key]]] = {}
    for key, pattern in patterns.items():
        for mask in _neighbors(pattern):
            by_number.setdefault(pattern.label(mask).number, []).append(Place(key, mask))
    common: dict[Part, list[Place[Key]]] = {}
    for number, places in by_number.items():
        for extent in dict.fromkeys(patterns[place.key].extent for place in places) if places[1:] else ():
            readers = [place for place in places if is_within(patterns[place.key].extent, extent)]
            if len(readers) > 1:
                common[number, extent] = readers
    return common


def _neighbors(pattern: Pattern) -> Iterator[int]:
    """Yield all lists of two items or more that the pattern names one after the other."""
    plain = [item for item in pattern_order(pattern.shape) if item not in pattern.shape.lists]
    for start, first in enumerate(plain):
        mask = 1 << first
        for item in plain[start + 1 :]:
            mask |= 1 << item
            yield mask


class _Work(Generic[Key]):
    """What joins and filters cost, with and without sharing."""

    def __init__(self, patterns: Mapping[Key, Pattern], model: CostModel) -> None:
        self._patterns, self._model = patterns, model

    def alone(self, places: Sequence[Place[Key]]) -> float:
        """Return the work when each place is computed by itself, as it is written."""
        return sum(sum(self._costs(place, self._written(place)).values()) for place in places)

    def saved(self, part: Part, places: Sequence[Place[Key]]) -> float:
        """Return the work that is saved when a part is computed once for all places."""
        together: dict[tuple[int, float], float] = {}
        for place, tree in zip(places, self.shared_trees(part, places), strict=True):
            together |= self._costs(place, tree)
        return self.alone(places) - sum(together.values())

    def shared_trees(self, part: Part, places: Sequence[Place[Key]]) -> list[Tree]:
        """Return the tree of the first place in all places, computed for the extent of the part."""
        _, extent = part
        first = places[0]
        label = self._patterns[first.key].label(first.mask)
        shared = relabel(self._written(first), label.places)
        owners = [(self._patterns[key], mask) for key, mask in places]
        return [pattern.place(shared, pattern.label(mask), extent) for pattern, mask in owners]

    def _written(self, place: Place[Key]) -> Tree:
        order = pattern_order(self._patterns[place.key].shape)
        return uncheck(order_tree(item for item in order if place.mask >> item & 1))

    def _costs(self, place: Place[Key], tree: Tree) -> dict[tuple[int, float], float]:
        """Return what each node of a tree costs, apart from the events, which are read in any case."""
        pattern = self._patterns[place.key]
        costs = {}
        for node, window in pattern.part(tree).nodes:
            shape, step = pattern.numbers.priced[node]
            if step.left:
                costs[node, window] = self._model.node(shape, step, window)
        return costs


def _as_written(pattern: Pattern, shared: Sequence[Tree]) -> Tree:
    """Join shared parts and other items in the order in which the pattern names them, lists last."""
    units = units_of(pattern.shape, shared)
    units.sort(key=lambda unit: unit.mask & ~pattern.shape.list_mask == 0)
    return join_all(units)
