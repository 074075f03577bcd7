"""Run cases on the engine, without Spark, and bring its matches to the reference's form."""

import datetime as dt
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from tests.helpers.strategies import Case

from weft.codec import from_json, to_json
from weft.errors import BudgetError, QueryError
from weft.optimizer.pipeline import optimize
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan, TimeoutBranch
from weft.reference.matches import Match, return_values
from weft.reference.timeouts import find_timeouts
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.runtime.columns.layout import Layout
from weft.runtime.matches.emit import arrow_type, emit, match_schema
from weft.runtime.matches.execute import Executor, Found
from weft.runtime.matches.program import Program
from weft.runtime.matches.state import END_OF_TIME
from weft.runtime.matches.walk import new_walker, walk_steps
from weft.schema import MAX_DECIMAL_DIGITS, Schema, Type

Bindings = frozenset[tuple[str, tuple[object, ...]]]
Timeouts = dict[tuple[Bindings, str | None], dict[str, object]]  # by the chain and what it misses
STEPS = 50  # of the search for a plan: as many on every machine, so that every run tests the same plans
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True)
class Outcome:
    """The matches of each query as bindings, and their RETURN values; its timeouts, if it has any."""

    matches: dict[str, dict[Bindings, dict[str, object]]]
    ids: dict[str, list[str]]
    timeouts: dict[str, Timeouts] = field(default_factory=dict)


def derived_schema(case: Case) -> Schema:
    """Return the case's schema; derived types are declared when an event has several types."""
    types = {name for event in case.events for name in event.types}
    overlap = any(len(event.types) > 1 for event in case.events)
    return Schema(
        case.schema.attributes, case.schema.time, frozenset(types) if overlap else None, types_overlap=overlap
    )


def input_type(kind: Type) -> pa.DataType:
    """Return the Arrow type of an attribute; what is emitted may have one digit more."""
    return pa.decimal128(MAX_DECIMAL_DIGITS, kind.scale) if kind.kind == "decimal" else arrow_type(kind)


def arrow_events(case: Case) -> tuple[pa.Table, Layout]:
    """Return the events of a case as an Arrow table, in order of arrival, with its layout."""
    events = case.events
    attributes = case.schema.attributes
    columns = {
        name: pa.array([event.attributes.get(name) for event in events], input_type(kind))
        for name, kind in attributes.items()
    }
    type_names = tuple(sorted({name for event in events for name in event.types}))
    overlap = any(len(event.types) > 1 for event in events)
    columns["__row"] = pa.array([event.row for event in events], pa.int64())
    columns["__time"] = pa.array([event.time for event in events], pa.int64())
    columns["__id"] = pa.array([event.row if event.id is None else event.id for event in events], pa.int64())
    columns["__type"] = pa.array([min(event.types) for event in events], pa.string())
    columns["__flags"] = pa.array(
        [sum(1 << type_names.index(name) for name in event.types) for event in events], pa.int64()
    )
    layout = Layout(
        time="__time",
        type=None if overlap else "__type",
        id="__id",
        content=None,
        tie=case.order_by,
        attributes={name: (name, kind) for name, kind in attributes.items()},
        type_names=() if overlap else type_names,
        derived_types=type_names if overlap else (),
        flags=("__flags",) if overlap else (),
        tie_type=None if case.order_by is None else attributes[case.order_by],
    )
    return pa.table(columns), layout


_latest: list[tuple[Case, Plan]] = []


def plan_of(case: Case) -> Plan:
    """Return the plan of a case, after a round trip through JSON; the latest is remembered."""
    if not _latest or _latest[0][0] is not case:
        plan = optimize(case.queries, derived_schema(case), Planning(steps=STEPS, cost="partial-matches"))
        _latest[:] = [(case, from_json("plan", to_json("plan", plan)))]
    return _latest[0][1]


def run_case(case: Case, *, n_batches: int = 1, seed: int = 0) -> Outcome:
    """Run a case in one batch, or in random batches that respect a random frontier."""
    return run_plan(case, plan_of(case), n_batches=n_batches, seed=seed)


def ids_of_all(case: Case) -> dict[str, dict[Bindings, str]]:
    """Return the id of every match of each query."""
    outcome = run_case(case)
    return {name: dict(zip(own, outcome.ids[name], strict=True)) for name, own in outcome.matches.items()}


def run_with_budget(case: Case, budget: Budget) -> Outcome | None:
    """Run a case in one batch; None when it exceeds the budget."""
    try:
        return run_plan(case, plan_of(case), budget=budget)
    except BudgetError:
        return None


