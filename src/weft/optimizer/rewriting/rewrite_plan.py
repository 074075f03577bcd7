"""MOTTO's planner: trees for all patterns, from the cheapest way to compute them from each other.

Idea        The cheapest plan for a workload is a Steiner tree of its graph: the root is the stream, the
            patterns are terminals, and a sub-pattern is in the tree where it pays.
Reference   Section V of Zhang, Vo, Dahlmeier, He. Multi-Query Optimization for Complex Event Processing
            in SAP ESP. ICDE 2017.
Differs     What two trees have in common without having been planned is shared all the same, so a
            plan may cost less than its Steiner tree. So it may because a vertex takes further sources
            that the tree has anyway, as nested queries ask for; which vertices the tree has does not
            depend on that. The trees of pattern order are kept where they cost less.
Complexity  That of the graph and of the Steiner tree, which ends at a limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

from weft.cost.model import CostModel
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.rewriting.rewrite_graph import ROOT, RewriteGraph, RewriteSource, Techniques
from weft.optimizer.rewriting.steiner_tree import SteinerTree, steiner_tree
from weft.optimizer.sharing.limits import Limit
from weft.optimizer.sharing.multitree import MultiTree
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.shared_nodes import SCALE
from weft.optimizer.sharing.sub_patterns import Key
from weft.optimizer.trees import Tree, order_tree, relabel


@dataclass(frozen=True)
class RewritePlan(Generic[Key]):
    """A tree for every pattern, and how it was found.

    `n_candidates` sub-patterns were looked at, which are all where the plan `is_complete`, and `n_chosen` of
    them are computed. `is_rewritten` is false where pattern order costs less than the Steiner tree.
    """

    trees: dict[Key, Tree]
    steiner: SteinerTree
    n_candidates: int
    n_chosen: int
    is_complete: bool
    is_rewritten: bool

    @property
    def cost(self) -> float:
        """What the Steiner tree costs; nothing that is read from the stream is counted."""
        return self.steiner.cost / SCALE

    @property
    def gap(self) -> float:
        """By how much of its cost the Steiner tree is dearer than the best over these at most."""
        return self.steiner.gap

    @property
    def is_optimal(self) -> bool:
        """Whether no Steiner tree over any sub-patterns that the rules find costs less."""
        return self.is_complete and self.steiner.is_optimal


def rewrite_plan(
    patterns: Mapping[Key, Pattern],
    model: CostModel,
    limit: Limit,
    *,
    seed: int = 0,
    techniques: Techniques = "motto",
    is_strict: bool = False,
) -> RewritePlan[Key]:
    """Return the cheapest plan found with all techniques, or with whole queries as sources alone (`mst`).

    The most promising sub-queries are looked at however late it is, unless the limit `is_strict`.

    >>> from weft.optimizer.pipeline import weave_for
    >>> from weft.optimizer.planning import Planning
    >>> from weft.optimizer.trees import tree_text
    >>> from weft.pattern.nodes import Event, Query, Sequence
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> weave = weave_for(None, Planning(cost="partial-matches"))
    >>> for query in (Query("p", Sequence((a, b, c))), Query("q", Sequence((a, c)))):
    ...     weave.add(query, weave.plans.best)
    >>> plan = rewrite_plan(weave.multitree.patterns, weave.model, Limit(steps=10))
    >>> tree_text(plan.trees["p", 0], "abc")
    '((a c) b)'
    """
    graph = RewriteGraph(patterns, model, techniques, limit, is_strict=is_strict)
    steiner = steiner_tree(graph.into, graph.terminals.values(), limit, root=ROOT, seed=seed)
    trees = planned_trees(graph, steiner)
    in_order = {key: order_tree(pattern_order(pattern.shape)) for key, pattern in patterns.items()}
    costs = [shared_cost(patterns, model, option) for option in (trees, in_order)]
    limit.tell(min(costs))
    is_rewritten = costs[0] <= costs[1]
    n_chosen = len(steiner.sources) - len(set(graph.terminals.values())) if is_rewritten else 0
    return RewritePlan(
        trees if is_rewritten else in_order,
        steiner,
        graph.n_candidates,
        n_chosen,
        is_complete=graph.is_complete,
        is_rewritten=is_rewritten,
    )


def planned_trees(graph: RewriteGraph[Key], steiner: SteinerTree) -> dict[Key, Tree]:
    """Return the trees of all patterns, each built upon that of its source."""
    known: dict[int, Tree] = {}

    def built(number: int) -> Tree:
        """Return the tree of a vertex over the places of its label, or the items of a whole pattern."""
        if number in known:
            return known[number]
        vertex = graph.vertices[number]
        used = sources_of(graph, steiner, number)
        starts = [relabel(built(source.number), source.label.items) for source in used]
        tree = graph.tree(vertex, used, starts)
        if vertex.label is not None:
            tree = relabel(tree, vertex.label.places)
        known[number] = tree
        return tree

    trees = {}
    for key, number in graph.terminals.items():
        pattern, tree = graph.patterns[key], built(number)
        if graph.vertices[number].label is not None:
            tree = relabel(tree, pattern.label(pattern.shape.everything).items)
        trees[key] = pattern.simplify(tree)
    return trees


def sources_of(graph: RewriteGraph[Key], steiner: SteinerTree, number: int) -> list[RewriteSource]:
    """Return the source that the Steiner tree gives to a vertex, and others in it that make it cheaper."""
    first = graph.sources.get((steiner.sources[number], number))
    if first is None:
        return []
    used, taken = [first], first.label.mask
    weight = graph.into[number][first.number]
    for source in graph.other_sources(number, steiner.sources.keys()):
        if not source.label.mask & taken:
            changed = graph.weight(graph.vertices[number], [*used, source])
            if changed < weight:
                used.append(source)
                weight, taken = changed, taken | source.label.mask
    return used


def shared_cost(patterns: Mapping[Key, Pattern], model: CostModel, trees: Mapping[Key, Tree]) -> float:
    """Return what trees cost together, every node counted once."""
    if not patterns:
        return 0.0
    numbers = next(iter(patterns.values())).numbers
    multitree: MultiTree[Key] = MultiTree(numbers, model)
    for key, pattern in patterns.items():
        multitree.add(key, pattern, trees[key])
    return multitree.cost
