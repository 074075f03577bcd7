"""What is told to have no match has none in the reference; a NOT told to reject nothing rejects nothing."""

import random

import pytest
from tests.helpers.random_queries import ATTRIBUTES, LITERALS
from tests.helpers.strategies import SCHEMA, Case, event, random_case
from tests.helpers.tally import Count, seed_blocks

from weft.errors import QueryError
from weft.expressions import variables_of
from weft.language.binder import bind
from weft.language.parser import parse
from weft.language.printer import to_text
from weft.language.scope import variables_in
from weft.normalize.contradictions import Contradiction, find_contradictions
from weft.pattern.nodes import Negation, Operator, Query
from weft.pattern.policies import ALL_MATCHES
from weft.reference.matcher import find_matches
from weft.reference.matches import Match
from weft.tree import transform_up

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
MOST_EVENTS = 10
MOST_CONDITIONS = 6


def condition(variables: list[str], dice: random.Random) -> str:
    """Return a condition that is likely to be at odds with others."""
    kind = dice.choice(sorted(ATTRIBUTES))
    left, right = (f"{dice.choice(variables)}.{dice.choice(ATTRIBUTES[kind])}" for _ in range(2))
    operator = dice.choice(COMPARISONS[:2] if kind == "boolean" else COMPARISONS)
    constant = dice.choice(LITERALS[kind])
    match dice.randrange(9):
        case 0:
            return f"{left} IS{dice.choice((' ', ' NOT '))}NULL"
        case 1:
            return f"{left} IN ({constant}, {dice.choice(LITERALS[kind])})"
        case 2 | 3:
            return f"{left} {operator} {right}"
        case 4:
            first, second = (dice.choice(variables) for _ in range(2))
            length = dice.choice(("1 second", "2 seconds", "0 seconds"))
            return f"{first}.ts - {second}.ts {dice.choice(COMPARISONS)} {length}"
        case 5:
            return f"({left} {operator} {constant} OR {right} {operator} {constant})"
        case 6:
            return f"NOT {left} {operator} {constant}"
    return f"{left} {operator} {constant}"


def with_condition(query: Query, added: str, *, tie_break: bool) -> Query | None:
    """Return a query with one more condition, None where that makes no sense."""
    text = f"{to_text(query)}\n"
    before, found, after = text.partition("\nWHERE ")
    if found:
        text = f"{before}\nWHERE {added} AND {after}"
    else:
        first, _, rest = text.partition("\nPATTERN ")
        pattern, _, rest = rest.partition("\n")
        text = f"{first}\nPATTERN {pattern}\nWHERE {added}\n{rest}"
    try:
        (bound,) = bind(parse(text), SCHEMA, tie_break=tie_break)
    except QueryError:
        return None
    return bound


def without_not(query: Query, names: tuple[str, ...]) -> Query:
    """Return a query without the NOT of some variables."""

    def is_meant(part: object) -> bool:
        return isinstance(part, Negation) and {own.event.variable for own in variables_in(part)} >= set(names)

    def rid(node: object) -> object:
        if isinstance(node, Operator) and any(map(is_meant, node.operands)):
            kept = tuple(part for part in node.operands if not is_meant(part))
            return type(node)(kept, node.span)
        return node

    pattern = transform_up(query.pattern, rid)
    left = {variable.event.variable for variable in variables_in(pattern)}
    where = tuple(part for part in query.where if not hasattr(part, "left") or variables_of(part) <= left)
    return Query(query.name, pattern, where, query.window, query.partition_by, (), policy=query.policy)


def check(query: Query, matches: set[Match], case: Case) -> tuple[int, int]:
    """Check what is told of a query; return how many contradictions of matches and of NOTs there are."""
    found, forms = find_contradictions(query, {SCHEMA.time}, tie_break=case.tie_break)
    told = [frozenset(one.variables) for one in found if not one.negated]
    every = [frozenset(form.variables) for form in forms]
    for match in matches if told else ():
        own = frozenset(match.rows)
        assert told.count(own) < every.count(own), (query, found, match, case)
    for one in found:
        if one.negated and query.policy == ALL_MATCHES:
            simpler = without_not(query, one.negated)
            assert matches == find_matches(simpler, case.events, tie_break=case.tie_break), (one, query, case)
    return len(told), len(found) - len(told)


@pytest.mark.parametrize("seeds", seed_blocks(910_000, 60, soak=2_000))
def test_what_is_told_is_so(seeds: range, count: Count) -> None:
    """Conditions are added as long as there are matches: what these satisfy is told to hold."""
    n_matches = n_told = n_negated = 0
    for seed in seeds:
        dice = random.Random(seed)
        case = random_case(seed, most_queries=2, most_events=MOST_EVENTS)
        for query in case.queries:
            variables = [variable.event.variable for variable in variables_in(query.pattern)]
            for _ in range(MOST_CONDITIONS):
                added = with_condition(query, condition(variables, dice), tie_break=case.tie_break)
                if added is None:
                    continue
                matches = find_matches(added, case.events, tie_break=case.tie_break)
                told = check(added, matches, case)
                n_told, n_negated, n_matches = n_told + told[0], n_negated + told[1], n_matches + len(matches)
                if matches:
                    query = added
    assert n_told
    assert n_matches
    count(contradictions=n_told, negations=n_negated, matches=n_matches)


def test_the_check_sees_what_is_wrongly_told(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("PATTERN SEQ(A a, NOT B b, C c) WHERE b.x = 1", (event(0, "A", 0), event(1, "C", 5)))
    (query,) = case.queries
    matches = find_matches(query, case.events, tie_break=False)
    assert check(query, matches, case) == (0, 0)
    wrong = Contradiction((), ("a", "c"))
    forms = find_contradictions(query, {"ts"}, tie_break=False)[1]
    monkeypatch.setitem(globals(), "find_contradictions", lambda *_, **__: ([wrong], forms))
    with pytest.raises(AssertionError):
        check(query, matches, case)
