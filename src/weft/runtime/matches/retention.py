"""How long the rows of a plan matter: until when readers need them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from weft.plan.extents import add_extents, longest, span_of
from weft.plan.lags import Lags
from weft.plan.nodes import (
    Absence,
    Await,
    DistinctUnion,
    Extent,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    SubsetJoin,
    inputs_of,
)
from weft.plan.order import ends_last


@dataclass(frozen=True, slots=True)
class Need:
    """A row is needed until the events to come are more than `reach` after its first or last event."""

    since: Literal["first", "last"]
    reach: Extent | None


def needs_of(order: Sequence[Node], lags: Lags) -> dict[Node, set[Need]]:
    """Return for which readers' sake each node keeps its rows; a node that is absent keeps none."""
    needs: dict[Node, set[Need]] = {}
    waiting: set[Node] = set()  # nodes whose rows may come into being in a later step than their last event
    for node in order:
        if isinstance(node, NegationCheck | Await) or any(source in waiting for source in inputs_of(node)):
            waiting.add(node)
        for source, need in _needs(node, lags):
            needs.setdefault(source, set()).add(need)
        if isinstance(node, DistinctUnion) and node in waiting:
            # The same row may come into being through one input now and through another later.
            needs.setdefault(node, set()).add(Need("last", lags[node]))
    _add_needs_of_repetition(order, lags, needs)
    return needs


def _add_needs_of_repetition(order: Sequence[Node], lags: Lags, needs: dict[Node, set[Need]]) -> None:
    """Keep negated rows as long as anything is kept that was built on the rows they rejected.

    A state is rebuilt from the events that are kept. Those within a row are kept with it; but a scope
    that looks back begins before the row, and checked again it must not be found empty.
    """
    is_built_on: set[Node] = set()
    for node in reversed(order):
        if node in needs or node in is_built_on or isinstance(node, NegationCheck):
            is_built_on.update(inputs_of(node))
    reaches = longest(need.reach for own in needs.values() for need in own)
    kept = add_extents(reaches, longest(lags.values()))
    for node in order:
        if isinstance(node, NegationCheck) and node in is_built_on and _looks_back_anywhere(node.absence):
            begins = longest((span_of(node.input), node.absence.extent))
            for source, need in _needs_of_negated(node.absence, begins, kept):
                needs.setdefault(source, set()).add(need)


def _looks_back_anywhere(absence: Absence) -> bool:
    return absence.looks_back or any(map(_looks_back_anywhere, absence.unless))


def _needs(node: Node, lags: Lags) -> list[tuple[Node, Need]]:
    match node:
        case Join(left=left, right=right):
            last = ends_last(node)
            return [
                (left, _need_of_side(node, lags[right], ends=last == "left")),
                (right, _need_of_side(node, lags[left], ends=last == "right")),
            ]
        case KleeneExpand(extent=extent) | SubsetJoin(extent=extent):
            lag = longest(lags[source] for source in inputs_of(node))
            return [(source, Need("first", add_extents(extent, lag))) for source in inputs_of(node)]
        case NegationCheck(input=source, absence=absence):
            begins = span_of(source)
            if absence.looks_back:
                begins = longest((begins, absence.extent))
            return _needs_of_negated(absence, begins, lags[node])
    return []


def _need_of_side(node: Join, lag: Extent | None, *, ends: bool) -> Need:
    """Return the need for rows of one side, for the sake of rows of the other that may lag behind.

    A side that ends the match waits only for rows that end before it.
    """
    return Need("last", lag) if ends else Need("first", add_extents(node.extent, lag))


def _needs_of_negated(absence: Absence, begins: Extent | None, lag: Extent | None) -> list[tuple[Node, Need]]:
    """Return how long negated rows are kept; a row's scope begins at most `begins` before its last event."""
    needs = [(absence.negated, Need("first", add_extents(begins, lag)))]
    for inner in absence.unless:  # its scope lies about a negated row
        earlier = add_extents(begins, inner.extent) if inner.looks_back else begins
        needs += _needs_of_negated(inner, earlier, lag)
    return needs
