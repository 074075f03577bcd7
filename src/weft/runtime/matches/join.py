"""Run a Join: new rows of either side against all rows of the other."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from weft.kernels.matches.join import JoinSide, probe_earlier
from weft.plan.nodes import Join, Node, list_columns
from weft.plan.order import Side, ends_last
from weft.runtime.columns.compare import Comparisons, Operands, Test, Value, compare_columns
from weft.runtime.matches.state import Delta, Step, length_of
from weft.runtime.matches.table import Table, concatenate_tables, empty_table


@dataclass(frozen=True)
class BoundJoin:
    """A Join with its predicates divided between the kernel and the evaluation of candidate pairs.

    Where another node has the join done, it is `done_for` that one.
    """

    node: Join
    done_for: Node | None = field(default=None, kw_only=True)

    @property
    def _counted(self) -> Node:
        """The node whose work this is."""
        return self.done_for or self.node

    @cached_property
    def n_left(self) -> int:
        return len(list_columns(self.node.left))

    @cached_property
    def is_list(self) -> tuple[bool, ...]:
        return list_columns(self.node)

    @cached_property
    def _ends_last(self) -> Side | None:
        return ends_last(self.node)

    @cached_property
    def _follows(self) -> Side | None:
        """The side that is one event after all of the other: then the sweep itself orders."""
        own = self.is_list[self.n_left :] if self._ends_last == "right" else self.is_list[: self.n_left]
        return self._ends_last if own == (False,) else None

    @cached_property
    def _comparisons(self) -> Comparisons:
        comparisons = compare_columns(self.node.predicates, self.node.distinct, self.n_left, self.is_list)
        if self._follows is not None:
            return comparisons
        order_tests = (self._order_test(*pair) for pair in self.node.order)
        return replace(comparisons, tests=(*comparisons.tests, *order_tests))

    @property
    def is_for_kernel(self) -> bool:
        """Whether a kernel alone decides which pairs fit."""
        return self._comparisons.is_for_kernel

    def _order_test(self, earlier: int, later: int) -> Test:
        if earlier < self.n_left:
            right = Value(rank_of=(later - self.n_left, "first"))
            return Test(Value(rank_of=(earlier, "last")), "<", right)
        left = Value(rank_of=(later, "first"))
        return Test(left, ">", Value(rank_of=(earlier - self.n_left, "last")))

    def new_rows(self, left: Delta, right: Delta, step: Step) -> Table:
        """Return the rows of the join that contain a new row of either side."""
        parts: list[Table] = []
        if self._ends_last != "left":
            parts.append(self._pass(left.all, right.new, step, right_probes=True))
            if right.old.n_rows and left.new.n_rows:
                parts.append(self._pass(left.new, right.old, step, right_probes=True))
        if self._ends_last != "right":
            parts.append(self._pass(left.new, right.all, step, right_probes=False))
            if left.old.n_rows and right.new.n_rows:
                parts.append(self._pass(left.old, right.new, step, right_probes=False))
        return concatenate_tables(parts)

    def _pass(self, left: Table, right: Table, step: Step, *, right_probes: bool) -> Table:
        """Join two tables, counting only the pairs in which the probing side ends last."""
        if not left.n_rows or not right.n_rows:
            return empty_table(self.is_list)
        comparisons = self._comparisons
        left_operands, right_operands = comparisons.left(left, step), comparisons.right(right, step)
        left, right = left_operands.rows, right_operands.rows
        build, probe = self._side(left_operands, step), self._side(right_operands, step)
        strict = self._follows == "right"
        if not right_probes:
            build, probe, strict, comparisons = probe, build, True, comparisons.flipped
        monotone = step.clock(self.node.extent).monotone
        if not monotone and build.hashes.size:
            build, probe, monotone = _with_own_chains(build, probe)
        built, probed, status, n_examined = probe_earlier(
            build,
            probe,
            comparisons.masks,
            length_of(self.node.extent),
            strict,
            monotone,
            step.meter.limit,
            step.meter.remaining(self._counted),
        )
        left_rows, right_rows = (built, probed) if right_probes else (probed, built)
        step.check(status, self._counted, right if right_probes else left, probed)
        pairs = self._side_by_side(left.take(left_rows), right.take(right_rows))
        table = comparisons.confirm(pairs, step.events)
        step.meter.count(self._counted, examined=n_examined, built=table.n_rows)
        return table

    def _side_by_side(self, left: Table, right: Table) -> Table:
        if self._follows is None:
            return pair_rows(left, right)
        earlier, later = (left, right) if self._follows == "right" else (right, left)
        return Table((*left.columns, *right.columns), earlier.first, later.last)

    def _side(self, operands: Operands, step: Step) -> JoinSide:
        table, clock = operands.rows, step.clock(self.node.extent).values
        return JoinSide(
            ranks=step.at(step.events.ranks, table.last),
            firsts=step.at(clock, table.first),
            lasts=step.at(clock, table.last),
            values=operands.values,
            hashes=operands.hashes,
        )


def _with_own_chains(build: JoinSide, probe: JoinSide) -> tuple[JoinSide, JoinSide, bool]:
    """Number the hashes, so that each has a chain of its own; say whether the clock grows along them all."""
    hashes, chains = np.unique(build.hashes, return_inverse=True)
    order = np.argsort(chains, kind="stable")
    places = np.searchsorted(hashes, probe.hashes)
    is_missing = hashes[np.minimum(places, hashes.size - 1)] != probe.hashes
    probed = np.where(is_missing, hashes.size, places)
    falls = (np.diff(build.lasts[order]) < 0) & (np.diff(chains[order]) == 0)
    return build._replace(hashes=chains), probe._replace(hashes=probed), not falls.any()


def pair_rows(left: Table, right: Table) -> Table:
    """Put two tables of equal length side by side."""
    return Table(
        (*left.columns, *right.columns),
        np.minimum(left.first, right.first),
        np.maximum(left.last, right.last),
    )
