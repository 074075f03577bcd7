"""Lists without an upper bound, which tend to explode: what to say of them before anything runs."""

from collections.abc import Sequence

from weft.errors import FEWER_MATCHES, SMALLER_SEARCH
from weft.normalize.pipeline import normalize
from weft.notices import Notice
from weft.pattern.nodes import Query

BOUNDED = f"{FEWER_MATCHES}; or bound the list ({{n,m}}), {SMALLER_SEARCH}"


def caution(query: str, reason: str, remedy: str) -> Notice:
    """Return why a query is likely to find more than anybody wants, or to be stopped, and what to do."""
    return Notice(kind="caution", query=query, reason=reason, remedy=remedy)


def takes_every_choice(query: Query) -> bool:
    """Return whether every choice among the events that fit is a match of a query (STRATEGY ANY)."""
    return not query.is_trend and query.policy.strategy in (None, "any")


def list_cautions(queries: Sequence[Query]) -> dict[str, Notice]:
    """Return by their names the queries for matches that have a list without an upper bound.

    With STRATEGY NEXT or STRICT such a list is harmless.

    >>> from weft.pattern.nodes import Event, Kleene
    >>> list_cautions([Query("burst", Kleene(Event("Failure", "f"), 5, None))])["burst"].reason
    'f[] has no upper bound: every choice of 5 or more of the events that fit is a match'
    """
    cautions: dict[str, Notice] = {}
    for query in queries:
        forms = normalize(query) if takes_every_choice(query) else ()
        for item in (item for form in forms for item in form.items if item.is_list and item.most is None):
            chosen = "every choice" if item.least < 2 else f"every choice of {item.least} or more"
            reason = f"{item.variable}[] has no upper bound: {chosen} of the events that fit is a match"
            cautions.setdefault(query.name, caution(query.name, reason, BOUNDED))
    return cautions
