"""Place queries of one item: its events decide alone, or with a negation, or as a list of many."""

from collections.abc import Iterable

import numpy as np

from weft.placement.arrangement import Sites, partition_kinds
from weft.placement.draft import GraphDraft
from weft.placement.projection import ProjectedQuery


def add_single_item_queries(
    draft: GraphDraft, queries: Iterable[ProjectedQuery], *, sink: int | None = None, is_single: bool = False
) -> GraphDraft:
    """Return a draft to which queries of one item are added; events that decide alone stay where they are.

    Otherwise the event with a negation is looked for at every site that emits it, with all of the negated
    events, or at the one site where that is cheaper: always so for a list, whose events come from many sites,
    and where `is_single`. A `sink` is that site. Queries are added one after the other, lists first.

    >>> from weft.placement.draft import TransferLedger
    >>> from weft_lab.placement.example import robots
    >>> network, queries = robots("SEQ(C c, NOT F f)")
    >>> nothing = TransferLedger(network).draft()
    >>> add_single_item_queries(nothing, queries).cost  # the F to the other C
    1.0
    >>> add_single_item_queries(nothing, queries, sink=0).cost
    10.0
    """
    for query in sorted(queries, key=lambda query: -len(query.root.kinds)):
        if not query.root.is_primitive and query.root.text not in draft.arrangements:
            draft = _add_query(draft, query, sink, is_single=is_single)
    return draft


def _add_query(draft: GraphDraft, query: ProjectedQuery, sink: int | None, *, is_single: bool) -> GraphDraft:
    (kind,) = query.kinds
    events = draft.ledger.events(kind)
    site = int(np.argmin(sum(map(draft.price, query.event_kinds)))) if sink is None else sink
    places: list[tuple[str | None, Sites]] = [(None, np.array([site]))]
    if sink is None and not is_single and partition_kinds(query, query.root.kinds):
        places.append((kind, events.hosts))
    drafts = [
        draft.with_arrangements(
            {
                query.root.text: draft.ledger.arrange(
                    query, query.whole, query.single_items, *place, substitutes={1: events.projection}
                )
            }
        )
        for place in places
    ]
    return min(drafts, key=lambda draft: draft.cost)
