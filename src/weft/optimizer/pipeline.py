"""From queries to one shared plan: normalize each, choose trees for all, put them together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from weft.errors import WeftError
from weft.expressions import type_of
from weft.optimizer.assemble import Assembled
from weft.optimizer.demands import Context
from weft.optimizer.garbage import nothing_collected
from weft.optimizer.orders.pattern_order import pattern_order
from weft.optimizer.planning import ORDERING, SECONDS, Planning
from weft.optimizer.rewriting.lcse import lcse_trees
from weft.optimizer.rewriting.rewrite_graph import Techniques
from weft.optimizer.rewriting.rewrite_plan import rewrite_plan
from weft.optimizer.search import BeginLimit, Search, SearchRecord, search_plan
from weft.optimizer.sharing.limits import Limit, Progress
from weft.optimizer.sharing.maximal_sharing import maximal_sharing
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.spass import spass_trees
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
    search: Search | None = None  # None where nothing was searched for


@dataclass(frozen=True)
class Choice:
    """Whether the trees that were chosen are shared, what is worth saying, and what the search did."""

    is_shared: bool
    notes: Sequence[str] = ()
    search: Search | None = None


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
    is_stream: bool = False,
    progress: Progress | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Optimized:
    """Return the plan that is asked for, with all there is to say about it."""
    weave = weave_for(schema, planning)

    def begin(seconds: float | None, steps: int | None) -> Limit:
        return Limit(seconds, steps, is_cancelled, progress)

    choice = _choose(weave, queries, planning, begin, is_stream=is_stream)
    with nothing_collected():
        patterns = weave.assemble_all(is_shared=choice.is_shared)
        plan = _plan(queries, patterns, schema)
    expected = {node: rows for pattern in patterns.values() for node, rows in pattern.expected.items()}
    computed = {node: key for pattern in patterns.values() for node, key in pattern.computed.items()}
    cost = weave.cost if choice.is_shared else weave.cost_unshared
    stored = weave.stored_plan(is_shared=choice.is_shared)
    return Optimized(plan, stored, cost, expected, computed, tuple(choice.notes), choice.search)


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
    weave: Weave, queries: Sequence[Query], planning: Planning, begin: BeginLimit, *, is_stream: bool
) -> Choice:
    """Give every query its trees."""
    strategy, multitree = planning.plan, weave.multitree
    notes: list[str] = []
    if isinstance(strategy, StoredPlan):
        notes = _adopt(weave, queries, strategy, searches=planning.searches)
        if not planning.searches:
            return Choice(strategy.is_shared, notes)
    else:
        with nothing_collected():
            for query in queries:
                weave.add(query, weave.plans.best if strategy in ORDERING else _pattern_tree)
    if planning.searches:
        search, found = search_plan(weave, planning, begin, is_stream=is_stream)
        return Choice(is_shared=True, notes=[*notes, *found], search=search)
    match strategy:
        case "motto" | "mst":
            return _rewrite(weave, begin, strategy, planning)
        case "lcse":
            multitree.replace(lcse_trees(multitree.patterns))
        case "spass":
            cover = spass_trees(multitree.patterns, multitree.model)
            multitree.replace(cover.trees)
            notes = [cover.note()]
        case "share":
            multitree.replace(maximal_sharing(weave.sharables.graph, multitree.patterns))
    return Choice(strategy not in ("trivial", "reorder"), notes)


def _pattern_tree(pattern: Pattern) -> Tree:
    return order_tree(pattern_order(pattern.shape))


def _rewrite(weave: Weave, begin: BeginLimit, techniques: Techniques, planning: Planning) -> Choice:
    """Give every pattern the tree that MOTTO's planner finds; say how good its plan is."""
    multitree, seconds = weave.multitree, planning.search_seconds
    if planning.steps is not None:
        seconds = None
    elif seconds is None:
        seconds = SECONDS
    record = SearchRecord(weave, begin(seconds, planning.steps))  # to add patterns is no search
    with record.efforts.of("rewriting", record.limit):
        plan = rewrite_plan(
            multitree.patterns, multitree.model, record.limit, seed=planning.seed, techniques=techniques
        )
        multitree.replace(plan.trees)
    chosen = f"{plan.n_chosen} chosen" if plan.is_rewritten else "pattern order is cheaper than all found"
    gap = f"at most {plan.gap:.1%} from the best of these" if plan.gap else "the best of these"
    said = [f"{plan.n_candidates} sub-queries looked at", chosen, *([gap] if plan.is_rewritten else [])]
    rest = "" if plan.is_complete else ", and not all sub-queries were looked at"
    return Choice(is_shared=True, notes=[f"Rewriting: {', '.join(said)}{rest}"], search=record.report())


def _adopt(weave: Weave, queries: Sequence[Query], choice: StoredPlan, *, searches: bool) -> list[str]:
    """Use a stored choice; queries that it does not know are added to it by their best replies."""
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
        names = ", ".join(query.name for query in added)
        notes.append(f"added to the stored plan{'' if searches else ' without a search'}: {names}")
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
