"""The trees of queries that are planned together, watched pattern by pattern, and planned anew.

Idea        Every pattern has a decision function of its own. It watches why the pattern has the tree it
            has, given the parts that it shares, and why it shares these and no others: a part that is
            shared saves more than it costs, one that could be shared does not. When a condition is
            violated, the connected component of the pattern is planned anew: by what the condition
            speaks of, and by a search that starts from the trees that are there.
Reference   Kolchinsky, Schuster. Efficient Adaptive Detection of Complex Event Patterns. PVLDB 11(11),
            2018, whose section 7 leaves plans with sharing open; and section 6.2.3 of their Real-Time
            Multi-Pattern Detection over Event Streams. SIGMOD 2019.
Differs     The conditions of sharing price what a pattern needs for itself; what others compute is free. A
            part that is computed for more general demands counts with what it cost when the plan was made.
            A tree that is not the best, and was kept, is watched against the best one and its rivals.
Complexity  O(K b) prices to verify the invariants of b blocks; planning anew is a search with a limit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from weft.adaptation.decisions import DecisionFunction
from weft.adaptation.invariants import still_best
from weft.adaptation.shape_reader import ShapeReader
from weft.cost.model import CostModel
from weft.cost.shape import items_of
from weft.optimizer.orders.decided import Block, Condition, Decided, Side, local_cost, tree_steps
from weft.optimizer.orders.exact_tree import decide_exact_tree
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.stored_plan import Named, StoredPlan, tree_from_names
from weft.optimizer.trees import Tree, specialize
from weft.optimizer.weave import Key, Weave
from weft.pattern.nodes import Query
from weft.schema import Schema
from weft.statistics.model import ItemKey, Statistics

Trees: TypeAlias = tuple[Named, ...]
MOST_OFFERS = 4  # parts that a pattern could share and does not, for which that is watched


@dataclass(frozen=True)
class Alarm:
    """Patterns with a violation, and the first of these in words."""

    keys: tuple[Key, ...]
    sentence: str


@dataclass(frozen=True)
class Replan:
    """New trees for the queries of a component, why, and what it costs before and after."""

    trees: Mapping[str, Trees]
    alarm: Alarm
    cost_before: float
    cost_after: float
    weave: Weave

    @property
    def gain(self) -> float:
        """The share of the cost that the new trees save."""
        return 1.0 - self.cost_after / self.cost_before if self.cost_before > 0 else 0.0


@dataclass(frozen=True)
class Watch:
    """What it takes to watch queries: a schema, a cost model, a decision function for each pattern.

    What is planned anew is searched for in the way of the `planning` that gave the first plan.
    """

    schema: Schema
    model: CostModel
    decide: Callable[[], DecisionFunction]
    is_shared: bool
    planning: Planning

    def weave(self, queries: Sequence[Query], trees: Mapping[str, Trees], statistics: Statistics) -> Weave:
        """Return queries with the trees that they have."""
        weave = weave_for(self.schema, replace(self.planning, statistics=statistics, cost=self.model))
        for query in queries:
            weave.add(query, _NamedTrees(iter(trees.get(query.name, ())), weave.plans.best))
        weave.adopt(StoredPlan(trees, self.is_shared))
        return weave


class WatchedComponent:
    """Queries that are planned together, why they have their trees, and what would make others better.

    Nothing of it changes later but what decision functions learn.
    """

    def __init__(
        self,
        queries: Sequence[Query],
        watch: Watch,
        trees: Mapping[str, Trees],
        statistics: Statistics,
        variances: Mapping[ItemKey, float],
        distances: Sequence[float] = (),
        weave: Weave | None = None,
    ) -> None:
        self.queries, self.trees = tuple(queries), trees
        self.statistics, self.variances = statistics, variances
        self._watch = watch
        self._weave = watch.weave(queries, trees, statistics) if weave is None else weave
        self._weave.adopt(StoredPlan(trees, watch.is_shared))
        patterns, context = self._weave.multitree.patterns, self._weave.context
        self._readers = {key: ShapeReader(pattern.form, context) for key, pattern in patterns.items()}
        self._decisions: dict[Key, DecisionFunction] = {}
        for key, pattern in patterns.items():
            self._decisions[key] = decision = watch.decide()
            varying = [variances.get(item, 0.0) for item in self._readers[key].items]
            decision.adopt(self._explain_tree(key, pattern), pattern.shape, varying)
        for key, distance in zip(sorted(self._decisions), distances, strict=False):
            self._decisions[key].recall(distance)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the queries."""
        return tuple(query.name for query in self.queries)

    @property
    def cost(self) -> float:
        """What the trees cost under the statistics they were chosen with."""
        return self._weave.cost

    def cost_under(self, statistics: Statistics) -> float:
        """Return what the trees cost under the statistics of a moment, were nothing shared."""
        trees, model = self._weave.multitree.trees, self._watch.model
        return sum(
            local_cost(tree, self._readers[key].shape(statistics), model) for key, tree in trees.items()
        )

    @property
    def distances(self) -> list[float]:
        """What the decision functions have learned, in the order of their queries' names."""
        return [self._decisions[key].distance for key in sorted(self._decisions)]

    def adopt(
        self, replan: Replan, *, is_taken: bool, statistics: Statistics, variances: Mapping[ItemKey, float]
    ) -> "WatchedComponent":
        """Return what to watch once an alarm is answered: with new trees, or the same, if none was taken.

        The decision functions that raised it learn what it was worth.
        """
        trees = replan.trees if is_taken else self.trees
        adopted = WatchedComponent(
            self.queries, self._watch, trees, statistics, variances, self.distances, replan.weave
        )
        for key in replan.alarm.keys:
            adopted._decisions[key].learn(replan.gain)
        return adopted

    def _explain_tree(self, key: Key, pattern: Pattern) -> Decided:
        """Return why a pattern has its tree: its own joins, and what it shares or does not share."""
        shared = self._weave.multitree.shared_parts(key) if self._watch.is_shared else []
        decided = decide_exact_tree(pattern.shape, self._watch.model, shared)
        running = self._weave.multitree.trees[key]
        if running != decided.tree:
            own, best = (self._own_side(pattern, tree, shared) for tree in (running, decided.tree))
            rivals = [condition.other for block in decided.blocks[-1:] for condition in block.conditions]
            whole = [best, *(side for side in rivals if not shared)]
            blocks = tuple(still_best(own, side, pattern.shape, self._watch.model) for side in whole)
            return Decided(running, blocks)
        conditions = tuple(self._sharing_conditions(key, pattern, decided.tree, shared))
        return Decided(running, (*decided.blocks, Block(pattern.shape.everything, conditions)))

    def _sharing_conditions(
        self, key: Key, pattern: Pattern, tree: Tree, shared: Sequence[Tree]
    ) -> Iterator[Condition]:
        taken = self._own_side(pattern, tree, shared)
        for alternative, given in self._sharing_options(key, pattern, shared):
            yield Condition(taken, self._own_side(pattern, alternative, given), wins_ties=True)

    def _sharing_options(
        self, key: Key, pattern: Pattern, shared: Sequence[Tree]
    ) -> Iterator[tuple[Tree, Sequence[Tree]]]:
        """Yield the trees of a pattern if it shared less, or something else, with what others compute."""
        weave = self._weave
        if shared:
            yield weave.plans.best(pattern), ()
        if self._watch.is_shared:
            offers = weave.multitree.existing(key, weave.sharables.of(key))
            others = [offer for offer in offers.values() if offer.tree not in shared]
            for offer in sorted(others, key=lambda offer: -offer.tree.mask.bit_count())[:MOST_OFFERS]:
                yield weave.plans.best(pattern, [offer.tree]), [offer.tree]

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

    def alarm(self, statistics: Statistics) -> Alarm | None:
        """Return the patterns with a violation under the statistics of a moment, if there are any."""
        keys: list[Key] = []
        sentence = ""
        for key, decision in self._decisions.items():
            violation = decision.violation(self._readers[key].shape(statistics))
            if violation is not None:
                names = self._weave.multitree.patterns[key].variables
                sentence = sentence or f"query {key[0]}: {violation.sentence(names)}"
                keys.append(key)
        return Alarm(tuple(keys), sentence) if keys else None

    def replan(self, alarm: Alarm, statistics: Statistics, limit: Limit, seed: int = 0) -> Replan:
        """Plan anew under the statistics of a moment, from the trees that run.

        First each pattern with an alarm gets the best tree with the parts that it shares now, or with none,
        where that is cheaper for all together: that is what its conditions speak of.
        """
        weave = self._watch.weave(self.queries, self.trees, statistics)
        before = weave.cost
        for key in alarm.keys:
            pattern = weave.multitree.patterns[key]
            for shared in (weave.multitree.shared_parts(key), ()):
                weave.replace_if_cheaper({key: weave.plans.best(pattern, shared)})
        planning = self._watch.planning
        weave.improve(limit, heuristic=planning.heuristic, sizes=planning.sizes, seed=seed)
        return Replan(weave.stored_plan().trees, alarm, before, weave.cost, weave)

    def lines(self) -> list[str]:
        """Say what both sides of the conditions that are watched cost."""
        lines = []
        for key, decision in self._decisions.items():
            names = self._weave.multitree.patterns[key].variables
            for invariant in decision.watched:
                chosen = ", ".join(names[item] for item in items_of(invariant.block))
                lines.append(
                    f"  {key[0]}: the choice of {chosen} costs {invariant.taken:,.6g}, "
                    f"another one {invariant.other:,.6g}"
                )
        return lines

    @property
    def rules(self) -> list[str]:
        """When the decision functions plan anew, each once."""
        return list(dict.fromkeys(decision.rule for decision in self._decisions.values()))


@dataclass(frozen=True)
class _NamedTrees:
    """The trees of one pattern after the other, computed for no one else; the best where none fits."""

    named: Iterator[Named]
    best: Callable[[Pattern], Tree]

    def __call__(self, pattern: Pattern) -> Tree:
        named = next(self.named, None)
        tree = None if named is None else tree_from_names(named, pattern.form.variables)
        return self.best(pattern) if tree is None else specialize(tree)
