"""How far a rule gets on given events: its funnels, its matches, its closest miss."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from weft.diagnosis.funnel import Funnel, FunnelStep
from weft.diagnosis.miss import ClosestMiss, MissedEvent
from weft.diagnosis.values import time_text, value_text

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


def step_label(step: FunnelStep) -> str:
    """Return a step as a line shows it: what is said of an item below the item.

    >>> step_label(FunnelStep("condition", "a.x > 1", 0))
    '  a.x > 1'
    """
    return f"  {step.text}" if step.kind in INDENTED else step.text


def count_text(step: FunnelStep) -> str:
    """Return what a step leaves, or that it was not counted."""
    return "?" if step.count is None else f"{step.count:,}"


def step_remarks(why: Why) -> Iterator[tuple[FunnelStep, str]]:
    """Yield what to say of steps: where nothing is left, where most is lost, why a count is not known."""
    for funnel in why.funnels:
        failing = funnel.failing
        chosen = funnel.most_selective if failing is None else failing
        said = "the fewest pass here" if failing is None else "nothing is left here"
        for number, step in enumerate(funnel.steps):
            own = [step.note] if step.note else []
            own += [said] if number == chosen else []
            yield step, "; ".join(own)
    yield from ((step, step.note) for step in why.whole)


def event_text(event: MissedEvent) -> str:
    """Return an event of a closest miss as a line."""
    shown = ", ".join(f"{name} {value_text(value)}" for name, value in event.attributes.items())
    name = event.type if event.type == event.variable else f"{event.type} {event.variable}"
    text = f"{time_text(event.time)}  {name}  id {event.id}" + (f"  {shown}" if shown else "")
    return f"{text}  (forbidden)" if event.is_blocker else text


def _lines(why: Why) -> Iterator[str]:
    yield why.verdict
    remarks = iter(step_remarks(why))
    every_step = [*(step for funnel in why.funnels for step in funnel.steps), *why.whole]
    width = max((len(step_label(step)) for step in every_step), default=0)
    digits = max((len(count_text(step)) for step in every_step), default=0)
    groups: list[tuple[str, int]] = [(funnel.pattern, len(funnel.steps)) for funnel in why.funnels]
    groups += [("all alternatives" if len(why.funnels) > 1 else "", len(why.whole))] if why.whole else []
    for title, size in groups:
        if len(groups) > 1 and title:
            yield f"{title}"
        for _ in range(size):
            step, remark = next(remarks)
            line = f"  {step_label(step):<{width}}  {count_text(step):>{digits}}"
            yield f"{line}  {remark}".rstrip()
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
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, timedelta | Decimal) else value
