"""From queries to one shared plan: normalize each, choose trees for all, put them together."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from weft.errors import WeftError
from weft.expressions import type_of
from weft.optimizer.assemble import Assembled
from weft.optimizer.demands import Context
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.planning import Planning
from weft.optimizer.rewriting.lcse import lcse_trees
from weft.optimizer.rewriting.rewrite_graph import Techniques
from weft.optimizer.rewriting.rewrite_plan import rewrite_plan
from weft.optimizer.sharing.limits import Limit, Progress
from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.stored_plan import StoredPlan
from weft.optimizer.timeouts import returns_of, timeouts_of
from weft.optimizer.trees import Tree, order_tree
from weft.optimizer.walks import await_walk, match_walk_of, suppressed_per
from weft.optimizer.weave import AssembledPattern, Weave
from weft.pattern.nodes import Query
from weft.pattern.normal_form import NormalForm
from weft.plan.invariants import check_plan
from weft.plan.nodes import Branch, DistinctUnion, Node, Output, Plan, Project, ReturnedColumn
from weft.schema import Schema
from weft.statistics.model import PatternKey

SEARCH_SHARE = 0.1  # of the time that the plan is expected to run, in nanoseconds for a second of events
REWRITING_SHARE = 0.5  # of the search, for a plan of rewritten queries from which it may start
MOST_REWRITTEN = 500  # patterns; with more, the graph of rewritten queries takes too long


@dataclass(frozen=True)
class Optimized:
    """A plan, the same as it is stored, what it costs, and the rows per second expected of its nodes.

    `computed` has the sub-patterns whose partial matches are the rows of nodes.
    """

    plan: Plan
    stored: StoredPlan
    cost: float
    expected: Mapping[Node, float]
    computed: Mapping[Node, PatternKey]
    notes: tuple[str, ...] = ()
    is_cut_short: bool = False  # whether the search ended at the seconds it may take, and not by itself


def optimize(queries: Sequence[Query], schema: Schema | None, planning: Planning | None = None) -> Plan:
    """Return one plan for bound queries; equal nodes of different queries are one node.

    Without a schema the plan can be shown but not run. By default it has the fewest partial matches.

    >>> from weft.pattern.nodes import Event, Sequence
    >>> a, b, c = Event("A", "a"), Event("B", "b"), Event("C", "c")
    >>> plan = optimize([Query("p", Sequence((a, b))), Query("q", Sequence((a, b, c)))], None)
    >>> plan.outputs[0].branches[0].node == plan.outputs[1].branches[0].node.left
    True
    """
    return choose_plan(queries, schema, planning or Planning(cost="partial-matches")).plan


def choose_plan(
    queries: Sequence[Query],
    schema: Schema | None,
    planning: Planning,
    *,
    progress: Progress | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Optimized:
    """Return the plan that is asked for, with all there is to say about it."""
    weave = weave_for(schema, planning)
    seconds = planning.search_seconds if planning.steps is None else None
    limit = Limit(seconds, planning.steps, is_cancelled, progress)
    is_shared, notes = _choose(weave, queries, planning, limit)
    patterns = weave.assemble_all(is_shared=is_shared)
    plan = _plan(queries, patterns, schema)
    expected = {node: rows for pattern in patterns.values() for node, rows in pattern.expected.items()}
    computed = {node: key for pattern in patterns.values() for node, key in pattern.computed.items()}
    cost = weave.cost if is_shared else weave.cost_unshared
    is_cut_short = limit.is_reached and bool(limit.seconds)
    stored = weave.stored_plan(is_shared=is_shared)
    return Optimized(plan, stored, cost, expected, computed, tuple(notes), is_cut_short)


def weave_for(schema: Schema | None, planning: Planning) -> Weave:
    """Return a loom without queries, to which queries can be added one by one."""
    return Weave(
        context_of(schema),
        planning.known,
        planning.model(planning.known),
        prefix_only=planning.prefix_only,
        weakens=planning.plan != "mcep",
    )


def plan_of_weave(
    weave: Weave, queries: Sequence[Query], schema: Schema | None, *, is_shared: bool = True
) -> Plan:
    """Return the plan of the trees that a weave has now, with outputs in the order of the queries."""
    return _plan(queries, weave.assemble_all(is_shared=is_shared), schema)


def _plan(
    queries: Sequence[Query], patterns: Mapping[tuple[str, int], AssembledPattern], schema: Schema | None
) -> Plan:
    context, typed = context_of(schema), schema is not None
    built: dict[str, list[Assembled]] = {}
    for (name, _), pattern in patterns.items():
        built.setdefault(name, []).append(pattern.assembled)
    outputs = (output_of(query, built.get(query.name, ()), context, typed=typed) for query in queries)
    plan = Plan(tuple(map(await_walk, outputs)))
    check_plan(plan, "assemble")
    return plan


def _choose(
    weave: Weave, queries: Sequence[Query], planning: Planning, limit: Limit
) -> tuple[bool, list[str]]:
    """Give every query its trees; return whether they are shared, and what is worth saying."""
    strategy, multitree = planning.plan, weave.multitree
    if isinstance(strategy, StoredPlan):
        return strategy.is_shared, _adopt(weave, queries, strategy)
    for query in queries:
        weave.add(query, weave.plans.best if strategy in ("auto", "mcep", "reorder") else _pattern_tree)
    match strategy:
        case "motto" | "mst":
            return True, _rewrite(weave, limit, strategy, planning.seed)
        case "lcse":
            multitree.replace(lcse_trees(multitree.patterns))
        case "share":
            multitree.replace(maximal_sharing(weave.sharables.graph, multitree.patterns))
        case "auto" | "mcep":
            return True, _search(weave, limit, planning)
    return strategy not in ("trivial", "reorder"), []


def _pattern_tree(pattern: Pattern) -> Tree:
    return order_tree(pattern_order(pattern.shape))


def _search(weave: Weave, limit: Limit, planning: Planning) -> list[str]:
    """Search from the best of several plans: each query's own trees, maximal sharing, rewriting.

    By the measured cost, a search ends when it has taken a share of what the plan is expected to take; what
    is worth saying of that is returned.
    """
    whole = limit
    if not planning.prefix_only:
        weave.start_with(maximal_sharing(weave.sharables.graph, weave.multitree.patterns))
    if planning.cost == "measured" and planning.steps is None:
        limit = limit.at_most(SEARCH_SHARE * weave.cost * 1e-9 * planning.known.span)
    if planning.plan == "auto" and not planning.prefix_only:
        _start_with_rewriting(weave, limit, planning.seed)
    weave.improve(limit, heuristic=planning.heuristic, k=planning.n_changed, seed=planning.seed)
    if not limit.is_reached or not limit.seconds:  # steps, or no search at all, are what was asked for
        return []
    whole.is_reached |= whole.used_share() >= 1.0
    worth = "" if whole.is_reached else f", {SEARCH_SHARE:.0%} of what the plan is expected to take"
    return [f"The search ended at its limit of {limit.seconds:.3g} s{worth}"]


def _rewrite(weave: Weave, limit: Limit, techniques: Techniques, seed: int) -> list[str]:
    """Give every pattern the tree that MOTTO's planner finds; return how good its plan is."""
    multitree = weave.multitree
    anew = replace(limit, started=time.perf_counter())  # to add patterns is no search
    plan = rewrite_plan(multitree.patterns, multitree.model, anew, seed=seed, techniques=techniques)
    multitree.replace(plan.trees)
    chosen = f"{plan.n_chosen} chosen" if plan.is_rewritten else "pattern order is cheaper than all found"
    gap = f"at most {plan.gap:.1%} from the best of these" if plan.gap else "the best of these"
    said = [f"{plan.n_candidates} sub-queries looked at", chosen, *([gap] if plan.is_rewritten else [])]
    rest = "" if plan.is_complete else ", and not all sub-queries were looked at"
    return [f"Rewriting: {', '.join(said)}{rest}"]