def run_plan(
    case: Case, plan: Plan, *, n_batches: int = 1, seed: int = 0, budget: Budget | None = None
) -> Outcome:
    """Run a plan on the events of a case, as `run_case` does."""
    table, layout = arrow_events(case)
    executor = Executor(Program(plan), budget)
    events = ingest(table, layout)
    found = executor.run(events) if n_batches == 1 else _in_batches(executor, events, n_batches, seed)
    return outcome_of(plan, walked(executor, found))


def walked(executor: Executor, found: Iterable[Found]) -> Iterator[Found]:
    """Return the matches that count, of all that an executor finds, which learns what is skipped."""
    walker = new_walker()
    executor.skipped = walker.skipped
    return walk_steps(found, walker)


def _in_batches(executor: Executor, events: Events, n_batches: int, seed: int) -> Iterable[Found]:
    """Deliver events in random order, a frontier being the earliest time not yet delivered."""
    generator = random.Random(seed)
    delivery = [
        (int(time) + generator.choice([0, 0, 600_000, 2_000_000]), row)
        for row, time in enumerate(events.times)
    ]
    rows = [row for _, row in sorted(delivery)]
    cuts = sorted(generator.randint(0, len(rows)) for _ in range(n_batches - 1))
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        later = rows[stop:]
        frontier = min((int(events.times[row]) for row in later), default=END_OF_TIME)
        batch = events.take(np.array(sorted(rows[start:stop]), np.int64))
        yield from executor.process(batch, frontier)


def outcome_of(plan: Plan, found: Iterable[Found]) -> Outcome:
    """Emit the matches as Arrow and read them back."""
    matches: dict[str, dict[Bindings, dict[str, object]]] = {output.query: {} for output in plan.outputs}
    ids: dict[str, list[str]] = {output.query: [] for output in plan.outputs}
    timeouts: dict[str, Timeouts] = {}
    for one in found:
        output = one.output
        names = [f"c{number}" for number in range(len(output.columns))]
        schema = match_schema(pa.int64(), dict(zip(names, (c.type for c in output.columns), strict=True)))
        for row in emit(one, names, schema).to_pylist():
            bindings = bindings_of(row["events"])
            values = {
                column.name: plain(row[name]) for column, name in zip(output.columns, names, strict=True)
            }
            if isinstance(one.source, TimeoutBranch):
                own = timeouts.setdefault(output.query, {})
                assert (bindings, one.source.missing) not in own, "a timeout was emitted twice"
                own[bindings, one.source.missing] = values
            else:
                assert bindings not in matches[output.query], "a match was emitted twice"
                matches[output.query][bindings] = values
                ids[output.query].append(row["match_id"])
    return Outcome(matches, ids, timeouts)


def bindings_of(events: Sequence[dict[str, object]]) -> Bindings:
    """Return variable -> ids of an emitted `events` value."""
    found: dict[str, list[object]] = {}
    for event in events:
        found.setdefault(str(event["variable"]), []).append(event["id"])
    return frozenset((variable, tuple(ids)) for variable, ids in found.items())


def plain(value: object) -> object:
    """Return a value as the reference writes it; NaN as text, so that it equals itself."""
    if isinstance(value, dt.datetime):
        return round((value - EPOCH) / MICROSECOND)
    if isinstance(value, dt.date):
        return (value - EPOCH.date()).days
    if isinstance(value, dt.timedelta):
        return round(value / MICROSECOND)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def expected_outcome(case: Case) -> dict[str, dict[Bindings, dict[str, object]]]:
    """Return the reference's matches by event ids, with their RETURN values."""
    queries = {query.name: query for query in case.queries}
    return {
        name: dict(_by_ids(case, queries[name], match) for match in matches)
        for name, matches in case.expected().items()
    }


def expected_timeouts(case: Case) -> dict[str, Timeouts]:
    """Return the reference's timeouts of each query that asks for them."""
    found: dict[str, Timeouts] = {}
    for query in case.queries:
        if query.policy.timeouts:
            found[query.name] = {}
            for timeout in find_timeouts(query, case.events, tie_break=case.tie_break):
                bindings, values = _by_ids(case, query, timeout.chain)
                found[query.name][bindings, timeout.missing] = values
    return found


def _by_ids(case: Case, query: Query, match: Match) -> tuple[Bindings, dict[str, object]]:
    ids = {event.row: event.identity for event in case.events}
    bindings = frozenset((variable, tuple(ids[row] for row in rows)) for variable, rows in match.bindings)
    values = return_values(query, match, case.events)
    return bindings, {column: plain(value) for column, value in values.items()}


def is_supported(case: Case) -> bool:
    """Say whether the engine accepts a case; a NOT in a NOT may not look outside the outer one."""
    try:
        plan_of(case)
    except QueryError as error:
        assert "inside a NOT" in str(error)
        return False
    return True
