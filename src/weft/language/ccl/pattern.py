"""Turn the pattern of a CCL statement into one of ours: `!` looks at the whole interval everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

from weft.errors import Span
from weft.language.ccl.rules import CclSource
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.pattern.nodes import (
    MAX_ALTERNATIVES,
    Conjunction,
    Disjunction,
    Event,
    Negation,
    Pattern,
    Sequence,
    Some,
)


@dataclass(frozen=True, slots=True)
class _Alternative:
    """What a way to match requires, None for nothing, and what it forbids, wherever that is written."""

    required: Pattern | None
    forbidden: tuple[Negation, ...] = ()


@dataclass(slots=True)
class Translation:
    """The events of FROM by name, those met so far in the pattern, and the problems found."""

    sources: Mapping[str, CclSource]
    findings: Findings
    events: dict[str, Event] = field(default_factory=dict)

    def pattern(self, written: Pattern) -> Pattern | None:
        """Return the pattern that a statement means, None after a mistake.

        >>> sources = {name: CclSource(name, name, Span(0, 1)) for name in "AB"}
        >>> written = Sequence((Negation(Event("B", "B")), Event("A", "A")))
        >>> Translation(sources, Findings()).pattern(written).operands
        (Event(type='A', variable='A'), Negation(operand=Event(type='B', variable='B')))
        """
        return self._translate(written, "the pattern requires no event", "add one without '!'")

    def _translate(self, written: Pattern, message: str, hint: str) -> Pattern | None:
        """Return the meaning of a part; a way to match it that requires no event is a problem."""
        alternatives = self._alternatives(written)
        empty = [each for each in alternatives if each.required is None]
        if empty and len(empty) == len(alternatives):
            if any(each.forbidden for each in empty):
                self.findings.complain(message, written.span, hint)
            return None
        for each in (each for each in empty if each.forbidden):
            message = "a combination of '|' requires no event: '!' must be used with ',' or '&'"
            hint = "write for example (A & !B) | C"
            self.findings.complain(message, each.forbidden[0].span, hint)
        return _either(alternatives, written.span)

    def _alternatives(self, written: Pattern) -> list[_Alternative]:
        match written:
            case Event():
                return [_Alternative(self._event(written))]
            case Negation():
                return [self._negation(written)]
            case Some(operands=operands):
                return _some([self._alternatives(operand) for operand in operands], written.span)
            case Sequence() | Conjunction():
                choices = [self._alternatives(operand) for operand in written.operands]
                if prod(map(len, choices)) > MAX_ALTERNATIVES:
                    message = f"'|' and '!' give more than {MAX_ALTERNATIVES} alternatives"
                    self.findings.complain(message, written.span, "write several statements")
                    return [_Alternative(None)]
                return [
                    _join_alternatives(type(written), chosen, written.span) for chosen in product(*choices)
                ]
        raise AssertionError(f"{written!r} is no pattern of CCL")

    def _event(self, written: Event) -> Event | None:
        alias = written.variable
        source = self.sources.get(alias)
        if source is None:
            self._complain_of_name(written)
            return None
        if alias in self.events:
            message = f"{quote_name(alias)} occurs twice in the pattern"
            shown = quote_name(source.type)
            hint = f"list the type once more in FROM, under another name: {shown} AS {alias}_2"
            self.findings.complain(message, written.span, hint)
        event = Event(source.type, alias, written.span)
        self.events[alias] = event
        return event

    def _complain_of_name(self, written: Event) -> None:
        alias = written.variable
        others = [source.alias for source in self.sources.values() if source.type == alias]
        if others:
            hint: str | None = f"FROM calls it {' and '.join(map(quote_name, others))}"
        else:
            hint = self.findings.suggest(alias, self.sources) or "add it to FROM"
        self.findings.complain(f"{quote_name(alias)} is not in FROM", written.span, hint)

    def _negation(self, written: Negation) -> _Alternative:
        operand = written.operand
        if isinstance(operand, Negation):
            hint = "two of them cancel out; drop both to require the event"
            self.findings.complain("'!' directly after '!'", operand.span, hint)
            self._alternatives(operand)
            return _Alternative(None)
        pattern = self._translate(operand, "what '!' forbids requires no event", "add one without '!' inside")
        return _Alternative(None, () if pattern is None else (Negation(pattern, written.span),))


def _some(choices: list[list[_Alternative]], span: Span | None) -> list[_Alternative]:
    """Return the alternatives of `|`: every combination of what is required, or nothing of it.

    A combination of events and a negation is found without the negation too, so that a negation by
    itself counts only where no event is taken.
    """
    operands = [pattern for choice in choices if (pattern := _either(choice, span)) is not None]
    required = _combine(Some, operands, span)
    empty = [each for choice in choices for each in choice if each.required is None]
    return [*([] if required is None else [_Alternative(required)]), *empty]


def _join_alternatives(
    kind: type[Sequence] | type[Conjunction], chosen: tuple[_Alternative, ...], span: Span | None
) -> _Alternative:
    required = [each.required for each in chosen if each.required is not None]
    forbidden = tuple(negation for each in chosen for negation in each.forbidden)
    return _Alternative(_combine(kind, required, span), forbidden)


def _either(alternatives: list[_Alternative], span: Span | None) -> Pattern | None:
    """Return the OR of the alternatives that require an event."""
    patterns = [_with_negations(each, span) for each in alternatives if each.required is not None]
    if len(patterns) < 2:
        return patterns[0] if patterns else None
    return Disjunction(tuple(patterns), span)


def _with_negations(alternative: _Alternative, span: Span | None) -> Pattern:
    required, forbidden = alternative.required, alternative.forbidden
    assert required is not None
    if not forbidden:
        return required
    operands = required.operands if isinstance(required, Conjunction) else (required,)
    return Conjunction((*operands, *forbidden), span)


def _combine(
    kind: type[Sequence] | type[Conjunction] | type[Some], operands: list[Pattern], span: Span | None
) -> Pattern | None:
    """Return an operator over its operands, flat: one of the same kind gives its own operands to it."""
    flat: list[Pattern] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, kind) else (operand,)
    if len(flat) < 2:
        return flat[0] if flat else None
    return kind(tuple(flat), span)
