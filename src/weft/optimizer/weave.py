"""A workload on the loom: its patterns, what they have in common, and the trees chosen so far.

Queries come and go without a new optimization; `improve` searches from whatever is there.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from weft.cost.late_work import LateWork
from weft.cost.model import CostModel
from weft.cost.partial_matches import PartialMatches
from weft.normalize.apply_strategy import without_strategy
from weft.normalize.pipeline import normalize
from weft.optimizer.assemble import Assembled, Content, absence_of, assemble
from weft.optimizer.assemble_some import assemble_some, expected_of_some, price_of_some
from weft.optimizer.demands import Context
from weft.optimizer.sharing.best_reply import best_reply
from weft.optimizer.sharing.compiled_annealing import compiled_annealing
from weft.optimizer.sharing.component_search import ComponentSearch, search_components
from weft.optimizer.sharing.efforts import Efforts
from weft.optimizer.sharing.give_up_sharing import give_up_sharing
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.local_plans import LocalPlans
from weft.optimizer.sharing.multi_pattern_tree import OrderPlans
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.neighborhoods import Neighborhood
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sharables import Sharables
from weft.optimizer.sharing.simulated_annealing import simulated_annealing
from weft.optimizer.sharing.sub_patterns import InternTable
from weft.optimizer.sharing.tabu_search import tabu_search
from weft.optimizer.stored_plan import Named, StoredPlan, tree_from_names, tree_to_names
from weft.optimizer.trees import Tree, join_last, specialize
from weft.pattern.nodes import Query
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import Join, KleeneExpand, Node
from weft.statistics.model import PatternKey, Statistics
from weft.statistics.sub_patterns import names_of

Heuristic = Literal["replies", "annealing", "tabu"]
Key: TypeAlias = tuple[str, int]  # a query and the number of its alternative
TreeOf = Callable[[Pattern], Tree]
SIZES = (2, 4)  # patterns that a step changes: an edge or a vertex


@dataclass(frozen=True)
class AssembledPattern:
    """A pattern put together, the rows per second expected of nodes, and the sub-patterns they compute."""

    assembled: Assembled
    expected: Mapping[Node, float]
    computed: Mapping[Node, PatternKey]


class Weave:
    """Queries, a tree for each of their alternatives, and the cost of all together."""

    def __init__(
        self,
        context: Context,
        statistics: Statistics,
        model: CostModel | None = None,
        *,
        prefix_only: bool = False,
        weakens: bool = True,
    ) -> None:
        self.context = context
        self.statistics = statistics
        self.model: CostModel = model or PartialMatches()
        self.queries: dict[str, Query] = {}
        self.combined: dict[Key, NormalForm] = {}  # forms that are no joins: there is nothing to choose
        self.numbers = InternTable(counts_latency=isinstance(self.model, LateWork))
        self.sharables: Sharables[Key] = Sharables(weakens=weakens)
        self.multitree: MultiTree[Key] = MultiTree(self.numbers, self.model, weakens=weakens)
        self.plans = OrderPlans(self.model) if prefix_only else LocalPlans(self.model)
        self.outdated: list[str] = []

    @property
    def cost(self) -> float:
        """The cost of the shared plan, each node counted once."""
        return self.multitree.cost + sum(map(self._price_of_some, dict.fromkeys(self.combined.values())))

    @property
    def cost_unshared(self) -> float:
        """The cost of the same trees when nothing is shared."""
        total = sum(map(self._price_of_some, self.combined.values()), 0.0)
        for key, tree in self.multitree.trees.items():
            pattern = self.multitree.patterns[key]
            for node, window in set(pattern.number_nodes(tree).nodes):
                total += self.multitree.price(node, window)
        return total

    def _price_of_some(self, form: NormalForm) -> float:
        return price_of_some(form, self.model, self.statistics, self.context)

    def add(self, query: Query, tree_of: TreeOf | None = None) -> None:
        """Add a query to the plan; by default its trees are the best reply to what is there."""
        if query.name in self.queries:
            raise ValueError(f"there is a query {query.name!r} already")
        self.queries[query.name] = query
        for number, form in enumerate(normalize(query)):
            self.add_form((query.name, number), form, tree_of)

    def add_form(self, key: Key, form: NormalForm, tree_of: TreeOf | None = None) -> None:
        """Add a normal form that is no alternative of a query, or not as it is written."""
        if form.is_some:
            self.combined[key] = form
            return
        pattern = Pattern(form, self.statistics, self.context, self.numbers)
        self.sharables.add(key, pattern)
        self.multitree.add(key, pattern, (tree_of or self.plans.best)(pattern))
        if tree_of is None:
            best_reply(self.multitree, self.sharables, self.plans, [key], Limit(steps=1))

    def remove(self, name: str) -> None:
        """Remove a query from the plan; nodes that others need stay."""
        del self.queries[name]
        self.combined = {key: form for key, form in self.combined.items() if key[0] != name}
        for key in [key for key in self.multitree.trees if key[0] == name]:
            self.multitree.remove(key)
            self.sharables.remove(key)

    def components(self) -> list[list[Key]]:
        """Return the connected components, the dearest first."""
        return sorted(self.sharables.components(), key=self.cost_of, reverse=True)

    def cost_of(self, keys: Iterable[Key]) -> float:
        """Return what the trees of some patterns cost together."""
        multitree = self.multitree
        nodes = {
            node for key in keys for node in multitree.patterns[key].number_nodes(multitree.trees[key]).nodes
        }
        return sum(multitree.price(node, window) for node, window in sorted(nodes))

    def improve(
        self,
        limit: Limit,
        *,
        heuristic: Heuristic = "replies",
        sizes: Sequence[int] = SIZES,
        seed: int = 0,
    ) -> Efforts:
        """Search for cheaper trees, in each connected component on its own; never for dearer ones.

        `replies` lets patterns reply to each other, and anneals by edges and vertices that change as many
        patterns as `sizes` says; the other heuristics are those of the paper alone, with the first of the
        sizes. A pattern with nothing to share takes its best tree.
        """
        efforts = Efforts(self.multitree.nodes)
        components = [] if limit.is_over() else self.components()
        if alone := [keys[0] for keys in components if len(keys) == 1]:
            with efforts.of("best trees", limit):
                self._take_best_trees(alone, limit)
        components = [keys for keys in components if len(keys) > 1]
        costs = [self.cost_of(keys) for keys in components]
        if heuristic == "replies":
            searches = [
                ComponentSearch(self.multitree, self.sharables, self.plans, keys, sizes, seed)
                for keys in components
            ]
            search_components(searches, costs, limit)
            for search in searches:
                efforts.add_all(search.efforts.by_method)
        else:
            with efforts.of(heuristic, limit):
                for place, keys in enumerate(components):
                    part = limit.part(costs[place] / (sum(costs[place:]) or 1.0))
                    self._search_as_published(keys, part, heuristic, sizes[0], random.Random(seed))
                    limit.stopped_by = limit.stopped_by or part.stopped_by
        limit.tell(self.cost)
        return efforts

    def _take_best_trees(self, keys: Iterable[Key], limit: Limit) -> None:
        for key in keys:
            best = self.plans.best(self.multitree.patterns[key])
            if self.multitree.trees[key] != best and limit.allows_step():
                self.replace_if_cheaper({key: best})

    def _search_as_published(
        self, keys: list[Key], limit: Limit, heuristic: Heuristic, k: int, dice: random.Random
    ) -> None:
        neighborhood = Neighborhood(self.multitree, self.sharables, self.plans, keys, k)
        if heuristic == "annealing":
            compiled = compiled_annealing(neighborhood, limit)
            simulated_annealing(neighborhood, limit, dice, compiled=compiled)
        else:
            tabu_search(neighborhood, limit, dice)

    def reply(self, limit: Limit) -> None:
        """Let patterns reply to each other, in the dearest component first."""
        for keys in self.components():
            best_reply(self.multitree, self.sharables, self.plans, keys, limit)

    def replace_if_cheaper(self, trees: Mapping[Key, Tree]) -> None:
        """Give patterns other trees, unless all together is dearer then, or costs the same."""
        before = {key: self.multitree.trees[key] for key in trees}
        if self.multitree.replace(trees) >= 0:
            self.multitree.replace(before)

    def start_with(self, trees: Mapping[Key, Tree], limit: Limit | None = None) -> None:
        """Begin a search with other trees, in those components where they are cheaper.

        Patterns that share nothing by them take their best trees. With a limit, what is shared and does not
        pay is given up first, part by part, and patterns reply to each other.
        """
        components = ([key for key in keys if key in trees] for keys in self.components())
        for keys in filter(None, components):
            if limit is not None and limit.is_over():
                break
            before = {key: self.multitree.trees[key] for key in keys}
            total = self.multitree.nodes.total
            self.multitree.replace({key: trees[key] for key in keys})
            alone = [key for key in keys if not self.multitree.shared_parts(key)]
            self.multitree.replace({key: self.plans.best(self.multitree.patterns[key]) for key in alone})
            if limit is not None:
                give_up_sharing(self.multitree, self.plans, keys, limit)
                best_reply(self.multitree, self.sharables, self.plans, keys, limit)
            if self.multitree.nodes.total >= total:
                self.multitree.replace(before)

    def stored_plan(self, *, is_shared: bool = True) -> StoredPlan:
        """Return the trees by the names of their variables."""
        trees: dict[str, list[Named]] = {name: [] for name in self.queries}
        for (name, _), tree in sorted(self.multitree.trees.items()):
            pattern = self.multitree.patterns[name, _]
            trees[name].append(tree_to_names(tree, pattern.form.variables))
        return StoredPlan({name: tuple(own) for name, own in trees.items()}, is_shared)

    def adopt(self, choice: StoredPlan) -> list[str]:
        """Take over a choice where it fits the queries; return the names of the queries it does not fit.

        A part that was computed for demands which no longer are more general than those of its query is
        computed for the query alone; such queries are `outdated`.
        """
        misfits, self.outdated = [], []
        for name in self.queries:
            keys = [key for key in self.multitree.trees if key[0] == name]
            chosen = choice.trees.get(name, ())
            trees = {
                key: tree_from_names(tree, self.multitree.patterns[key].form.variables)
                for key, tree in zip(keys, chosen, strict=False)
            }
            fitting = {key: tree for key, tree in trees.items() if tree is not None}
            if len(chosen) != len(keys) or len(fitting) != len(trees):
                misfits.append(name)
                continue
            if not all(self.multitree.patterns[key].admits(tree) for key, tree in fitting.items()):
                self.outdated.append(name)
                fitting = {key: specialize(tree) for key, tree in fitting.items()}
            self.multitree.replace(fitting)
        return misfits

    def assemble_all(self, *, is_shared: bool = True) -> dict[Key, AssembledPattern]:
        """Put all patterns together; unless shared, each reads scans of its own."""
        patterns = {}
        tree_like = self._trees_of_siblings() if is_shared else {}
        for number, (key, tree) in enumerate(self.multitree.trees.items(), start=1):
            pattern = self.multitree.patterns[key]
            contents: dict[Node, Content] = {}
            context = self.context if is_shared else replace(self.context, copy=number)
            built = assemble(
                pattern.form,
                tree_like.get(key, tree),
                context,
                contents,
                checks_strategy_last=key in tree_like,
            )
            expected = _expected_rows(pattern, contents, context)
            patterns[key] = AssembledPattern(built, expected, _computed(pattern, contents))
        for number, (key, form) in enumerate(self.combined.items(), start=len(patterns) + 1):
            context = self.context if is_shared else replace(self.context, copy=number)
            built = assemble_some(form, context)
            patterns[key] = AssembledPattern(
                built, expected_of_some(form, built.node, self.statistics, context), {}
            )
        return patterns

    def _trees_of_siblings(self) -> dict[Key, Tree]:
        """Return one tree for all patterns that differ in their strategy alone, so that they share joins.

        Lists, which go on in another way under each, come last.
        """
        siblings: dict[NormalForm, list[Key]] = {}
        for key in self.multitree.trees:
            siblings.setdefault(without_strategy(self.multitree.patterns[key].form), []).append(key)
        chosen: dict[Key, Tree] = {}
        for base, keys in siblings.items():
            forms = {self.multitree.patterns[key].form for key in keys}
            if len(forms) > 1:
                first = min(keys, key=lambda key: self.multitree.patterns[key].form != base)
                lists = self.multitree.patterns[first].shape.list_mask
                chosen |= dict.fromkeys(keys, join_last(self.multitree.trees[first], lists))
        return chosen


def _computed(pattern: Pattern, contents: Mapping[Node, Content]) -> dict[Node, PatternKey]:
    """Return the sub-patterns that nodes compute with no negation passed, for the pattern's own window."""
    computed: dict[Node, PatternKey] = {}
    every = (1 << len(pattern.form.negations)) - 1
    for node, content in contents.items():
        demands, passed = content.demands, content.checks & every
        if isinstance(node, Join | KleeneExpand) and not passed and demands.extent == pattern.extent:
            names = names_of(pattern.form_under(demands.order))
            if names is not None:
                computed[node] = names.key(content.tree.mask)
    return computed


def _expected_rows(pattern: Pattern, contents: Mapping[Node, Content], context: Context) -> dict[Node, float]:
    """Return the rows per second that each node of a pattern is expected to have."""
    rows = {}
    for node, content in contents.items():
        shape = pattern.shape_under(content.demands.order)
        window = pattern.window_of(content.demands.extent)
        rows[node] = shape.rows_per_second(content.tree.mask, window, checks=content.checks)
    for negation, inner in zip(pattern.form.negations, pattern.negated, strict=True):
        absence = absence_of(negation, pattern.variables, pattern.form, context)
        rows.setdefault(absence.negated, inner.rows_per_second(inner.everything, inner.window))
    return rows
