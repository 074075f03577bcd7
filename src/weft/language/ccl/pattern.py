"""Turn the pattern of a CCL statement into one of ours: `!` looks at the whole interval everywhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod

from weft.errors import Problem, Span
from weft.language.ccl.rules import CclSource
from weft.language.ccl.steps import Absent, Combined, Named, Step
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.pattern import nodes
from weft.pattern.nodes import (
    MAX_ALTERNATIVES,
    Conjunction,
    Disjunction,
    Event,
    Negation,
    Pattern,
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
    problems: list[Problem]
    events: dict[str, Event] = field(default_factory=dict)

    def pattern(self, steps: Step) -> Pattern | None:
        """Return the pattern of all steps, None after a mistake.

        >>> here, sources = Span(0, 1), {name: CclSource(name, name, Span(0, 1)) for name in "AB"}
        >>> steps = Combined(",", [Absent(Named("B", here), here), Named("A", here)], here)
        >>> Translation(sources, []).pattern(steps).operands
        (Event(type='A', variable='A'), Negation(operand=Event(type='B', variable='B')))
        """
        return self._closed(steps, "the pattern requires no event", "add one without '!'")

    def _closed(self, step: Step, message: str, hint: str) -> Pattern | None:
        """Return a step as a pattern; a way to match it that requires no event is a problem."""
        alternatives = self._alternatives(step)
        empty = [each for each in alternatives if each.required is None]
        if empty and len(empty) == len(alternatives):
            if any(each.forbidden for each in empty):
                self.problems.append(Problem(message, step.span, hint))
            return None
        for each in (one for one in empty if one.forbidden):
            message = "a combination of '|' requires no event: '!' must be used with ',' or '&'"
            hint = "write for example (A & !B) | C"
            self.problems.append(Problem(message, each.forbidden[0].span, hint))
        patterns = [_with_negations(each, step.span) for each in alternatives if each.required is not None]
        return patterns[0] if len(patterns) == 1 else Disjunction(tuple(patterns), step.span)

    def _alternatives(self, step: Step) -> list[_Alternative]:
        match step:
            case Named():
                return [_Alternative(self._event(step))]
            case Absent(operand=operand, span=span):
                return [self._absent(operand, span)]
            case Combined(operator=operator, operands=steps):
                choices = [self._alternatives(each) for each in steps]
                if operator == "|":
                    return _some(choices, step.span)
                kind = nodes.Sequence if operator == "," else Conjunction
                if prod(map(len, choices)) > MAX_ALTERNATIVES:
                    message = f"'|' and '!' give more than {MAX_ALTERNATIVES} alternatives"
                    self.problems.append(Problem(message, step.span, "write several statements"))
                    return [_Alternative(None)]
                return [_joined(kind, chosen, step.span) for chosen in product(*choices)]

    def _event(self, named: Named) -> Event | None:
        alias = named.alias
        source = self.sources.get(alias)
        if source is None:
            self._complain_of_name(named)
            return None
        if alias in self.events:
            message = f"{quote_name(alias)} occurs twice in the pattern"
            shown = quote_name(source.type)
            hint = f"list the type once more in FROM, under another name: {shown} AS {alias}_2"
            self.problems.append(Problem(message, named.span, hint))
        event = Event(source.type, alias, named.span)
        self.events[alias] = event
        return event

    def _complain_of_name(self, named: Named) -> None:
        shown = quote_name(named.alias)
        others = [source.alias for source in self.sources.values() if source.type == named.alias]
        if others:
            hint: str | None = f"FROM calls it {' and '.join(map(quote_name, others))}"
        else:
            hint = Findings().suggest(named.alias, self.sources) or "add it to FROM"
        self.problems.append(Problem(f"{shown} is not in FROM", named.span, hint))

    def _absent(self, step: Step, span: Span) -> _Alternative:
        if isinstance(step, Absent):
            hint = "two of them cancel out; drop both to require the event"
            self.problems.append(Problem("'!' directly after '!'", step.span, hint))
            self._alternatives(step)
            return _Alternative(None)
        pattern = self._closed(step, "what '!' forbids requires no event", "add one without '!' inside")
        return _Alternative(None, () if pattern is None else (Negation(pattern, span),))


def _some(choices: list[list[_Alternative]], span: Span) -> list[_Alternative]:
    """Return the alternatives of `|`: every combination of what is required, or nothing of it.

    A combination of events and a negation is found without the negation too, so that a negation by
    itself counts only where no event is taken.
    """
    operands = []
    for choice in choices:
        patterns = [_with_negations(each, span) for each in choice if each.required is not None]
        if patterns:
            operands.append(patterns[0] if len(patterns) == 1 else Disjunction(tuple(patterns), span))
    empty = [each for choice in choices for each in choice if each.required is None]
    required = _combined(Some, operands, span)
    return [*([] if required is None else [_Alternative(required)]), *empty]


def _joined(
    kind: type[nodes.Sequence] | type[Conjunction], chosen: tuple[_Alternative, ...], span: Span
) -> _Alternative:
    required = [each.required for each in chosen if each.required is not None]
    forbidden = tuple(negation for each in chosen for negation in each.forbidden)
    return _Alternative(_combined(kind, required, span), forbidden)


def _with_negations(alternative: _Alternative, span: Span) -> Pattern:
    required, forbidden = alternative.required, alternative.forbidden
    assert required is not None
    if not forbidden:
        return required
    operands = required.operands if isinstance(required, Conjunction) else (required,)
    return Conjunction((*operands, *forbidden), span)


def _combined(
    kind: type[nodes.Sequence] | type[Conjunction] | type[Some], operands: list[Pattern], span: Span
) -> Pattern | None:
    """Return an operator over its operands, flat: one of the same kind gives its own operands to it."""
    flat: list[Pattern] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, kind) else (operand,)
    if len(flat) < 2:
        return flat[0] if flat else None
    return kind(tuple(flat), span)
