"""Queries that ask for less than a rule: some of its items, conditions and NOTs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from weft.diagnosis.alternative import RuleAlternative, as_element, events_of
from weft.diagnosis.look import Look
from weft.expressions import (
    Absolute,
    Arithmetic,
    Attribute,
    Comparison,
    Equivalence,
    Expression,
    Literal,
    Or,
)
from weft.pattern.nodes import (
    Conjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Query,
    ReturnColumn,
    TimeWindow,
)
from weft.pattern.nodes import Sequence as Seq
from weft.schema import DURATION


@dataclass(frozen=True)
class Relaxation:
    """What of an alternative is asked for.

    `variables` are the items that are bound, of which `lists` are lists, with the number of elements that
    `lengths` says, and the others single events. What is `forbidden` is not bound; what is `found` of
    negations is, to show what lies there. Without `keys`, events need not agree; without a `window`,
    they may be any time apart. Some items are kept near each other, agree or are left without order by
    themselves.
    """

    variables: tuple[str, ...]
    conditions: tuple[Expression, ...] = ()
    lists: frozenset[str] = frozenset()
    lengths: tuple[tuple[str, int], ...] = ()
    forbidden: tuple[Negation, ...] = ()
    found: tuple[Negation, ...] = ()
    keys: bool = True
    window: bool = True
    near: tuple[str, ...] = ()  # items that are within the window where the others need not be
    agreeing: tuple[str, ...] = ()  # items that agree on the keys where the others need not
    loose: str | None = None  # an item that may stand anywhere


@dataclass(frozen=True)
class Relaxer:
    """Writes the queries of an alternative for what is looked at of the events."""

    alternative: RuleAlternative
    look: Look

    def query(self, name: str, asked: Relaxation, returns: Sequence[ReturnColumn] = ()) -> Query:
        """Return the query that asks for so much."""
        rule = self.alternative.rule
        pattern = self._pattern(asked)
        window = rule.window if asked.window else None
        keys = tuple(part for part in rule.where if isinstance(part, Equivalence)) if asked.keys else ()
        partition_by = rule.partition_by if asked.keys else ()
        conditions = (
            *(self._written_for(condition, asked) for condition in asked.conditions),
            *self._nearness(asked),
            *self._agreement(asked),
            *self._presence(asked),
            *self.look.conditions(pattern),
        )
        return Query(name, pattern, (*keys, *conditions), window, partition_by, tuple(returns))

    def _written_for(self, condition: Expression, asked: Relaxation) -> Expression:
        """Return a condition on the elements of lists that are looked at as single events."""
        elements = {item.variable for item in self.alternative.lists} - asked.lists
        return as_element(condition, frozenset(elements))

    def _pattern(self, asked: Relaxation) -> Pattern:
        kept = _kept(self.alternative.pattern, asked)
        if asked.loose is not None:
            others = _kept(_without(self.alternative.pattern, asked.loose), asked)
            alone = _kept(_item_pattern(self.alternative, asked.loose), asked)
            kept = Conjunction(tuple(part for part in (others, alone) if part is not None))
        if kept is None:
            raise ValueError(f"nothing of the pattern is left for {asked.variables}")
        return kept

    def _nearness(self, asked: Relaxation) -> Iterable[Expression]:
        """Yield what keeps some events within the window of the rule, without one."""
        window = self.alternative.rule.window
        if asked.window or not isinstance(window, TimeWindow):
            return
        for earlier, later in combinations(asked.near, 2):
            apart = Arithmetic("-", self.time_of(later), self.time_of(earlier))
            distance = apart if self.alternative.is_before(earlier, later) else Absolute(apart)
            yield Comparison("<=", distance, Literal(window.length, DURATION))

    def _agreement(self, asked: Relaxation) -> Iterable[Expression]:
        """Yield what makes some events agree on the keys, where not all need to."""
        if asked.keys:
            return
        for name in self.alternative.rule.keys:
            for one, other in zip(asked.agreeing, asked.agreeing[1:], strict=False):
                yield Comparison("=", self.look.attribute(one, name), self.look.attribute(other, name))

    def _presence(self, asked: Relaxation) -> Iterable[Expression]:
        """Yield what lets what a NOT in an AND forbids come after the first event of the match."""
        for negation in asked.found:
            if not _is_in_sequence(self.alternative.pattern, negation):
                for event in events_of(negation):
                    later = (
                        Comparison(">=", self.time_of(event.variable), self._first_time(other, asked))
                        for other in asked.variables
                    )
                    if operands := tuple(later):
                        yield Or(operands) if len(operands) > 1 else operands[0]

    def _first_time(self, variable: str, asked: Relaxation) -> Attribute:
        time = self.time_of(variable)
        return replace(time, place="first") if variable in asked.lists else time

    def time_of(self, variable: str) -> Attribute:
        """Return the time of an event."""
        return self.look.attribute(variable, self.look.schema.time)


def _kept(pattern: Pattern, asked: Relaxation) -> Pattern | None:
    """Return what is left of a pattern, None if nothing is matched by it."""
    match pattern:
        case Event():
            return pattern if pattern.variable in asked.variables else None
        case Kleene(operand=Event() as event):
            if event.variable not in asked.variables:
                return None
            if event.variable not in asked.lists:
                return event
            length = dict(asked.lengths).get(event.variable)
            return pattern if length is None else Kleene(event, length, length, pattern.span)
        case Negation():
            if pattern in asked.found:
                return _positive(pattern.operand)
            return pattern if pattern in asked.forbidden else None
        case Seq(operands=operands) | Conjunction(operands=operands):
            left = [part for part in (_kept(operand, asked) for operand in operands) if part is not None]
            if all(isinstance(part, Negation) for part in left):
                return None
            return left[0] if len(left) == 1 else type(pattern)(tuple(left), pattern.span)
    return None


def _positive(pattern: Pattern) -> Pattern:
    """Return a negated pattern without what it negates in turn."""
    if isinstance(pattern, Event | Kleene | Negation):
        return pattern
    left = tuple(_positive(operand) for operand in pattern.operands if not isinstance(operand, Negation))
    return left[0] if len(left) == 1 else type(pattern)(left, pattern.span)


def _without(pattern: Pattern, variable: str) -> Pattern:
    """Return a pattern in which an item is replaced by nothing."""
    if not isinstance(pattern, Seq | Conjunction):
        return pattern
    left = (
        _without(operand, variable)
        for operand in pattern.operands
        if isinstance(operand, Negation) or {event.variable for event in events_of(operand)} != {variable}
    )
    return type(pattern)(tuple(left), pattern.span)


def _item_pattern(alternative: RuleAlternative, variable: str) -> Pattern:
    (item,) = (item for item in alternative.items if item.variable == variable)
    return item.repeats or item.event


def _is_in_sequence(pattern: Pattern, negation: Negation) -> bool:
    """Say whether the operator right around a NOT is SEQ."""
    if isinstance(pattern, Seq | Conjunction):
        if negation in pattern.operands:
            return isinstance(pattern, Seq)
        return any(_is_in_sequence(operand, negation) for operand in pattern.operands)
    return False
