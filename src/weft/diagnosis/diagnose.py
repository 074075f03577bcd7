"""Say how far a rule gets on the events of a host, step by step, and what it misses most narrowly."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from weft.diagnosis.alternative import alternatives_of, as_element, events_of, outer_negations
from weft.diagnosis.candidates import candidates_of
from weft.diagnosis.closest import closest_miss, events_of_row, first_rows
from weft.diagnosis.funnel import Funnel, FunnelStep, StepKind
from weft.diagnosis.look import Key, Look, look_at
from weft.diagnosis.miss import ClosestMiss
from weft.diagnosis.planned_steps import PlannedStep, planned_steps
from weft.diagnosis.relaxation import Relaxer
from weft.diagnosis.values import condition_text
from weft.diagnosis.why import Why
from weft.errors import near_name
from weft.expressions import Expression, variables_of
from weft.hosts.host import Host
from weft.hosts.queries import QueryCounts, about_variable, count_events, count_queries
from weft.language.printer import pattern_to_text, policy_lines
from weft.pattern.nodes import Query
from weft.pattern.policies import Policy
from weft.runtime.budget import Budget
from weft.statistics.model import ItemKey

STEP_BUDGET = Budget(candidates=1_000_000_000)  # of one step; what exceeds it is told, not counted
TREND_REMARK = "a trend query has aggregates, not matches; these are the events that its trends are made of"
LIMIT = re.compile(r"more than [\d,]+ [a-z ]+?(?= for )")


def diagnose(
    host: Host[Any],
    rule: Query,
    *,
    key: Key | None = None,
    at: datetime | str | None = None,
    budget: Budget = STEP_BUDGET,
) -> Why:
    """Return how far a rule gets on the events of a host.

    Every step is a query that asks for less than the rule; all run together, and equal parts once. Counts are
    of the input as it is given: before any filter, each event once.
    """
    look = look_at(host.source.schema, rule, key, at)
    if rule.is_trend:
        return _trend_diagnosis(host, rule, look, budget)
    return _Diagnosis(host, rule, look, budget).why()


@dataclass
class _Diagnosis:
    host: Host[Any]
    rule: Query
    look: Look
    budget: Budget

    def __post_init__(self) -> None:
        self.relaxers = [Relaxer(alternative, self.look) for alternative in alternatives_of(self.rule)]
        self.steps = [planned_steps(relaxer) for relaxer in self.relaxers]
        self.whole = dict(self._whole_queries())

    def why(self) -> Why:
        events = self._count_events()
        matches = self._count_matches()
        funnels = tuple(
            Funnel(
                pattern_to_text(relaxer.alternative.pattern),
                tuple(
                    _counted(step, events if step.alone is not None else matches, name) for name, step in own
                ),
            )
            for relaxer, own in zip(self.relaxers, self._named, strict=True)
        )
        funnels = _with_hints(self.host, funnels, self.relaxers)
        whole = tuple(_step_of(kind, text, matches, query.name) for kind, (text, query) in self.whole.items())
        last = whole[-1] if whole else funnels[0].steps[-1]
        closest = self._closest(funnels, whole) if last.count == 0 else None
        return Why(self.rule.name, last.count, funnels, whole, closest, self.look.text)

    @property
    def _named(self) -> list[list[tuple[str, PlannedStep]]]:
        """The steps of each alternative by a name."""
        return [
            [(f"{self.rule.name}, step {number}.{place}", step) for place, step in enumerate(own, start=1)]
            for number, own in enumerate(self.steps, start=1)
        ]

    def _count_events(self) -> QueryCounts:
        """Count the events of each item, and those that satisfy conditions on them alone."""
        kinds: dict[str, ItemKey] = {}
        for relaxer, own in zip(self.relaxers, self._named, strict=True):
            types = {item.variable: item.event.type for item in relaxer.alternative.items}
            for name, step in own:
                if step.alone is not None and step.item is not None:
                    conditions = (*step.alone, *self.look.conditions_on(step.item))
                    kinds[name] = kind_of_events(types[step.item], conditions)
        return count_kinds_once(self.host, kinds, self.budget)

    def _count_matches(self) -> QueryCounts:
        """Count what is asked for by steps on several items, and by those on the whole."""
        named = {
            name: relaxer.query(name, step.asked)
            for relaxer, own in zip(self.relaxers, self._named, strict=True)
            for name, step in own
            if step.asked is not None
        }
        named |= {query.name: query for _, query in self.whole.values()}
        first: dict[Query, str] = {}  # alternatives have many steps in common
        for name, query in named.items():
            first.setdefault(replace(query, name=""), name)
        counted = count_queries(self.host, [named[name] for name in first.values()], self.budget)
        return under_names(counted, {name: first[replace(query, name="")] for name, query in named.items()})

    def _whole_queries(self) -> Iterable[tuple[StepKind, tuple[str, Query]]]:
        """Yield the steps on all alternatives together: their union, the strategy, what one match hides."""
        rule, policy = self.rule, self.rule.policy
        plain = replace(
            rule,
            where=(*rule.where, *self.look.conditions(rule.pattern)),
            policy=Policy(),
            returns=(),
        )
        if len(self.relaxers) > 1:
            yield (
                "union",
                ("matches of any alternative", replace(plain, name=f"{rule.name}, any alternative")),
            )
        chosen = Policy(strategy=policy.strategy)
        if policy.strategy not in (None, "any"):
            text = policy_lines(chosen)[0]
            yield "strategy", (text, replace(plain, name=f"{rule.name}, strategy", policy=chosen))
        if policy.walks:
            hidden = replace(policy, strategy=None, timeouts=False)
            text = " ".join(policy_lines(hidden))
            kept = replace(policy, timeouts=False)
            yield "skip", (text, replace(plain, name=f"{rule.name}, skip", policy=kept))

    def _closest(self, funnels: Sequence[Funnel], whole: Sequence[FunnelStep]) -> ClosestMiss | None:
        """Return the closest miss of the alternative that gets furthest, or of the strategy."""
        failing = {
            number: funnel.failing for number, funnel in enumerate(funnels) if funnel.failing is not None
        }
        if len(failing) < len(funnels):
            return self._hidden(whole)
        number = max(failing, key=lambda own: funnels[own].reach)
        step, relaxer = self.steps[number][failing[number]], self.relaxers[number]
        found = closest_miss(self.host, relaxer, candidates_of(step, relaxer), self.budget)
        note = funnels[number].steps[failing[number] or 0].note
        return replace(found, found=note) if found is not None and note else found

    def _hidden(self, whole: Sequence[FunnelStep]) -> ClosestMiss | None:
        """Return a match that the strategy refuses."""
        step = next((own for own in whole if own.count == 0 and own.kind == "strategy"), None)
        if step is None:
            return None
        query = replace(self.whole["strategy"][1], policy=Policy())
        row = first_rows(self.host, [query], self.budget)
        if row is None:
            return None
        is_strict = self.rule.policy.strategy == "strict"
        found = "other events lie in between" if is_strict else "an event that could be taken was passed over"
        return ClosestMiss(step.text, found, events_of_row(row, {}, frozenset()))


def kind_of_events(type_name: str, conditions: Iterable[Expression]) -> ItemKey:
    """Return the kind of the events of a type that satisfy conditions on them alone."""
    return ItemKey(type_name, tuple(about_variable(condition, "$0") for condition in conditions))


def count_kinds_once(host: Host[Any], kinds: Mapping[str, ItemKey], budget: Budget) -> QueryCounts:
    """Count the events of kinds, those that have several names once."""
    first: dict[ItemKey, str] = {}
    for name, kind in kinds.items():
        first.setdefault(kind, name)
    counted = count_events(host, {name: kind for kind, name in first.items()}, budget)
    return under_names(counted, {name: first[kind] for name, kind in kinds.items()})


def under_names(counted: QueryCounts, names: Mapping[str, str]) -> QueryCounts:
    """Return counts under further names: each name with the one that was counted.

    >>> under_names(QueryCounts({"a": 1}), {"a": "a", "b": "a"}).counts
    {'a': 1, 'b': 1}
    """
    return QueryCounts(
        {name: counted.counts[own] for name, own in names.items()},
        {name: counted.stopped[own] for name, own in names.items() if own in counted.stopped},
    )


def _counted(step: PlannedStep, counts: QueryCounts, name: str) -> FunnelStep:
    counted = _step_of(step.kind, step.text, counts, name)
    return replace(counted, item=step.item, is_alone=step.alone is not None)


def _step_of(kind: StepKind, text: str, counts: QueryCounts, name: str) -> FunnelStep:
    if name in counts.stopped:
        limit = LIMIT.search(counts.stopped[name])
        return FunnelStep(kind, text, None, note=limit[0] if limit else "exceeds the budget")
    return FunnelStep(kind, text, counts.counts[name])


def _with_hints(
    host: Host[Any], funnels: tuple[Funnel, ...], relaxers: Sequence[Relaxer]
) -> tuple[Funnel, ...]:
    """Say of types that no event has what may be meant."""
    absent = [
        step for funnel in funnels for step in funnel.steps if step.kind == "events" and step.count == 0
    ]
    if not absent:
        return funnels
    known = host.count_types()
    types = [{item.variable: item.event.type for item in relaxer.alternative.items} for relaxer in relaxers]
    return tuple(
        replace(funnel, steps=tuple(_with_hint(step, own, known) for step in funnel.steps))
        for funnel, own in zip(funnels, types, strict=True)
    )


def _with_hint(step: FunnelStep, types: Mapping[str, str], known: Mapping[str, int]) -> FunnelStep:
    name = types.get(step.item or "", "")
    if step.kind != "events" or step.count != 0 or known.get(name):
        return step
    near = near_name(name, [other for other, count in known.items() if count])
    meant = f"; did you mean {near} ({_n_events(known[near])})?" if near else ""
    return replace(step, note=f"no event has type {name}{meant}")


def _n_events(count: int) -> str:
    return "1 event" if count == 1 else f"{count:,} events"


def _trend_diagnosis(host: Host[Any], rule: Query, look: Look, budget: Budget) -> Why:
    """Return the events of each item of a trend query, and what conditions on them alone leave."""
    negated = {event.variable for negation in outer_negations(rule.pattern) for event in events_of(negation)}
    kinds: dict[str, ItemKey] = {}
    steps: dict[str, FunnelStep] = {}
    for event in events_of(rule.pattern):
        if event.variable in negated:
            continue
        own = [part for part in rule.conditions if variables_of(part) == {event.variable}]
        name, conditions = f"{event.variable}", [*look.conditions_on(event.variable)]
        kinds[name] = kind_of_events(event.type, conditions)
        steps[name] = FunnelStep("events", pattern_to_text(event), 0, event.variable, is_alone=True)
        for number, part in enumerate(own):
            conditions.append(as_element(part, frozenset({event.variable})))
            kinds[f"{name}_{number}"] = kind_of_events(event.type, conditions)
            text = condition_text(part)
            steps[f"{name}_{number}"] = FunnelStep("condition", text, 0, event.variable, is_alone=True)
    counted = count_kinds_once(host, kinds, budget)
    told = tuple(replace(step, count=counted.counts[name]) for name, step in steps.items())
    return Why(
        rule.name,
        None,
        (Funnel(pattern_to_text(rule.pattern), told),),
        looked_at=look.text,
        remark=TREND_REMARK,
    )
