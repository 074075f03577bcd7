"""Run a NegationCheck: keep the rows in whose scope nothing negated lies, once the scope is complete."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from weft.expressions import Expression
from weft.kernels.join import EXHAUSTED, OVERFLOW
from weft.kernels.negation import Negated, Scopes, find_in_scope
from weft.plan.nodes import NegationCheck, list_columns
from weft.runtime.columns import Array
from weft.runtime.compare import Test, Value, hash_runs, masks_of, operands, same_event_pairs, split_tests
from weft.runtime.evaluate import holds_everywhere
from weft.runtime.join import paired
from weft.runtime.state import END_OF_TIME, HIGHEST, LOWEST, Step
from weft.runtime.table import Table, first_rows, last_rows


@dataclass(frozen=True)
class BoundNegation:
    """A NegationCheck with its predicates divided between the kernel and the evaluation of pairs."""

    node: NegationCheck

    @cached_property
    def n_columns(self) -> int:
        return len(list_columns(self.node.input))

    @cached_property
    def is_list(self) -> tuple[bool, ...]:
        return list_columns(self.node.input) + list_columns(self.node.negated)

    @cached_property
    def _divided(self) -> tuple[list[Test], list[Expression]]:
        tests, residual = split_tests(self.node.predicates, self.n_columns, self.is_list)
        for a, b in self.node.distinct:
            if not (self.is_list[a] or self.is_list[b]):
                tests.append(Test(Value(row_of=a), "!=", Value(row_of=b - self.n_columns)))
        return tests, residual

    def decidable(self, table: Table, step: Step) -> Array:
        """Return which rows have a scope that no event to come can enter."""
        if step.frontier == END_OF_TIME:
            return np.ones(table.n_rows, np.bool_)
        if self.node.before:
            return np.asarray(step.events.times[self._closing_rows(table)] < step.frontier)
        if self.node.extent is None:
            return np.zeros(table.n_rows, np.bool_)
        clock = step.clock(self.node.extent)
        now = clock.now[table.first] if isinstance(clock.now, np.ndarray) else clock.now
        return np.asarray(clock.values[table.first] + self.node.extent.length < now)

    def _closing_rows(self, table: Table) -> Array:
        closing = [first_rows(table.columns[column]) for column in self.node.before]
        return np.asarray(np.minimum.reduce(closing))

    def allowed(self, table: Table, negated: Table, step: Step) -> Table:
        """Return the rows without a negated row in their scope."""
        if not table.n_rows or not negated.n_rows:
            return table
        tests, residual = self._divided
        row_side = operands([test.left for test in tests], tests, table, step.events)
        negated_side = operands([test.right for test in tests], tests, negated, step.events)
        rows = table if row_side.kept is None else table.take(row_side.kept)
        others = negated if negated_side.kept is None else negated.take(negated_side.kept)
        order, runs = hash_runs(row_side, negated_side)
        others = others.take(order)
        ranks, clocks = self._scopes(rows, step)
        ranks_of_negated = np.stack([step.events.ranks[others.first], step.events.ranks[others.last]], axis=1)
        must_look_closer = bool(residual) or any(
            self.is_list[a] or self.is_list[b] for a, b in self.node.distinct
        )
        hit, hit_by, status, n_examined = find_in_scope(
            Scopes(runs, ranks, clocks, row_side.values),
            Negated(ranks_of_negated, step.clocks_of(others, self.node.extent), negated_side.values[order]),
            masks_of(tests),
            step.clock(self.node.extent).monotone,
            not must_look_closer,
            step.meter.limit,
            step.meter.remaining(self.node),
        )
        if status in (OVERFLOW, EXHAUSTED):
            group = step.group_of(rows, int(hit[-1]))
            meter = step.meter
            raise (meter.overflow if status == OVERFLOW else meter.exhausted)(self.node, group)
        if must_look_closer:
            hit = hit[self._confirmed(paired(rows.take(hit), others.take(hit_by)), residual, step)]
        rejected = np.zeros(table.n_rows, np.bool_)
        rejected[hit if row_side.kept is None else row_side.kept[hit]] = True
        result = table.take(np.flatnonzero(~rejected))
        step.meter.count(self.node, examined=n_examined, built=result.n_rows)
        return result

    def _confirmed(self, pairs: Table, residual: list[Expression], step: Step) -> Array:
        holds = np.ones(pairs.n_rows, np.bool_)
        for predicate in residual:
            holds &= holds_everywhere(predicate, step.events, pairs)
        for a, b in self.node.distinct:
            if self.is_list[a] or self.is_list[b]:
                holds &= ~same_event_pairs(pairs, a, b)
        return holds

    def _scopes(self, table: Table, step: Step) -> tuple[Array, Array]:
        """Return the rank bounds (exclusive) and the clock bounds (inclusive) of each row's scope."""
        event_ranks, clock = step.events.ranks, step.clock(self.node.extent).values
        ranks = np.empty((table.n_rows, 2), np.int64)
        clocks = np.empty((table.n_rows, 2), np.int64)
        ranks[:, 0], ranks[:, 1] = LOWEST, HIGHEST
        clocks[:, 0], clocks[:, 1] = LOWEST, HIGHEST
        node = self.node
        if node.after:
            opening = np.maximum.reduce([last_rows(table.columns[column]) for column in node.after])
            ranks[:, 0] = event_ranks[opening]
        elif not node.before:
            clocks[:, 0] = clock[table.first]
        elif node.extent is not None:
            clocks[:, 0] = clock[table.last] - node.extent.length
        if node.before:
            ranks[:, 1] = event_ranks[self._closing_rows(table)]
        elif node.extent is not None:
            clocks[:, 1] = clock[table.first] + node.extent.length
        return ranks, clocks
