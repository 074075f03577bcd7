"""The shared plan of a workload, watched part by part, and planned anew where it is no longer the best.

Idea        Every pattern has a decision function of its own. It watches why the pattern has the tree it
            has, given the parts that it shares, and why it shares these and no others: a part that is
            shared saves more than it costs, one that could be shared does not. When a condition is
            violated, the connected component of the pattern is planned anew, by a search that starts
            from the trees that are there.
Reference   Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns. PVLDB 11(11),
            2018, whose section 7 leaves plans with sharing open; and section 6.2.3 of their Real-Time
            Multi-Pattern Detection over Event Streams. SIGMOD 2019.
Differs     The conditions of sharing price what a pattern needs for itself; what others compute is free. A
            part that is computed for more general demands counts with what it cost when the plan was made.
Complexity  O(K b) prices to verify the invariants of b blocks; planning anew is a search with a limit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from weft.adaptation.decisions import DecisionFunction
from weft.adaptation.invariants import still_best
from weft.cost.model import CostModel
from weft.cost.shape import Shape, items_of
from weft.optimizer.demands import Context
from weft.optimizer.orders.decided import Block, Condition, Decided, Side, local_cost, tree_steps
from weft.optimizer.orders.exact_tree import decide_exact_tree
from weft.optimizer.pipeline import plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.shape_of import shape_of
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.stored_plan import Named, StoredPlan
from weft.optimizer.trees import Tree
from weft.optimizer.weave import Key, Weave
from weft.pattern.components import connected_components
from weft.pattern.nodes import Query, TimeWindow
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Plan
from weft.schema import Schema
from weft.statistics.model import ItemKey, Statistics
from weft.statistics.sub_patterns import item_key

Trees: TypeAlias = tuple[Named, ...]
MOST_OFFERS = 4  # parts that a pattern could share and does not, for which that is watched


@dataclass(frozen=True)
class Alarm:
    """A pattern with a violation, and that in words."""

    key: Key
    sentence: str


@dataclass(frozen=True)
class Replan:
    """New trees for the queries of some components, why, and what these cost before and after."""

    trees: Mapping[str, Trees]
    reasons: tuple[str, ...]
    cost_before: float
    cost_after: float

    @property
    def gain(self) -> float:
        """The share of the cost that the new trees save."""
        return 1.0 - self.cost_after / self.cost_before if self.cost_before > 0 else 0.0

    def beside(self, other: "Replan") -> "Replan":
        """Return these trees and those of another component together."""
        return Replan(
            {**self.trees, **other.trees},
            (*self.reasons, *other.reasons),
            self.cost_before + other.cost_before,
            self.cost_after + other.cost_after,
        )


class ShapeReader:
    """The shape of a pattern under changing statistics, as `shape_of` gives it, without repeated work.

    Rates change all the time, selectivities and agreement seldom: as long as the statistics hold the same
    values of these, only the rates are read. Negations and windows that count events depend on rates too.

    >>> from weft.optimizer.trees import leaf
    >>> from weft.pattern.normal_form import Item
    >>> form = NormalForm((Item("a", "A"),), frozenset(), window=TimeWindow(60_000_000))
    >>> reader = ShapeReader(form, Context(lambda name: None, False, lambda form: leaf(0)))
    >>> [reader.shape(Statistics({ItemKey("A"): rate})).rates for rate in (2.0, 3.0)]
    [(2.0,), (3.0,)]
    """

    def __init__(self, form: NormalForm, context: Context) -> None:
        self._form, self._context = form, context
        self.items = [item_key(item, form) for item in form.items]
        self._reads_rates_alone = isinstance(form.window, TimeWindow) and not form.negations
        self._latest: tuple[Statistics, Shape] | None = None

    def shape(self, statistics: Statistics) -> Shape:
        """Return the shape under statistics."""
        if self._latest is not None and self._reads_rates_alone:
            known, shape = self._latest
            if statistics.selectivities is known.selectivities and statistics.agreements == known.agreements:
                return replace(shape, rates=tuple(map(statistics.rate, self.items)))
        self._latest = statistics, shape_of(self._form, statistics, self._context)
        return self._latest[1]


class WatchedPlan:
    """The trees of queries, the statistics they were chosen with, and what would make others better."""

    def __init__(
        self,
        queries: Sequence[Query],
        schema: Schema,
        model: CostModel,
        decide: Callable[[], DecisionFunction],
        stored_plan: StoredPlan,
        statistics: Statistics,
        variances: Mapping[ItemKey, float],
    ) -> None:
        self.queries = tuple(queries)
        self.schema = schema
        self.model = model
        self.stored_plan = stored_plan
        self._decide = decide
        self._decisions: dict[Key, DecisionFunction] = {}
        self._planned: tuple[Statistics, Weave] | None = None  # all queries, as they were planned last
        self.adopt(stored_plan, statistics, variances)

    def adopt(
        self, stored_plan: StoredPlan, statistics: Statistics, variances: Mapping[ItemKey, float]
    ) -> None:
        """Watch trees from now on, chosen with statistics; `variances` are those of the rates of items."""
        self.stored_plan, self.statistics, self.variances = stored_plan, statistics, variances
        if self._planned is not None and self._planned[0] is statistics:
            self._weave = self._planned[1]
            self._weave.adopt(stored_plan)
        else:
            self._weave = self._weave_queries(self.queries, statistics)
        self._planned = None
        patterns, context = self._weave.multitree.patterns, self._weave.context
        self._readers = {key: ShapeReader(pattern.form, context) for key, pattern in patterns.items()}
        self._components = _components(self._weave)
        for key in self._weave.multitree.trees:
            decision = self._decisions.setdefault(key, self._decide())
            pattern = self._weave.multitree.patterns[key]
            varying = [variances.get(item, 0.0) for item in self._readers[key].items]
            decision.adopt(self._explain_tree(key, pattern), pattern.shape, varying)

    def _weave_queries(self, queries: Sequence[Query], statistics: Statistics) -> Weave:
        weave = weave_for(self.schema, Planning(plan="auto", statistics=statistics, cost=self.model))
        for query in queries:
            weave.add(query, weave.plans.best)
        weave.adopt(self.stored_plan)
        return weave

    @property
    def plan(self) -> Plan:
        """The plan with these trees."""
        return plan_of_weave(self._weave, self.queries, self.schema, is_shared=self.stored_plan.is_shared)

    @property
    def cost(self) -> float:
        """What the plan costs under the statistics it was made with."""
        return self._weave.cost

    def cost_under(self, statistics: Statistics) -> float:
        """Return what the trees cost under the statistics of a moment, were nothing shared."""
        shapes = {key: reader.shape(statistics) for key, reader in self._readers.items()}
        trees = self._weave.multitree.trees
        return sum(local_cost(tree, shapes[key], self.model) for key, tree in trees.items())

    @property
    def distances(self) -> list[float]:
        """What the decision functions have learned, in the order of their queries' names, for `tune`."""
        return [self._decisions[key].distance for key in sorted(self._decisions)]

    def tune(self, distances: Sequence[float]) -> None:
        """Set the distances that the decision functions had."""
        for key, distance in zip(sorted(self._decisions), distances, strict=True):
            self._decisions[key].distance = distance

    def _explain_tree(self, key: Key, pattern: Pattern) -> Decided:
        """Return why a pattern has its tree: its own joins, and what it shares or does not share."""
        shared = self._weave.multitree.shared_parts(key) if self.stored_plan.is_shared else []
        decided = decide_exact_tree(pattern.shape, self.model, shared)
        conditions = tuple(self._sharing_conditions(key, pattern, decided.tree, shared))
        blocks = (*decided.blocks, Block(pattern.shape.everything, conditions))
        running = self._weave.multitree.trees[key]
        if running == decided.tree:
            return Decided(running, blocks)
        own, other = (self._own_side(pattern, tree, shared) for tree in (running, decided.tree))
        return Decided(running, (still_best(own, other, pattern.shape, self.model), *blocks))

    def _sharing_conditions(
        self, key: Key, pattern: Pattern, tree: Tree, shared: Sequence[Tree]
    ) -> Iterator[Condition]:
        weave = self._weave
        taken = self._own_side(pattern, tree, shared)
        if shared:
            alone = weave.plans.best(pattern)
            yield Condition(taken, self._own_side(pattern, alone, ()), wins_ties=True)
        if self.stored_plan.is_shared:
            offers = weave.multitree.existing(key, weave.sharables.of(key))
            others = [offer for offer in offers.values() if offer.tree not in shared]
            for offer in sorted(others, key=lambda offer: -offer.tree.mask.bit_count())[:MOST_OFFERS]:
                instead = weave.plans.best(pattern, [offer.tree])
                yield Condition(taken, self._own_side(pattern, instead, [offer.tree]), wins_ties=True)

    def _own_side(self, pattern: Pattern, tree: Tree, given: Sequence[Tree]) -> Side:
        """Return what a tree costs besides the parts that others compute."""
        free = [step for part in given for step in tree_steps(part, pattern.shape)]
        steps = list(tree_steps(tree, pattern.shape))
        for step in free:
            if step in steps:
                steps.remove(step)
        filters = sum(
            self._weave.multitree.price(*pattern.part(part._replace(unchecked=True)).nodes[-1])
            for part in given
            if part.computed_for is not None
        )
        return Side(tuple(steps), filters)

    def alarms(self, statistics: Statistics) -> list[Alarm]:
        """Return the first violation in each component under the statistics of a moment."""
        alarms: dict[frozenset[str], Alarm] = {}
        for key, decision in self._decisions.items():
            component = self._components[key[0]]
            if component in alarms:
                continue
            violation = decision.violation(self._readers[key].shape(statistics))
            if violation is not None:
                names = self._weave.multitree.patterns[key].variables
                alarms[component] = Alarm(key, f"query {key[0]}: {violation.sentence(names)}")
        return list(alarms.values())

    def replan(self, alarm: Alarm, statistics: Statistics, limit: Limit, seed: int = 0) -> Replan:
        """Plan the component of a pattern anew, under the statistics of a moment."""
        names = self._components[alarm.key[0]]
        weave = self._weave_queries([query for query in self.queries if query.name in names], statistics)
        self._planned = (statistics, weave) if len(names) == len(self.queries) else None
        before = weave.cost
        weave.improve(limit, seed=seed)
        return Replan(weave.stored_plan().trees, (alarm.sentence,), before, weave.cost)

    def with_trees(self, trees: Mapping[str, Trees]) -> StoredPlan:
        """Return the stored plan with other trees for some queries."""
        running = self.stored_plan.trees
        return replace(self.stored_plan, trees={name: trees.get(name, own) for name, own in running.items()})

    def lines(self) -> list[str]:
        """Say when to plan anew; of conditions that are watched, what both sides cost."""
        rules = dict.fromkeys(decision.rule for decision in self._decisions.values())
        lines = [f"Planned anew {rule}." for rule in rules]
        if any(decision.watched for decision in self._decisions.values()):
            lines.append("Watched, in nanoseconds for a second of events:")
        for key, decision in self._decisions.items():
            names = self._weave.multitree.patterns[key].variables
            for invariant in decision.watched:
                chosen = ", ".join(names[item] for item in items_of(invariant.block))
                lines.append(
                    f"  {key[0]}: the choice of {chosen} costs {invariant.taken:,.6g}, "
                    f"another one {invariant.other:,.6g}"
                )
        return lines

    def learn(self, alarm: Alarm, gain: float) -> None:
        """Tell the decision function that raised an alarm what it was worth."""
        self._decisions[alarm.key].learn(gain)


def _components(weave: Weave) -> dict[str, frozenset[str]]:
    """Return for each query those that are planned together: they may share parts, directly or not.

    A query whose alternatives are in several components of patterns connects these.
    """
    names = dict.fromkeys(name for name, _ in weave.multitree.trees)
    groups = ([name for name, _ in keys] for keys in weave.sharables.components())
    together = map(frozenset, connected_components(names, groups))
    return {name: component for component in together for name in component}
