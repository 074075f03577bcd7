"""An alternative of a rule, and the conditions of the rule that speak of it, by when they can be decided."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from weft.expressions import Aggregate, Attribute, Expression, variables_of
from weft.normalize.flatten_operators import flatten_operators
from weft.normalize.resolve_absent import resolve_absent
from weft.normalize.split_alternatives import positive_variables, split_alternatives
from weft.pattern.nodes import Conjunction, Event, Kleene, Negation, Pattern, Query, Sequence
from weft.tree import find, transform_up


@dataclass(frozen=True)
class PatternItem:
    """An event of an alternative, or a list of them."""

    event: Event
    repeats: Kleene | None = None

    @property
    def variable(self) -> str:
        return self.event.variable


@dataclass(frozen=True)
class AppliedCondition:
    """A condition as written, and what it says of the alternative."""

    written: Expression
    applied: Expression

    @property
    def variables(self) -> frozenset[str]:
        return variables_of(self.applied)


@dataclass(frozen=True)
class RuleAlternative:
    """One way to match a rule: a pattern without OR, whose NOTs are as written.

    `empty` are the optional variables of the rule that it leaves out.
    """

    rule: Query
    pattern: Pattern
    empty: frozenset[str] = frozenset()

    @cached_property
    def items(self) -> tuple[PatternItem, ...]:
        """The items in the order of the pattern."""
        return tuple(_items(self.pattern))

    @cached_property
    def lists(self) -> tuple[PatternItem, ...]:
        """The items that are lists."""
        return tuple(item for item in self.items if item.repeats is not None)

    @cached_property
    def negations(self) -> tuple[Negation, ...]:
        """The NOTs in the order of the pattern."""
        return tuple(outer_negations(self.pattern))

    @cached_property
    def conditions(self) -> tuple[AppliedCondition, ...]:
        """The conditions on what is matched, not on what is negated."""
        bound = positive_variables(self.pattern)
        hidden = {
            event.variable for negation in find(self.rule.pattern, Negation) for event in events_of(negation)
        }
        found = []
        for written in self.rule.conditions:
            applied = None
            if not variables_of(written) & (hidden - bound):
                applied = resolve_absent(written, bound, self.empty)
            if applied is not None:
                found.append(AppliedCondition(written, applied))
        return tuple(found)

    def conditions_on(self, negation: Negation) -> tuple[AppliedCondition, ...]:
        """Return the conditions that say what a NOT forbids."""
        own = {event.variable for event in events_of(negation)}
        bound = positive_variables(self.pattern) | own
        return tuple(
            AppliedCondition(written, applied)
            for written in self.rule.conditions
            if variables_of(written) & own
            and (applied := resolve_absent(written, bound, self.empty)) is not None
        )

    def is_whole(self, condition: AppliedCondition) -> bool:
        """Say whether a condition speaks of a list as a whole, or of its neighbors."""
        lists = {item.variable for item in self.lists}
        return any(
            attribute.variable in lists and attribute.place not in ("each", "current")
            for attribute in find(condition.applied, Attribute)
        ) or any(aggregate.variable in lists for aggregate in find(condition.applied, Aggregate))

    def is_before(self, earlier: str, later: str) -> bool:
        """Say whether the pattern puts one item before another."""
        return (earlier, later) in self._order

    @cached_property
    def _order(self) -> frozenset[tuple[str, str]]:
        return frozenset(_order(self.pattern))


def alternatives_of(rule: Query) -> tuple[RuleAlternative, ...]:
    """Return the ways to match a rule.

    >>> from weft.language.parser import parse
    >>> (rule,) = parse("QUERY q PATTERN SEQ(A a, OR(B b, C+ c), NOT D d, E e)")
    >>> [[item.variable for item in own.items] for own in alternatives_of(rule)]
    [['a', 'b', 'e'], ['a', 'c', 'e']]
    """
    found: dict[RuleAlternative, None] = {}
    for alternative in split_alternatives(rule.pattern, rule.name):
        flat = _as_written(flatten_operators(alternative.pattern), rule.pattern)
        found.setdefault(RuleAlternative(rule, flat, alternative.empty))
    return tuple(found)


def as_element(expression: Expression, variables: frozenset[str]) -> Expression:
    """Return what a condition on the elements of lists says of one event of each.

    >>> from weft.expressions import IsNull
    >>> as_element(IsNull(Attribute("l", "x", "current")), frozenset({"l"})).operand.place
    'each'
    """

    def change(node: object) -> object:
        if isinstance(node, Attribute) and node.variable in variables and node.place == "current":
            return replace(node, place="each")
        return node

    return transform_up(expression, change)


def events_of(pattern: Pattern) -> list[Event]:
    """Return all events of a pattern, negated ones included."""
    return list(find(pattern, Event))


def outer_negations(pattern: Pattern) -> Iterator[Negation]:
    """Yield the NOTs of a pattern that stand in no other."""
    if isinstance(pattern, Negation):
        yield pattern
    elif isinstance(pattern, Kleene):
        yield from outer_negations(pattern.operand)
    elif not isinstance(pattern, Event):
        for operand in pattern.operands:
            yield from outer_negations(operand)


def _as_written(pattern: Pattern, written: Pattern) -> Pattern:
    """Put each NOT of the rule in the place of what it was split into."""
    if isinstance(pattern, Negation):
        own = set(events_of(pattern))
        return next(known for known in outer_negations(written) if own <= set(events_of(known)))
    if not isinstance(pattern, Sequence | Conjunction):
        return pattern
    operands = dict.fromkeys(_as_written(operand, written) for operand in pattern.operands)
    return type(pattern)(tuple(operands), pattern.span)


def _items(pattern: Pattern) -> Iterator[PatternItem]:
    match pattern:
        case Event():
            yield PatternItem(pattern)
        case Kleene(operand=Event() as event):
            yield PatternItem(event, pattern)
        case Sequence(operands=operands) | Conjunction(operands=operands):
            for operand in operands:
                yield from _items(operand)


def _order(pattern: Pattern) -> Iterator[tuple[str, str]]:
    if isinstance(pattern, Sequence | Conjunction):
        earlier: list[str] = []
        for operand in pattern.operands:
            yield from _order(operand)
            own = [item.variable for item in _items(operand)]
            if isinstance(pattern, Sequence):
                yield from ((before, after) for before in earlier for after in own)
            earlier += own
