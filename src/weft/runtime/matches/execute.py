"""Run a plan on one shard: walk the graph once per batch, each shared node once."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import perf_counter_ns
from typing import cast

import numpy as np

from weft.errors import BudgetError
from weft.kernels.matches.identity import hash_bindings
from weft.plan.nodes import (
    Await,
    Branch,
    DistinctUnion,
    Filter,
    NegationCheck,
    Node,
    Output,
    Project,
    Scan,
    TimeoutBranch,
    nodes_read,
)
from weft.runtime.budget import Budget, Meter, StepTooLargeError
from weft.runtime.columns.evaluate import holds_everywhere
from weft.runtime.columns.events import Array, Events
from weft.runtime.columns.merge import merge_events
from weft.runtime.matches.chain import BoundChain
from weft.runtime.matches.join import BoundJoin
from weft.runtime.matches.kleene import BoundKleene
from weft.runtime.matches.negation import BoundAbsence
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import END_OF_TIME, Delta, NodeState, States, Step
from weft.runtime.matches.subset_join import BoundSubsetJoin
from weft.runtime.matches.table import Table, concatenate_tables, empty_table, events_table, flatten_events

BATCH_EVENTS = 1_000_000
CALM_PARTS = 8  # parts in a row that fit, after which a larger one is tried
Skipped = Callable[[Output, Events, Array], Array]  # the time before which rows are of no use to an output


@dataclass(frozen=True, slots=True)
class Found:
    """New matches or timeouts of one branch of an output of a plan, as rows of the events they refer to.

    `place` is that of the output in its plan. A walk has yet to choose from the matches of its output; those
    `ahead` come again for a second one. Then `swallowed` says how many the quiet time before each swallowed.
    """

    output: Output
    place: int
    branch: int
    table: Table
    events: Events
    is_ahead: bool = False
    swallowed: Array | None = None

    @property
    def query(self) -> str:
        return self.output.query

    @property
    def source(self) -> Branch | TimeoutBranch:
        """Where the matches come from."""
        return self.output.all_branches[self.branch]

    @property
    def is_timeout(self) -> bool:
        """Whether these are timeouts, and no matches."""
        return isinstance(self.source, TimeoutBranch)

    @property
    def n_rows(self) -> int:
        return self.table.n_rows

    @property
    def moments(self) -> Array:
        """When each match begins."""
        return self.events.times[self.table.first]

    def take(self, rows: Array) -> "Found":
        """Return some of the matches."""
        swallowed = None if self.swallowed is None else self.swallowed[rows]
        return replace(self, table=self.table.take(rows), swallowed=swallowed)


class Executor:
    """Holds the state of a plan on one shard; the same for one big batch and for many small ones.

    The result of all batches together does not depend on how the events were cut into batches, nor on
    the order in which they came, as long as no event is earlier than a frontier announced before.

    Whoever walks the matches may say what they have `skipped`: rows of no use are given up.
    """

    skipped: Skipped | None = None

    def __init__(self, program: Program, budget: Budget | None = None) -> None:
        self.program = program
        self.meter = Meter(budget or Budget(), program.readers)
        self._waiting: Events | None = None
        self._events: Events | None = None
        self._states: States = {
            node: NodeState(empty_table(is_list), empty_table(is_list))
            for node, is_list in program.is_list.items()
        }

    @property
    def known(self) -> tuple[Events, ...]:
        """The events that are kept: those some row may still need, and those not looked at yet."""
        return tuple(events for events in (self._events, self._waiting) if events is not None)

    @property
    def is_waiting(self) -> bool:
        """Whether time alone, without further events, may bring matches."""
        waits = self._waiting is not None and self._waiting.n_events > 0
        return waits or any(state.pending.n_rows for state in self._states.values())

    def exchange(self, change: Callable[[Events], Events]) -> None:
        """Replace the events that are kept by the same events, told in another way."""
        self._events = None if self._events is None else change(self._events)
        self._waiting = None if self._waiting is None else change(self._waiting)

    def run(self, events: Events, frontier: int = END_OF_TIME, oldest: int | None = None) -> Iterator[Found]:
        """Process sorted events in batches of a bounded size; without a frontier, the last there are."""
        start, size, n_calm, is_done = 0, BATCH_EVENTS, 0, False
        while not is_done:
            stop = min(start + size, events.n_events)
            is_done = stop == events.n_events
            reached = frontier if is_done else min(frontier, int(events.times[stop]))
            self.meter.divisible = stop - start > 1
            self._give_up_skipped()
            try:
                yield from self._process_affordable(events.take(slice(start, stop)), reached, oldest)
            except StepTooLargeError:
                size, n_calm, is_done = (stop - start) // 2, 0, False
                continue
            start, n_calm = stop, n_calm + 1
            if n_calm == CALM_PARTS:
                size, n_calm = min(2 * size, BATCH_EVENTS), 0

    def _give_up_skipped(self) -> None:
        """Give up rows that began before what the walks of all their readers have reached."""
        events = self._events
        if self.skipped is None:
            return
        self.meter.few = self.program.skipped
        if events is None:
            return
        for node, outputs in self.program.skipped.items():
            state = self._states[node]
            tables = []
            for table in (state.held, state.pending):
                times = [self.skipped(output, events, table.first) for output in outputs if table.n_rows]
                useful = events.times[table.first] >= np.minimum.reduce(times) if times else np.array([True])
                tables.append(table if useful.all() else table.take(np.flatnonzero(useful)))
            self._states[node] = NodeState(*tables)

    def _process_affordable(self, batch: Events, frontier: int, oldest: int | None) -> list[Found]:
        """Process a batch; where queries may be stopped, once more without those that exceed their budget.

        A batch that fails has changed nothing, so the others go on as if they had been alone.
        """
        while True:
            examined = self.meter.examined.copy()
            try:
                return self.process(batch, frontier, oldest)
            except BudgetError as error:
                self._go_on_with(self.program_after(error))
                self.meter.examined = examined

    def program_after(self, error: BudgetError) -> Program:
        """Return what to go on with after queries exceeded their budget, or raise the error."""
        raise error

    def _go_on_with(self, program: Program) -> None:
        """Leave out the outputs that a program lacks; what the others need is kept."""
        self.program = program
        self.meter.readers = program.readers
        self._states = {node: self._states[node] for node in program.order}

    def process(self, batch: Events, frontier: int, oldest: int | None = None) -> list[Found]:
        """Take a batch of sorted events; return the matches it completes.

        `frontier` promises that no later batch holds an event before that time. Where `oldest` is given, it
        says so of negated events only, and others promise no more than that no match to come, nor the scope
        of its negations, has an event before `oldest`.
        """
        admitted, waiting = self._admit(batch, frontier)
        events, moved, places = self._merge(admitted)
        is_new = np.zeros(events.n_events, np.bool_)
        is_new[places] = True
        step = Step(events, is_new, frontier, self.meter)
        deltas: dict[Node, Delta] = {}
        states: States = {}
        for node in self.program.order:
            state = self._states[node]
            if moved is not None:
                state = NodeState(state.held.moved(moved), state.pending.moved(moved))
            started = perf_counter_ns()
            try:
                new, pending = self._new_rows(node, deltas, state, step)
            finally:
                self.meter.nanoseconds[node] += perf_counter_ns() - started
            deltas[node] = Delta(state.held, new)
            states[node] = NodeState(state.held, pending)
        matches = [
            Found(output, place, number, deltas[node].new, events, node is not branch.node)
            for place, output in enumerate(self.program.plan.outputs)
            for number, branch in enumerate(output.all_branches)
            for node in nodes_read(output, branch)
            if deltas[node].new.n_rows
        ]
        self._commit(events, states, deltas, step, oldest)
        self._waiting = waiting
        for node, delta in deltas.items():
            self.meter.rows[node] += delta.new.n_rows
        return matches

    def _admit(self, batch: Events, frontier: int) -> tuple[Events, Events | None]:
        """Return the events to process now, and those to keep back.

        A position is known only when all earlier events are: count windows wait for the frontier.
        """
        known = batch if self._waiting is None else merge_events(self._waiting, batch)[0]
        if frontier == END_OF_TIME or not self.program.counts_positions:
            return known, None
        n_admitted = int(np.searchsorted(known.times, frontier, side="left"))
        return known.take(slice(0, n_admitted)), known.take(slice(n_admitted, None))

    def _merge(self, batch: Events) -> tuple[Events, Array | None, Array]:
        if self._events is None:
            return batch, None, np.arange(batch.n_events)
        return merge_events(self._events, batch)

    def _new_rows(
        self, node: Node, deltas: Mapping[Node, Delta], state: NodeState, step: Step
    ) -> tuple[Table, Table]:
        """Return the rows that a batch adds to a node, and those it cannot decide yet."""
        bound = self.program.bound[node]

        def rows_of(negated: Node) -> Table:
            return deltas[negated].all

        match node:
            case Scan(type=name):
                rows = step.events.rows_of_type(name)
                return events_table(rows[step.is_new[rows]]), state.pending
            case Filter(input=source, predicates=predicates):
                table = deltas[source].new
                for predicate in predicates:
                    table = table.take(np.flatnonzero(holds_everywhere(predicate, step.events, table)))
                return table, state.pending
            case Project(input=source):
                return _project_rows(node, deltas[source].new, step), state.pending
            case DistinctUnion(inputs=inputs):
                candidates = concatenate_tables([deltas[source].new for source in inputs])
                return _drop_seen(candidates, state.held), state.pending
            case Await(input=source, extent=extent, since=since):
                waiting = concatenate_tables([state.pending, deltas[source].new])
                ready = step.is_past(waiting.first if since == "first" else waiting.last, extent)
                return waiting.take(np.flatnonzero(ready)), waiting.take(np.flatnonzero(~ready))
        if isinstance(bound, BoundJoin):
            return bound.new_rows(deltas[bound.node.left], deltas[bound.node.right], step), state.pending
        if isinstance(bound, BoundSubsetJoin):
            return bound.new_rows([deltas[source] for source in bound.node.inputs], step), state.pending
        if isinstance(bound, BoundKleene):
            joined = None if bound.node.input is None else deltas[bound.node.input]
            elements = deltas[bound.node.elements]
            return bound.new_rows(joined, elements, rows_of, step), state.pending
        if isinstance(bound, BoundChain):
            return bound.advance(
                state.pending, deltas[bound.node.input].new, deltas[bound.node.elements].new, step
            )
        if isinstance(bound, BoundAbsence) and isinstance(bound.node, NegationCheck):
            waiting = concatenate_tables([state.pending, deltas[bound.node.input].new])
            ready = bound.is_decidable(waiting, step)
            decided = waiting.take(np.flatnonzero(ready))
            violated = bound.is_violated(decided, rows_of, step)
            return decided.take(np.flatnonzero(~violated)), waiting.take(np.flatnonzero(~ready))
        raise TypeError(f"cannot run {type(node).__name__}")

    def _commit(
        self,
        events: Events,
        states: States,
        deltas: Mapping[Node, Delta],
        step: Step,
        oldest: int | None,
    ) -> None:
        """Keep what later batches may need, and nothing else."""
        for node in self.program.order:
            state = states[node]
            state.held = self._held(node, deltas[node], step, oldest)
            self.meter.check_held(node, state.held.n_rows + state.pending.n_rows)
        n_dropped = _n_forgotten(events, states.values(), step.frontier if oldest is None else oldest)
        if n_dropped:
            for state in states.values():
                state.held = state.held.shifted(n_dropped)
                state.pending = state.pending.shifted(n_dropped)
            events = events.take(slice(n_dropped, None))
        self._events, self._states = events, states

    def _held(self, node: Node, delta: Delta, step: Step, oldest: int | None) -> Table:
        if node not in self.program.needs or step.frontier == END_OF_TIME:
            return empty_table(self.program.is_list[node])
        table = delta.all
        if oldest is not None:
            past = step.events.times[table.first] < oldest
        else:
            past = np.ones(table.n_rows, np.bool_)
            for need in self.program.needs[node]:
                past &= step.is_past(table.first if need.since == "first" else table.last, need.reach)
        return table.take(np.flatnonzero(~past)) if past.any() else table


def _n_forgotten(events: Events, states: Iterable[NodeState], frontier: int) -> int:
    """Return how many of the earliest events no row kept refers to; those of one time stay together."""
    tables = [table for state in states for table in (state.held, state.pending) if table.n_rows]
    earliest = min((int(table.first.min()) for table in tables), default=events.n_events)
    if earliest < events.n_events:
        frontier = min(frontier, int(events.times[earliest]))
    return int(np.searchsorted(events.times, frontier, side="left"))


def _project_rows(node: Project, table: Table, step: Step) -> Table:
    columns = tuple(table.columns[column] for column in node.columns)
    projected = Table(columns, table.first, table.last)
    fits = np.ones(table.n_rows, np.bool_)
    if node.extent is not None:
        clock = step.clock(node.extent).values
        fits &= clock[table.last] - clock[table.first] <= node.extent.length
    for earlier, later in node.order:
        ranks = [step.events.ranks[cast(Array, columns[column])] for column in (earlier, later)]
        fits &= ranks[0] < ranks[1]
    return projected if fits.all() else projected.take(np.flatnonzero(fits))


def _drop_seen(candidates: Table, seen: Table) -> Table:
    """Return the rows that are not among those seen, equal rows once."""
    keys = np.concatenate([_row_keys(seen), _row_keys(candidates)])
    _, first_places = np.unique(keys, return_index=True)
    fresh = np.sort(first_places[first_places >= seen.n_rows]) - seen.n_rows
    return candidates.take(fresh)


def _row_keys(table: Table) -> Array:
    """Return a 128-bit key of each row."""
    offsets, numbers, rows = flatten_events(table, range(len(table.columns)))
    places, hashes = np.arange(rows.size), np.arange(len(table.columns), dtype=np.uint64)
    lanes = hash_bindings(offsets, hashes, numbers, rows.astype(np.uint64), places, np.array([1, 2]))
    return np.asarray(lanes).view([("high", np.uint64), ("low", np.uint64)]).reshape(-1)
