"""Run a SubsetJoin: combinations that have a new event grow by one input after the other."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from weft.expressions import Expression, variables_of
from weft.kernels.arrays import as_input
from weft.kernels.matches.join import OVERFLOW
from weft.kernels.matches.subset_join import (
    Combinations,
    InputEvents,
    PairTests,
    extend_combinations,
    rows_of_combinations,
)
from weft.pattern.canonical import column_variable, rename_variables
from weft.plan.nodes import SubsetJoin
from weft.runtime.columns.compare import Test, Value, compare_columns, evaluate_value, masks_of
from weft.runtime.columns.evaluate import column_number, holds_everywhere
from weft.runtime.columns.events import Array
from weft.runtime.matches.state import Delta, Step, length_of
from weft.runtime.matches.table import Table, empty_table, events_table


@dataclass(frozen=True, slots=True)
class InputTest:
    """A test of the events of two inputs."""

    left: int
    right: int
    test: Test


@dataclass(frozen=True, slots=True)
class InputPredicate:
    """A predicate on events of some inputs that is evaluated on rows of just these."""

    inputs: tuple[int, ...]
    predicate: Expression


@dataclass(frozen=True)
class BoundSubsetJoin:
    """A SubsetJoin with its predicates divided between the kernel and the evaluation of what it finds."""

    node: SubsetJoin

    @cached_property
    def _asked(self) -> tuple[tuple[InputTest, ...], tuple[InputPredicate, ...]]:
        tests: list[InputTest] = []
        rest: list[InputPredicate] = []
        for predicate in self.node.predicates:
            inputs = sorted(map(column_number, variables_of(predicate)))
            names = {column_variable(own): column_variable(place) for place, own in enumerate(inputs)}
            renamed = rename_variables(predicate, names)
            pair = len(inputs) == 2
            comparisons = compare_columns([renamed], (), 1, (False, False)) if pair else None
            if comparisons is not None and comparisons.is_for_kernel:
                tests += (InputTest(inputs[0], inputs[1], test) for test in comparisons.tests)
            else:
                rest.append(InputPredicate(tuple(inputs), renamed))
        return tuple(tests), tuple(rest)

    def new_rows(self, inputs: Sequence[Delta], step: Step) -> Table:
        """Return the combinations with a new event.

        Of those that have several, the input that comes first counts: the inputs before it give old events
        alone.
        """
        if not any(delta.new.n_rows for delta in inputs):
            return empty_table([False] * len(inputs))
        tests, rest = self._asked
        growth = _Growth(self.node, step, self._candidates(inputs, step), tests, rest)
        for number in range(len(inputs)):
            growth.extend(number, 0, only_old=False)
            start = growth.size
            growth.begin(number)
            for earlier in range(number):
                growth.extend(earlier, start, only_old=True)
        return growth.table()

    def _candidates(self, inputs: Sequence[Delta], step: Step) -> InputEvents:
        """Return the events that agree on the keys with some new one."""
        rows = np.concatenate([delta.all.first for delta in inputs])
        is_new = np.concatenate([delta.are_new for delta in inputs])
        numbers = np.repeat(np.arange(len(inputs)), [delta.all.n_rows for delta in inputs])
        groups = step.events.number_groups(self.node.keys, rows)
        order = np.arange(rows.size)
        if self.node.keys:
            concerned = np.zeros(rows.size, np.bool_)  # as many as there may be groups
            concerned[groups[is_new]] = True
            usable = concerned[groups]
            for key in self.node.keys:
                usable &= step.events.columns[key].validity[rows]
            order = np.lexsort((rows, groups, numbers))
            order = order[usable[order]]
        rows, numbers = rows[order], numbers[order]
        starts = np.searchsorted(numbers, np.arange(len(inputs) + 1)).astype(np.int64)
        clocks = step.clock(self.node.extent).values[rows]
        return InputEvents(starts, numbers, rows, groups[order], clocks, is_new[order])


@dataclass
class _Growth:
    """The combinations that were found so far in a step."""

    node: SubsetJoin
    step: Step
    candidates: InputEvents
    tests: tuple[InputTest, ...]
    rest: tuple[InputPredicate, ...]
    found: Combinations = field(default_factory=lambda: Combinations(*[np.empty(0, np.int64)] * 4))

    @property
    def size(self) -> int:
        return int(self.found.parents.size)

    def begin(self, number: int) -> None:
        """Add each new event of an input as a combination by itself."""
        own = np.arange(*self.candidates.starts[number : number + 2])
        places = own[self.candidates.is_new[own]]
        rows = self.candidates.rows[places]
        self._add(Combinations(np.full(places.size, -1), places, rows, rows))
        if self.size > self.step.meter.limit:
            self._check(OVERFLOW, np.array([self.size - 1]))

    def extend(self, number: int, start: int, *, only_old: bool) -> None:
        """Add the combinations from `start` on with an event of an input more."""
        own = slice(*self.candidates.starts[number : number + 2])
        is_new = self.candidates.is_new[own]
        if start == self.size or not is_new.size or (only_old and is_new.all()):
            return
        found, status, n_examined = extend_combinations(
            self.found,
            start,
            self.candidates,
            number,
            self._tests_of(number),
            self._rivals_of(number),
            self._clocks,
            length_of(self.node.extent),
            only_old,
            max(self.step.meter.limit - self.size, 0),
            self.step.meter.remaining(self.node),
        )
        self._check(status, found.parents)
        size = self.size
        self._add(found)
        self._confirm(number, size)
        self.step.meter.count(self.node, examined=n_examined, built=self.size - size)

    def table(self) -> Table:
        """Return all combinations, in which inputs may be absent."""
        order = np.argsort(self.found.lasts, kind="stable")
        rows = self._rows(range(len(self.node.inputs)), order)
        return Table(tuple(rows), self.found.firsts[order], self.found.lasts[order])

    def _rows(self, inputs: Sequence[int], chosen: Array) -> Array:
        """Return the rows that some combinations have of some inputs, a column for each."""
        columns = np.full(len(self.node.inputs), -1)
        columns[list(inputs)] = np.arange(len(inputs))
        return np.asarray(rows_of_combinations(self.found, chosen, self.candidates, columns, len(inputs)))

    def _add(self, more: Combinations) -> None:
        if more.parents.size:
            pairs = zip(self.found, more, strict=True)
            self.found = Combinations(*(np.concatenate(pair) for pair in pairs))

    def _confirm(self, number: int, start: int) -> None:
        """Drop those of the combinations from `start` on, all with an input added, that the rest refuses."""
        kept = np.ones(self.size - start, np.bool_)
        for own in self.rest:
            if number in own.inputs and kept.size:
                rows = self._rows(own.inputs, np.arange(start, self.size))
                asked = np.flatnonzero((rows >= 0).all(axis=0))
                columns = tuple(rows[:, asked])
                holds = holds_everywhere(own.predicate, self.step.events, Table(columns, *columns[:1] * 2))
                kept[asked[~holds]] = False
        if not kept.all():
            chosen = np.concatenate([np.arange(start), start + np.flatnonzero(kept)])
            self.found = Combinations(*(values[chosen] for values in self.found))

    def _check(self, status: int, reached: Array) -> None:
        self.step.check(status, self.node, Table((), self.found.firsts, self.found.lasts), reached)

    @cached_property
    def _clocks(self) -> Array:
        return np.asarray(as_input(self.step.clock(self.node.extent).values))

    def _rivals_of(self, number: int) -> Array:
        """Return the inputs that may hold the same event as one of them."""
        pairs = (pair for pair in self.node.distinct if number in pair)
        return np.array([sum(pair) - number for pair in pairs], np.int64)

    def _tests_of(self, number: int) -> PairTests:
        """Return the tests of an input, the other ones on their left."""
        values, is_valid, offsets = self._values
        asked = [
            (own.left, number, own.test) if own.right == number else (own.right, number, own.test.flipped)
            for own in self.tests
            if number in (own.left, own.right)
        ]
        return PairTests(
            np.array([other for other, _, _ in asked], np.int64),
            np.array([offsets[own, test.right] for _, own, test in asked], np.int64),
            np.array([offsets[other, test.left] for other, _, test in asked], np.int64),
            masks_of(test.operator for _, _, test in asked),
            values,
            is_valid,
        )

    @cached_property
    def _values(self) -> tuple[Array, Array, dict[tuple[int, Value], int]]:
        """The values of all sides of tests, one after the other, which are valid, and where each begins."""
        starts = self.candidates.starts
        sides = [
            side for own in self.tests for side in ((own.left, own.test.left), (own.right, own.test.right))
        ]
        values, is_valid = [np.empty(0, np.int64)], [np.empty(0, np.bool_)]
        offsets: dict[tuple[int, Value], int] = {}
        n_values = 0
        for number, value in dict.fromkeys(sides):
            own = self.candidates.rows[starts[number] : starts[number + 1]]
            found, valid = evaluate_value(value, events_table(own), self.step.events)
            offsets[number, value] = n_values - int(starts[number])
            values.append(found)
            is_valid.append(np.ones(own.size, np.bool_) if valid is None else valid)
            n_values += own.size
        return np.concatenate(values), np.concatenate(is_valid), offsets
