"""The shared plan of a workload, watched and planned anew component by component.

Queries of different components have nothing to share, so each component has statistics of its own: those that
its trees were chosen with. What is answered in one of them leaves all others as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from weft.adaptation.watched_component import Replan, Trees, Watch, WatchedComponent
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.pipeline import plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.stored_plan import StoredPlan
from weft.optimizer.trees import order_tree
from weft.optimizer.weave import Weave
from weft.pattern.components import connected_components
from weft.pattern.nodes import Query
from weft.plan.nodes import Plan
from weft.schema import Schema
from weft.statistics.model import ItemKey, Statistics


class WatchedPlan:
    """The components of queries, each with its trees, in the order of their first queries."""

    def __init__(
        self, queries: Sequence[Query], watch: Watch, components: Sequence[WatchedComponent]
    ) -> None:
        self.queries, self.components = tuple(queries), tuple(components)
        self._watch = watch

    @cached_property
    def trees(self) -> dict[str, Trees]:
        """The trees of each query."""
        found = {name: trees for component in self.components for name, trees in component.trees.items()}
        return {query.name: found[query.name] for query in self.queries}

    @property
    def stored_plan(self) -> StoredPlan:
        """The trees, as they are stored."""
        return StoredPlan(self.trees, self._watch.is_shared)

    @cached_property
    def plan(self) -> Plan:
        """The plan with these trees."""
        weave = self._watch.weave(self.queries, self.trees, Statistics())
        return plan_of_weave(weave, self.queries, self._watch.schema, is_shared=self._watch.is_shared)

    @property
    def cost(self) -> float:
        """What the plan costs, each component under the statistics it was made with."""
        return sum(component.cost for component in self.components)

    @property
    def distances(self) -> list[float]:
        """What the decision functions have learned."""
        return [distance for component in self.components for distance in component.distances]

    def adopt(
        self,
        answers: Mapping[int, Replan],
        *,
        is_taken: bool,
        statistics: Statistics,
        variances: Mapping[ItemKey, float],
    ) -> "WatchedPlan":
        """Return what to watch once the alarms of some components, by their places, are answered."""
        components = list(self.components)
        for place, replan in answers.items():
            components[place] = components[place].adopt(
                replan, is_taken=is_taken, statistics=statistics, variances=variances
            )
        return WatchedPlan(self.queries, self._watch, components)

    def lines(self) -> list[str]:
        """Say when to plan anew; of conditions that are watched, what both sides cost."""
        rules = dict.fromkeys(rule for component in self.components for rule in component.rules)
        watched = [line for component in self.components for line in component.lines()]
        headline = ["Watched, in nanoseconds for a second of events:"] if watched else []
        return [*(f"Planned anew {rule}." for rule in rules), *headline, *watched]


def components_of(
    queries: Sequence[Query], schema: Schema, planning: Planning | None = None
) -> list[tuple[Query, ...]]:
    """Return the queries that are planned together, as they may share parts, directly or not.

    A query whose alternatives are in several components of patterns connects these.
    """
    wanted = replace(planning or Planning(), statistics=None, cost="partial-matches")
    weave: Weave = weave_for(schema, wanted)
    for query in queries:
        weave.add(query, lambda pattern: order_tree(pattern_order(pattern.shape)))
    names = [query.name for query in queries]
    groups = ([name for name, _ in keys] for keys in weave.sharables.components())
    by_name = {query.name: query for query in queries}
    together = connected_components(names, groups)
    return [tuple(by_name[name] for name in component) for component in together]
