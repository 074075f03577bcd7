"""Turn the pattern of a CCL statement into one of ours: `!` looks at the whole interval everywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from weft.errors import Problem, Span
from weft.language.ccl_rules import Absent, Combined, Named, Source, Step
from weft.language.findings import Findings
from weft.language.lexer import quote_name
from weft.pattern import nodes
from weft.pattern.nodes import Conjunction, Event, Negation, Pattern, Some


@dataclass(frozen=True, slots=True)
class _Part:
    """What a step requires, None for nothing, and what it forbids, wherever it stands in the whole."""

    required: Pattern | None
    forbidden: tuple[Negation, ...] = ()


@dataclass(slots=True)
class Translation:
    """The events of FROM by name, those met so far in the pattern, and the problems found."""

    sources: Mapping[str, Source]
    problems: list[Problem]
    events: dict[str, Event] = field(default_factory=dict)

    def pattern(self, steps: Step) -> Pattern | None:
        """Return the pattern of all steps, None when they require no event.

        >>> here, sources = Span(0, 1), {name: Source(name, name, Span(0, 1)) for name in "AB"}
        >>> steps = Combined(",", [Absent(Named("B", here), here), Named("A", here)], here)
        >>> Translation(sources, []).pattern(steps).operands
        (Event(type='A', variable='A'), Negation(operand=Event(type='B', variable='B')))
        """
        return self._closed(steps, "the pattern requires no event", "add one without '!'")

    def _closed(self, step: Step, message: str, hint: str) -> Pattern | None:
        """Return a step with what it forbids inside of it; a step that requires nothing is a problem."""
        part = self._part(step)
        if part.required is None:
            if part.forbidden:
                self.problems.append(Problem(message, step.span, hint))
            return None
        if not part.forbidden:
            return part.required
        required = part.required
        operands = required.operands if isinstance(required, Conjunction) else (required,)
        return Conjunction((*operands, *part.forbidden), step.span)

    def _part(self, step: Step) -> _Part:
        match step:
            case Named():
                return _Part(self._event(step))
            case Absent(part=part, span=span):
                return self._absent(part, span)
            case Combined(operator="|", parts=parts):
                return _Part(self._some(parts, step))
            case Combined(operator=operator, parts=steps):
                parts = [self._part(each) for each in steps]
                required = [part.required for part in parts if part.required is not None]
                kind = nodes.Sequence if operator == "," else Conjunction
                return _Part(
                    _combined(kind, required, step), tuple(each for part in parts for each in part.forbidden)
                )

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

    def _absent(self, step: Step, span: Span) -> _Part:
        if isinstance(step, Absent):
            message, hint = "'!' directly after '!'", "two of them cancel out; drop both to require the event"
            self.problems.append(Problem(message, step.span, hint))
        pattern = self._closed(step, "what '!' forbids requires no event", "add one without '!' inside")
        return _Part(None, () if pattern is None else (Negation(pattern, span),))

    def _some(self, steps: Sequence[Step], whole: Combined) -> Pattern | None:
        message = "'!' must be used with ',' or '&': an operand of '|' requires at least one event"
        closed = [self._closed(step, message, "write for example (A & !B) | C") for step in steps]
        return _combined(Some, [each for each in closed if each is not None], whole)


def _combined(
    kind: type[nodes.Sequence] | type[Conjunction] | type[Some], operands: list[Pattern], step: Step
) -> Pattern | None:
    """Return an operator over its operands, flat: one of the same kind gives its own operands to it."""
    flat: list[Pattern] = []
    for operand in operands:
        flat += operand.operands if isinstance(operand, kind) else (operand,)
    if len(flat) < 2:
        return flat[0] if flat else None
    return kind(tuple(flat), step.span)
