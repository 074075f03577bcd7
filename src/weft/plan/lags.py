"""How long after its events a row of a plan may come into being: what has to be decided before."""

from collections.abc import Iterable, Mapping

from weft.plan.extents import add_extents, longest, span_of
from weft.plan.nodes import (
    MOMENT,
    Absence,
    Await,
    DistinctUnion,
    Extent,
    NegationCheck,
    Node,
    Project,
    inputs_of,
)

Lags = Mapping[Node, Extent | None]


def lags_of(order: Iterable[Node]) -> Lags:
    """Return for each node, inputs first, how long after its last event a row may come into being."""
    lags: dict[Node, Extent | None] = {}
    for node in order:
        match node:
            case NegationCheck(input=source, absence=absence):
                lags[node] = longest((lags[source], settled_after(absence, lags)))
            case Await(input=source, extent=extent) if extent != MOMENT:
                lags[node] = longest((lags[source], extent))
            case _:
                lags[node] = longest(lags[source] for source in inputs_of(node))
    return lags


def settled_after(absence: Absence, lags: Lags) -> Extent | None:
    """Return how long after the event that closes its scope, or else the row's first, an absence is settled.

    A scope without an event that closes it ends with the window of the row's first event.
    """
    nested = (settled_after(inner, lags) for inner in absence.unless)
    lag = longest((lags[absence.negated], *nested))
    return lag if absence.before or absence.scope != "window" else add_extents(lag, absence.extent)


def known_after_first(node: Node, lags: Lags) -> Extent | None:
    """Return how long after its first event a row of a node is known, with all that begin no later.

    A negation that the window alone ends begins with the row; what else it waits for follows its last event.
    """
    match node:
        case DistinctUnion(inputs=inputs):
            return longest(known_after_first(source, lags) for source in inputs)
        case Project(input=source):
            return known_after_first(source, lags)
        case NegationCheck(input=source, absence=absence) if not absence.before and absence.scope == "window":
            return longest((known_after_first(source, lags), settled_after(absence, lags)))
    return add_extents(span_of(node), lags[node])
