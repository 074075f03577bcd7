"""Place every operator of the queries, as written, at exactly one site: traditional operator placement.

Idea        For each operator and site the least cost to have its matches there, from the innermost operators
            outwards; several queries are placed in turn, given what the others send, until none improves.
Reference   Akili, Weidlich. MuSE Graphs for Flexible Distribution of Event Stream Processing in Networks.
            SIGMOD 2021, section 7 (oOP).
Differs     Operators that queries share are placed once and what is sent to a site once serves all. This is
            exact for one query in which no type repeats; for several queries, no query can be placed better
            given the others, from the best of several starts.
Complexity  O(n^2) for each operator, for n sites, as matrix operations; times the rounds.
"""

from collections.abc import Sequence

import numpy as np

from weft.placement.draft import GraphDraft, TransferLedger
from weft.placement.multi_query import place_in_turn
from weft.placement.network import Network, Numbers, bits
from weft.placement.projection import ProjectedQuery

MOST_STARTS = 100  # sites where all queries start together, besides the start of one query after another
MOST_ROUNDS = 20


def single_sink(network: Network, queries: Sequence[ProjectedQuery]) -> GraphDraft:
    """Return the draft with every operator at one site.

    >>> from weft_lab.placement.example import robots
    >>> single_sink(*robots("SEQ(C c, F f)")).cost
    9.0
    """
    ledger = TransferLedger(network)
    starts = [ledger.draft()]
    if len(queries) > 1:
        parts = [(query, *part) for query in queries for part in operator_inputs(query).items()]
        together = [ledger.draft_at(site, parts) for site in range(len(network.sites))]
        starts += sorted(together, key=lambda draft: draft.cost)[:MOST_STARTS]
    drafts = (place_in_turn(start, queries, place_operators, MOST_ROUNDS) for start in starts)
    return min(drafts, key=lambda draft: draft.cost)


def operator_inputs(query: ProjectedQuery) -> dict[int, tuple[int, ...]]:
    """Return for the items of every operator, inner ones first, the sets of items of its operands."""
    inputs: dict[int, tuple[int, ...]] = {}
    outermost: list[int] = []
    for items in query.operators:
        inner = [operand for operand in outermost if operand & items]
        single = [1 << item for item in bits(items & ~sum(inner))]
        inputs[items] = tuple(sorted((*inner, *single), key=lambda operand: operand & -operand))
        outermost = [operand for operand in outermost if not operand & items] + [items]
    return inputs


def place_operators(query: ProjectedQuery, others: GraphDraft) -> GraphDraft:
    """Return a draft with the best sites of one query's operators, given those of other queries."""
    ledger = others.ledger
    to_have: dict[int, Numbers] = {}  # for the items of an operator, the cost to find them at each site
    chosen: dict[int, Numbers] = {}  # and the site to take them from, if they are needed at a site
    inputs = operator_inputs(query)
    for items, parts in inputs.items():
        text = query.projection(items).text
        costs = np.zeros(len(ledger.network.sites))
        if text in others.arrangements:
            costs += np.inf
            costs[others.arrangements[text].hosts[0]] = 0.0
            to_have[items] = costs
            continue
        read = [query.projection(part).text for part in parts if part not in inputs]
        for kind in dict.fromkeys((*read, *sorted(query.needed_kinds(items, parts)))):
            costs += others.price(kind)
        for part in parts:
            if part in inputs:
                sending = to_have[part][:, None] + _costs_to_send(others, query, part)
                chosen[part] = np.argmin(sending, axis=0)
                costs += np.min(sending, axis=0)
        to_have[items] = costs
    sites = {query.whole: int(np.argmin(to_have[query.whole]))}
    added = {}
    for items in reversed(inputs):  # outer operators first
        text = query.projection(items).text
        if items in sites and text not in others.arrangements:
            added[text] = ledger.arrange(query, items, inputs[items], None, np.array([sites[items]]))
            sites.update((part, int(chosen[part][sites[items]])) for part in inputs[items] if part in inputs)
    return others.with_arrangements(added)


def _costs_to_send(others: GraphDraft, query: ProjectedQuery, items: int) -> Numbers:
    """Return what it costs to send a projection from site to site, besides what is sent already."""
    network = others.ledger.network
    projection = query.projection(items)
    costs = projection.rate(network) * network.distances
    if projection.text in others.arrangements:
        costs[others.arrangements[projection.text].hosts[0]] = others.price(projection.text)
    return costs
