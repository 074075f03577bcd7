"""How many partial matches the sub-patterns of queries have among sampled events.

Idea        Partial matches of a few items are extended by one item more, as a join would. Of those found, a
            part that is drawn evenly is kept, and stands for all. So times, values and keys that go together
            are seen as they are. Of three items and more, the sub-patterns with fewest matches are extended:
            they are what plans are made of.
Reference   Leis, Radke, Gubichev, Kemper, Neumann. Cardinality Estimation Done Right: Index-Based Join
            Sampling. CIDR 2017.
Differs     The index is time, within a window and in order; equal values are looked up besides.
Complexity  O(n^2 + b n^2) extensions for n items of which b sub-patterns of each size are extended, each of
            O(s log e) for s sampled matches and e events.
"""

import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from weft.expressions import Attribute, Comparison, Expression, variables_of
from weft.pattern.canonical import column_variable, rename_variables
from weft.pattern.nodes import TimeWindow
from weft.pattern.normal_form import NormalForm
from weft.runtime.columns.evaluate import Scope, column_number, evaluate, is_true
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.table import Table
from weft.statistics.event_index import Columns, Equality, EventIndex, PartnerRule, Partners
from weft.statistics.model import PatternCount, PatternKey
from weft.statistics.sub_patterns import SubPatternNames, item_key, names_of

MOST_COUNTED = 2_048  # sub-patterns
SINGLE, KEPT = 8_192, 4_096  # events that are extended, and partial matches
CANDIDATES = (4_096, 65_536)  # looked at at first, and again when hardly any of them was a match
ENOUGH = 16
WIDTH = 2  # sub-patterns of a size that are extended
MOST_ITEMS = 12


class _Matches(NamedTuple):
    """Partial matches drawn evenly: the rows of each item, and how many each match stands for."""

    columns: tuple[Array, ...]
    weight: float


def count_partial_matches(
    events: Events, forms: Iterable[NormalForm], *, most: int = MOST_COUNTED, seed: int = 0
) -> dict[PatternKey, PatternCount]:
    """Return how many partial matches there are of `most` sub-patterns at most, smaller ones first.

    Lists are left out, and so is what contains events of which there are none, or a sub-pattern of which
    nothing was found.
    """
    counter = _Counter(events, most, seed)
    searches = [_Search(counter, names) for names in map(names_of, dict.fromkeys(forms)) if names is not None]
    while searches and len(counter.counts) < most:
        counter.samples, earlier = {}, counter.samples
        for search in searches:
            search.count_larger(earlier)
        searches = [search for search in searches if search.widest]
    return counter.counts


class _Counter:
    """What was counted of the sub-patterns of all forms, with matches of those counted last."""

    def __init__(self, events: Events, most: int, seed: int) -> None:
        self.index = EventIndex(events)
        self.most, self.seed = most, seed
        self.counts: dict[PatternKey, PatternCount] = {}
        self.samples: dict[PatternKey, _Matches] = {}