def _start_with_rewriting(weave: Weave, limit: Limit, seed: int) -> None:
    """Begin with what MOTTO's planner finds where that is cheaper."""
    multitree = weave.multitree
    if 1 < len(multitree.patterns) <= MOST_REWRITTEN and limit.used_share() < 1.0:
        part = limit.part(REWRITING_SHARE)
        weave.start_with(rewrite_plan(multitree.patterns, multitree.model, part, seed=seed).trees)


def _adopt(weave: Weave, queries: Sequence[Query], choice: StoredPlan) -> list[str]:
    """Use a stored choice; queries that it does not know are added to it without a search."""
    known = [query for query in queries if query.name in choice.trees]
    for query in known:
        weave.add(query, weave.plans.best)
    misfits = weave.adopt(choice)
    if misfits:
        raise WeftError(
            f"the stored plan does not fit {', '.join(misfits)}: its trees name other variables than the "
            f'query binds. Make the plan anew (plan="auto"), or rename the query so that it counts as new.'
        )
    outdated = ", ".join(weave.outdated)
    added = [query for query in queries if query.name not in choice.trees]
    for query in added:
        weave.add(query)
    notes = []
    if added:
        notes.append(f"added to the stored plan without a search: {', '.join(query.name for query in added)}")
    if outdated:
        notes.append(f"other order or window than in the stored plan, so parts are not shared: {outdated}")
    return notes


def context_of(schema: Schema | None) -> Context:
    """Return what assembling needs to know of a schema."""
    return Context(
        attribute_type=_unknown if schema is None else schema.type_of,
        types_overlap=schema is not None and schema.types_overlap,
        tree_of=_written_tree,
    )


def _written_tree(form: NormalForm) -> Tree:
    """A negated pattern is joined as it is written, lists last."""
    return order_tree(sorted(range(len(form.items)), key=lambda place: form.items[place].is_list))


def _unknown(attribute: str) -> None:  # noqa: ARG001 - stands in for a schema's look-up
    return None


def output_of(
    query: Query, alternatives: Iterable[Assembled], context: Context, *, typed: bool = True
) -> Output:
    """Return the matches of a query, given those of its alternatives; a walk of them waits for nothing."""
    by_variables: dict[frozenset[str], list[Assembled]] = {}
    for built in alternatives:
        by_variables.setdefault(frozenset(built.variables), []).append(built)
    branches = tuple(branch_of(query, _union(same), same[0].variables) for same in by_variables.values())
    columns = tuple(
        ReturnedColumn(column.name, type_of(column.expression)) for column in query.returns if typed
    )
    timeouts = timeouts_of(query, branches, context)
    return Output(query.name, columns, branches, match_walk_of(query), timeouts)


def _union(same: list[Assembled]) -> Node:
    """Return the rows of alternatives that bind the same variables, in the columns of the first."""
    nodes = tuple(dict.fromkeys(_align(built, same[0].variables) for built in same))
    return nodes[0] if len(nodes) == 1 else DistinctUnion(nodes)


def _align(built: Assembled, variables: tuple[str, ...]) -> Node:
    if built.variables == variables:
        return built.node
    columns = tuple(built.variables.index(variable) for variable in variables)
    return Project(built.node, columns, None)


def branch_of(query: Query, node: Node, variables: tuple[str, ...]) -> Branch:
    """Return an alternative of a query whose matches are the rows of a node."""
    return Branch(node, variables, returns_of(query, variables), suppressed_per(query, variables))
