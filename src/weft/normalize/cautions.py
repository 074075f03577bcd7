"""Lists without an upper bound, which tend to explode: what to say of them before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.normalize.pipeline import normalize
from weft.pattern.nodes import Query

REMEDY = "bound the list ({n,m}), shorten WITHIN, or add an equality such as [key] or a selective condition"


@dataclass(frozen=True, slots=True)
class Caution:
    """Why a query is likely to find more than anybody wants, or to be stopped, and what to do about it."""

    query: str
    reason: str

    def __str__(self) -> str:
        return f"query {self.query}: {self.reason}\n  hint: {REMEDY}"


def list_cautions(queries: Sequence[Query]) -> dict[str, Caution]:
    """Return by their names the queries for matches that have a list without an upper bound.

    >>> from weft.pattern.nodes import Event, Kleene
    >>> print(list_cautions([Query("burst", Kleene(Event("Failure", "f"), 5, None))])["burst"])
    query burst: f[] has no upper bound: every choice of 5 or more of the events that fit is a match
      hint: bound the list ({n,m}), shorten WITHIN, or add an equality such as [key] or a selective condition
    """
    cautions: dict[str, Caution] = {}
    for query in queries:
        forms = () if query.is_trend else normalize(query)
        for item in (item for form in forms for item in form.items if item.is_list and item.most is None):
            chosen = "every choice" if item.least < 2 else f"every choice of {item.least} or more"
            reason = f"{item.variable}[] has no upper bound: {chosen} of the events that fit is a match"
            cautions.setdefault(query.name, Caution(query.name, reason))
    return cautions
