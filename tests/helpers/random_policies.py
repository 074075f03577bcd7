"""Clauses for which matches count, drawn for the queries of random cases.

case = policy_case(seed=7)  # with matches left
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from tests.helpers.engine import is_supported
from tests.helpers.mutations import queries_in
from tests.helpers.random_queries import Dice, QueryWriter
from tests.helpers.strategies import FEWEST_MATCHES, SEED_STEP, Case, SeededDice, random_case
from tests.helpers.streams import as_stream

from weft.expressions import Attribute
from weft.hosts.spark.assignment import is_unordered
from weft.language.printer import policy_lines
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query, Sequence, TimeWindow
from weft.pattern.policies import ALL_MATCHES, Policy, Skip, Strategy, Suppression
from weft.reference.clauses import clauses_of, positive_events
from weft.reference.matcher import find_matches
from weft.tree import find

STRATEGIES: tuple[Strategy | None, ...] = (None, "next", "next", "next", "strict", "any")
SKIPS: tuple[Skip | None, ...] = (None, "to next", "past last", "to next", "past last", "none")
LENGTHS = (1_000_000, 2_000_000, 500_000, 1, 500_001, 5_000_000)
PER = ("k", "name", "y", "flag", "x", "day")


def random_policy(dice: Dice, query: Query) -> Policy:
    """Return a policy that is legal for a query without one."""
    strategy = dice.pick(STRATEGIES)
    skip = dice.pick(SKIPS) if dice.chance(60) else None
    single = sorted(always_bound(query.pattern))
    suppression = None
    if dice.chance(35):
        names = [Attribute(dice.pick(single), dice.pick(PER)) for _ in range(dice.integer(0, 2)) if single]
        suppression = Suppression(dice.pick(LENGTHS), tuple(dict.fromkeys(names)))
    return Policy(
        strategy,
        skip,
        prefer_longest=skip in ("to next", "past last") and dice.chance(45),
        suppression=suppression,
        timeouts=may_time_out(query) and dice.chance(75),
    )


def always_bound(pattern: Pattern) -> frozenset[str]:
    """Return the single events that every match of a pattern binds."""
    lists = {kleene.operand for kleene in find(pattern, Kleene)}
    return frozenset[str].intersection(
        *(
            frozenset(item.variable for item in positive_events(clause.pattern) if item not in lists)
            for clause in clauses_of(pattern)
            if clause.pattern is not None
        )
    )


def may_time_out(query: Query) -> bool:
    """Say whether TIMEOUTS is legal: for a SEQ of events and lists that begins with an event."""
    steps = [step for step in steps_of(query.pattern) if not isinstance(step, Negation)]
    return (
        isinstance(query.pattern, Sequence)
        and isinstance(query.window, TimeWindow)
        and len(steps) > 1
        and isinstance(steps[0], Event)
        and all(isinstance(step.operand if isinstance(step, Kleene) else step, Event) for step in steps)
    )


def steps_of(pattern: Pattern) -> list[Pattern]:
    if not isinstance(pattern, Sequence):
        return [pattern]
    return [step for operand in pattern.operands for step in steps_of(operand)]


def with_policies(case: Case, dice: Dice) -> Case:
    """Return a case whose queries say which of their matches count, and return SUPPRESSED() if they may."""
    texts = []
    for text, query in zip(case.text.split("\n\n"), case.queries, strict=True):
        policy = dice.group(partial(random_policy, query=query))
        clauses, returned, columns = text.partition("\nRETURN ")
        if policy.suppression is not None:
            columns = f"{columns}, SUPPRESSED() AS swallowed" if returned else "SUPPRESSED() AS swallowed"
            returned = "\nRETURN "
        texts.append("\n".join([clauses, *policy_lines(policy)]) + returned + columns)
    return replace(case, text="\n\n".join(texts))


def policy_case(
    seed: int,
    *,
    most_queries: int = 4,
    most_events: int = 16,
    accepts: Callable[[Case], bool] = lambda _: True,
    writer: type[QueryWriter] = QueryWriter,
) -> Case:
    """Return the first case from a seed on, in large steps, with policies and enough matches left."""
    while True:
        case = random_case(seed, most_queries=most_queries, most_events=most_events, writer=writer)
        if case.n_matches >= FEWEST_MATCHES:
            chosen = with_policies(_with_tied_texts(case) if seed % 3 == 0 else case, SeededDice(seed))
            if chosen.n_matches >= FEWEST_MATCHES and accepts(chosen):
                return chosen
        seed += SEED_STEP


def policy_stream(seed: int, **options: Any) -> Case:
    """Return a case with policies of which a stream knows at some time which match is next."""
    case = as_stream(policy_case(seed, accepts=_is_streamable, **options))
    unordered = {query.name for query in case.queries if is_unordered(query)}
    texts = [text for text in queries_in(case.text) if text.split()[1] not in unordered]
    return replace(case, text="\n\n".join(texts or ["QUERY q0\nPATTERN A a WITHIN 1 second"]))


def n_left_out(case: Case) -> int:
    """Return how many matches the policies of a case leave out."""
    every = (replace(query, policy=ALL_MATCHES, returns=()) for query in case.queries)
    found = sum(len(find_matches(query, case.events, tie_break=case.tie_break)) for query in every)
    return found - case.n_matches


def _is_streamable(case: Case) -> bool:
    return bool(case.events) and is_supported(case)


def _with_tied_texts(case: Case) -> Case:
    """Return a case whose events are told apart by a text where their times are equal, if by anything."""
    if case.order_by is None:
        return case
    events = tuple(replace(event, tie=event.attributes["name"]) for event in case.events)
    return replace(case, events=events, order_by="name")
