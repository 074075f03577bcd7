"""Where queries and their interesting sub-queries stand in the patterns of a workload.

Queries come first, then sub-queries, those that would save the most joins before others. A limit ends the
search for sub-queries and the placing of them; so many as are placed at least are placed when it is late.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Generic

from weft.optimizer.rewriting.decomposition import MOST_SUB_QUERIES, closure
from weft.optimizer.rewriting.flat_query import FlatQuery, Symbol
from weft.optimizer.rewriting.levels import OperatorLevel, levels_of
from weft.optimizer.rewriting.transformation import interesting_sub_queries
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import Key, Label

SHARE_OF_CLOSURE = 0.4  # of the limit, after which no more sub-queries are looked for
SHARE_OF_PLACING = 0.55  # of the limit, after which only the most promising are placed
LEAST_PLACED = 1_000  # sub-queries, whatever the time


class LevelIndex(Generic[Key]):
    """Levels by their operands, so that only those are looked at that can have a query in them."""

    def __init__(self, levels: Iterable[OperatorLevel[Key]]) -> None:
        self.levels = tuple(levels)
        self._having: dict[Symbol, set[int]] = defaultdict(set)
        for place, level in enumerate(self.levels):
            for symbol in level.query.counts:
                self._having[symbol].add(place)

    def around(self, query: FlatQuery) -> list[OperatorLevel[Key]]:
        """Return the levels that have all operands of a query."""
        having = sorted((self._having.get(symbol, set()) for symbol in query.counts), key=len)
        return [self.levels[place] for place in sorted(set.intersection(*having))]


class Placing(Generic[Key]):
    """The sub-patterns of each pattern that a query or an interesting sub-query stands for.

    `is_complete` says whether all sub-queries were looked for and placed; `least` of them are, however late.
    """

    def __init__(self, patterns: Mapping[Key, Pattern], limit: Limit, least: int = LEAST_PLACED) -> None:
        self._least = least
        self.places: dict[Key, dict[Label, None]] = {key: {} for key in patterns}
        self.is_complete = True
        self._limit = limit
        self._levels = [level for key, pattern in patterns.items() for level in levels_of(key, pattern)]

    def place_whole_queries(self) -> None:
        """Find queries that are sources of others as they are: same operator, same window."""
        whole = LevelIndex(level for level in self._levels if level.is_whole)
        for source in whole.levels:
            pattern = source.pattern
            if pattern.form.negations or pattern.shape.lists:
                continue
            number = pattern.label(pattern.shape.everything).number
            for level in whole.around(source.query):
                if _setting(level) == _setting(source):
                    labels = [label for label in level.places_of(source.query) if label.number == number]
                    self.places[level.key].update(dict.fromkeys(labels))

    def place_sub_queries(self) -> None:
        """Find the interesting sub-queries of all patterns in every pattern."""
        frames: dict[int, list[OperatorLevel[Key]]] = defaultdict(list)
        for level in self._levels:
            frames[level.pattern.frame].append(level)
        n_seen = 0
        for together in frames.values():
            index = LevelIndex(together)
            start, n_seen = n_seen, n_seen + len(together)
            self._place_all(index, start / len(self._levels), n_seen / len(self._levels))

    def _place_all(self, index: LevelIndex[Key], start: float, end: float) -> None:
        """Place queries and their sub-queries, and shorter ones where conditions make several of one.

        `start` and `end` are shares of the time for all levels.
        """
        queries = list(dict.fromkeys(level.query for level in index.levels))
        until = SHARE_OF_PLACING * start + SHARE_OF_CLOSURE * (end - start)
        sub_queries = closure(queries, interesting_sub_queries, is_late=lambda: self._is_late(until))
        self.is_complete &= sub_queries.is_complete
        waiting = [*queries, *_by_promise(sub_queries.queries, index)]
        seen = set(waiting)
        for n_placed, query in enumerate(waiting):  # grows as it goes
            is_due = n_placed < len(queries) + self._least
            if self._limit.is_cancelled() or (not is_due and self._is_late(SHARE_OF_PLACING * end)):
                self.is_complete = False
                break
            n_sub_patterns = len(self._place(query, index))
            if n_sub_patterns > 1 and len(query.operands) > 2:
                shorter = [less for less in _with_one_less(query) if less not in seen]
                if len(seen) < MOST_SUB_QUERIES + len(queries):
                    seen.update(shorter)
                    waiting.extend(shorter)
                elif shorter:
                    self.is_complete = False

    def _is_late(self, share: float) -> bool:
        return self._limit.used_share() > share or self._limit.is_cancelled()

    def _place(self, query: FlatQuery, index: LevelIndex[Key]) -> set[int]:
        """Note where a query stands in all levels; return the numbers of the sub-patterns it is there."""
        numbers = set()
        for level in index.around(query):
            for label in level.places_of(query):
                self.places[level.key][label] = None
                numbers.add(label.number)
        return numbers


def _setting(level: OperatorLevel[Key]) -> tuple[Hashable, ...]:
    return level.pattern.frame, level.pattern.extent, level.query.operator


def _by_promise(queries: Iterable[FlatQuery], index: LevelIndex[Key]) -> list[FlatQuery]:
    """Return first what saves the most joins if all that have the operands share it."""
    return sorted(queries, key=lambda query: -len(index.around(query)) * (len(query.operands) - 1))


def _with_one_less(query: FlatQuery) -> list[FlatQuery]:
    operands = query.operands
    return [
        FlatQuery(query.operator, (*operands[:place], *operands[place + 1 :]))
        for place in range(len(operands))
    ]
