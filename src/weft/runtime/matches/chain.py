"""Run a Chain: each row goes on with the nearest element that fits."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.plan.nodes import Chain, Join, list_columns
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.join import BoundJoin
from weft.runtime.matches.nearest import bind_join
from weft.runtime.matches.state import Delta, Step
from weft.runtime.matches.table import (
    MatchColumn,
    Table,
    append_rows,
    as_lists,
    concatenate_tables,
)


@dataclass(frozen=True)
class BoundChain:
    """A Chain ready to run.

    Elements come in the order of time, and no row comes after an element that follows it: so a row waits for
    elements to come, and takes the first that fits.
    """

    node: Chain

    @cached_property
    def _join(self) -> BoundJoin:
        """Rows with their nearest elements; with all that fit, where that is not for a kernel to say."""
        node, column = self.node, len(list_columns(self.node.input))
        order = ((column - 1, column),)
        pairs = Join(node.input, node.elements, order, (), node.predicates, node.extent)
        return bind_join(pairs, column, done_for=node)

    def advance(self, pending: Table, rows: Table, elements: Table, step: Step) -> tuple[Table, Table]:
        """Return the rows that new elements let go on, and those that wait for others."""
        waiting = concatenate_tables([pending, rows])
        pairs = self._join.new_rows(_only_new(waiting), _only_new(elements), step)
        nearest = pairs.take(_nearest(pairs, step.events))
        goes_on = np.isin(waiting.first, nearest.first)
        may_go_on = ~goes_on & ~step.is_past(waiting.first, self.node.extent)
        return self._placed(nearest).sorted(), waiting.take(np.flatnonzero(may_go_on))

    def _placed(self, pairs: Table) -> Table:
        """Return pairs of a row and an element with the element in its place."""
        *columns, element = pairs.columns
        added: MatchColumn = element
        if self.node.place == "first":
            added = as_lists(element)
        if self.node.place == "next":
            added = append_rows(as_lists(columns.pop()), pairs.last)
        return Table((*columns, added), pairs.first, pairs.last)


def _only_new(table: Table) -> Delta:
    return Delta(table.take(np.empty(0, np.int64)), table)


def _nearest(pairs: Table, events: Events) -> Array:
    """Return of the pairs that begin with each event the one that ends first, then with the smallest id."""
    order = np.lexsort((events.ranks[pairs.last], pairs.first))
    first, ranks = pairs.first[order], events.ranks[pairs.last[order]]
    begins = np.ones(order.size, np.bool_)
    begins[1:] = np.diff(first) != 0
    groups = np.cumsum(begins) - 1
    is_tied = ranks == ranks[begins][groups]
    if is_tied.sum() == begins.sum():
        return order[begins]
    tied = order[is_tied]
    ids = pc.rank(events.ids.take(pa.array(pairs.last[tied])), tiebreaker="dense")
    tied = tied[np.lexsort((ids.to_numpy(), pairs.first[tied]))]
    return np.asarray(tied[np.unique(pairs.first[tied], return_index=True)[1]])
