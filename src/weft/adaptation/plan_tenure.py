"""Matches owned by one plan during a migration, and the events it need not look at for that.

A match belongs to the plan under which its earliest arrival came: arrival decides, not time, for an event
may come late.
"""

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from weft.plan.dag import roots, topological_order
from weft.plan.extents import add_extents, is_instant, longest, span_of
from weft.plan.lags import lags_of
from weft.plan.nodes import (
    KleeneExpand,
    NegationCheck,
    Node,
    Plan,
    Scan,
    column_types,
    inputs_of,
    list_columns,
    negated_nodes,
)
from weft.plan.order import closed_order
from weft.runtime.columns.events import Array, Events
from weft.runtime.matches.execute import Found
from weft.runtime.matches.executor import MatchExecutor, has_any
from weft.runtime.state.segments import arrivals_of


@dataclass(frozen=True)
class PlanTenure:
    """Matches owned by one plan during a migration, by earliest arrival step: from `first` to before `until`.

    Of events after the time `latest`, it looks at no type that only begins matches: what these begin
    has no event from before `until`.
    """

    executor: MatchExecutor
    first: int = 0
    until: int | None = None
    latest: int = 0
    unseen: frozenset[str] = frozenset()

    def end(self, until: int, latest: int) -> "PlanTenure":
        """Return the tenure once another plan owns what comes from a step on; no event so far is later."""
        return replace(self, until=until, latest=latest, unseen=leading_types(self.executor.plan))

    def is_over(self, frontier: int) -> bool:
        """Say whether no match to come is owned: all would be late, or none of its events is kept."""
        if self.until is None:
            return False
        longest_wait = wait_of(self.executor.plan)
        if longest_wait is not None and frontier > self.latest + longest_wait:
            return True
        arrivals = [arrivals_of(events) for events in self.executor.known]
        return not any(bool(((own >= self.first) & (own < self.until)).any()) for own in arrivals)

    def visible(self, events: Events) -> Events:
        """Return events as the plan is to see them."""
        if self.until is None or not self.unseen:
            return events
        return hide(events, self.unseen, events.times > self.latest)

    def own_matches(self, matches: Found) -> Found:
        """Return the matches that the plan owns."""
        arrivals = arrivals_of(matches.events)
        kept = np.ones(matches.table.n_rows, np.bool_)
        if self.first:
            kept &= ~has_any(matches.table, arrivals < self.first)
        if self.until is not None:
            kept &= has_any(matches.table, arrivals < self.until)
        return matches if kept.all() else replace(matches, table=matches.table.take(np.flatnonzero(kept)))


def hide(events: Events, names: Set[str], is_chosen: Array) -> Events:
    """Return the same events, in their places, the chosen of which are of no type with one of the names."""
    codes = [code for code, name in enumerate(events.type_names) if name in names]
    type_codes = events.type_codes.copy()
    type_codes[is_chosen & np.isin(type_codes, codes)] = -1
    flags = {name: flag & ~is_chosen if name in names else flag for name, flag in events.flags.items()}
    return replace(events, type_codes=type_codes, flags=flags)


@lru_cache(maxsize=16)
def wait_of(plan: Plan) -> int | None:
    """Return how many microseconds after any of its events a match comes out at the latest, if that is known.

    >>> from weft.plan.nodes import Branch, Extent, Join, Output
    >>> pairs = Join(Scan("A"), Scan("C"), ((0, 1),), (), (), Extent("time", 9))
    >>> wait_of(Plan((Output("q", (), (Branch(pairs, ("a", "c"), ()),)),)))
    9
    """
    lags = lags_of(topological_order(plan))
    wait = longest(add_extents(span_of(node), lags[node]) for node in roots(plan.outputs))
    if is_instant(wait):
        return 0
    return wait.length if wait is not None and wait.clock == "time" else None


def negated_types(plan: Plan) -> frozenset[str]:
    """Return the types of the events on which an absence depends.

    >>> from weft.plan.nodes import Absence, Branch, Join, Output
    >>> pairs = Join(Scan("A"), Scan("C"), ((0, 1),), (), (), None)
    >>> checked = NegationCheck(pairs, Absence(Scan("B"), (0,), (1,), (), (), None))
    >>> plan = Plan((Output("q", (), (Branch(checked, ("a", "c"), ()),)),))
    >>> sorted(negated_types(plan)), sorted(leading_types(plan))
    (['B'], ['A'])
    """
    is_negated: set[Node] = set()
    for node in reversed(topological_order(plan)):
        if isinstance(node, NegationCheck):
            is_negated.update(negated_nodes(node.absence))
        if isinstance(node, KleeneExpand) and node.passed is not None:
            is_negated.update(negated_nodes(node.passed))
        if node in is_negated:
            is_negated.update(inputs_of(node))
    return frozenset(node.type for node in is_negated if isinstance(node, Scan))


def leading_types(plan: Plan) -> frozenset[str]:
    """Return the types whose events precede all others of every match that they are in, and negate none."""
    leading: set[str] = set()
    others = set(negated_types(plan))
    for node in roots(plan.outputs):
        order, is_list, types = closed_order(node), list_columns(node), column_types(node)
        for column, name in enumerate(types):
            precedes = all((column, other) in order for other in range(len(types)) if other != column)
            (leading if precedes and not is_list[column] else others).add(name)
    return frozenset(leading - others)
