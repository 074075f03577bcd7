"""Adapt the plan of a shard: watch its statistics, plan anew when that is called for, switch if it pays.

All that it depends on is in the journal: the trees that run, the statistics each component of them was made
with, those of the latest window, and a log of the latest changes. A step that is repeated decides the same.

Watching takes a small share of the run. A step that is not watched counts its events by type, and nothing
else; one that is watched takes what the operators have counted. The time of a run is reckoned, from its
events and the work of the plan: what the cost model expects, or what was counted if that is more, so that a
plan that drift has made slow is looked at sooner.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import uuid4

from weft.adaptation.decisions import DecisionFunction, Invariants, Static, Threshold, Unconditional
from weft.adaptation.deferred import WAITS
from weft.adaptation.migration import MigratingExecutor, Way
from weft.adaptation.plan_counts import PlanCounts
from weft.adaptation.reckoning import cost_of, work_of
from weft.adaptation.settings import Adaptation
from weft.adaptation.shard_state import ShardState, StateReader
from weft.adaptation.watched_component import Alarm, Replan, Watch, WatchedComponent
from weft.cost.measured import Measured
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget
from weft.runtime.columns.events import Events
from weft.runtime.stages.shard_executor import AdapterState, Observation, PlanChange, ShardExecutor
from weft.schema import Schema
from weft.statistics.model import Statistics
from weft.statistics.sampling import Sampling
from weft.statistics.sliding_counts import UnwatchedSteps

MOST_LOGGED = 16
MOST_KNOWN = 64  # states and plans that a process has at hand
PER_LOOK, PER_QUESTION = 1e6, 5e5  # nanoseconds to watch a step, and for each selectivity that is drawn for
KEPT_BEST = "its trees are still the best found"
KEPT_SHARED = "other trees are cheaper for the query alone, but not in the shared plan"


class StreamAdapter:
    """Adapts the plans of the shards of one part of a stream.

    `statistics` are those of a shard when the plan was made, but agreement on keys that are `guessed` was not
    known. `cost` is what the plan costs there in nanoseconds for a second of events, where that is known.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        schema: Schema,
        stored_plan: StoredPlan,
        statistics: Statistics,
        adaptation: Adaptation,
        cost: float | None = None,
        *,
        planning: Planning | None = None,
        guessed: Collection[str] = (),
    ) -> None:
        self.adaptation = adaptation
        self.statistics = statistics
        self._model = Measured().at_rate(statistics.events_per_second)
        planning = planning or Planning()
        watch = Watch(schema, self._model, self._decision, stored_plan.is_shared, planning)
        varies = adaptation.selection == "violation-probability"
        self.reader = StateReader(queries, watch, stored_plan, statistics, varies=varies, guessed=guessed)
        self._cost = cost
        self._known: dict[str, ShardState] = {}
        self._counts: list[PlanCounts] = []

    def lines(self) -> list[str]:
        """Say what is watched in the beginning."""
        return self.reader.first.lines()

    def plan(self, state: AdapterState | None, given: Plan) -> Plan:
        """Return the plan to run now; in the beginning, without a state, the one given."""
        if state is None or not state.passing["version"]:
            return given
        plan = self.reader.watched(self._state(state)).plan
        served, kept = ({output.query for output in plan.outputs} for plan in (plan, given))
        return plan if served == kept else plan.without(frozenset(served - kept))

    def executor(self, plan: Plan, budget: Budget) -> ShardExecutor:
        """Return an executor that `switch` can change."""
        return MigratingExecutor(plan, budget)

    def switch(self, executor: ShardExecutor, plan: Plan, state: AdapterState | None) -> None:
        """Let an executor that is up to date go on with another plan of the same queries."""
        _migrating(executor).switch(plan, "rebuild" if state is None else self._state(state).way)

    def observe(
        self, state: AdapterState | None, executor: ShardExecutor, events: Events, frontier: int
    ) -> Observation:
        """Return the state after a step that took new events."""
        own, running = self._state(state), _migrating(executor)
        self._known.pop("" if state is None else state.token, None)
        is_first, before = state is None or WAITS in state.passing, tuple(own.log)
        own.step += 1
        work = work_of(running.meter, self._model)
        # After a switch in parallel, a recovered shard runs the new plan alone: it counts otherwise.
        cost = cost_of(events, own.cost, work if own.way == "rebuild" else 0.0)
        kept: list[PlanChange] = []
        is_watched = is_first or self._is_due(own, running.plan, cost)
        if is_watched:
            if events.n_events and running.n_plans == 1:
                _note_work(own, work / events.n_events)
            kept = self._watch_step(own, running, events, frontier)
            own.unwatched = UnwatchedSteps()
            own.text = self.reader.write(own)
        else:
            own.unwatched.add(events, own.live.types, cost)
        text, passing = own.text, own.passing(uuid4().hex)
        self._keep(passing["token"], own)
        changes = (*(change for change in own.log if change not in before), *kept)
        return Observation(AdapterState(passing, lambda: text), is_watched, changes)

    def _state(self, given: AdapterState | None) -> ShardState:
        """Return the state of a shard: the one at hand, or what was written of it."""
        if given is None:
            return self.reader.beginning(self._first_cost)
        if WAITS in given.passing:
            return self.reader.after_waiting(given, self._first_cost)
        if given.token not in self._known:
            self._keep(given.token, self.reader.read(given))
        return self._known[given.token]

    @property
    def _first_cost(self) -> float:
        return self.reader.first.cost if self._cost is None else self._cost

    def _keep(self, token: str, state: ShardState) -> None:
        self._known[token] = state
        while len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def _counts_of(self, plan: Plan) -> PlanCounts:
        """Return which nodes of a plan count what; the shards of a process share it."""
        for counts in self._counts:
            if counts.plan is plan:
                return counts
        found = next((counts for counts in self._counts if counts.plan == plan), None)
        if found is None:
            found = PlanCounts(plan, self.reader.inquiry.questions)
            self._counts = [found, *self._counts][:MOST_KNOWN]
        return found

    def _is_due(self, state: ShardState, plan: Plan, cost: float) -> bool:
        """Say whether to watch a step: all of them, or as often as the share of the run allows."""
        share = self.adaptation.watched_share
        if share >= 1 or not cost:
            return share >= 1
        n_drawn = len(self.reader.inquiry.questions) - len(self._counts_of(plan).digests)
        n_drawn = min(n_drawn, Sampling().questions_per_look)
        return share * (state.unwatched.cost + cost) >= PER_LOOK + PER_QUESTION * n_drawn

    def _watch_step(
        self, state: ShardState, executor: MigratingExecutor, events: Events, frontier: int
    ) -> list[PlanChange]:
        """Look at the events of a step, and plan anew where that is called for; return what was kept."""
        counted = None
        if state.way == "rebuild":
            counted = self._counts_of(executor.plan).of_step(executor.meter)
        state.live.catch_up(state.unwatched)
        state.live.observe(events, frontier, counted)
        state.is_awake |= state.live.has_moved or self.adaptation.decide != "invariants"
        return self._answer(state) if events.n_events and state.is_awake else []

    def _is_worth_planning(self, state: ShardState, component: WatchedComponent, known: Statistics) -> bool:
        """Say whether there is more work ahead than it takes to plan: no plan saves more than all of it."""
        if self.adaptation.decide == "unconditional":
            return True
        seconds = self.adaptation.horizon * state.live.window_seconds
        least = self.adaptation.planning * len(component.queries) / seconds
        return component.cost >= least or component.cost_under(known) >= least

    def _answer(self, state: ShardState) -> list[PlanChange]:
        """Plan each component with an alarm anew, and go on with what pays; return why others are kept.

        What is known now is what the next alarms of these components are about; the others stay as they are.
        """
        known, watched = state.live.statistics(), self.reader.watched(state)
        answers: dict[int, Replan] = {}
        reasons: dict[int, str] = {}
        idle: dict[tuple[str, ...], Alarm] = {}
        for place, component in enumerate(watched.components):
            alarm = component.alarm(known)
            if alarm is None:
                continue
            if not self._is_worth_planning(state, component, known):
                idle[component.names] = alarm
                continue
            limit = Limit(steps=self.adaptation.steps)
            answers[place] = replan = component.replan(alarm, known, limit, seed=state.version)
            reason = self._why_kept(component, replan)
            reasons |= {} if reason is None else {place: reason}
        better = {place: replan for place, replan in answers.items() if place not in reasons}
        if better and not self._is_worth_switching(state, better.values()):
            windows = f"{self.adaptation.horizon:g} sliding windows"
            reasons |= dict.fromkeys(better, f"to switch costs more than it saves in {windows}")
            better = {}
        if better:
            self._take(state, better)
        variances = self.reader.variances(state.live, known)
        for chosen, is_taken in ((better, True), (answers.keys() - better.keys(), False)):
            own = {place: answers[place] for place in chosen}
            watched = watched.adopt(own, is_taken=is_taken, statistics=known, variances=variances)
        state.watched, state.cost = watched, watched.cost
        kept = [_kept(state, answers[place], reason) for place, reason in sorted(reasons.items())]
        return kept + self._idle(state, idle)

    def _idle(self, state: ShardState, alarms: Mapping[tuple[str, ...], Alarm]) -> list[PlanChange]:
        """Say once of each component with an alarm why it is not planned anew, as long as it has one."""
        reason = f"planning takes more than all work of {self.adaptation.horizon:g} sliding windows"
        before, state.idle = set(state.idle), sorted(min(names) for names in alarms)
        return [
            PlanChange(state.step, state.version, alarm.sentence, names, state.way, 0.0, kept=reason)
            for names, alarm in alarms.items()
            if min(names) not in before
        ]

    def _why_kept(self, component: WatchedComponent, replan: Replan) -> str | None:
        """Return why a component keeps its trees, or None where others save enough."""
        if all(component.trees[name] == trees for name, trees in replan.trees.items()):
            is_promised = self.adaptation.decide == "invariants"
            return KEPT_SHARED if is_promised else KEPT_BEST
        if replan.gain < self.adaptation.least_gain:
            return f"others save {replan.gain:.1%}, and {self.adaptation.least_gain:.1%} are asked for"
        return None

    def _take(self, state: ShardState, better: Mapping[int, Replan]) -> None:
        """Go on with other trees for some components."""
        state.version, state.way = state.version + 1, self._way
        before, after = _costs(better.values())
        reason = "; ".join(replan.alarm.sentence for replan in better.values())
        queries = tuple(name for replan in better.values() for name in replan.trees)
        change = PlanChange(state.step, state.version, reason, queries, state.way, 1.0 - after / before)
        state.log = [*state.log, change][-MOST_LOGGED:]

    @property
    def _way(self) -> Way:
        """How to switch: a plan that is better repeats a window in less time than the old one runs for it."""
        return self.adaptation.way or "rebuild"

    def _is_worth_switching(self, state: ShardState, better: Iterable[Replan]) -> bool:
        """Say whether new trees save more than it costs to switch: their work for a window."""
        before, after = _costs(better)
        repeated = before if self._way == "parallel" else after
        saved = (before - after) * self.adaptation.horizon * state.live.window_seconds
        return saved > repeated * (self.reader.inquiry.longest or 0.0)

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


def _costs(replans: Iterable[Replan]) -> tuple[float, float]:
    """Return what components cost together, before and after."""
    costs = [(replan.cost_before, replan.cost_after) for replan in replans]
    return sum(before for before, _ in costs), sum(after for _, after in costs)


def _kept(state: ShardState, replan: Replan, reason: str) -> PlanChange:
    """Return the word that an alarm was answered, and the plan stays."""
    sentence, queries = replan.alarm.sentence, tuple(replan.trees)
    return PlanChange(state.step, state.version, sentence, queries, state.way, replan.gain, kept=reason)


def _migrating(executor: ShardExecutor) -> MigratingExecutor:
    """Return an executor that an adapter made."""
    assert isinstance(executor, MigratingExecutor)
    return executor


def _note_work(state: ShardState, latest: float) -> None:
    """Note the work of a step for each event; when it is known for a change, tell what that gained."""
    if state.log and state.log[-1].measured is None:
        before = state.work[0]
        state.log[-1] = replace(state.log[-1], measured=1.0 - latest / before if before > 0 else 0.0)
    state.work = [latest]
