"""Projections that can be read in place of others, since they have all their matches.

Whoever reads AND(A, B) can tell which of its matches are of SEQ(A, B): all conditions are checked again. So a
query with SEQ(A, B) can do with the matches of AND(A, B) that another query sends anyway.
"""

from collections.abc import Sequence

from weft.placement.projection import ProjectedQuery

Usable = dict[ProjectedQuery, dict[int, tuple[str, ...]]]


def usable_projections(queries: Sequence[ProjectedQuery]) -> Usable:
    """Return the texts of all projections, of any query, that can be read for each set of items of a query.

    Its own comes first; the whole of a query can be read for itself only as another text.

    >>> from weft.placement.example import robots
    >>> _, (first, second) = robots("SEQ(C c, F f)", "SEQ(C c, F f, C d)")
    >>> usable = usable_projections([first, second])
    >>> usable[second][0b011], usable[second][0b111]
    (('SEQ(C, F) WITHIN 1 second',), ())
    """
    alike: dict[tuple[str, ...], list[tuple[ProjectedQuery, int]]] = {}
    for query in queries:
        for items in range(1, query.whole + 1):
            kinds = tuple(sorted(query.projection(items).kinds))
            alike.setdefault(kinds, []).append((query, items))
    usable: Usable = {query: {} for query in queries}
    for group in alike.values():
        for query, items in group:
            own = query.projection(items).text
            texts = dict.fromkeys([own] if items != query.whole else [])
            for other, part in group:
                text = other.projection(part).text
                if text != own and not query.checked(items) and query.implies(items, other, part):
                    texts[text] = None
            usable[query][items] = tuple(texts)
    return usable
