"""Run a Join of which only the nearest pairs are wanted."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.kernels.matches.nearest import EarlierRows, LaterRows, probe_nearest
from weft.plan.nodes import Join, Node, list_columns
from weft.plan.order import closed_order
from weft.runtime.columns.compare import Comparisons, grows_in_runs
from weft.runtime.columns.events import Array
from weft.runtime.matches.join import BoundJoin, pair_rows
from weft.runtime.matches.state import LOWEST, Delta, Step, length_of
from weft.runtime.matches.table import Table, concatenate_tables, empty_table, last_rows


@dataclass(frozen=True)
class NearestJoin(BoundJoin):
    """A Join that gives each row of one side those of the other that have the nearest event in a column."""

    column: int

    @cached_property
    def _is_right(self) -> bool:
        """Whether the later side is the right one."""
        return self.column >= self.n_left

    @cached_property
    def _before(self) -> list[int]:
        """The columns of the earlier side that the nearest event comes after."""
        offset = 0 if self._is_right else self.n_left
        return [a - offset for a, b in closed_order(self.node) if b == self.column and self._is_earlier(a)]

    def _is_earlier(self, column: int) -> bool:
        return (column < self.n_left) == self._is_right

    @cached_property
    def _tests(self) -> Comparisons:
        return self._comparisons if self._is_right else self._comparisons.flipped

    def new_rows(self, left: Delta, right: Delta, step: Step) -> Table:
        earlier, later = (left, right) if self._is_right else (right, left)
        parts = [empty_table(self.is_list)]
        if earlier.new.n_rows:
            parts.append(self._pass_nearest(earlier.new, later, step, is_new=True))
        if earlier.old.n_rows and later.new.n_rows:
            parts.append(self._pass_nearest(earlier.old, later, step, is_new=False))
        return concatenate_tables(parts)

    def _pass_nearest(self, table: Table, later: Delta, step: Step, *, is_new: bool) -> Table:
        """Join rows with the nearest of all later ones, where a row of the pair is new."""
        left, right = self._tests.left(table, step), self._tests.right(later.all, step)
        flags = later.are_new if right.kept is None else later.are_new[right.kept]
        if not left.rows.n_rows or not right.rows.n_rows:
            return empty_table(self.is_list)
        clock = step.clock(self.node.extent)
        nearest = self._nearest_events(right.rows)
        hashes = right.hashes if right.hashes.size else np.zeros(nearest.size, np.int64)
        order = np.lexsort((step.events.ranks[nearest], hashes))
        own = left.hashes if left.hashes.size else np.zeros(left.rows.n_rows, np.int64)
        runs = np.stack([np.searchsorted(hashes[order], own, side) for side in ("left", "right")], axis=1)
        nearest_clocks = clock.values[nearest][order]
        found, found_later, status, n_examined = probe_nearest(
            EarlierRows(
                runs.astype(np.int64),
                self._ranks_before(left.rows, step),
                step.clocks_of(left.rows, self.node.extent),
                left.values,
                np.full(left.rows.n_rows, is_new),
            ),
            LaterRows(
                step.events.ranks[nearest][order],
                nearest_clocks,
                step.clocks_of(right.rows, self.node.extent)[order],
                right.values.take(order, axis=1),
                flags[order],
            ),
            self._tests.masks,
            length_of(self.node.extent),
            clock.monotone or grows_in_runs(nearest_clocks, right, order),
            step.meter.limit,
            step.meter.remaining(self._counted),
        )
        step.check(status, self._counted, left.rows, found)
        sides = left.rows.take(found), right.rows.take(order[found_later])
        pairs = pair_rows(*(sides if self._is_right else sides[::-1]))
        step.meter.count(self._counted, examined=n_examined, built=pairs.n_rows)
        return pairs.sorted()

    def _nearest_events(self, later: Table) -> Array:
        return last_rows(later.columns[self.column - (self.n_left if self._is_right else 0)])

    def _ranks_before(self, earlier: Table, step: Step) -> Array:
        """Return the rank after which the nearest event of each row is sought."""
        ranks = np.full(earlier.n_rows, LOWEST)
        for column in self._before:
            ranks = np.maximum(ranks, step.events.ranks[last_rows(earlier.columns[column])])
        return ranks


def bind_join(node: Join, nearest: int | None, done_for: Node | None = None) -> BoundJoin:
    """Return a join ready to run; of all pairs where what makes an event the nearest is not for a kernel."""
    plain = BoundJoin(node, done_for=done_for)
    if nearest is None or list_columns(node)[nearest] or not plain.is_for_kernel:
        return plain
    return NearestJoin(node, nearest, done_for=done_for)
