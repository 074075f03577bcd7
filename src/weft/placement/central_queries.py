"""Place queries that one site has to evaluate, all of whose events come there."""

from collections.abc import Iterable

import numpy as np

from weft.placement.draft import GraphDraft
from weft.placement.projection import ProjectedQuery


def add_central_queries(
    draft: GraphDraft, queries: Iterable[ProjectedQuery], *, sink: int | None = None
) -> GraphDraft:
    """Return a draft to which queries are added that say they are central.

    Those that belong together are at one site, which is `sink`, or else where that is cheapest, given what is
    sent anyway.
    """
    together: dict[str | None, list[ProjectedQuery]] = {}
    for query in queries:
        together.setdefault(query.central, []).append(query)
    for group in together.values():
        kinds = sorted({kind for query in group for kind in query.event_kinds})
        site = int(np.argmin(sum(map(draft.price, kinds)))) if sink is None else sink
        added = {}
        for query in group:
            events = {1: draft.ledger.events(query.kinds[0]).projection} if query.n_items == 1 else None
            added[query.root.text] = draft.ledger.arrange(
                query, query.whole, query.single_items, None, np.array([site]), substitutes=events
            )
        draft = draft.with_arrangements(added)
    return draft
