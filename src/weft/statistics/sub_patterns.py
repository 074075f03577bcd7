"""The names of sub-patterns, by which it is known how many partial matches of some items there are.

A name says all that makes partial matches what they are: items, their order, the conditions among them, keys
and the window; negations are left out. It holds no name of a query or of a variable, so equal sub-patterns of
different queries have one name.
"""

import hashlib
from collections.abc import Container, Iterator
from functools import cached_property, lru_cache
from itertools import groupby

from weft.expressions import Expression, variables_of
from weft.pattern.canonical import exchanges, in_columns, least_labelling, own_predicates, speaks_of_list
from weft.pattern.nodes import CountWindow
from weft.pattern.normal_form import EVERY_TYPE, Item, NormalForm
from weft.statistics.model import ItemKey, PatternKey

MOST_KNOWN = 4096  # forms whose names are kept
MOST_NAMED = 8  # items of a form of which all sub-patterns are looked up


def item_key(item: Item, form: NormalForm) -> ItemKey:
    """Return what the rate of an item is known by."""
    return ItemKey(item.type, in_columns(own_predicates(item, form), (item.variable,)))


class SubPatternNames:
    """The names of the sub-patterns of a form.

    >>> from weft.pattern.normal_form import Item
    >>> abc = NormalForm((Item("a", "A"), Item("b", "B"), Item("c", "C")), frozenset({("a", "b")}))
    >>> xyz = NormalForm((Item("x", "B"), Item("y", "C"), Item("z", "A")), frozenset({("z", "x")}))
    >>> SubPatternNames(abc).key(0b011) == SubPatternNames(xyz).key(0b101)
    True
    >>> SubPatternNames(abc).key(0b110) == SubPatternNames(xyz).key(0b110)
    False
    """

    def __init__(self, form: NormalForm) -> None:
        self.form = form
        self._keys: dict[int, PatternKey] = {}
        self._places = {variable: place for place, variable in enumerate(form.variables)}
        self._frame = _digest((sorted(form.keys), form.window))
        self._leaves = [self._leaf(place) for place in range(len(form.items))]
        self._among: dict[frozenset[int], list[Expression]] = {}
        for predicate in form.predicates:
            about = frozenset(self._places[variable] for variable in variables_of(predicate))
            if len(about) > 1:
                self._among.setdefault(about, []).append(predicate)
        self._relations: dict[tuple[int, int], str] = {}

    def key(self, mask: int) -> PatternKey:
        """Return the sub-pattern of the items of a mask."""
        if mask not in self._keys:
            places = sorted(_places_in(mask), key=self._leaves.__getitem__)
            ties = [list(tie) for _, tie in groupby(places, key=self._leaves.__getitem__)]
            if len(ties) == len(places):
                name, items = self._describe(tuple(places)), tuple(places)
            else:
                name, items = least_labelling(exchanges(ties), self._describe)
            variables = tuple(self.form.items[place].variable for place in items)
            self._keys[mask] = PatternKey(name, self.form, variables)
        return self._keys[mask]

    def known(self, keys: Container[PatternKey]) -> Iterator[tuple[int, PatternKey]]:
        """Yield the sub-patterns of two items and more that are known, smaller ones first.

        Of many items, only those that extend one that is known by an item.
        """
        if len(self._leaves) <= MOST_NAMED:
            yield from ((mask, self.key(mask)) for mask in self._masks if self.key(mask) in keys)
            return
        bits = [1 << place for place in range(len(self._leaves))]
        size = {a | b for a in bits for b in bits if a != b}
        while size:
            own = [(mask, self.key(mask)) for mask in sorted(size) if self.key(mask) in keys]
            yield from own
            size = {mask | bit for mask, _ in own for bit in bits if not mask & bit}

    @cached_property
    def _masks(self) -> list[int]:
        masks = range(1 << len(self._leaves))
        return sorted((mask for mask in masks if mask.bit_count() > 1), key=int.bit_count)

    def _describe(self, items: tuple[int, ...]) -> str:
        """Return the name of a sub-pattern whose items stand in this order."""
        parts = [self._frame, *(self._leaves[item] for item in items)]
        parts += [self._relation(a, b) for place, b in enumerate(items) for a in items[:place]]
        parts += sorted(
            self._digest_of(about, items) for about in self._among if len(about) > 2 and about.issubset(items)
        )
        return _digest(parts)

    def _leaf(self, place: int) -> str:
        """Return the name of an item; items stand in the order of these, that of their types."""
        item = self.form.items[place]
        own = in_columns(own_predicates(item, self.form), (item.variable,))
        if not item.is_list:
            return f"{item.type} {_digest(own)}"
        about = [p for p in self.form.predicates if variables_of(p) == {item.variable} and speaks_of_list(p)]
        bounds = item.least, item.most, item.strategy
        return f"{item.type} {_digest((own, bounds, in_columns(about, (item.variable,))))}"

    def _relation(self, a: int, b: int) -> str:
        """Return what relates two items, in this order of the two."""
        if (a, b) not in self._relations:
            pair = self.form.items[a].variable, self.form.items[b].variable
            sign = (pair in self.form.order) - (pair[::-1] in self.form.order)
            self._relations[a, b] = f"{sign}{self._digest_of(frozenset((a, b)), (a, b))}"
        return self._relations[a, b]

    def _digest_of(self, about: frozenset[int], items: tuple[int, ...]) -> str:
        """Return the predicates on exactly some items, which stand in this order, as a short name."""
        predicates = self._among.get(about)
        if predicates is None:
            return ""
        return _digest(in_columns(predicates, [self.form.items[item].variable for item in items]))


@lru_cache(maxsize=MOST_KNOWN)
def names_of(form: NormalForm) -> SubPatternNames | None:
    """Return the names of the sub-patterns of a form.

    None where a window counts events, or items have any type: all events of the stream would count. None of
    SOME either, which is no join.
    """
    if (
        form.is_some
        or isinstance(form.window, CountWindow)
        or any(item.type == EVERY_TYPE for item in form.items)
    ):
        return None
    return SubPatternNames(form)


def _places_in(mask: int) -> Iterator[int]:
    return (place for place in range(mask.bit_length()) if mask >> place & 1)


def _digest(parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
