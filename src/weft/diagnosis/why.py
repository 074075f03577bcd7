"""How far a rule gets on given events: its funnels, its matches, its closest miss."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from weft.diagnosis.funnel import Funnel, FunnelStep
from weft.diagnosis.miss import ClosestMiss, MissedEvent
from weft.diagnosis.values import time_text, value_text

MOST_ALTERNATIVES = 8  # that are shown; as plain values, all are there
INDENTED = ("condition", "window", "key")


@dataclass(frozen=True)
class Why:
    """Why a rule matches, or does not: what is left of the events step by step, and the closest miss.

    There is a funnel for each alternative of the rule; the steps of the `whole` are those of all alternatives
    together: which matches are left by STRATEGY, SKIP and SUPPRESS. `matches` is None where the count exceeds
    the budget, and for a trend query, which has none.
    """

    rule: str
    matches: int | None
    funnels: tuple[Funnel, ...]
    whole: tuple[FunnelStep, ...] = ()
    closest: ClosestMiss | None = None
    looked_at: str = ""
    remark: str = ""

    @property
    def verdict(self) -> str:
        """The answer in a line."""
        at = f" (of events with {self.looked_at})" if self.looked_at else ""
        if self.matches is None:
            return f"rule {self.rule}: {self.remark or 'how many matches there are was not counted'}{at}"
        if not self.matches:
            return f"rule {self.rule}: no match{at}"
        return f"rule {self.rule}: {self.matches:,} {'match' if self.matches == 1 else 'matches'}{at}"

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "rule": self.rule,
            "matches": self.matches,
            "looked_at": self.looked_at,
            "remark": self.remark,
            "alternatives": [
                {"pattern": funnel.pattern, "steps": [_step_dict(step) for step in funnel.steps]}
                for funnel in self.funnels
            ],
            "whole": [_step_dict(step) for step in self.whole],
            "closest_miss": None if self.closest is None else _miss_dict(self.closest),
        }

    def to_json(self) -> str:
        """Return all of it as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)


@dataclass(frozen=True)
class ShownStep:
    """A step as a line: what is asked for, what is left, and what to say of that."""

    label: str
    count: str
    remark: str
    is_empty: bool


def shown_steps(why: Why) -> Iterator[tuple[str, list[ShownStep]]]:
    """Yield the steps of each alternative under its pattern, then those of all alternatives together.

    >>> why = Why("q", 3, (Funnel("A a", (FunnelStep("events", "A a", 3),)),))
    >>> list(shown_steps(why))
    [('', [ShownStep(label='A a', count='3', remark='', is_empty=False)])]
    """
    has_several = len(why.funnels) > 1
    further = sorted(why.funnels, key=lambda funnel: funnel.reach, reverse=True)[:MOST_ALTERNATIVES]
    for funnel in (own for own in why.funnels if own in further):
        yield funnel.pattern if has_several else "", _shown_funnel(funnel)
    if (n_more := len(why.funnels) - MOST_ALTERNATIVES) > 0:
        yield f"and {n_more} more alternatives, which get no further", []
    if why.whole:
        yield "all alternatives" if has_several else "", [_shown(step, "") for step in why.whole]


def _shown_funnel(funnel: Funnel) -> list[ShownStep]:
    failing = funnel.failing
    chosen = funnel.most_selective if failing is None else failing
    said = "the fewest pass here" if failing is None else "nothing is left here"
    return [_shown(step, said if place == chosen else "") for place, step in enumerate(funnel.steps)]


def _shown(step: FunnelStep, said: str) -> ShownStep:
    label = f"  {step.text}" if step.kind in INDENTED else step.text
    count = "?" if step.count is None else f"{step.count:,}"
    return ShownStep(label, count, step.note or said, step.count == 0)


def event_text(event: MissedEvent) -> str:
    """Return an event of a closest miss as a line."""
    shown = ", ".join(f"{name} {value_text(value)}" for name, value in event.attributes.items())
    name = event.type if event.type == event.variable else f"{event.type} {event.variable}"
    text = f"{time_text(event.time)}  {name}  id {event.id}" + (f"  {shown}" if shown else "")
    return f"{text}  (forbidden)" if event.is_blocker else text


def _lines(why: Why) -> Iterator[str]:
    yield why.verdict
    groups = list(shown_steps(why))
    every_step = [step for _, own in groups for step in own]
    width = max((len(step.label) for step in every_step), default=0)
    digits = max((len(step.count) for step in every_step), default=0)
    for title, steps in groups:
        if title:
            yield title
        for step in steps:
            yield f"  {step.label:<{width}}  {step.count:>{digits}}  {step.remark}".rstrip()
    if why.closest is not None:
        yield f"closest miss: {why.closest.text}"
        yield from (f"  {event_text(event)}" for event in why.closest.events)


def _step_dict(step: FunnelStep) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "text": step.text,
        "item": step.item,
        "count": step.count,
        "note": step.note,
    }


def _miss_dict(miss: ClosestMiss) -> dict[str, Any]:
    return {
        "condition": miss.condition,
        "found": miss.found,
        "events": [
            {
                "variable": event.variable,
                "type": event.type,
                "time": event.time.isoformat(),
                "id": event.id,
                "attributes": {name: _plain(value) for name, value in event.attributes.items()},
                "forbidden": event.is_blocker,
            }
            for event in miss.events
        ],
    }


def _plain(value: object) -> object:
    """Return a value that JSON has, or its text."""
    if isinstance(value, date):
        return value.isoformat()
    is_number = isinstance(value, bool | int) or isinstance(value, float) and math.isfinite(value)
    return value if value is None or is_number else str(value)
