"""Change the plan of a shard while it runs: every match comes out once, from one of the plans.

Idea: In parallel, the old plan serves the matches with an event from before the switch, the new plan those
    of new events alone, until no match with an old event can come any more; then it goes. Or the new plan is
    rebuilt from the events that are kept, and the old one goes at once; what is the same in both goes on.
Reference: I. Kolchinsky, A. Schuster, "Efficient Adaptive Detection of Complex Event Patterns", PVLDB 2018,
    section 2.2, for the parallel way.
Differs: New is what arrives after the switch, whatever its time. The new plan sees old events too where
    they may negate, and counts them where windows count events. Of types that only begin matches, the
    old plan sees no event that is later than all old ones. Further switches may follow meanwhile.
Complexity: In parallel, the work of both plans for about a window, the old one's without what new events
    begin; rebuilt, that of the components that change on the events kept.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np

from weft.adaptation.plan_tenure import PlanTenure, hide, negated_types
from weft.plan.nodes import Plan
from weft.runtime.budget import Budget, Meter, Stopped
from weft.runtime.columns.events import Events
from weft.runtime.columns.merge import merge_events
from weft.runtime.matches.execute import Found, Skipped
from weft.runtime.matches.executor import MatchExecutor
from weft.runtime.stages.shard_executor import Activity, Arrivals, Holdings
from weft.runtime.state.journal import BEGINNING
from weft.runtime.state.segments import arrivals_of

Way = Literal["parallel", "rebuild"]


class MigratingExecutor:
    """Runs a plan in a shard, and goes on with another one of the same queries when told to."""

    stopped: Stopped | None = None

    def __init__(self, plan: Plan, budget: Budget) -> None:
        self._budget = budget
        self._skipped: Skipped | None = None
        self._since: Mapping[str, int] = {output.query: 0 for output in plan.outputs}
        self._tenures = [PlanTenure(MatchExecutor(plan, budget))]
        self._log: Events | None = None  # while there are several plans: all events that one of them keeps
        self._frontier = BEGINNING

    @property
    def plan(self) -> Plan:
        """The latest plan."""
        return self._latest.plan

    @property
    def n_plans(self) -> int:
        """How many plans run: the latest, and old ones that still serve matches."""
        return len(self._tenures)

    @property
    def meter(self) -> Meter:
        """What the latest plan did in this step."""
        return self._latest.meter

    @property
    def activity(self) -> Activity:
        return self._latest.activity

    @property
    def known(self) -> tuple[Events, ...]:
        return self._latest.known if self._log is None else (self._log,)

    @property
    def skipped(self) -> Skipped | None:
        """What the walk of the matches has no use for any more, whichever plan finds it."""
        return self._skipped

    @skipped.setter
    def skipped(self, skipped: Skipped | None) -> None:
        self._skipped = skipped
        for tenure in self._tenures:
            tenure.executor.skipped = skipped

    @property
    def needs_every_event(self) -> bool:
        return any(tenure.executor.needs_every_event for tenure in self._tenures)

    @property
    def holdings(self) -> Holdings:
        events, partial_matches = Counter[str](), Counter[str]()
        for tenure in self._tenures:
            events.update(tenure.executor.holdings.events)
            partial_matches.update(tenure.executor.holdings.partial_matches)
        return Holdings(events, partial_matches)

    @property
    def _latest(self) -> MatchExecutor:
        return self._tenures[-1].executor

    def exchange(self, change: Callable[[Events], Events]) -> None:
        self._log = None if self._log is None else change(self._log)
        for tenure in self._tenures:
            tenure.executor.exchange(change)

    def begin(self, budget: Budget, since: Mapping[str, int]) -> None:
        self._budget, self._since = budget, since
        for tenure in self._tenures:
            tenure.executor.begin(budget, since)

    def repeat(self, arrivals: Arrivals, frontier: int) -> None:
        for tenure in self._tenures:
            tenure.executor.repeat(Arrivals(tenure.visible(arrivals.events)), frontier)
        self._advance(arrivals.events, frontier)

    def step(self, arrivals: Arrivals, frontier: int) -> Iterator[Found]:
        for tenure in reversed(self._tenures):
            for matches in tenure.executor.step(Arrivals(tenure.visible(arrivals.events)), frontier):
                own = tenure.own_matches(matches)
                if own.n_rows:
                    yield own
        self._advance(arrivals.events, frontier)

    def wakes_at(self, frontier: int) -> int | None:
        moments = [tenure.executor.wakes_at(frontier) for tenure in self._tenures]
        return min((moment for moment in moments if moment is not None), default=None)

    def switch(self, plan: Plan, way: Way) -> None:
        """Go on with another plan of the same queries; if rebuilding exceeds the budget, nothing changes."""
        _check_queries(self.plan, plan)
        if plan == self.plan:
            return
        executor = MatchExecutor(plan, self._budget)
        executor.skipped = self._skipped
        executor.begin(self._budget, self._since)
        log = self._everything()
        if log is None or way == "rebuild":
            rebuilt = self._latest.rebuilt(plan, self._frontier) if self.n_plans == 1 else None
            if rebuilt is not None:
                executor = rebuilt
                executor.begin(self._budget, self._since)
            elif log is not None:
                executor.repeat(Arrivals(log), self._frontier)
            self._tenures, self._log = [PlanTenure(executor)], None
        else:
            self._run_beside(executor, log)

    def _run_beside(self, executor: MatchExecutor, log: Events) -> None:
        """Let a plan serve the matches of events to come alone; of those so far it sees what may negate."""
        unseen = {*log.type_names, *log.flags} - negated_types(executor.plan)
        seen = hide(log, unseen, np.ones(log.n_events, np.bool_))
        executor.repeat(Arrivals(seen), self._frontier)
        first = int(arrivals_of(log).max()) + 1
        ended = self._tenures[-1].end(first, int(log.times[-1]))
        self._tenures, self._log = [*self._tenures[:-1], ended, PlanTenure(executor, first)], log
        self._retire()

    def _everything(self) -> Events | None:
        """Return all events that are kept, or None."""
        parts = [events for events in self.known if events.n_events]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else merge_events(parts[0], parts[1])[0]

    def _advance(self, events: Events, frontier: int) -> None:
        self._frontier = frontier
        if self._log is not None:
            self._log = merge_events(self._log, events)[0]
            self._retire()

    def _retire(self) -> None:
        """Give up plans that serve no match to come, and events that nobody needs."""
        self._tenures = [tenure for tenure in self._tenures if not tenure.is_over(self._frontier)]
        if len(self._tenures) == 1:
            self._log = None
        elif self._log is not None:
            kept = [events for tenure in self._tenures for events in tenure.executor.known if events.n_events]
            oldest = min([self._frontier, *(int(events.times[0]) for events in kept)])
            n_forgotten = int(np.searchsorted(self._log.times, oldest, side="left"))
            self._log = self._log.take(slice(n_forgotten, None))


def _check_queries(old: Plan, new: Plan) -> None:
    ours, theirs = ({output.query for output in plan.outputs} for plan in (old, new))
    if ours != theirs:
        raise ValueError(
            f"the new plan answers {', '.join(sorted(theirs)) or 'nothing'}, the old one "
            f"{', '.join(sorted(ours)) or 'nothing'}; switch to a plan of the same queries, or start anew"
        )
