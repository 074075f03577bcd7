"""Run a KleeneExpand: every list of elements that fits an input row."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from weft.expressions import Aggregate, Attribute, Comparison, Expression, flip
from weft.kernels.matches.kleene import Edges, Elements, Rows, expand_lists
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
from weft.runtime.columns.evaluate import Scope, column_number, evaluate
from weft.runtime.columns.events import Array, comparable
from weft.runtime.matches.state import HIGHEST, LOWEST, Delta, Step, length_of
from weft.runtime.matches.table import (
    Lists,
    Table,
    as_lists,
    concatenate_tables,
    empty_table,
    first_rows,
    last_rows,
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

    def new_rows(self, source: Delta | None, elements: Delta, step: Step) -> Table:
        """Return the rows with a new input row or a new element in the list."""
        if source is None:
            return self._expand(elements.all, elements.all, step, seeded=True)
        parts = [empty_table(list_columns(self.node))]
        if source.new.n_rows:
            parts.append(self._expand(source.new, elements.all, step, all_new=True))
        if source.old.n_rows and elements.new.n_rows:
            parts.append(self._expand(source.old, elements.all, step))
        return concatenate_tables(parts)

    def _expand(
        self, table: Table, elements: Table, step: Step, *, seeded: bool = False, all_new: bool = False
    ) -> Table:
        comparisons, edges = self._division
        row_side, element_side = comparisons.left(table, step), comparisons.right(elements, step)
        kept_rows, kept_elements = row_side.rows, element_side.rows
        if not kept_rows.n_rows or not kept_elements.n_rows:
            return empty_table(list_columns(self.node))
        order, runs = hash_runs(row_side, element_side)
        element_rows = kept_elements.first[order]
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
        n_rows, offsets, members, status, n_examined = expand_lists(
            rows,
            Elements(
                step.events.ranks[element_rows],
                element_clocks,
                element_side.values[:, order],
                step.is_new[element_rows],
            ),
            _edge_values(edges, element_rows, step, self.column),
            comparisons.masks,
            self.node.least,
            HIGHEST if self.node.most is None else self.node.most,
            length_of(self.node.extent),
            clock.monotone or grows_in_runs(element_clocks, element_side, order),
            step.meter.limit,
            step.meter.remaining(self.node),
        )
        step.check(status, self.node, kept_rows, n_rows)
        lists = Lists(offsets, element_rows[members])
        result = self._with_lists(kept_rows.take(n_rows), lists, seeded=seeded)
        result = comparisons.confirm(result, step.events)
        step.meter.count(self.node, examined=n_examined, built=result.n_rows)
        return result.sorted()

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


def _edge_values(edges: list[Comparison], element_rows: Array, step: Step, column: int) -> Edges:
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
