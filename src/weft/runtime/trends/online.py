"""Trend queries as their events come: what is settled becomes maps of panes, and windows are made of these.

Events before a frontier are settled: none will come between them any more. A step turns those that have been
settled since the last one into maps, whatever windows they lie in, so that a window that closes costs its
panes and not its events. Partitions have numbers that last; an event stands for each of them, out of time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from weft.kernels.trends.graphlets import DYNAMIC, STATIC
from weft.kernels.trends.results import Kept
from weft.kernels.trends.trends import EVERY_WINDOW
from weft.plan.template import Template
from weft.plan.trend_sets import Sharing
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.merge import merge_events
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.trends.aggregate import TrendPass
from weft.runtime.trends.maps import TrendMaps
from weft.runtime.trends.measures import Measures, extremes_of
from weft.runtime.trends.pane_pieces import Piece
from weft.runtime.trends.rows import TrendRows, combine_results, merge_results
from weft.runtime.trends.shared import Counters, SetMember, set_members

LEAST_PIECES = 16  # that are left as they are


class OnlineTrends:
    """What panes do to the trends of templates that share keys and groups, in the windows that are open."""

    def __init__(self, templates: Sequence[Template], sharing: Sharing) -> None:
        self.templates = templates
        self.members: list[SetMember] = list(set_members(templates))
        self.examples: Events | None = None
        self.new: list[tuple[int, TrendMaps, Events]] = []  # what came to which member since pieces were told
        self._keys = tuple(dict.fromkeys([*templates[0].keys, *templates[0].group_by]))
        queries = [member.query for member in self.members]
        self._firsts = [queries.index(query) for query in range(len(templates))]
        self._mode = STATIC if sharing == "static" else DYNAMIC
        self._maps: list[TrendMaps | None] = [None] * len(self.members)
        self._whole = [0] * len(self.members)  # how many maps there were when pieces were last joined

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that stand for partitions by the same events, told in another way."""
        self.examples = None if self.examples is None else change(self.examples)
        self.new = [(place, maps, change(examples)) for place, maps, examples in self.new]

    def settle(self, events: Events) -> Counters:
        """Take events that have been settled."""
        made = TrendPass(self.templates, events, [EVERY_WINDOW] * len(self.templates), gives_maps=True)
        if not made.selection.n_rows:
            return Counters()
        found, counters = made.run_shared(self._mode)
        examples = self._out_of_time(events.take(made.selection.examples))
        for place, (own, member) in enumerate(zip(found, self.members, strict=True)):
            self._add(place, made.maps(own, member), examples)
        return counters

    def _out_of_time(self, events: Events) -> Events:
        """Return events as they stand for partitions: with the keys alone."""
        return replace(
            events,
            times=np.full(events.n_events, END_OF_TIME),
            columns={name: events.columns[name] for name in self._keys},
            type_codes=np.zeros(events.n_events, np.int16),
            type_names=(),
            ids=pa.nulls(events.n_events),
            ties=None,
            flags={},
        )

    def _add(self, place: int, maps: TrendMaps, examples: Events) -> None:
        """Add what came last to a member; events stand for its partitions."""
        self.new.append((place, maps, examples))
        self._follow(place, maps, examples)

    def _follow(self, place: int, maps: TrendMaps, examples: Events) -> None:
        maps = replace(maps, partitions=self._number(examples)[maps.partitions])
        known = self._maps[place]
        whole = maps.in_order() if known is None else known.followed_by(maps)
        if whole.n_maps > 2 * self._whole[place] + LEAST_PIECES:
            whole = whole.joined()
            self._whole[place] = whole.n_maps
        self._maps[place] = whole

    def restore(self, place: int, piece: Piece) -> None:
        """Take what a step that is over has added to a member."""
        self._follow(place, piece.maps, piece.examples)

    def pieces(self, owners: Sequence[int], *, is_anew: bool) -> Iterator[Piece]:
        """Yield what was added since the last time, or all there is, for the owners of the templates."""
        added, self.new = self.new, []
        if is_anew and self.examples is not None:
            added = [
                (place, maps.joined(), self.examples)
                for place, maps in enumerate(self._maps)
                if maps is not None
            ]
        for place, maps, examples in added:
            query = self.members[place].query
            yield Piece(owners[query], place - self._firsts[query], maps, examples)

    def empty(self, place: int) -> TrendMaps:
        """Return no maps of a member."""
        member = self.members[place]
        template = self.templates[member.query]
        extremes = extremes_of(template)
        none, rows = np.empty(0, np.int64), (0, len(extremes))
        kept = Kept(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), none)
        return TrendMaps(
            member.automaton,
            (template.length or 0, template.slide or 0),
            none,
            none,
            kept,
            np.empty(rows, np.int64),
            np.empty(rows, np.bool_),
            Measures((), extremes),
            {},
            0,
        )

    def places(self, owners: Sequence[int]) -> dict[tuple[int, int], int]:
        """Return the places of the members, by the owner of their template and their numbers in it."""
        return {
            (owners[member.query], place - self._firsts[member.query]): place
            for place, member in enumerate(self.members)
        }

    def bytes_of(self, number: int) -> int:
        """Return how many bytes are kept for a template."""
        return sum(
            maps.n_bytes
            for member, maps in zip(self.members, self._maps, strict=True)
            if member.query == number and maps is not None
        )

    def _number(self, new: Events) -> Array:
        """Return the lasting numbers of partitions, for which events are given."""
        both = new if self.examples is None else merge_events(self.examples, new)[0]
        codes = both.number_groups(self.templates[0].keys)
        _, firsts, inverse = np.unique(codes, return_index=True, return_inverse=True)
        kept = np.sort(firsts)
        self.examples = both.take(kept)
        numbers: Array = np.searchsorted(kept, firsts)[inverse.reshape(-1)]
        return numbers[both.n_events - new.n_events :]

    def close(self, number: int, windows: tuple[int, int]) -> TrendRows | None:
        """Return the results of some windows of a template, if there are any panes."""
        template, examples = self.templates[number], self.examples
        alternatives: list[list[TrendMaps]] = [[] for _ in template.alternatives]
        for member, maps in zip(self.members, self._maps, strict=True):
            if member.query == number and maps is not None:
                alternatives[member.alternative].append(maps)
        if examples is None or not all(alternatives):
            return None
        own = alternatives[0][0]  # lanes are those of the template
        found = [
            combine_results([maps.compose(windows) for maps in parts], own.width, own.most)
            for parts in alternatives
        ]
        groups = examples.number_groups(template.group_by)
        rows = np.arange(examples.n_events)
        return merge_results(template, own.measures, own.exponents, groups, rows, found, own.most)

    def forget(self, frontier: int) -> None:
        """Give up the panes of which all windows have ended, and partitions that have none left."""
        for place, maps in enumerate(self._maps):
            if maps is not None:
                last_windows = maps.starts // maps.span[1]
                is_open = last_windows * maps.span[1] + maps.span[0] > frontier
                if not is_open.all():
                    self._maps[place] = maps.take(np.flatnonzero(is_open))
        self._give_up_partitions()

    def _give_up_partitions(self) -> None:
        if self.examples is None:
            return
        is_used = np.zeros(self.examples.n_events, np.bool_)
        for maps in self._maps:
            if maps is not None:
                is_used[maps.partitions] = True
        if 2 * np.count_nonzero(is_used) > is_used.size:
            return
        numbers = np.cumsum(is_used) - 1
        self.examples = self.examples.take(np.flatnonzero(is_used))
        self._maps = [
            None if maps is None else replace(maps, partitions=numbers[maps.partitions])
            for maps in self._maps
        ]

    def windows(self, number: int) -> tuple[int, int] | None:
        """Return the first and the last window of a template that have a pane with events, if any has."""
        own = [
            maps
            for member, maps in zip(self.members, self._maps, strict=True)
            if member.query == number and maps is not None and maps.n_maps
        ]
        if not own:
            return None
        length, slide = own[0].span
        first = min(int(maps.starts.min()) for maps in own)
        last = max(int(maps.starts.max()) for maps in own)
        return (first - length) // slide + 1, last // slide
