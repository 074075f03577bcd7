"""Workloads of distinct queries with the seven types of sharing opportunities of MOTTO's table IV.

Queries come in families. The first of a family is the source L, the others share with it as their type says:

| Type | Group   | The others of a family                                                          |
| ---- | ------- | ------------------------------------------------------------------------------- |
| 1    | basic   | begin with L                                                                    |
| 2    | basic   | end with L                                                                      |
| 3    | basic   | have L as a subsequence that is no substring                                    |
| 4    | basic   | have a part of two or more operands in common with L, but none of the above     |
| 5    | complex | begin with L, and have other windows                                            |
| 6    | complex | have the operands of L and another operator: SEQ, AND, in some families SOME    |
| 7    | complex | have the innermost operation of L, in other operations                          |

Basic families have one operator, SEQ or in some AND, and windows of 10 s. In nested queries SEQ and AND take
turns from level to level, since SEQ directly in SEQ is one SEQ; so all of a family have the same operators,
where the paper's example has two. SOME matches every single event of its types: its families have two or
three rare ones. What would match all the time is drawn again, as in `stocks.py`.

`python benchmarks/rewriting_workloads.py` shows a workload and what is expected of it.
"""

import argparse
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, islice

from rewriting_patterns import (
    Operand,
    Operation,
    Operator,
    expected_matches,
    is_subsequence,
    is_substring,
    longest_common_substring,
)
from rewriting_streams import SCENARIOS, Scenario

N_QUERIES = 100
WINDOW = 10  # seconds
OTHER_WINDOWS = (5, 15, 20)  # of type 5, beside the usual one
BASIC, COMPLEX = (1, 2, 3, 4), (5, 6, 7)
FAMILY = 4  # queries; of type 6 there are two, or three with SOME
AND_EVERY = 4  # of so many families whose operator is free, one has AND
MOST_SOURCES, MOST_CANDIDATES = 10_000, 200  # that are tried for a family, and for the others of a source
OPERATORS: tuple[Operator, ...] = ("SEQ", "AND", "SOME")


@dataclass(frozen=True)
class SharingQuery:
    """A query, its type of sharing, and its family; the first of a family is the source."""

    sharing: int
    family: int
    pattern: Operation
    window: int

    @property
    def meaning(self) -> object:
        """Two queries with the same meaning are the same query."""
        return self.pattern.meaning, self.window

    def text(self, name: str) -> str:
        return f"QUERY {name} PATTERN {self.pattern.text} WITHIN {self.window} seconds"


@dataclass(frozen=True)
class Draw:
    """What a family is drawn from."""

    scenario: Scenario
    count: int
    operator: Operator
    nesting: int
    source: random.Random

    def types(self, count: int, apart_from: tuple[str, ...] = ()) -> tuple[str, ...]:
        """Return so many types in any order."""
        return tuple(self.source.sample([one for one in self.scenario.types if one not in apart_from], count))

    def size(self, least: int = 0, most: int = 99) -> int:
        """Return a number of operands that a query of the scenario may have."""
        return self.source.randint(
            max(self.scenario.fewest_operands, least), min(self.scenario.most_operands, most)
        )


def counts_by_type(n_queries: int, basic_ratio: float) -> dict[int, int]:
    """Return how many queries of each type a workload has: as many of each type of a group, or one more.

    >>> counts_by_type(100, 0.25)
    {1: 7, 2: 6, 3: 6, 4: 6, 5: 25, 6: 25, 7: 25}
    """
    n_basic = round(n_queries * basic_ratio)
    counts = _dealt(n_basic, BASIC) | _dealt(n_queries - n_basic, COMPLEX)
    return {sharing: count for sharing, count in counts.items() if count}


def _dealt(count: int, kinds: tuple[int, ...]) -> dict[int, int]:
    return dict(zip(kinds, _parts(count, len(kinds)), strict=True))


