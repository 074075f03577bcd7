"""Adapt the plan of a shard: watch its statistics, plan anew when that is called for, switch if it pays.

All that it depends on is in the journal: the trees that run, the statistics it was made with, those of
the latest window, and a log of the latest changes. A step that is repeated decides the same.

Watching takes a small share of the run. A step that is not watched counts its events by type, and nothing
else. The time of a run is not measured but reckoned, from the number of events and the work of the plan: what
the cost model expects, or what was counted if that is more, so that a plan that drift has made slow is looked
at sooner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any
from uuid import uuid4

from weft.adaptation.decisions import DecisionFunction, Invariants, Static, Threshold, Unconditional
from weft.adaptation.migration import MigratingExecutor, Way
from weft.adaptation.settings import Adaptation
from weft.adaptation.watched_plan import Alarm, Replan, WatchedPlan
from weft.cost.measured import Measured
from weft.normalize.pipeline import normalize
from weft.optimizer.shape_of import inquiry_of
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.stages.shard_executor import Observation, PlanChange, ShardExecutor
from weft.schema import Schema
from weft.statistics.live import LiveStatistics
from weft.statistics.model import ItemKey, Statistics
from weft.statistics.sliding_counts import UnwatchedSteps

MOST_LOGGED = 16
MOST_KNOWN = 64  # states and plans that a process has at hand
PER_EVENT = 1000.0  # nanoseconds that Spark takes to bring an event to a shard, at least
PER_LOOK, PER_QUESTION = 1e6, 5e5  # nanoseconds to watch a step, and for each selectivity that is asked for


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
        self._inquiry = inquiry_of([form for query in queries for form in normalize(query)])
        self._groups = sorted({question.group for question in self._inquiry.questions}, key=repr)
        self._known: dict[str, _ShardState] = {}
        self._plans: dict[str, Plan] = {}

    def lines(self) -> list[str]:
        """Say what is watched in the beginning."""
        return self._state(None).watched.lines()

    def plan(self, state: Mapping[str, Any] | None, given: Plan) -> Plan:
        """Return the plan to run now; in the beginning, without a state, the one given."""
        if state is None or state["plan"] is None:
            return given
        text = state["plan"]
        if text not in self._plans:
            known = self._known.get(state["token"]) or self._state(state)
            if len(self._plans) >= MOST_KNOWN:
                self._plans.clear()
            self._plans[text] = known.watched.plan
        served, kept = ({output.query for output in plan.outputs} for plan in (self._plans[text], given))
        return self._plans[text].without(frozenset(served - kept))

    def executor(self, plan: Plan, budget: Budget) -> ShardExecutor:
        """Return an executor that `switch` can change."""
        return MigratingExecutor(plan, budget)

    def switch(self, executor: ShardExecutor, plan: Plan, state: Mapping[str, Any] | None) -> None:
        """Let an executor that is up to date go on with another plan of the same queries."""
        _migrating(executor).switch(plan, "rebuild" if state is None else state["way"])

    def observe(
        self, state: Mapping[str, Any] | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        """Return the state after a step that took new events."""
        known = self._known.pop(state["token"], None) if state is not None else None
        own = known or self._state(state)
        is_first, version = not own.step, own.version
        own.step += 1
        work = self._work(_migrating(executor))
        # After a switch in parallel, a recovered shard runs the new plan alone: it counts otherwise.
        cost = cost_of(events, own.watched.cost, work if own.way == "rebuild" else 0.0)
        if is_first or self._is_due(own, cost):
            if events.n_events and _migrating(executor).n_plans == 1:
                _note_work(own, work / events.n_events)
            self._watch_step(own, events, frontier)
            own.unwatched, own.stored = UnwatchedSteps(), self._to_json(own)
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
        share, n_questions = self.adaptation.watching, len(self._inquiry.questions)
        passed = state.unwatched.cost + cost
        return share >= 1 or (cost > 0 and share * passed >= PER_LOOK + PER_QUESTION * n_questions)

    def _watch_step(self, state: _ShardState, events: Events, frontier: int) -> None:
        """Look at the events of a step, and plan anew where that is called for."""
        state.live.catch_up(state.unwatched)
        state.live.observe(events, frontier)
        known = state.live.statistics()
        if events.n_events and self._is_worth_planning(state, known):
            alarms = state.watched.alarms(known)
            if alarms:
                self._answer(state, alarms, known)

    def _work(self, executor: MigratingExecutor) -> float:
        """Return the nanoseconds that the rows built and examined in this step stand for."""
        built, examined = (sum(own.values()) for own in (executor.meter.built, executor.meter.examined))
        return self._model.row_out * built + self._model.candidate * examined

    def _is_worth_planning(self, state: _ShardState, known: Statistics) -> bool:
        """Say whether there is more work ahead than it takes to plan: no plan saves more than all of it."""
        seconds = self.adaptation.horizon * state.live.window_seconds
        least = self.adaptation.planning * len(self.queries) / seconds
        return state.watched.cost >= least or state.watched.cost_under(known) >= least

    def _answer(self, state: _ShardState, alarms: Sequence[Alarm], known: Statistics) -> None:
        """Plan each component with an alarm anew, and go on with what pays; all statistics are new."""
        better: Replan | None = None
        for alarm in alarms:
            limit = Limit(steps=self.adaptation.steps)
            replan = state.watched.replan(alarm, known, limit, seed=state.version)
            state.watched.learn(alarm, replan.gain)
            running = state.watched.stored_plan.trees
            is_other = any(running[name] != trees for name, trees in replan.trees.items())
            if is_other and replan.gain >= self.adaptation.least_gain:
                better = replan if better is None else better.beside(replan)
        stored_plan = state.watched.stored_plan
        if better is not None and self._is_worth_switching(state, better):
            state.version, state.way = state.version + 1, self._way
            stored_plan = state.watched.with_trees(better.trees)
            reason, queries = "; ".join(better.reasons), tuple(better.trees)
            change = PlanChange(state.step, state.version, reason, queries, state.way, better.gain)
            state.log = [*state.log, change][-MOST_LOGGED:]
        state.watched.adopt(stored_plan, known, self._variances(state.live, known))

    @property
    def _way(self) -> Way:
        """How to switch: a plan that is better repeats a window in less time than the old one runs for it."""
        return self.adaptation.way or "rebuild"

    def _is_worth_switching(self, state: _ShardState, replan: Replan) -> bool:
        """Say whether a new plan saves more than it costs to switch: the work of a plan for a window."""
        repeated = replan.cost_before if self._way == "parallel" else replan.cost_after
        saved = (replan.cost_before - replan.cost_after) * self.adaptation.horizon * state.live.window_seconds
        return saved > repeated * (self._inquiry.longest or 0.0)

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
        live = LiveStatistics(self._inquiry, initial=self.statistics)
        if stored is None:
            watched = self._watch(self.stored_plan, self.statistics, self._variances(live, self.statistics))
            return _ShardState(0, 0, "rebuild", watched, live, [], [0.0], UnwatchedSteps())
        stored_plan = self.stored_plan if stored["plan"] is None else StoredPlan.from_json(stored["plan"])
        variances = dict(zip(self._inquiry.items, stored["variances"], strict=False))
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
        return {item: live.rate_variance(item, known.rate(item)) for item in self._inquiry.items}

    def _to_json(self, state: _ShardState) -> Mapping[str, Any]:
        """Return all of a state that only steps that are watched change, as values of JSON."""
        watched = state.watched
        return {
            "number": state.version,
            "plan": watched.stored_plan.to_json() if state.version else None,
            "way": state.way,
            "adopted": self._numbers_of(watched.statistics),
            "variances": list(watched.variances.values()),
            "distances": watched.distances,
            "live": state.live.to_json(),
            "log": [{**asdict(change), "queries": list(change.queries)} for change in state.log],
            "work": state.work,
        }

    def _numbers_of(self, known: Statistics) -> list[Any]:
        """Return statistics as numbers, in the order of items, groups and keys."""
        return [
            [known.rate(item) for item in self._inquiry.items],
            [known.selectivity(group) for group in self._groups],
            [known.agreement(key) for key in self._inquiry.keys],
            known.total_rate,
        ]

    def _statistics_of(self, numbers: Sequence[Any]) -> Statistics:
        rates, selectivities, agreements, total_rate = numbers
        return Statistics(
            dict(zip(self._inquiry.items, rates, strict=True)),
            dict(zip(self._groups, selectivities, strict=True)),
            dict(zip(self._inquiry.keys, agreements, strict=True)),
            total_rate,
            self.statistics.duration,
            self.statistics.corrections,
        )


def _migrating(executor: ShardExecutor) -> MigratingExecutor:
    """Return an executor that an adapter made."""
    assert isinstance(executor, MigratingExecutor)
    return executor


def _note_work(state: _ShardState, latest: float) -> None:
    """Note the work of a step for each event; when it is known for a change, tell what that gained."""
    if state.log and state.log[-1].measured is None:
        before = state.work[0]
        state.log[-1] = replace(state.log[-1], measured=1.0 - latest / before if before > 0 else 0.0)
    state.work = [latest]


def cost_of(events: Events, cost_per_second: float, work: float) -> float:
    """Return the nanoseconds that a step takes.

    The plan is expected to cost so many for a second of the stream; `work` are those that the rows it built
    and examined stand for.

    >>> import numpy as np
    >>> import pyarrow as pa
    >>> from weft.runtime.columns.events import StringPool
    >>> times, codes, nothing = np.array([0, 10**6]), np.array([0, 1]), StringPool(pa.array([], "string"))
    >>> events = Events(times, codes, ("A", "B"), {}, pa.array([1, 2]), nothing)
    >>> cost_of(events, 5e6, 0.0), cost_of(events, 5e6, 9e6)
    (5002000.0, 9002000.0)
    """
    if not events.n_events:
        return 0.0
    seconds = int(events.times[-1] - events.times[0]) / 1e6
    return PER_EVENT * events.n_events + max(cost_per_second * seconds, work)
