"""Which templates of trend queries run in one pass, and what they have in common there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from weft.codec import stored
from weft.plan.template import Automaton, Template, TrendItem, TrendSum
from weft.plan.trend_sets import sharable_sets
from weft.runtime.columns.events import Array
from weft.runtime.trends.selection import Selection, rows_of_item

MOST_CLASSES = 64  # that take different events of one Kleene type: they are bits of a word


@dataclass(frozen=True, slots=True)
class SetMember:
    """An automaton of a template of a set, and which alternative of it it belongs to."""

    query: int
    alternative: int
    automaton: Automaton


def set_members(templates: Sequence[Template]) -> Iterator[SetMember]:
    """Yield the automata of all templates."""
    for query, template in enumerate(templates):
        for alternative, automata in enumerate(template.alternatives):
            for automaton in automata:
                yield SetMember(query, alternative, automaton)


@stored
class Counters:
    """What sharing did: bursts and the graphlets they became, snapshots, changes of mind, other events.

    And what it kept: so many numbers in so many bytes, for all windows of a partition at once.
    """

    bursts: int = 0
    graphlets: int = 0
    shared_graphlets: int = 0
    graphlet_snapshots: int = 0
    event_snapshots: int = 0
    splits: int = 0
    merges: int = 0
    other_events: int = 0
    numbers: int = 0
    bytes: int = 0

    def __add__(self, other: "Counters") -> "Counters":
        return Counters(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


def sharing_sets(templates: Sequence[Template]) -> list[list[int]]:
    """Return the sharable sets as far as one pass can run them; what is in none runs by itself.

    A template takes part where it repeats a type of the set and has no steps. A set may be one template,
    which then shares work among its own windows. One with more classes than a word has bits is divided.
    """
    sets = []
    for trend_set in sharable_sets(templates):
        own = [
            number
            for number in trend_set.templates
            if not has_steps(templates[number])
            and (repeated := repeated_types(templates[number]))
            and (not trend_set.types or repeated.intersection(trend_set.types))
        ]
        sets += _of_few_classes(own, templates)
    return sorted(sets)


def _of_few_classes(numbers: Sequence[int], templates: Sequence[Template]) -> list[list[int]]:
    """Divide templates so that few take different events of a type; equal ones are neighbors."""
    taken = {
        number: {item for item in templates[number].items if item.type in repeated_types(templates[number])}
        for number in numbers
    }
    sets: list[list[int]] = []
    classes: set[TrendItem] = set()
    for number in sorted(numbers, key=lambda number: sorted(map(repr, taken[number]))):
        both = classes | taken[number]
        if not sets or max(Counter(item.type for item in both).values()) > MOST_CLASSES:
            sets.append([])
            both = taken[number]
        sets[-1].append(number)
        classes = both
    return [sorted(own) for own in sets]


def repeated_types(template: Template) -> set[str]:
    """Return the event types that a template takes in plain repetitions and nowhere else."""
    simple: set[str] = set()
    others: set[str] = set()
    for member in set_members([template]):
        automaton = member.automaton
        types = [template.items[position.item].type for position in automaton.positions]
        for place, own in enumerate(types):
            is_simple = types.count(own) == 1 and is_plain_repetition(automaton, place)
            (simple if is_simple else others).add(own)
        negated = [item for source in automaton.sources for item in source.negated]
        others |= {template.items[item].type for item in (*negated, *automaton.undone_by)}
    return simple - others


def is_plain_repetition(automaton: Automaton, place: int) -> bool:
    """Whether an event at a position extends every trend that ended there, in one way."""
    feeds = [(feed.ways, automaton.sources[feed.source]) for feed in automaton.positions[place].feeds]
    return [(ways, source) for ways, source in feeds if source.position == place] == [(1, TrendSum(place))]


def has_steps(template: Template) -> bool:
    """Whether a template has conditions between neighbors."""
    return any(source.steps for member in set_members([template]) for source in member.automaton.sources)


def classify_events(selection: Selection, members: Sequence[SetMember]) -> tuple[Array, Array, Array, Array]:
    """Return the Kleene type of each event, the classes that take it, and the position and class of members.

    An event has a Kleene type when all templates that take it do so in a plain repetition of that type.
    """
    templates = selection.templates
    repeated = [repeated_types(template) for template in templates]
    types = sorted(set().union(*repeated))
    kinds = np.full(selection.n_rows, -1, np.int64)
    matched = np.zeros(selection.n_rows, np.uint64)
    kleene = np.full((len(types), len(members)), -1, np.int64)
    classes = np.full((len(types), len(members)), -1, np.int64)
    for kind, own_type in enumerate(types):
        is_pure = np.ones(selection.n_rows, np.bool_)
        for query, template in enumerate(templates):
            allowed = sum(
                1 << bit
                for bit, item in enumerate(template.items)
                if item.type == own_type and own_type in repeated[query]
            )
            is_pure &= selection.takes[query] & ~np.array(allowed, selection.takes.dtype) == 0
        items: dict[TrendItem, int] = {}
        for number, member in enumerate(members):
            if own_type not in repeated[member.query]:
                continue
            for place, position in enumerate(member.automaton.positions):
                item = templates[member.query].items[position.item]
                if item.type == own_type:
                    kleene[kind, number] = place
                    classes[kind, number] = items.setdefault(item, len(items))
        kinds[is_pure] = kind
        for item, number in items.items():
            is_taken = np.zeros(selection.events.n_events, np.bool_)
            is_taken[rows_of_item(item, selection.events)] = True
            matched |= np.where(is_pure & is_taken[selection.rows], np.uint64(1 << number), np.uint64(0))
    return kinds, matched, kleene, classes
