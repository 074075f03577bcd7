"""Where to look for the closest miss: queries that leave out what fails, the most telling first."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from weft.diagnosis.alternative import AppliedCondition, as_element, events_of
from weft.diagnosis.planned_steps import PlannedStep
from weft.diagnosis.relaxation import Relaxation, Relaxer
from weft.expressions import (
    Absolute,
    Aggregate,
    Arithmetic,
    Attribute,
    Comparison,
    Expression,
    type_of,
    variables_of,
)
from weft.pattern.nodes import CountWindow, Negation, ReturnColumn
from weft.tree import find, walk

DISTANCE = "distance"  # the RETURN column by which misses are compared
MOST_LENGTHS = 10  # of a list that is too short, that are tried
Finding = OneOf["values", "order", "key", "window", "length", "blocker", "nothing", "missing"]


@dataclass(frozen=True)
class Candidate:
    """A query for misses of a step: what to say of them, and the values that tell.

    `terms` are values by their text; `attributes` are those of single events, by variable and name. The
    match with the smallest `distance` is the closest.
    """

    asked: Relaxation
    finding: Finding
    condition: str
    terms: tuple[Expression, ...] = ()
    distance: Expression | None = None
    item: str | None = None
    attributes: tuple[Attribute, ...] = ()
    length: int | None = None
    blockers: frozenset[str] = frozenset()

    @property
    def returns(self) -> tuple[ReturnColumn, ...]:
        """The RETURN columns of the query, in the order: distance, terms, attributes."""
        own = [] if self.distance is None else [ReturnColumn(DISTANCE, self.distance)]
        own += [ReturnColumn(f"term{number}", term) for number, term in enumerate(self.terms)]
        own += [ReturnColumn(f"attribute{number}", one) for number, one in enumerate(self.attributes)]
        return tuple(own)


def candidates_of(step: PlannedStep, relaxer: Relaxer) -> tuple[Candidate, ...]:
    """Return where to look for the closest miss of a step that leaves nothing."""
    return tuple(_with_attributes(own, relaxer) for own in _candidates(step, relaxer))


def _candidates(step: PlannedStep, relaxer: Relaxer) -> Iterator[Candidate]:
    match step:
        case PlannedStep(kind="events", before=Relaxation() as reached):
            yield Candidate(reached, "missing", step.text, item=step.item)
        case PlannedStep(
            alone=tuple() as alone, item=str() as item, condition=AppliedCondition() as condition
        ):
            yield from _own_condition(step, item, alone[:-1], condition.applied)
        case PlannedStep(
            kind="condition", before=Relaxation() as before, condition=AppliedCondition() as condition
        ):
            yield _about(before, condition.applied, step.text, step.item)
        case PlannedStep(kind="key", before=Relaxation() as before):
            yield Candidate(replace(before, keys=False), "key", step.text, item=step.item)
        case PlannedStep(
            kind="join", before=Relaxation() as before, asked=Relaxation() as asked, item=str() as item
        ):
            yield from _join(step.text, item, before, asked, relaxer)
        case PlannedStep(kind="window", before=Relaxation() as before):
            yield Candidate(before, "window", step.text, item=step.item)
        case PlannedStep(kind="list", asked=Relaxation() as asked, item=str() as item):
            yield from _shorter_lists(step.text, item, asked, relaxer)
        case PlannedStep(
            before=Relaxation() as before, asked=Relaxation() as asked, negation=Negation() as negation
        ):
            found = frozenset(event.variable for event in events_of(negation))
            blocked = replace(before, conditions=asked.conditions, found=(negation,))
            yield Candidate(blocked, "blocker", step.text, blockers=found)


def _own_condition(
    step: PlannedStep, item: str, passed: tuple[Expression, ...], failing: Expression
) -> Iterator[Candidate]:
    """Yield events that fail a condition on them alone: after what was reached before, else any."""
    if (reached := step.before) is not None:
        asked = replace(
            reached, variables=(*reached.variables, item), conditions=(*reached.conditions, *passed)
        )
        yield _about(asked, failing, step.text, item)
    yield _about(Relaxation((item,), passed, keys=False, window=False), failing, step.text, item)


def _join(
    text: str, item: str, before: Relaxation, asked: Relaxation, relaxer: Relaxer
) -> Iterator[Candidate]:
    """Yield events in another order, then such as do not agree on the keys, then any before or after."""
    rule = relaxer.alternative.rule
    is_counted = isinstance(rule.window, CountWindow)
    within = replace(asked, window=True, near=())
    distance = _time_between(item, before, relaxer)
    if distance is not None:
        yield Candidate(replace(within, loose=item), "order", text, distance=distance, item=item)
    if rule.keys:
        unlike = replace(within, keys=False, agreeing=before.variables, window=not is_counted)
        yield Candidate(unlike, "key", text, item=item)
    if distance is not None and rule.window is not None:
        anywhere = replace(asked, loose=item)
        yield Candidate(anywhere, "order", text, distance=distance, item=item)
    yield Candidate(before, "nothing", text, item=item)


def _time_between(item: str, before: Relaxation, relaxer: Relaxer) -> Expression | None:
    """Return how far an item is from the last one that the pattern puts before it."""
    earlier = [other for other in before.variables if relaxer.alternative.is_before(other, item)]
    if not earlier:
        return None
    return Absolute(Arithmetic("-", relaxer.time_of(item), relaxer.time_of(earlier[-1])))


def _shorter_lists(text: str, item: str, asked: Relaxation, relaxer: Relaxer) -> Iterator[Candidate]:
    """Yield lists that are too short, the longest first."""
    (own,) = (own for own in relaxer.alternative.lists if own.variable == item)
    least = own.repeats.least if own.repeats is not None else 1
    for length in range(least - 1, max(least - 1 - MOST_LENGTHS, 0), -1):
        shorter = replace(asked, lengths=((item, length),))
        yield Candidate(shorter, "length", text, item=item, length=length)


def _about(asked: Relaxation, failing: Expression, text: str, item: str | None) -> Candidate:
    """Return a candidate for a condition that fails: the values of which it speaks."""
    return Candidate(
        asked, "values", text, terms=_terms(failing, asked), distance=_distance(failing, asked), item=item
    )


def _terms(condition: Expression, asked: Relaxation) -> tuple[Expression, ...]:
    """Return the values that a condition compares and that a match can tell."""
    found: dict[Expression, None] = {}
    for node in walk(condition):
        if isinstance(node, Attribute | Aggregate):
            for term in _told(node, asked):
                found.setdefault(replace(term, span=None))
    return tuple(found)


def _told(node: Attribute | Aggregate, asked: Relaxation) -> Iterator[Attribute | Aggregate]:
    """Yield what of a value can be returned: of neighbors in a list, the ends of the list."""
    if isinstance(node, Aggregate) or node.variable not in asked.lists:
        yield node if isinstance(node, Aggregate) else replace(node, place="each")
    elif node.place in ("first", "last"):
        yield node
    else:
        yield replace(node, place="first")
        yield replace(node, place="last")


def _distance(condition: Expression, asked: Relaxation) -> Expression | None:
    """Return how far a comparison is from being true; None where that is no number."""
    if not isinstance(condition, Comparison):
        return None
    mentioned = list(find(condition, Attribute))
    if any(one.variable in asked.lists and one.place not in ("first", "last") for one in mentioned):
        return None
    left, right = _of_single(condition.left, asked), _of_single(condition.right, asked)
    kind = type_of(left)
    if not kind.is_numeric and kind.kind not in ("duration", "timestamp"):
        return None
    return Absolute(Arithmetic("-", left, right))


def _of_single(expression: Expression, asked: Relaxation) -> Expression:
    return as_element(expression, variables_of(expression) - asked.lists)


def _with_attributes(candidate: Candidate, relaxer: Relaxer) -> Candidate:
    """Add the attributes that are shown with each event: keys, and what the condition speaks of."""
    shown: dict[Attribute, None] = {}
    single = [variable for variable in candidate.asked.variables if variable not in candidate.asked.lists]
    for variable in single:
        for name in relaxer.alternative.rule.keys:
            shown.setdefault(relaxer.look.attribute(variable, name))
    for term in candidate.terms:
        if isinstance(term, Attribute) and term.variable in single:
            shown.setdefault(replace(term, place="each"))
    return replace(candidate, attributes=tuple(shown))
