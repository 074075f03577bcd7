"""Cases whose queries have AFTER MATCH SKIP, PREFER LONGEST and SUPPRESS, drawn from a seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property

from tests.helpers.engine import ids_of_all, is_supported
from tests.helpers.mutations import queries_in
from tests.helpers.strategies import SCHEMA, SECOND, Case, matching_case
from tests.helpers.streams import as_stream

from weft.expressions import Attribute, Suppressed
from weft.hosts.spark.assignment import is_unordered
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query, ReturnColumn
from weft.pattern.policies import Policy, Suppression
from weft.testing.matcher import find_matches
from weft.testing.matches import Match

QUIET = (SECOND // 2, SECOND, 2 * SECOND, 4 * SECOND, 60 * SECOND)
PER = ("k", "name", "y", "amount", "flag")


@dataclass(frozen=True)
class WalkedCase(Case):
    """A case whose queries are walked as a seed says; a query keeps its walk when others go."""

    seed: int = 0
    has_policies: bool = True

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        plain = Case(self.text, self.events, self.order_by, self.id, self.schema).queries
        if not self.has_policies:
            return plain
        return tuple(walked(query, random.Random(f"{self.seed} {query.name}")) for query in plain)

    @cached_property
    def _expected(self) -> dict[str, set[Match]]:
        names = ids_of_all(replace(self, has_policies=False))
        ids = {event.row: event.row if event.id is None else event.id for event in self.events}

        def identity(query: str) -> Callable[[Match], str]:
            return lambda match: names[query][
                frozenset((variable, tuple(ids[row] for row in rows)) for variable, rows in match.bindings)
            ]

        return {
            query.name: find_matches(
                query, self.events, tie_break=self.tie_break, identity=identity(query.name)
            )
            for query in self.queries
        }


def walked_case(seed: int, accepts: Callable[[Case], bool] = is_supported, **options: int) -> WalkedCase:
    """Return a case with enough matches, some of which its walks leave out."""
    case = matching_case(seed, accepts=accepts, **options)
    values = {one.name: getattr(case, one.name) for one in fields(Case)}
    if case.order_by is not None and seed % 3 == 0:  # a text as tie-break
        events = tuple(replace(event, tie=event.attributes["name"]) for event in case.events)
        values |= {"order_by": "name", "events": events}
    return WalkedCase(**values, seed=seed)


def is_streamable(case: Case) -> bool:
    return bool(case.events) and is_supported(case)


def walked_stream(seed: int) -> WalkedCase:
    """Return a case of which a stream knows at some time which match is next."""
    case = as_stream(walked_case(seed, is_streamable))
    unordered = {query.name for query in case.queries if is_unordered(query)}
    texts = [text for text in queries_in(case.text) if text.split()[1] not in unordered]
    return replace(case, text="\n\n".join(texts or ["QUERY q0\nPATTERN A a WITHIN 1 second"]))


def walked(query: Query, dice: random.Random) -> Query:
    """Return a query with a policy drawn at random."""
    if query.is_trend or dice.random() < 0.1:
        return query
    skip = dice.choice(("none", "to next", "past last", "past last"))
    quiet = dice.random() < 0.5 or skip == "none"
    singles = list(single_events(query.pattern))
    per: list[Attribute] = []
    while quiet and singles and len(per) < 2 and dice.random() < 0.5:
        name = dice.choice(PER)
        per.append(Attribute(dice.choice(singles), name, type=SCHEMA.attributes[name]))
    suppression = Suppression(dice.choice(QUIET), tuple(dict.fromkeys(per))) if quiet else None
    policy = Policy(skip=skip, prefer_longest=skip != "none" and dice.random() < 0.4, suppression=suppression)
    if not quiet or dice.random() < 0.4:
        return replace(query, policy=policy)
    return replace(query, policy=policy, returns=(*query.returns, ReturnColumn("swallowed", Suppressed())))


def single_events(pattern: Pattern) -> list[str]:
    """Return the variables that bind one event in a match, if any."""
    if isinstance(pattern, Event):
        return [pattern.variable]
    if isinstance(pattern, Kleene | Negation):
        return []
    return [name for part in pattern.operands for name in single_events(part)]
