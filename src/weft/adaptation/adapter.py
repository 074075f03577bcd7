"""Adapt the plan of a shard: watch its statistics, plan anew when that is called for, switch if it pays.

All that it depends on is in the journal: the trees that run, the statistics it was made with, those of
the latest window, and a log of the latest changes. A step that is repeated decides the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any
from uuid import uuid4

from weft.adaptation.decisions import DecisionFunction, Invariants, Static, Threshold, Unconditional
from weft.adaptation.migration import MigratingExecutor, Prediction, Way, choose_way
from weft.adaptation.settings import Adaptation
from weft.adaptation.watch_budget import cost_of, is_due
from weft.adaptation.watched_plan import Alarm, Replan, WatchedPlan
from weft.cost.measured import Measured
from weft.normalize.pipeline import normalize
from weft.optimizer.shape_of import item_keys, questions_of
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query, TimeWindow
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.stages.shard_executor import Observation, PlanChange, ShardExecutor
from weft.schema import Schema
from weft.statistics.live import LiveStatistics
from weft.statistics.model import GroupKey, ItemKey, Question, Statistics
from weft.statistics.sliding_counts import UnwatchedSteps

MOST_LOGGED = 16
MOST_KNOWN = 64  # states and plans that a process has at hand


@dataclass
class _ShardState:
    """What is in the journal, and what follows from it."""

    step: int
    version: int
    way: Way
    watched: WatchedPlan
    live: LiveStatistics
    log: list[PlanChange]
    work: list[float]  # counted in the latest steps, for each event: before the switch, and since
    unwatched: UnwatchedSteps
    stored: Mapping[str, Any] = field(default_factory=dict)  # all that only steps that are watched change


class StreamAdapter:
    """Adapts the plans of the shards of one part of a stream."""

    def __init__(
        self,
        queries: Sequence[Query],
        schema: Schema,
        stored_plan: StoredPlan,
        statistics: Statistics,
        adaptation: Adaptation,
    ) -> None:
        self.queries = tuple(queries)
        self.schema = schema
        self.stored_plan = stored_plan
        self.statistics = statistics
        self.adaptation = adaptation
        self._model = Measured().at_rate(statistics.events_per_second)
        self._known: dict[str, _ShardState] = {}
        self._plans: dict[str, Plan] = {}

    @cached_property
    def _forms(self) -> list[Any]:
        return [form for query in self.queries for form in normalize(query)]

    @cached_property
    def _items(self) -> list[ItemKey]:
        """The items of all queries, in an order that does not depend on that of the queries."""
        return sorted({key for form in self._forms for key in item_keys(form)}, key=repr)

    @cached_property
    def _questions(self) -> list[Question]:
        found: dict[Question, None] = {}
        for form in self._forms:
            window = form.window.length / 1e6 if isinstance(form.window, TimeWindow) else None
            found |= dict.fromkeys(questions_of(form, window))
        return list(found)

    @cached_property
    def _groups(self) -> list[GroupKey]:
        return sorted({question.group for question in self._questions}, key=repr)

    @cached_property
    def _keys(self) -> list[str]:
        return sorted({key for form in self._forms for key in form.keys})

    def lines(self) -> list[str]:
        """Say what is watched in the beginning."""
        return self._state(None).watched.lines()

    def plan(self, state: Mapping[str, Any] | None, given: Plan) -> Plan:
        """Return the plan to run now; in the beginning, without a state, the one given."""
        if state is None or state["plan"] is None:
            return given
        name = repr(state["plan"])
        if name not in self._plans:
            known = self._known.get(state["token"]) or self._state(state)
            if len(self._plans) >= MOST_KNOWN:
                self._plans.clear()
            self._plans[name] = known.watched.plan
        return self._plans[name].without(_missing(self._plans[name], given))

    def executor(self, plan: Plan, budget: Budget) -> ShardExecutor:
        """Return an executor that `switch` can change."""
        return MigratingExecutor(plan, budget)

    def switch(self, executor: ShardExecutor, plan: Plan, state: Mapping[str, Any] | None) -> None:
        """Let an executor that is up to date go on with another plan of the same queries."""
        if isinstance(executor, MigratingExecutor):
            executor.switch(plan, "rebuild" if state is None else state["way"])

    def observe(
        self, state: Mapping[str, Any] | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        """Return the state after a step that took new events."""
        known = self._known.pop(state["token"], None) if state is not None else None
        own = known or self._state(state)
        is_first, version = not own.step, own.version
        own.step += 1
        # After a switch in parallel, a recovered shard runs the new plan alone: it counts otherwise.
        work = self._work(executor) if own.way == "rebuild" else 0.0
        cost = cost_of(events, own.watched.cost, work)
        if is_first or self._is_due(own, cost):
            self._watch_step(own, executor, events, frontier)
            own.unwatched, own.stored = UnwatchedSteps(), self._stored(own)
        else:
            own.unwatched.add(events, own.live.types, cost)
        token = uuid4().hex
        self._known[token] = own
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]
        passing = {"token": token, "step": own.step, "unwatched": own.unwatched.to_json()}
        changes = tuple(change for change in own.log if change.version > version)
        return Observation({**own.stored, **passing}, changes)

    def _is_due(self, state: _ShardState, cost: float) -> bool:
        """Say whether to watch a step: all of them, or as often as the share of the run allows."""
        share = self.adaptation.watching
        return share >= 1 or (cost > 0 and is_due(state.unwatched, cost, share, len(self._questions)))

    def _watch_step(self, state: _ShardState, executor: ShardExecutor, events: Events, frontier: int) -> None:
        """Look at the events of a step, and plan anew where that is called for."""
        state.live.catch_up(state.unwatched)
        state.live.observe(events, frontier)
        self._measure(state, executor, events)
        known = state.live.statistics()
        if events.n_events and self._is_worth_planning(state, known):
            alarms = state.watched.alarms(known)
            if alarms:
                self._answer(state, alarms, known)

    def _measure(self, state: _ShardState, executor: ShardExecutor, events: Events) -> None:
        """Note the work of the step for each event; when it is known for a change, tell what that gained."""
        if not isinstance(executor, MigratingExecutor) or not events.n_events or executor.n_plans > 1:
            return
        latest = self._work(executor) / events.n_events
        if state.log and state.log[-1].measured is None:
            before = state.work[0]
            gain = 1.0 - latest / before if before > 0 else 0.0
            state.log[-1] = replace(state.log[-1], measured=gain)
        state.work = [latest]

    def _work(self, executor: ShardExecutor) -> float:
        """Return the nanoseconds that the rows built and examined in this step stand for."""
        if not isinstance(executor, MigratingExecutor):
            return 0.0
        built, examined = (sum(own.values()) for own in (executor.meter.built, executor.meter.examined))
        return self._model.row_out * built + self._model.candidate * examined

    def _is_worth_planning(self, state: _ShardState, known: Statistics) -> bool:
        """Say whether there is more work ahead than it takes to plan: no plan saves more than all of it."""
        seconds = self.adaptation.horizon * state.live.window_seconds
        least = self.adaptation.planning * len(self.queries) / seconds
        return state.watched.cost >= least or state.watched.cost_under(known) >= least

    def _answer(self, state: _ShardState, alarms: Sequence[Alarm], known: Statistics) -> None:
        """Plan each component with an alarm anew, and go on with what pays; all statistics are new."""
        found: Replan | None = None
        for alarm in alarms:
            limit = Limit(steps=self.adaptation.steps)
            replan = state.watched.replan(alarm, known, limit, seed=state.version)
            state.watched.learn(alarm, replan.gain)
            if self._is_better(state, replan):
                found = replan if found is None else found.beside(replan)
        variances = self._variances(state.live, known)
        way = None if found is None else self._way(state, found)
        if found is None or way is None:
            state.watched.adopt(state.watched.stored_plan, known, variances)
            return
        state.version += 1
        state.way = way
        state.watched.adopt(state.watched.with_trees(found.trees), known, variances)
        change = PlanChange(
            state.step, state.version, "; ".join(found.reasons), tuple(found.trees), way, found.gain
        )
        state.log = [*state.log, change][-MOST_LOGGED:]

    def _is_better(self, state: _ShardState, found: Replan) -> bool:
        running = state.watched.stored_plan.trees
        is_other = any(running[name] != trees for name, trees in found.trees.items())
        return is_other and found.gain >= self.adaptation.least_gain

    def _way(self, state: _ShardState, found: Replan) -> Way | None:
        """Return how to switch, or None where the new plan does not pay for it."""
        wanted, seconds = self.adaptation, state.live.window_seconds
        rate = max(state.live.statistics().events_per_second, 1e-9)
        predicted = Prediction(
            old=found.cost_before,
            new=found.cost_after,
            rest=self._longest_window,
            buffered=rate * self._longest_window,
            per_event=found.cost_after / rate,
        )
        way = choose_way(predicted, wanted.way)
        cost = predicted.parallel if way == "parallel" else predicted.rebuild
        cost -= predicted.new * predicted.rest  # that it takes to run the new plan at all
        saved = (found.cost_before - found.cost_after) * wanted.horizon * seconds
        return way if saved > cost else None

    @cached_property
    def _longest_window(self) -> float:
        lengths = [form.window.length / 1e6 for form in self._forms if isinstance(form.window, TimeWindow)]
        return max(lengths, default=0.0)

    def _decision(self) -> DecisionFunction:
        wanted = self.adaptation
        match wanted.decide:
            case "invariants":
                return Invariants(
                    self._model, wanted.k, wanted.distance, wanted.selection, switch_cost=wanted.least_gain
                )
            case "threshold":
                return Threshold(wanted.threshold, is_share=wanted.threshold_is == "share")
            case "unconditional":
                return Unconditional()
            case "off":
                return Static()

    def _state(self, stored: Mapping[str, Any] | None) -> _ShardState:
        """Return the state that the journal has, or that of the beginning."""
        live = LiveStatistics(
            self._items,
            self._questions,
            self._keys,
            longest=self._longest_window or None,
            initial=self.statistics,
        )
        if stored is None:
            watched = self._watch(self.stored_plan, self.statistics, self._variances(live, self.statistics))
            return _ShardState(0, 0, "rebuild", watched, live, [], [0.0], UnwatchedSteps())
        stored_plan = self.stored_plan if stored["plan"] is None else _stored_plan_of(stored["plan"])
        variances = dict(zip(self._items, stored["variances"], strict=False))
        watched = self._watch(stored_plan, self._statistics_of(stored["adopted"]), variances)
        watched.tune(stored["distances"])
        live.restore(stored["live"])
        return _ShardState(
            step=stored["step"],
            version=stored["number"],
            way=stored["way"],
            watched=watched,
            live=live,
            log=[PlanChange(**{**change, "queries": tuple(change["queries"])}) for change in stored["log"]],
            work=list(stored["work"]),
            unwatched=UnwatchedSteps.from_json(stored["unwatched"]),
            stored=stored,
        )

    def _watch(
        self, stored_plan: StoredPlan, statistics: Statistics, variances: Mapping[ItemKey, float]
    ) -> WatchedPlan:
        return WatchedPlan(
            self.queries, self.schema, self._model, self._decision, stored_plan, statistics, variances
        )

    def _variances(self, live: LiveStatistics, known: Statistics) -> Mapping[ItemKey, float]:
        """Return how the rates of items vary, where the selection of invariants asks for that."""
        if self.adaptation.selection != "violation-probability":
            return {}
        return {item: live.rate_variance(item, known.rate(item)) for item in self._items}

    def _stored(self, state: _ShardState) -> Mapping[str, Any]:
        """Return all of a state that only steps that are watched change, as values of JSON."""
        watched = state.watched
        return {
            "number": state.version,
            "plan": _plain(watched.stored_plan) if state.version else None,
            "way": state.way,
            "adopted": self._numbers_of(watched.statistics),
            "variances": [watched.variances[item] for item in self._items] if watched.variances else [],
            "distances": watched.distances,
            "live": state.live.to_json(),
            "log": [{**asdict(change), "queries": list(change.queries)} for change in state.log],
            "work": state.work,
        }

    def _numbers_of(self, known: Statistics) -> list[Any]:
        """Return statistics as numbers, in the order of items, groups and keys."""
        return [
            [known.rate(item) for item in self._items],
            [known.selectivity(group) for group in self._groups],
            [known.agreement(key) for key in self._keys],
            known.total_rate,
        ]

    def _statistics_of(self, numbers: Sequence[Any]) -> Statistics:
        rates, selectivities, agreements, total_rate = numbers
        return Statistics(
            dict(zip(self._items, rates, strict=True)),
            dict(zip(self._groups, selectivities, strict=True)),
            dict(zip(self._keys, agreements, strict=True)),
            total_rate,
            self.statistics.duration,
        )


def adapter_of(
    queries: Sequence[Query], schema: Schema, stored_plan: str, statistics: Statistics, adaptation: Adaptation
) -> StreamAdapter:
    """Return an adapter for queries with a stored plan, which is given as JSON."""
    return StreamAdapter(queries, schema, StoredPlan.from_json(stored_plan), statistics, adaptation)


def _plain(stored_plan: StoredPlan) -> dict[str, Any]:
    return {
        "is_shared": stored_plan.is_shared,
        "trees": {name: list(trees) for name, trees in stored_plan.trees.items()},
    }


def _stored_plan_of(plain: Mapping[str, Any]) -> StoredPlan:
    return StoredPlan({name: tuple(trees) for name, trees in plain["trees"].items()}, plain["is_shared"])


def _missing(plan: Plan, given: Plan) -> frozenset[str]:
    """Return the queries of a plan that are not in another."""
    kept = {output.query for output in given.outputs}
    return frozenset(output.query for output in plan.outputs if output.query not in kept)
