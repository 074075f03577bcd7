"""How many partial matches the sub-patterns of queries have among sampled events.

Idea        Partial matches of a few items are extended by one item more, as a join would. Of those found, a
            part that is drawn evenly is kept, and stands for all. So times, values and keys that go together
            are seen as they are. Of three items and more, the sub-patterns with fewest matches are extended:
            they are what plans are made of.
Reference   Leis, Radke, Gubichev, Kemper, Neumann. Cardinality Estimation Done Right: Index-Based Join
            Sampling. CIDR 2017.
Differs     Events within a window and in order take the place of an index; equal values are looked up besides.
Complexity  O(n^2 + b n^2) extensions for n items of which b sub-patterns of each size are extended, each of
            O(s log e) for s sampled matches and e events.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from weft.expressions import Attribute, Comparison, Expression, variables_of
from weft.kernels.arrays import mix_hashes
from weft.kernels.partners import find_partners
from weft.pattern.canonical import column_variable, rename_variables
from weft.pattern.nodes import TimeWindow
from weft.pattern.normal_form import NormalForm
from weft.runtime.columns.evaluate import Scope, column_number, evaluate, is_true
from weft.runtime.columns.events import Array, Events, comparable
from weft.runtime.matches.table import Table
from weft.statistics.model import ItemKey
from weft.statistics.sampling import rows_of_item
from weft.statistics.sub_patterns import PatternKey, SubPatternNames, item_key, names_of

MOST_COUNTED = 2_048  # sub-patterns
KEPT = 1_024  # partial matches that are extended
CANDIDATES = (4_096, 65_536)  # looked at at first, and again when hardly any of them was a match
ENOUGH = 16
WIDTH = 2  # sub-patterns of a size that are extended
MOST_ITEMS = 12


class PatternCount(NamedTuple):
    """How many partial matches were found, and how many each of them stands for."""

    n_found: int
    weight: float

    @property
    def rows(self) -> float:
        return self.n_found * self.weight


class _Matches(NamedTuple):
    """Partial matches drawn evenly: the rows of each item, and how many each match stands for."""

    columns: tuple[Array, ...]
    weight: float

    @property
    def n_rows(self) -> int:
        return int(self.columns[0].size)


def count_partial_matches(
    events: Events,
    forms: Iterable[NormalForm],
    *,
    most: int = MOST_COUNTED,
    seed: int = 0,
) -> dict[PatternKey, PatternCount]:
    """Return how many partial matches there are of `most` sub-patterns at most, smaller ones first.

    Lists are left out, and so is what contains a sub-pattern of which nothing was found.
    """
    counter = _Counter(events, seed)
    searches = [_Search(counter, names) for names in map(names_of, dict.fromkeys(forms)) if names is not None]
    size = 2
    while searches and len(counter.counts) < most:
        counter.samples, earlier = {}, counter.samples
        for search in searches:
            search.count_size(size, earlier, most)
        searches = [search for search in searches if search.widest]
        size += 1
    return counter.counts


class _Counter:
    """What is known of sub-patterns, and the indexes of events by equal values."""

    def __init__(self, events: Events, seed: int) -> None:
        self.events, self.seed = events, seed
        self.counts: dict[PatternKey, PatternCount] = {}
        self.samples: dict[PatternKey, _Matches] = {}
        self._rows: dict[ItemKey, Array] = {}
        self._indexes: dict[tuple[ItemKey, tuple[str, ...]], tuple[Array, Array, Array]] = {}

    def rows_of(self, item: ItemKey) -> Array:
        """Return the events of an item."""
        if item not in self._rows:
            rows = self.events.rows_of_type(item.type).astype(np.int64, copy=False)
            self._rows[item] = rows_of_item(item, rows, self.events)
        return self._rows[item]

    def index(self, item: ItemKey, attributes: tuple[str, ...]) -> tuple[Array, Array, Array]:
        """Return the events of an item, equal ones together; their hashes; where each piece begins and ends."""
        if (item, attributes) not in self._indexes:
            rows = self.rows_of(item)
            if not attributes:
                self._indexes[item, attributes] = rows, np.empty(0, np.int64), np.array([0, rows.size])
                return self._indexes[item, attributes]
            parts = [self.values(rows, name) for name in attributes]
            is_known = np.logical_and.reduce([validity for _, validity in parts])
            rows = rows[is_known]
            hashes = mix_hashes(np.stack([values[is_known] for values, _ in parts]))
            order = np.argsort(hashes, kind="stable")
            known, starts = np.unique(hashes[order], return_index=True)
            self._indexes[item, attributes] = rows[order], known, np.append(starts, rows.size)
        return self._indexes[item, attributes]

    def values(self, rows: Array, name: str) -> tuple[Array, Array]:
        """Return values of an attribute that are equal where it is, and which events have one."""
        column = self.events.columns[name].take(rows)
        return comparable(column, self.events.strings), column.validity


class _Search:
    """The sub-patterns of one form, those with fewest matches extended from size to size."""

    def __init__(self, counter: _Counter, names: SubPatternNames) -> None:
        self.counter, self.names, self.form = counter, names, names.form
        self.items = [item_key(item, self.form) for item in self.form.items]
        self.plain = [place for place, item in enumerate(self.form.items) if not item.is_list][:MOST_ITEMS]
        self.widest = [1 << place for place in self.plain]
        places = {variable: place for place, variable in enumerate(self.form.variables)}
        self._places = places
        columns = {variable: column_variable(place) for variable, place in places.items()}
        self._conditions = [
            (sum(1 << places[v] for v in variables_of(predicate)), rename_variables(predicate, columns))
            for predicate in self.form.predicates
            if len(variables_of(predicate)) > 1
        ]
        order = self.form.order
        self._before = [sum(1 << places[a] for a, b in order if b == v) for v in self.form.variables]
        self._after = [sum(1 << places[b] for a, b in order if a == v) for v in self.form.variables]
        window = self.form.window
        self._window = window.length if isinstance(window, TimeWindow) else -1

    def count_size(self, size: int, earlier: Mapping[PatternKey, _Matches], most: int) -> None:
        """Count the sub-patterns of a size that extend those of the size before."""
        parents: dict[int, list[int]] = {}
        for part in self.widest:
            for place in self.plain:
                if not part >> place & 1:
                    parents.setdefault(part | 1 << place, []).append(part)
        for mask, parts in parents.items():
            key = self.names.key(mask)
            if key not in self.counter.counts and len(self.counter.counts) < most:
                part = min(parts, key=self._rows)
                self._count(key, mask, part, earlier)
        counted = [
            mask for mask in parents if self._rows(mask) > 0 and self.names.key(mask) in self.counter.samples
        ]
        self.widest = sorted(counted, key=self._rows)[:WIDTH]

    def _rows(self, mask: int) -> float:
        if mask & (mask - 1) == 0:
            return float(self.counter.rows_of(self.items[mask.bit_length() - 1]).size)
        count = self.counter.counts.get(self.names.key(mask))
        return 0.0 if count is None else count.rows

    def _count(self, key: PatternKey, mask: int, part: int, earlier: Mapping[PatternKey, _Matches]) -> None:
        """Extend the matches of a part by the item it lacks, and keep some of what is found."""
        dice = np.random.default_rng((self.counter.seed, zlib.crc32(key.name.encode())))
        if part & (part - 1) == 0:
            places = (part.bit_length() - 1,)
            matches = _thin((self.counter.rows_of(self.items[places[0]]),), 1.0, dice)
        else:
            inner = self.names.key(part)
            places = tuple(self._places[variable] for variable in inner.variables)
            matches = earlier[inner]
        added = (mask ^ part).bit_length() - 1
        columns = dict(zip(places, matches.columns, strict=True))
        found, weight = self._extend(columns, part, added, dice)
        n_found = int(next(iter(found.values())).size)
        self.counter.counts[key] = PatternCount(n_found, matches.weight * weight)
        own = tuple(found[self._places[variable]] for variable in key.variables)
        self.counter.samples[key] = _thin(own, matches.weight * weight, dice)

    def _extend(
        self, columns: Mapping[int, Array], part: int, added: int, dice: np.random.Generator
    ) -> tuple[dict[int, Array], float]:
        """Return matches with an item more, and how many each one found stands for."""
        about = [
            (mask, p) for mask, p in self._conditions if mask >> added & 1 and not mask & ~(part | 1 << added)
        ]
        rows, starts, lengths = self._partners(columns, added, [predicate for _, predicate in about])
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if ends.size else 0
        found, weight = {place: column[:0] for place, column in {**columns, added: rows}.items()}, 1.0
        for n_candidates in CANDIDATES if total else ():
            weight = max(1.0, total / n_candidates)
            chosen = _evenly(total, n_candidates, dice)
            owners = np.searchsorted(ends, chosen, side="right")
            partners = rows[starts[owners] + chosen - (ends - lengths)[owners]]
            found = {place: column[owners] for place, column in columns.items()} | {added: partners}
            fits = self._fits(found, added, [predicate for _, predicate in about])
            found = {place: column[fits] for place, column in found.items()}
            if weight == 1.0 or found[added].size >= ENOUGH:
                break
        return found, weight

    def _fits(self, found: Mapping[int, Array], added: int, predicates: Iterable[Expression]) -> Array:
        """Return which candidates are of different events and satisfy predicates."""
        partners = found[added]
        fits = np.ones(partners.size, np.bool_)
        for place, column in found.items():
            if place != added and not (self._before[added] | self._after[added]) >> place & 1:
                fits &= column != partners
        every = tuple(found.get(place, partners) for place in range(len(self.items)))
        scope = Scope(self.counter.events, Table(every, partners, partners))
        for predicate in predicates:
            fits &= is_true(evaluate(predicate, scope))
        return fits

    def _partners(
        self, columns: Mapping[int, Array], added: int, predicates: Iterable[Expression]
    ) -> tuple[Array, Array, Array]:
        """Return events of an item; where those stand that are in order, within the window and equal."""
        events = self.counter.events
        stacked = np.stack(list(columns.values()))
        nothing = np.full(stacked.shape[1], -1)
        earlier = [column for place, column in columns.items() if self._before[added] >> place & 1]
        later = [column for place, column in columns.items() if self._after[added] >> place & 1]
        limits = np.stack(
            [
                stacked.min(axis=0),
                stacked.max(axis=0),
                np.max(earlier, axis=0) if earlier else nothing,
                np.min(later, axis=0) if later else nothing,
            ]
        )
        equalities = self._equalities(columns, added, predicates)
        names = tuple(name for name, _, _ in equalities)
        rows, known, starts = self.counter.index(self.items[added], names)
        pieces = np.zeros((2, stacked.shape[1]), np.int64)
        if equalities:
            pieces = self._pieces(columns, equalities, known, starts)
        else:
            pieces[1] = rows.size
        found = find_partners(events.times, events.ranks, rows, pieces, limits, self._window)
        return rows, found[0], np.maximum(found[1] - found[0], 0)

    def _equalities(
        self, columns: Mapping[int, Array], added: int, predicates: Iterable[Expression]
    ) -> list[tuple[str, int, str]]:
        """Return what must be equal: an attribute of the item, and another one at another place."""
        anchor = next(iter(columns))
        equal = [(name, anchor, name) for name in self.form.keys]
        types = {name: column.type for name, column in self.counter.events.columns.items()}
        for predicate in predicates:
            match predicate:
                case Comparison("=", Attribute(variable=a, name=own), Attribute(variable=b, name=other)):
                    if column_number(b) == added:
                        a, own, b, other = b, other, a, own
                    if column_number(a) == added != column_number(b) and types.get(own) == types.get(other):
                        equal.append((own, column_number(b), other))
        return sorted(equal)

    def _pieces(
        self,
        columns: Mapping[int, Array],
        equalities: Sequence[tuple[str, int, str]],
        known: Array,
        starts: Array,
    ) -> Array:
        """Return where the events begin and end that are equal to those of each match."""
        parts = [self.counter.values(columns[place], name) for _, place, name in equalities]
        hashes = mix_hashes(np.stack([values for values, _ in parts]))
        places = np.searchsorted(known, hashes)
        is_there = np.logical_and.reduce([validity for _, validity in parts]) & (places < known.size)
        is_there[is_there] = known[places[is_there]] == hashes[is_there]
        places[~is_there] = 0
        return np.where(is_there, np.stack([starts[places], starts[np.minimum(places + 1, known.size)]]), 0)


def _thin(columns: tuple[Array, ...], weight: float, dice: np.random.Generator) -> _Matches:
    """Return some of the matches, which stand for the others too."""
    n_rows = columns[0].size
    if n_rows <= KEPT:
        return _Matches(columns, weight)
    chosen = _evenly(n_rows, KEPT, dice)
    return _Matches(tuple(column[chosen] for column in columns), weight * n_rows / KEPT)


def _evenly(total: int, wanted: int, dice: np.random.Generator) -> Array:
    """Return all numbers below a total, or one at random of each of as many stretches as are wanted."""
    if total <= wanted:
        return np.arange(total)
    return np.asarray(((np.arange(wanted) + dice.random(wanted)) * (total / wanted)).astype(np.int64))
