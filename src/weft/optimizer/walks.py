"""How a query's matches are walked, and what its plan waits for so that they come in order.

A walk takes matches in the order of their last events, or with PREFER LONGEST of their first ones. Those that
come out of a step are in order among themselves, once sorted, but an earlier one must not come in a later
step. So a node on top of each branch keeps rows until all that precede them in the walk are known, whichever
branch they are of.
"""

from collections.abc import Sequence
from dataclasses import replace

from weft.expressions import Attribute, Expression, Suppressed
from weft.normalize.resolve_absent import substitute_absent
from weft.pattern.canonical import in_columns
from weft.pattern.nodes import Query
from weft.plan.dag import topological_order
from weft.plan.extents import is_instant, longest
from weft.plan.lags import known_after_first, lags_of
from weft.plan.nodes import MOMENT, Await, Extent, MatchWalk, Output, Plan
from weft.tree import find


def match_walk_of(query: Query) -> MatchWalk | None:
    """Return how the matches of a query are walked; None: all of them count."""
    policy = query.policy
    if not policy.walks:
        return None
    return MatchWalk(
        keys=query.keys,
        skip=policy.skip or "none",
        prefer_longest=policy.prefer_longest and policy.skip not in (None, "none"),
        quiet=None if policy.suppression is None else policy.suppression.length,
        counts=any(True for column in query.returns for _ in find(column.expression, Suppressed)),
    )


def suppressed_per(query: Query, variables: Sequence[str]) -> tuple[Expression, ...]:
    """Return the attributes for each of whose values matches are suppressed, over the columns of a branch."""
    suppression, bound = query.policy.suppression, frozenset(variables)
    per = () if suppression is None else suppression.per
    return tuple(in_columns([substitute_absent(attribute, bound)], variables)[0] for attribute in per)


def await_walk(output: Output) -> Output:
    """Return an output whose branches give rows in steps that follow each other as its walk does."""
    walk = output.walk
    if walk is None:
        return output
    lags = lags_of(topological_order(Plan((output,))))
    nodes = [branch.node for branch in output.branches]
    if walk.skip != "none" and walk.prefer_longest:
        wait = longest(known_after_first(node, lags) for node in nodes)
    else:
        wait = longest(lags[node] for node in nodes)
    wait = MOMENT if is_instant(wait) else _in_all_partitions(wait, output)
    awaited = []
    for branch in output.branches:
        node = Await(branch.node, wait, "first" if walk.prefer_longest else "last")
        awaited.append(replace(branch, node=Await(node, wait) if walk.is_twofold else node))
    return replace(output, branches=tuple(awaited))


def _in_all_partitions(wait: Extent | None, output: Output) -> Extent | None:
    """Return how long to wait: for ever where one walk has matches of several clocks."""
    if wait is None or not wait.partition_by or output.walk is None or output.walk.quiet is None:
        return wait
    for branch in output.branches:
        named = {part.name for part in branch.per if isinstance(part, Attribute)}
        if branch.per and not named >= set(wait.partition_by):
            return None
    return wait
