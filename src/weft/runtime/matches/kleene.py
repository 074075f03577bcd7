"""Run a KleeneExpand: every list of elements that fits an input row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.expressions import Aggregate, Attribute, Comparison, Expression, flip
from weft.kernels.matches.kleene import Edges, Elements, Rows, Successors, expand_lists
from weft.kernels.matches.runs import find_runs
from weft.plan.extents import INSTANT
from weft.plan.nodes import KleeneExpand, list_columns
from weft.runtime.columns.compare import (
    Comparisons,
    Test,
    Value,
    compare_columns,
    grows_in_runs,
    hash_runs,
    masks_of,
)
from weft.runtime.columns.evaluate import Scope, column_number, evaluate, holds_everywhere
from weft.runtime.columns.events import Array, comparable
from weft.runtime.matches.list_rules import Candidates, ListRule, asked_predicates, is_strict
from weft.runtime.matches.negation import BoundAbsence, RowsOf
from weft.runtime.matches.state import HIGHEST, LOWEST, Delta, Step, length_of
from weft.runtime.matches.table import (
    Lists,
    Table,
    as_lists,
    concatenate_tables,
    empty_table,
    first_rows,
    last_rows,
    lists_of,
)
from weft.tree import find


@dataclass(frozen=True)
class BoundKleene:
    """A KleeneExpand with its predicates divided: row against element, element against the next, rest."""

    node: KleeneExpand

    @cached_property
    def column(self) -> int:
        """The number of the new column, which holds the lists."""
        return len(list_columns(self.node)) - 1

    @cached_property
    def _division(self) -> tuple[Comparisons, list[Comparison]]:
        is_list = (*list_columns(self.node)[:-1], False)  # an element is a single event
        edges, others = [], []
        for predicate in self.node.predicates:
            edge = self._edge(predicate)
            if edge is not None:
                edges.append(edge)
            else:
                others.append(predicate)
        elementwise = [p for p in others if self._is_elementwise(p)]
        residual = [p for p in others if p not in elementwise]
        comparisons = compare_columns(elementwise, self.node.distinct, self.column, is_list)
        tests = comparisons.tests
        if self.node.input is None:
            same_key = [p for p in residual if self._is_same_key(p)]
            residual = [p for p in residual if p not in same_key]
            tests += tuple(self._seed_test(p) for p in same_key if isinstance(p, Comparison))
        return replace(comparisons, tests=tests, residual=(*residual, *comparisons.residual)), edges

    def _edge(self, predicate: Expression) -> Comparison | None:
        """Return the predicate as previous-against-current comparison if it is one."""
        if not isinstance(predicate, Comparison):
            return None
        places = [self._places(side) for side in (predicate.left, predicate.right)]
        if places == [{"previous"}, {"current"}]:
            return predicate
        if places == [{"current"}, {"previous"}]:
            return flip(predicate)
        return None

    def _places(self, side: Expression) -> set[str]:
        attributes = list(find(side, Attribute))
        if any(find(side, Aggregate)) or any(column_number(a.variable) != self.column for a in attributes):
            return {"other"}
        return {attribute.place for attribute in attributes}

    def _is_elementwise(self, predicate: Expression) -> bool:
        """Whether the predicate speaks of each element alone."""
        own = f"${self.column}"
        return all(a.variable != own or a.place == "each" for a in find(predicate, Attribute)) and not any(
            aggregate.variable == own for aggregate in find(predicate, Aggregate)
        )

    def _is_same_key(self, predicate: Expression) -> bool:
        match predicate:
            case Comparison(operator="=", left=Attribute() as a, right=Attribute() as b):
                return a.name == b.name and {a.place, b.place} == {"each", "first"}
        return False

    def _seed_test(self, predicate: Comparison) -> Test:
        """An element has the key of the list's first element, which is the row itself."""
        attribute = next(find(predicate, Attribute))
        key = Value(Attribute("$0", attribute.name, type=attribute.type))
        return Test(key, "=", key)

    @cached_property
    def _every_list(self) -> ListRule:
        comparisons, edges = self._division
        return ListRule(comparisons, tuple(edges))

    @cached_property
    def _next_lists(self) -> ListRule | None:
        """What is asked of lists that go on with the next element, where that decides what is passed over."""
        if self.node.passed is None:
            return None
        edges = [predicate for predicate in self.node.predicates if self._edge(predicate)]
        plain = [p for p in self.node.predicates if p not in edges and self._is_elementwise(p)]
        keys = [p for p in self.node.predicates if self.node.input is None and self._is_same_key(p)]
        asked = asked_predicates(self.node, self.column, [*plain, *keys])
        if asked is None or not asked <= {*plain, *edges, *keys}:
            return None
        is_list = (*list_columns(self.node)[:-1], False)
        comparisons = compare_columns(
            [p for p in plain if p in asked], self.node.distinct, self.column, is_list
        )
        if not comparisons.is_for_kernel:
            return None
        rest = tuple(p for p in self.node.predicates if p not in asked)
        tests = (*comparisons.tests, *(self._seed_test(p) for p in keys if isinstance(p, Comparison)))
        own_edges = [edge for p in edges if p in asked and (edge := self._edge(p)) is not None]
        breaks = tuple(p for p in edges if p not in asked) if is_strict(self.node) else ()
        residual = tuple(p for p in rest if p not in breaks)
        comparisons = replace(comparisons, tests=tests, residual=residual)
        return ListRule(comparisons, tuple(own_edges), breaks, is_nearest=True)

    @cached_property
    def _passed(self) -> BoundAbsence | None:
        """What must not lie between two elements."""
        absence = self.node.passed
        return None if absence is None else BoundAbsence(self.node, absence, list_columns(self.node), INSTANT)

    def new_rows(self, source: Delta | None, elements: Delta, rows_of: RowsOf, step: Step) -> Table:
        """Return the rows with a new input row or a new element in the list."""
        if source is None:
            return self._expand(elements.all, elements, rows_of, step, seeded=True)
        parts = [empty_table(list_columns(self.node))]
        if source.new.n_rows:
            parts.append(self._expand(source.new, elements, rows_of, step, all_new=True))
        if source.old.n_rows and elements.new.n_rows:
            parts.append(self._expand(source.old, elements, rows_of, step))
        return concatenate_tables(parts)

    def _expand(
        self,
        table: Table,
        elements: Delta,
        rows_of: RowsOf,
        step: Step,
        *,
        seeded: bool = False,
        all_new: bool = False,
    ) -> Table:
        rule = self._next_lists or self._every_list
        candidates = self._candidates(rule, table, elements, step, seeded=seeded, all_new=all_new)
        if candidates is not None and is_strict(self.node) and rule.is_nearest and candidates.has_ties:
            rule = self._every_list
            candidates = self._candidates(rule, table, elements, step, seeded=seeded, all_new=all_new)
        if candidates is None:
            return empty_table(list_columns(self.node))
        rows, lists, n_examined = self._enumerate(rule, candidates, rows_of, step)
        result = self._with_lists(candidates.table.take(rows), lists, seeded=seeded)
        result = rule.comparisons.confirm(result, step.events)
        if self._passed is not None and not rule.is_nearest:
            result = result.take(np.flatnonzero(~self._passed.is_violated(result, rows_of, step)))
        step.meter.count(self.node, examined=n_examined, built=result.n_rows)
        return result.sorted()

    def _candidates(
        self, rule: ListRule, table: Table, elements: Delta, step: Step, *, seeded: bool, all_new: bool
    ) -> Candidates | None:
        """Return the rows and the elements, in runs that agree on what must be equal; None without any."""
        row_side, element_side = (
            rule.comparisons.left(table, step),
            rule.comparisons.right(elements.all, step),
        )
        kept_rows, kept_elements = row_side.rows, element_side.rows
        if not kept_rows.n_rows or not kept_elements.n_rows:
            return None
        order, runs = hash_runs(row_side, element_side)
        element_rows = kept_elements.first[order]
        is_new = np.zeros(step.events.n_events, np.bool_)
        is_new[elements.new.first] = True
        clock = step.clock(self.node.extent)
        element_clocks = clock.values[element_rows]
        seeds = np.full(kept_rows.n_rows, -1, np.int64)
        if seeded:  # the rows are the elements themselves
            seeds[order] = np.arange(order.size)
        rows = Rows(
            runs,
            self._bounds(kept_rows, step, seeded=seeded),
            step.clocks_of(kept_rows, self.node.extent),
            seeds,
            row_side.values,
            np.full(kept_rows.n_rows, all_new),
        )
        own = Elements(
            step.events.ranks[element_rows],
            element_clocks,
            element_side.values.take(order, axis=1),
            is_new[element_rows],
        )
        hashes = element_side.hashes[order] if element_side.hashes.size else np.zeros(order.size, np.int64)
        is_growing = clock.monotone or grows_in_runs(element_clocks, element_side, order)
        return Candidates(kept_rows, rows, element_rows, own, hashes, is_growing)

    def _enumerate(
        self, rule: ListRule, candidates: Candidates, rows_of: RowsOf, step: Step
    ) -> tuple[Array, Lists, int]:
        """Return the rows that have lists, these, and how many candidates were examined."""
        node, element_rows = self.node, candidates.element_rows
        broken = np.zeros(element_rows.size, np.bool_)
        if rule.is_nearest and is_strict(node):
            broken = self._is_broken(rule, candidates, rows_of, step)
        bounds = (node.least, HIGHEST if node.most is None else node.most, length_of(node.extent))
        most = (step.meter.limit_of(node), step.meter.remaining(node))
        early, late = node.begins_early and rule.is_nearest, node.ends_late and rule.is_nearest
        if rule.is_nearest and not rule.edges and candidates.are_runs(rule.comparisons):
            ends = candidates.ends(broken)
            found = find_runs(candidates.rows, candidates.elements, ends, early, late, *bounds, *most)
            n_rows, starts, lengths, status, n_examined = found
            lists = Lists(starts, lengths, element_rows)
        else:
            n_rows, offsets, members, status, n_examined = expand_lists(
                candidates.rows,
                candidates.elements,
                _edge_values(rule.edges, element_rows, step, self.column),
                rule.comparisons.masks,
                Successors(rule.is_nearest, broken, early, late),
                *bounds,
                candidates.is_growing,
                *most,
            )
            lists = lists_of(offsets, element_rows[members])
        step.check(status, node, candidates.table, n_rows)
        return n_rows, lists, n_examined

    def _is_broken(self, rule: ListRule, candidates: Candidates, rows_of: RowsOf, step: Step) -> Array:
        """Return which elements cannot be followed by the next of their run: something lies between."""
        earlier, later = candidates.element_rows[:-1], candidates.element_rows[1:]
        broken = np.ones(candidates.element_rows.size, np.bool_)
        pairs = lists_of(2 * np.arange(earlier.size + 1), np.stack([earlier, later], axis=1).reshape(-1))
        table = Table((*[earlier] * self.column, pairs), earlier, later)
        together = ~self._passed.is_violated(table, rows_of, step) if self._passed else broken[:-1]
        for predicate in rule.breaks:
            together &= holds_everywhere(predicate, step.events, table)
        broken[:-1] = ~together
        return broken

    def _with_lists(self, table: Table, lists: Lists, *, seeded: bool) -> Table:
        if seeded:
            return Table((lists,), first_rows(lists), last_rows(lists))
        return Table(
            (*table.columns, lists),
            np.minimum(table.first, first_rows(lists)),
            np.maximum(table.last, last_rows(lists)),
        )

    def _bounds(self, table: Table, step: Step, *, seeded: bool) -> Array:
        """Return the ranks strictly between which the elements of each row lie."""
        ranks = step.events.ranks
        bounds = np.full((table.n_rows, 2), (LOWEST, HIGHEST))
        if seeded:
            bounds[:, 0] = ranks[table.last]
        for earlier, later in self.node.order:
            if later == self.column:
                bounds[:, 0] = np.maximum(bounds[:, 0], ranks[last_rows(table.columns[earlier])])
            else:
                bounds[:, 1] = np.minimum(bounds[:, 1], ranks[first_rows(table.columns[later])])
        return bounds


def _edge_values(edges: Sequence[Comparison], element_rows: Array, step: Step, column: int) -> Edges:
    n_elements = element_rows.size
    previous = np.empty((n_elements, len(edges)), np.int64)
    current = np.empty((n_elements, len(edges)), np.int64)
    valid = np.ones((n_elements, 2 * len(edges)), np.bool_)
    selected = np.arange(n_elements)
    table = Table((*[element_rows] * column, as_lists(element_rows)), element_rows, element_rows)
    scope = Scope(step.events, table, selected, {column: element_rows}, {column: element_rows})
    for number, edge in enumerate(edges):
        ordered = edge.operator not in ("=", "!=")
        for side, matrix, offset in ((edge.left, previous, 0), (edge.right, current, 1)):
            values = evaluate(side, scope)
            matrix[:, number] = comparable(values, step.events.strings, ordered=ordered)
            valid[:, 2 * number + offset] = values.validity
    return Edges(previous, current, valid, masks_of(edge.operator for edge in edges))
