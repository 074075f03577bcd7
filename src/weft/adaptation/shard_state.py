"""What an adapter remembers of a shard, as text of JSON and back."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from weft.adaptation.migration import Way
from weft.adaptation.watched_component import Watch, WatchedComponent
from weft.adaptation.watched_plan import WatchedPlan, components_of
from weft.normalize.pipeline import normalize
from weft.optimizer.shape_of import inquiry_of
from weft.optimizer.stored_plan import StoredPlan
from weft.pattern.nodes import Query
from weft.runtime.stages.shard_executor import AdapterState, PlanChange
from weft.statistics.live import LiveStatistics
from weft.statistics.model import GroupKey, ItemKey, Statistics
from weft.statistics.sliding_counts import UnwatchedSteps


@dataclass
class ShardState:
    """How far a shard is, what it has counted, and what is watched; that is worked out when it is needed.

    `work` is what was counted in the latest steps, for each event. Until something has moved, the state is
    not `awake`: the plan is what the optimizer has chosen, for reasons that still hold. The `idle`
    components, by their first names, have an alarm, and less work than planning is.
    """

    step: int
    version: int
    way: Way
    cost: float
    live: LiveStatistics
    log: list[PlanChange]
    work: list[float]
    unwatched: UnwatchedSteps
    is_awake: bool = False
    idle: list[str] = field(default_factory=list)
    watched: WatchedPlan | None = None
    stored: Mapping[str, Any] = field(default_factory=dict)  # what is watched, as it was written
    text: str = ""

    def passing(self, token: str) -> Mapping[str, Any]:
        """Return what every step changes."""
        return {
            "token": token,
            "step": self.step,
            "version": self.version,
            "unwatched": self.unwatched.to_json(),
        }


class StateReader:
    """Reads and writes the states of the shards of one workload."""

    def __init__(
        self,
        queries: Sequence[Query],
        watch: Watch,
        stored_plan: StoredPlan,
        statistics: Statistics,
        *,
        varies: bool = False,
        guessed: Collection[str] = (),
    ) -> None:
        self.queries, self._watch, self._varies, self._guessed = tuple(queries), watch, varies, guessed
        self._stored_plan, self._statistics = stored_plan, statistics
        self.inquiry = inquiry_of([form for query in queries for form in normalize(query)])
        self._asked: dict[tuple[str, ...], _Asked] = {}

    @cached_property
    def components(self) -> list[tuple[Query, ...]]:
        """The queries that are planned together."""
        return components_of(self.queries, self._watch.schema, self._watch.planning)

    @cached_property
    def first(self) -> WatchedPlan:
        """What is watched in the beginning, the same in every shard."""
        trees = self._stored_plan.trees
        variances = self.variances(self.beginning(0.0).live, self._statistics)
        components = []
        for queries in self.components:
            own = {query.name: trees[query.name] for query in queries}
            components.append(WatchedComponent(queries, self._watch, own, self._statistics, variances))
        return WatchedPlan(self.queries, self._watch, components)

    def variances(self, live: LiveStatistics, known: Statistics) -> dict[ItemKey, float]:
        """Return how the rates of items vary, where that is asked for."""
        items = self.inquiry.items if self._varies else ()
        return {item: live.rate_variance(item, known.rate(item)) for item in items}

    def watched(self, state: ShardState) -> WatchedPlan:
        """Return what is watched in a shard."""
        if state.watched is None:
            state.watched = self._read_watched(state.stored) if state.stored else self.first
        return state.watched

    def beginning(self, cost: float) -> ShardState:
        """Return the state of a shard before its first step."""
        live = LiveStatistics(self.inquiry, initial=self._statistics, guessed=self._guessed)
        return ShardState(0, 0, "rebuild", cost, live, [], [0.0], UnwatchedSteps())

    def after_waiting(self, given: AdapterState, cost: float) -> ShardState:
        """Return the state of a shard of which nothing but its events was counted."""
        unwatched = UnwatchedSteps.from_json(given.passing["unwatched"])
        return replace(self.beginning(cost), step=given.passing["step"], unwatched=unwatched)

    def write(self, state: ShardState) -> str:
        """Return all of a state that only steps that are watched change."""
        components = state.stored
        if state.watched is not None:
            components = {
                "plan": state.watched.stored_plan.to_json() if state.version else None,
                "components": {
                    min(component.names): self._write_component(component)
                    for component in state.watched.components
                    if component.statistics is not self._statistics
                },
            }
        written = {
            "way": state.way,
            "cost": state.cost,
            "awake": state.is_awake,
            "idle": state.idle,
            "live": state.live.to_json(),
            "log": [{**asdict(change), "queries": list(change.queries)} for change in state.log],
            "work": state.work,
            "watched": components,
        }
        return json.dumps(written)

    def read(self, given: AdapterState) -> ShardState:
        """Return the state that `write` gave, with what every step changes."""
        text = given.text()
        known = json.loads(text)
        state = self.beginning(known["cost"])
        state.live.restore(known["live"])
        return replace(
            state,
            step=given.passing["step"],
            version=given.passing["version"],
            way=known["way"],
            log=[PlanChange(**{**change, "queries": tuple(change["queries"])}) for change in known["log"]],
            work=list(known["work"]),
            unwatched=UnwatchedSteps.from_json(given.passing["unwatched"]),
            is_awake=known["awake"],
            idle=list(known.get("idle", ())),
            stored=known["watched"],
            text=text,
        )

    def _write_component(self, component: WatchedComponent) -> Mapping[str, Any]:
        asked = self._asked_by(component.queries)
        return {
            "adopted": asked.numbers_of(component.statistics),
            "variances": [component.variances[item] for item in asked.items if component.variances],
            "distances": component.distances,
        }

    def _read_watched(self, stored: Mapping[str, Any]) -> WatchedPlan:
        trees = self._stored_plan.trees
        if stored["plan"] is not None:
            trees = StoredPlan.from_json(stored["plan"]).trees
        components = []
        for place, queries in enumerate(self.components):
            known = stored["components"].get(min(query.name for query in queries))
            if known is None:
                components.append(self.first.components[place])
                continue
            asked = self._asked_by(queries)
            variances = dict(zip(asked.items, known["variances"], strict=False))
            adopted = asked.statistics_of(known["adopted"], self._statistics)
            own = {query.name: trees[query.name] for query in queries}
            components.append(
                WatchedComponent(queries, self._watch, own, adopted, variances, known["distances"])
            )
        return WatchedPlan(self.queries, self._watch, components)

    def _asked_by(self, queries: Sequence[Query]) -> "_Asked":
        names = tuple(query.name for query in queries)
        if names not in self._asked:
            inquiry = inquiry_of([form for query in queries for form in normalize(query)])
            groups = sorted({question.group for question in inquiry.questions}, key=repr)
            self._asked[names] = _Asked(tuple(inquiry.items), tuple(groups), tuple(inquiry.keys))
        return self._asked[names]


@dataclass(frozen=True)
class _Asked:
    """What a component asks of statistics, in an order that does not depend on that of its queries."""

    items: tuple[ItemKey, ...]
    groups: tuple[GroupKey, ...]
    keys: tuple[str, ...]

    def numbers_of(self, known: Statistics) -> list[Any]:
        return [
            [known.rate(item) for item in self.items],
            [known.selectivity(group) for group in self.groups],
            [known.agreement(key) for key in self.keys],
            known.total_rate,
        ]

    def statistics_of(self, numbers: Sequence[Any], initial: Statistics) -> Statistics:
        rates, selectivities, agreements, total_rate = numbers
        return Statistics(
            dict(zip(self.items, rates, strict=True)),
            dict(zip(self.groups, selectivities, strict=True)),
            dict(zip(self.keys, agreements, strict=True)),
            total_rate,
            initial.duration,
            initial.corrections,
        )
