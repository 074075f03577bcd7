"""The steps of an alternative before they are counted: what each asks for, as a query."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from weft.diagnosis.alternative import AppliedCondition, PatternItem, RuleAlternative, as_element
from weft.diagnosis.funnel import StepKind
from weft.diagnosis.relaxation import Relaxation, Relaxer
from weft.diagnosis.values import condition_text
from weft.expressions import Expression
from weft.language.lexer import quote_name
from weft.language.printer import pattern_to_text, window_to_text
from weft.pattern.nodes import Kleene, Negation


@dataclass(frozen=True)
class PlannedStep:
    """A step before it is counted, and what it asks for: of one item `alone`, or of part of the pattern.

    `before` is the same without what this step adds; of one item alone, what was reached without that item.
    """

    kind: StepKind
    text: str
    item: str | None
    alone: tuple[Expression, ...] | None = None
    asked: Relaxation | None = None
    before: Relaxation | None = None
    condition: AppliedCondition | None = None
    negation: Negation | None = None


def planned_steps(relaxer: Relaxer) -> tuple[PlannedStep, ...]:
    """Return the steps of an alternative.

    For each item: its events, then each condition on them alone; then, with the items before it, the
    order, the window and each condition on them together. In these a list is one of its elements. Then the
    lists, and what is said of each as a whole; then each NOT.
    """
    return tuple(_Steps(relaxer).all())


@dataclass
class _Steps:
    relaxer: Relaxer

    def __post_init__(self) -> None:
        self.alternative: RuleAlternative = self.relaxer.alternative
        self.rule = self.alternative.rule
        self.whole = [part for part in self.alternative.conditions if self._is_late(part)]
        self.early = [part for part in self.alternative.conditions if part not in self.whole]

    def all(self) -> Iterator[PlannedStep]:
        asked = Relaxation(())
        for item in self.alternative.items:
            own = [part for part in self.early if part.variables == {item.variable}]
            yield from self._alone(item, own, asked if asked.variables else None)
            before = asked
            asked = replace(
                asked,
                variables=(*asked.variables, item.variable),
                conditions=(*asked.conditions, *(part.applied for part in own)),
            )
            if before.variables:
                joined = self._join(item, before, asked)
                yield from joined
                asked = joined[-1].asked or asked
        if len(self.alternative.items) == 1 and self.rule.keys:
            yield PlannedStep(
                "key",
                _keys_text(self.rule.keys),
                self.alternative.items[0].variable,
                asked=asked,
                before=asked,
            )
        for step in self._lists(asked):
            asked = step.asked or asked
            yield step
        yield from self._negations(asked)

    def _is_late(self, condition: AppliedCondition) -> bool:
        return not condition.variables or self.alternative.is_whole(condition)

    def _alone(
        self, item: PatternItem, own: list[AppliedCondition], reached: Relaxation | None
    ) -> Iterator[PlannedStep]:
        """Yield the steps on the events of one item."""
        yield PlannedStep("events", _item_text(item), item.variable, alone=(), before=reached)
        for number, part in enumerate(own, start=1):
            lists = frozenset(item.variable for item in self.alternative.lists)
            conditions = tuple(as_element(known.applied, lists) for known in own[:number])
            text = condition_text(part.written)
            yield PlannedStep(
                "condition", text, item.variable, alone=conditions, before=reached, condition=part
            )

    def _join(self, item: PatternItem, before: Relaxation, whole: Relaxation) -> list[PlannedStep]:
        """Return the steps that add an item to those before it."""
        variable, window = item.variable, self.rule.window
        is_ordered = any(self.alternative.is_before(earlier, variable) for earlier in before.variables)
        same = f", with the same {', '.join(self.rule.keys)}" if self.rule.keys else ""
        text = f"{'then' if is_ordered else 'and'} {_item_text(item)}{same}"
        joined = replace(whole, window=window is None, near=before.variables)
        steps = [PlannedStep("join", text, variable, asked=joined, before=before)]
        asked = replace(joined, window=True, near=())
        if window is not None:
            within = f"WITHIN {window_to_text(window)}"
            steps.append(PlannedStep("window", within, variable, asked=asked, before=joined))
        for part in self.early:
            if len(part.variables) > 1 and variable in part.variables <= set(whole.variables):
                step_before, asked = asked, replace(asked, conditions=(*asked.conditions, part.applied))
                text = condition_text(part.written)
                steps.append(
                    PlannedStep("condition", text, variable, asked=asked, before=step_before, condition=part)
                )
        return steps

    def _lists(self, asked: Relaxation) -> Iterator[PlannedStep]:
        """Yield the steps that make lists of single elements, and ask for what is said of them as a whole."""
        variables = {item.variable for item in self.alternative.lists}
        done: list[AppliedCondition] = []
        for item in self.alternative.lists:
            before, asked = asked, replace(asked, lists=asked.lists | {item.variable})
            yield PlannedStep("list", _list_text(item), item.variable, asked=asked, before=before)
            for part in self.whole:
                if part not in done and part.variables & variables <= asked.lists:
                    done.append(part)
                    yield (step := self._added(part, asked, item.variable))
                    asked = step.asked or asked
        for part in self.whole:
            if part not in done:
                yield (step := self._added(part, asked, None))
                asked = step.asked or asked

    def _added(self, part: AppliedCondition, asked: Relaxation, item: str | None) -> PlannedStep:
        more = replace(asked, conditions=(*asked.conditions, part.applied))
        text = condition_text(part.written)
        return PlannedStep("condition", text, item, asked=more, before=asked, condition=part)

    def _negations(self, asked: Relaxation) -> Iterator[PlannedStep]:
        for negation in self.alternative.negations:
            parts = self.alternative.conditions_on(negation)
            before = asked
            asked = replace(
                asked,
                forbidden=(*asked.forbidden, negation),
                conditions=(*asked.conditions, *(part.applied for part in parts)),
            )
            said = " AND ".join(condition_text(part.written) for part in parts)
            text = pattern_to_text(negation) + (f" WHERE {said}" if said else "")
            yield PlannedStep("negation", text, None, asked=asked, before=before, negation=negation)


def _item_text(item: PatternItem) -> str:
    return pattern_to_text(item.repeats or item.event)


def _list_text(item: PatternItem) -> str:
    kleene = item.repeats
    name = f"{quote_name(item.variable)}[]"
    match kleene:
        case Kleene(least=least, most=None):
            return f"{name}: every list" if least == 1 else f"{name}: {least} or more"
        case Kleene(least=least, most=most):
            return f"{name}: {least}" if least == most else f"{name}: {least} to {most}"
    return name


def _keys_text(keys: tuple[str, ...]) -> str:
    return f"[{', '.join(map(quote_name, keys))}]"
