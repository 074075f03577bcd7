"""Run a NegationCheck: keep the rows in whose scope nothing negated lies, once the scope is complete."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.expressions import Attribute
from weft.kernels.matches.join import OVERFLOW
from weft.kernels.matches.negation import Negated, Scopes, find_in_scope
from weft.plan.lags import Lags, settled_after
from weft.plan.nodes import Absence, Extent, KleeneExpand, NegationCheck, Node, list_columns
from weft.runtime.columns.compare import Comparisons, compare_columns, grows_in_runs, hash_runs
from weft.runtime.columns.evaluate import column_number
from weft.runtime.columns.events import Array
from weft.runtime.matches.join import pair_rows
from weft.runtime.matches.state import HIGHEST, LOWEST, Step
from weft.runtime.matches.table import Table, as_lists, first_rows, last_rows, neighbors
from weft.tree import transform_up

RowsOf = Callable[[Node], Table]


@dataclass(frozen=True)
class BoundAbsence:
    """An Absence with its predicates divided between the kernel and the evaluation of pairs.

    `row_is_list` says which columns of the rows hold lists, `settled_after` how long after the event
    that closes a row's scope, or else after the row's first event, nothing can enter the scope.
    """

    node: NegationCheck | KleeneExpand
    absence: Absence
    row_is_list: tuple[bool, ...]
    settled_after: Extent | None

    @cached_property
    def is_list(self) -> tuple[bool, ...]:
        return self.row_is_list + list_columns(self.absence.negated)

    @cached_property
    def _unless(self) -> tuple["BoundAbsence", ...]:
        return tuple(
            BoundAbsence(self.node, inner, self.is_list, self.settled_after) for inner in self.absence.unless
        )

    @cached_property
    def _comparisons(self) -> Comparisons:
        absence = self.absence
        return compare_columns(absence.predicates, absence.distinct, len(self.row_is_list), self.is_list)

    @cached_property
    def _is_decided_by_kernel(self) -> bool:
        return self._comparisons.is_for_kernel and not self.absence.unless

    def is_decidable(self, table: Table, step: Step) -> Array:
        """Return which rows have a scope that nothing to come can enter."""
        if self.absence.scope == "gap":
            decisive = last_rows(table.columns[self.absence.after[0]])
        elif self.absence.before:
            decisive = self._closing_rows(table)
        else:
            decisive = table.first if self.absence.scope == "window" else table.last
        return step.is_past(decisive, self.settled_after)

    def _closing_rows(self, table: Table) -> Array:
        closing = [first_rows(table.columns[column]) for column in self.absence.before]
        return np.asarray(np.minimum.reduce(closing))

    def is_violated(self, table: Table, rows_of: RowsOf, step: Step) -> Array:
        """Return which rows have a negated row in their scope."""
        if self.absence.scope == "gap":
            return self._has_violated_gap(table, rows_of, step)
        violated = np.zeros(table.n_rows, np.bool_)
        negated = rows_of(self.absence.negated)
        if not table.n_rows or not negated.n_rows:
            return violated
        row_side = self._comparisons.left(table, step)
        negated_side = self._comparisons.right(negated, step)
        order, runs = hash_runs(row_side, negated_side)
        rows, others = row_side.rows, negated_side.rows.take(order)
        ranks, clocks = self._scopes(rows, step)
        negated_clocks = step.clocks_of(others, self.absence.extent)
        monotone = step.clock(self.absence.extent).monotone
        hit, hit_by, status, n_examined = find_in_scope(
            Scopes(runs, ranks, clocks, row_side.values),
            Negated(
                np.stack([step.events.ranks[others.first], step.events.ranks[others.last]], axis=1),
                negated_clocks,
                negated_side.values.take(order, axis=1),
            ),
            self._comparisons.masks,
            monotone or grows_in_runs(negated_clocks[:, 1], negated_side, order),
            self._is_decided_by_kernel,
            step.meter.limit,
            step.meter.remaining(self.node),
        )
        if status == OVERFLOW and table.n_rows > 1:  # too many pairs to look at closely: take fewer rows
            middle = table.n_rows // 2
            parts = (np.arange(middle), np.arange(middle, table.n_rows))
            return np.concatenate([self.is_violated(table.take(part), rows_of, step) for part in parts])
        step.check(status, self.node, rows, hit)
        step.meter.count(self.node, examined=n_examined, built=0)
        if not self._is_decided_by_kernel:
            hit = hit[self._confirm(rows.take(hit), others.take(hit_by), rows_of, step)]
        violated[hit if row_side.kept is None else row_side.kept[hit]] = True
        return violated

    def _has_violated_gap(self, table: Table, rows_of: RowsOf, step: Step) -> Array:
        """Return which rows have a negated row between two neighbors of their list."""
        violated = np.zeros(table.n_rows, np.bool_)
        owners, previous, following = neighbors(as_lists(table.columns[self.absence.after[0]]))
        gaps = table.take(owners)
        pairs = Table((*gaps.columns, previous, following), gaps.first, gaps.last)
        violated[owners[self._of_gap.is_violated(pairs, rows_of, step)]] = True
        return violated

    @cached_property
    def _of_gap(self) -> "BoundAbsence":
        """The same absence between two further columns of rows, which hold the neighbors."""
        column, width = self.absence.after[0], len(self.row_is_list)

        def rename(node: object) -> object:
            if not isinstance(node, Attribute):
                return node
            own = column_number(node.variable)
            if own == column and node.place == "previous":
                return replace(node, variable=f"${width}", place="each")
            return replace(node, variable=f"${own + 2}") if own >= width else node

        absence = replace(
            self.absence,
            after=(width,),
            before=(width + 1,),
            predicates=tuple(transform_up(predicate, rename) for predicate in self.absence.predicates),
            distinct=tuple((a, b + 2) for a, b in self.absence.distinct),
            scope="window",
        )
        return BoundAbsence(self.node, absence, (*self.row_is_list, False, False), self.settled_after)

    def _confirm(self, rows: Table, negated: Table, rows_of: RowsOf, step: Step) -> Array:
        """Return which pairs of a row and a negated row satisfy what the kernel does not look at."""
        both = pair_rows(rows, negated)
        holds = self._comparisons.holds(both, step.events)
        # The scopes of a NOT inside the NOT are those of the negated row.
        inner_rows = Table(both.columns, negated.first, negated.last)
        for inner in self._unless:
            holds &= ~inner.is_violated(inner_rows, rows_of, step)
        return holds

    def _scopes(self, table: Table, step: Step) -> tuple[Array, Array]:
        """Return the rank bounds (exclusive) and the clock bounds (inclusive) of each row's scope."""
        absence = self.absence
        event_ranks, clock = step.events.ranks, step.clock(absence.extent).values
        ranks = np.full((table.n_rows, 2), (LOWEST, HIGHEST))
        clocks = ranks.copy()
        if absence.after:
            opening = np.maximum.reduce([last_rows(table.columns[column]) for column in absence.after])
            ranks[:, 0] = event_ranks[opening]
        elif absence.scope == "match":
            ranks[:, 0] = event_ranks[table.first]
        elif not absence.before:
            clocks[:, 0] = clock[table.first]
        elif absence.extent is not None:
            clocks[:, 0] = clock[table.last] - absence.extent.length
        if absence.before:
            ranks[:, 1] = event_ranks[self._closing_rows(table)]
        elif absence.scope == "match":
            ranks[:, 1] = event_ranks[table.last]
        elif absence.extent is not None:
            clocks[:, 1] = clock[table.first] + absence.extent.length
        return ranks, clocks


def bind_negation(node: NegationCheck, lags: Lags) -> BoundAbsence:
    """Return the absence that a NegationCheck asks of its input rows."""
    return BoundAbsence(node, node.absence, list_columns(node.input), settled_after(node.absence, lags))