class _Search:
    """The sub-patterns of one form, those with fewest matches extended by one item after another."""

    def __init__(self, counter: _Counter, names: SubPatternNames) -> None:
        self.counter, self.names, self.form = counter, names, names.form
        self.items = [item_key(item, self.form) for item in self.form.items]
        plain = [place for place, item in enumerate(self.form.items) if not item.is_list]
        self.plain = [place for place in plain if self._n_events(place)][:MOST_ITEMS]
        self.widest = [1 << place for place in self.plain]
        self._places = {variable: place for place, variable in enumerate(self.form.variables)}
        columns = {variable: column_variable(place) for variable, place in self._places.items()}
        self._conditions = [
            (sum(1 << self._places[v] for v in variables_of(predicate)), rename_variables(predicate, columns))
            for predicate in self.form.predicates
            if len(variables_of(predicate)) > 1
        ]
        order, window = self.form.order, self.form.window
        self._before = [sum(1 << self._places[a] for a, b in order if b == v) for v in self.form.variables]
        self._after = [sum(1 << self._places[b] for a, b in order if a == v) for v in self.form.variables]
        self._window = window.length if isinstance(window, TimeWindow) else -1

    def count_larger(self, earlier: Mapping[PatternKey, _Matches]) -> None:
        """Count the sub-patterns that extend those counted before by an item."""
        counts, parts_of = self.counter.counts, dict[int, list[int]]()
        for part in self.widest:
            for place in self.plain:
                if not part >> place & 1:
                    parts_of.setdefault(part | 1 << place, []).append(part)
        for mask, parts in parts_of.items():
            if self.names.key(mask) not in counts and len(counts) < self.counter.most:
                self._count(mask, min(parts, key=self._rows), earlier)
        self.widest = sorted((mask for mask in parts_of if self._rows(mask) > 0), key=self._rows)[:WIDTH]

    def _n_events(self, place: int) -> int:
        return int(self.counter.index.rows_of(self.items[place]).size)

    def _rows(self, mask: int) -> float:
        if mask & (mask - 1) == 0:
            return self._n_events(mask.bit_length() - 1)
        count = self.counter.counts.get(self.names.key(mask))
        return 0.0 if count is None else count.rows

    def _count(self, mask: int, part: int, earlier: Mapping[PatternKey, _Matches]) -> None:
        """Extend the matches of a part by the item it lacks, and keep some of what is found."""
        key = self.names.key(mask)
        dice = np.random.default_rng((self.counter.seed, zlib.crc32(key.name.encode())))
        if part & (part - 1) == 0:
            places = [part.bit_length() - 1]
            matches = _thin((self.counter.index.rows_of(self.items[places[0]]),), 1.0, SINGLE, dice)
        else:
            inner = self.names.key(part)
            places = [self._places[variable] for variable in inner.variables]
            matches = earlier[inner]
        added = (mask ^ part).bit_length() - 1
        columns = dict(zip(places, matches.columns, strict=True))
        found, weight = self._extend(columns, mask, added, dice)
        weight *= matches.weight
        self.counter.counts[key] = PatternCount(int(found[added].size), weight)
        own = tuple(found[self._places[variable]] for variable in key.variables)
        self.counter.samples[key] = _thin(own, weight, KEPT, dice)

    def _extend(
        self, columns: Columns, mask: int, added: int, dice: np.random.Generator
    ) -> tuple[dict[int, Array], float]:
        """Return matches with an item more, and how many each one found stands for."""
        about = [p for needed, p in self._conditions if needed >> added & 1 and not needed & ~mask]
        rule = PartnerRule(
            self.items[added],
            self._before[added],
            self._after[added],
            self._window,
            self._equalities(columns, added, about),
        )
        partners = self.counter.index.partners(columns, rule)
        total = int(partners.lengths.sum())
        for n_candidates in CANDIDATES:
            candidates = _candidates(columns, added, partners, _evenly(total, n_candidates, dice))
            fits = self._fits(candidates, added, about)
            if total <= n_candidates or np.count_nonzero(fits) >= ENOUGH:
                break
        found = {place: column[fits] for place, column in candidates.items()}
        return found, max(1.0, total / n_candidates)

    def _equalities(self, columns: Columns, added: int, predicates: Iterable[Expression]) -> list[Equality]:
        """Return what must be equal to have the same values, as far as these can be looked up."""
        equal = [Equality(name, next(iter(columns)), name) for name in self.form.keys]
        types = {name: column.type for name, column in self.counter.index.events.columns.items()}
        for predicate in predicates:
            match predicate:
                case Comparison("=", Attribute(variable=a, name=own), Attribute(variable=b, name=other)):
                    if column_number(b) == added:
                        a, own, b, other = b, other, a, own
                    if column_number(b) in columns and types.get(own) == types.get(other) is not None:
                        equal.append(Equality(own, column_number(b), other))
        return sorted(equal)

    def _fits(self, candidates: Columns, added: int, predicates: Iterable[Expression]) -> Array:
        """Return which candidates are of different events and satisfy predicates."""
        partners, ordered = candidates[added], self._before[added] | self._after[added]
        fits = np.ones(partners.size, np.bool_)
        for place, column in candidates.items():
            if place != added and not ordered >> place & 1:
                fits &= column != partners
        every = tuple(candidates.get(place, partners) for place in range(len(self.items)))
        scope = Scope(self.counter.index.events, Table(every, partners, partners))
        for predicate in predicates:
            fits &= is_true(evaluate(predicate, scope))
        return fits


def _candidates(columns: Columns, added: int, partners: Partners, chosen: Array) -> dict[int, Array]:
    """Return some of the pairs of a match and a partner, by their numbers among all."""
    ends = np.cumsum(partners.lengths)
    owners = np.searchsorted(ends, chosen, side="right")
    places = chosen - (ends - partners.lengths)[owners] + partners.starts[owners]
    return {place: column[owners] for place, column in columns.items()} | {added: partners.rows[places]}


def _thin(columns: tuple[Array, ...], weight: float, most: int, dice: np.random.Generator) -> _Matches:
    """Return some of the matches, which stand for the others too."""
    n_rows = columns[0].size
    if n_rows <= most:
        return _Matches(columns, weight)
    chosen = _evenly(n_rows, most, dice)
    return _Matches(tuple(column[chosen] for column in columns), weight * n_rows / most)


def _evenly(total: int, wanted: int, dice: np.random.Generator) -> Array:
    """Return all numbers below a total, or one at random of each of as many stretches as are wanted."""
    if total <= wanted:
        return np.arange(total)
    return np.asarray(((np.arange(wanted) + dice.random(wanted)) * (total / wanted)).astype(np.int64))