def _parts(count: int, n_parts: int) -> list[int]:
    return [count // n_parts + (number < count % n_parts) for number in range(n_parts)]


def family_sizes(sharing: int, count: int) -> list[int]:
    """Return the sizes of the families of a type; a query needs another to share with.

    >>> family_sizes(1, 25), family_sizes(6, 9)
    ([5, 4, 4, 4, 4, 4], [3, 2, 2, 2])
    """
    if count < 2:
        raise ValueError(f"type {sharing} has {count} query, expected two or more: ask for more queries")
    if sharing == 6:
        n_large = 1 if count % 2 else 2 * (count >= 8)
        return _parts(count, (count - n_large) // 2)
    return _parts(count, max(1, count // FAMILY))


def sharing_queries(
    scenario: Scenario,
    counts: Mapping[int, int],
    *,
    nesting: int = 2,
    window: int = WINDOW,
    seed: int = 1,
) -> tuple[SharingQuery, ...]:
    """Return so many queries of each type; those of type 5 have other windows too.

    >>> from rewriting_streams import STOCKS
    >>> [one.text(f"q{number}") for number, one in enumerate(sharing_queries(STOCKS, {6: 2}))]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['QUERY q0 PATTERN SEQ(EBAY, FB, SAP, AMD, DELL, ORCL) WITHIN 10 seconds',
     'QUERY q1 PATTERN AND(EBAY, FB, SAP, AMD, DELL, ORCL) WITHIN 10 seconds']
    """
    found: list[SharingQuery] = []
    taken: set[object] = set()
    for sharing, count in counts.items():
        source = random.Random(f"{scenario.name} {sharing} {seed}")
        for number, size in enumerate(family_sizes(sharing, count)):
            draw = Draw(scenario, size, _operator(sharing, number), nesting, source)
            family = _family(sharing, draw, window, taken, found)
            found += family
            taken |= {query.meaning for query in family}
    return tuple(found)


def _operator(sharing: int, number: int) -> Operator:
    """Return the operator of a family, or the innermost one, of types that leave the choice.

    Only SEQ tells a subsequence from a substring (3), and AND matches too often in long windows (5).
    """
    every = {1: AND_EVERY, 2: AND_EVERY, 4: AND_EVERY, 7: 2}.get(sharing)
    return "AND" if every and number % every == every - 1 else "SEQ"


def workload_text(queries: tuple[SharingQuery, ...]) -> str:
    """Return the queries in Weft's language; their names say their type."""
    return "\n".join(query.text(f"q{number}_{query.sharing}") for number, query in enumerate(queries))


def with_windows(
    queries: tuple[SharingQuery, ...], source_window: int, other_window: int
) -> tuple[SharingQuery, ...]:
    """Return the same queries with a window for the first of each family, and one for the others."""
    firsts = {query.family: query for query in reversed(queries)}
    return tuple(
        replace(query, window=source_window if query is firsts[query.family] else other_window)
        for query in queries
    )


def mixed_workload(
    scenario: Scenario, basic_ratio: float, n_queries: int = N_QUERIES, seed: int = 1
) -> tuple[SharingQuery, ...]:
    """Return the workload of figure 13: a share of basic queries, the others complex."""
    return sharing_queries(scenario, counts_by_type(n_queries, basic_ratio), seed=seed)


def _family(
    sharing: int, draw: Draw, window: int, taken: set[object], before: list[SharingQuery]
) -> list[SharingQuery]:
    """Draw a source and others until all are new, match seldom enough, and share what they should."""
    number = before[-1].family + 1 if before else 0
    for _ in range(MOST_SOURCES):
        windows = _windows(sharing, draw, window)
        family: list[SharingQuery] = []
        for pattern in islice(CANDIDATES[sharing](draw), MOST_CANDIDATES):
            query = SharingQuery(sharing, number, pattern, windows[len(family)])
            is_new = query.meaning not in taken and all(query.meaning != one.meaning for one in family)
            if is_new and is_quiet(query, draw) and shares([*family, query]):
                family.append(query)
            if len(family) in (0, draw.count):
                break
        if len(family) == draw.count:
            return family
    raise ValueError(
        f"no {draw.count} new queries of type {sharing} in {MOST_SOURCES} draws: ask for fewer queries"
    )


def _windows(sharing: int, draw: Draw, window: int) -> list[int]:
    if sharing != 5:
        return [window] * draw.count
    own, *others = draw.source.sample((window, *OTHER_WINDOWS), 1 + len(OTHER_WINDOWS))
    return [own] + [others[number % len(others)] for number in range(draw.count - 1)]


def is_quiet(query: SharingQuery, draw: Draw) -> bool:
    """Return whether a query is expected to match so rarely that its matches are not most of the work."""
    has_some = query.sharing == 6 and draw.count == len(OPERATORS)
    most = draw.scenario.most_some_matches if has_some else draw.scenario.most_matches
    matches = expected_matches(query.pattern, draw.scenario.rates, query.window)
    return matches <= most * draw.scenario.rate


def _prefix(draw: Draw) -> Iterator[Operation]:
    """Yield types 1 and 5."""
    return (Operation(draw.operator, own + extra) for own, extra in _extended(draw))


def _suffix(draw: Draw) -> Iterator[Operation]:
    return (Operation(draw.operator, extra + own) for own, extra in _extended(draw))


def _extended(draw: Draw) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield a list alone, then with more operands."""
    own = draw.types(draw.size(most=draw.scenario.most_operands - 1))
    yield own, ()
    while True:
        yield own, draw.types(draw.size(least=len(own) + 1) - len(own), apart_from=own)


def _subsequence(draw: Draw) -> Iterator[Operation]:
    for own, extra in _extended(draw):
        mixed = own
        for one in extra:
            place = draw.source.randint(1, len(mixed) - 1)
            mixed = (*mixed[:place], one, *mixed[place:])
        yield Operation(draw.operator, mixed)


def _common_part(draw: Draw) -> Iterator[Operation]:
    part = draw.types(draw.source.randint(2, draw.scenario.fewest_operands - 1))
    while True:
        others = draw.types(draw.size(least=len(part) + 1) - len(part), apart_from=part)
        place = draw.source.randint(0, len(others))
        yield Operation(draw.operator, others[:place] + part + others[place:])


def _other_operators(draw: Draw) -> Iterator[Operation]:
    has_some = draw.count == len(OPERATORS)
    own = draw.types(draw.source.randint(2, 3) if has_some else draw.size())
    return (Operation(operator, own) for operator in OPERATORS[: draw.count])


def _nested(draw: Draw) -> Iterator[Operation]:
    """Put operations around a common one: one operand on each level, the rest on the outermost."""
    part = draw.types(draw.source.randint(2, draw.scenario.fewest_operands - 1))
    common = Operation(draw.operator, part)
    while True:
        others = draw.types(max(draw.size() - len(part), draw.nesting - 1), apart_from=part)
        pattern, outer = common, draw.operator
        for level in range(2, draw.nesting + 1):
            outer = "AND" if outer == "SEQ" else "SEQ"
            own, others = (others, ()) if level == draw.nesting else (others[:1], others[1:])
            place = draw.source.randint(0, len(own))
            operands: tuple[Operand, ...] = (*own[:place], pattern, *own[place:])
            pattern = Operation(outer, operands)
        yield pattern


CANDIDATES: dict[int, Callable[[Draw], Iterator[Operation]]] = {
    1: _prefix,
    2: _suffix,
    3: _subsequence,
    4: _common_part,
    5: _prefix,
    6: _other_operators,
    7: _nested,
}


def shares(family: list[SharingQuery]) -> bool:
    """Return whether the queries of a family share what their type says."""
    first, *others = family
    short = first.pattern.types
    same_operator = all(one.pattern.operator == first.pattern.operator for one in others)
    lists = [one.pattern.types for one in others]
    match first.sharing:
        case 1:
            return same_operator and all(one[: len(short)] == short for one in lists)
        case 2:
            return same_operator and all(one[-len(short) :] == short for one in lists)
        case 3:
            apart = all(is_subsequence(short, one) and not is_substring(short, one) for one in lists)
            return same_operator and apart
        case 4:
            return same_operator and all(_share_a_part(*pair) for pair in combinations([short, *lists], 2))
        case 5:
            begin_alike = all(one[: len(short)] == short for one in lists)
            return same_operator and begin_alike and all(one.window != first.window for one in others)
        case 6:
            operators = {one.pattern.operator for one in family}
            return len(operators) == len(family) and all(one == short for one in lists)
        case _:
            common = first.pattern.innermost
            return all(one.pattern.innermost == common != one.pattern for one in family)


def _share_a_part(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    is_part = set(one) <= set(other) or set(other) <= set(one)
    return longest_common_substring(one, other) >= 2 and not is_part


def main() -> None:
    """Show a workload and what is expected of it."""
    arguments = argparse.ArgumentParser(description=main.__doc__)
    arguments.add_argument("--scenario", choices=[one.name for one in SCENARIOS], default="stocks")
    arguments.add_argument("--ratio", type=float, default=0.5, help="of basic queries")
    arguments.add_argument("--queries", type=int, default=N_QUERIES)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    scenario = next(one for one in SCENARIOS if one.name == given.scenario)
    queries = mixed_workload(scenario, given.ratio, given.queries, given.seed)
    print(workload_text(queries))
    matches = sum(expected_matches(one.pattern, scenario.rates, one.window) for one in queries)
    print(
        f"\n{scenario.rate:.2f} events per second, {matches / scenario.rate:.2f} matches expected per event"
    )


if __name__ == "__main__":
    main()
