"""Which trend queries may share the work on a Kleene sub-pattern, and the template of them all.

The definitions are those of section 3.1 of HAMLET. E+ is a sharable sub-pattern of the queries that have
it, and queries are sharable if they have one in common, have the same keys and groups, and windows that
overlap. Windows aligned to the epoch always do; a query without a window shares with its like only.

Unlike in the paper, aggregates do not divide queries. There, COUNT(*), MIN and MAX are shared only by
queries that compute the same, and AVG by those that compute SUM or COUNT. Here the number of trends, of
occurrences of a variable and the sum of an attribute are sums of their own, each computed once for those
queries of a set that ask for it, and the number of trends is needed for all of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Literal

from weft.plan.template import START, Automaton, Template, TrendSum

Sharing = Literal["dynamic", "static", "none"]  # of the work on a Kleene sub-pattern


@dataclass(frozen=True, slots=True)
class TrendSet:
    """Templates, by their indices, that are run together, and the Kleene types that all of them share.

    `pane` is the greatest common divisor of all lengths and slides: no window begins or ends inside of a
    pane. Without windows it is None.
    """

    templates: tuple[int, ...]
    types: tuple[str, ...]
    pane: int | None


def kleene_types(template: Template) -> frozenset[str]:
    """Return the types E of a template's sub-patterns E+, without negation and steps between the events."""
    return frozenset(
        template.items[position.item].type
        for automaton in _automata(template)
        for number, position in enumerate(automaton.positions)
        if any(automaton.sources[feed.source] == TrendSum(number) for feed in position.feeds)
    )


def _automata(template: Template) -> Iterable[Automaton]:
    return (automaton for alternative in template.alternatives for automaton in alternative)


def sharable_sets(templates: Sequence[Template]) -> tuple[TrendSet, ...]:
    """Divide templates into sets that share at least one Kleene type; each template is in one set.

    The type that most of the remaining templates have makes the next set. A template that shares with no
    other is a set by itself, without a type. Sets are in the order of their first templates.
    """
    remaining: dict[object, list[int]] = {}
    for index, template in enumerate(templates):
        alike = (template.keys, frozenset(template.group_by), template.length is None)
        remaining.setdefault(alike, []).append(index)
    types = [kleene_types(template) for template in templates]
    sets = [members for group in remaining.values() for members in _divide(group, types)]
    return tuple(_set_of(members, templates, types) for members in sorted(sets))


def _divide(indices: list[int], types: Sequence[frozenset[str]]) -> Iterable[list[int]]:
    while indices:
        counts = Counter(name for index in indices for name in types[index])
        largest, count = min(counts.items(), key=lambda entry: (-entry[1], entry[0]), default=("", 0))
        if count < 2:
            yield from ([index] for index in indices)
            return
        yield [index for index in indices if largest in types[index]]
        indices = [index for index in indices if largest not in types[index]]


def _set_of(members: list[int], templates: Sequence[Template], types: Sequence[frozenset[str]]) -> TrendSet:
    common = frozenset.intersection(*(types[index] for index in members)) if len(members) > 1 else frozenset()
    lengths = [
        length
        for index in members
        for length in (templates[index].length, templates[index].slide)
        if length is not None
    ]
    return TrendSet(tuple(members), tuple(sorted(common)), gcd(*lengths) if lengths else None)


def merged_template_lines(templates: Sequence[Template]) -> list[str]:
    """Return the template of a workload as text: every transition once, with the queries for which it holds.

    Types are in the order in which queries name them.
    """
    queries: dict[tuple[str | None, str | None], dict[str, None]] = {}  # of a transition; None: start, end
    for template in templates:
        for automaton in _automata(template):
            types = [template.items[position.item].type for position in automaton.positions]
            last = [
                None if source.position == START else types[source.position] for source in automaton.sources
            ]
            transitions: list[tuple[str | None, str | None]] = [
                (last[feed.source], after)
                for position, after in zip(automaton.positions, types, strict=True)
                for feed in position.feeds
            ]
            for transition in transitions + [(last[end.source], None) for end in automaton.ends]:
                queries.setdefault(transition, {})[template.query] = None
    n_queries = Counter(name for template in templates for name in kleene_types(template))
    lines = []
    for before, after in sorted(queries, key=lambda pair: (pair[0] is not None, pair[1] is None)):
        is_shared = after is not None and before == after and n_queries[after] > 1
        mark = f" ({after}+ is sharable)" if is_shared else ""
        lines.append(f"{before or 'start'} -> {after or 'end'}: {', '.join(queries[before, after])}{mark}")
    return lines
