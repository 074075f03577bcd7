"""When to plan anew: functions that look at the statistics of the moment and say why, if at all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from weft.adaptation.invariants import (
    CachedPrices,
    Invariant,
    average_relative_difference,
    by_difference,
    by_violation_probability,
    select_invariants,
)
from weft.adaptation.quick_check import QuickCheck, Terms, terms_of
from weft.cost.model import CostModel
from weft.cost.shape import Shape, items_of
from weft.optimizer.orders.decided import Decided

Selection = Literal["tightest", "violation-probability"]
FARTHEST = 1.0  # a distance that is tuned never exceeds it: twice the cost is always noticed


@dataclass(frozen=True, slots=True)
class Violation:
    """Why to plan anew: a predicate about some items, which a mask tells, or about none."""

    subject: str
    predicate: str
    mask: int = 0

    def sentence(self, names: Sequence[str] = ()) -> str:
        """Return the violation in words, with the names of the items or their numbers.

        >>> Violation("the rate", "is 30, more than 20% away from 20", 0b10).sentence(["a", "b"])
        'the rate of b is 30, more than 20% away from 20'
        """
        items = [names[item] if names else f"item {item}" for item in items_of(self.mask)]
        return " ".join([self.subject, *(["of", ", ".join(items)] if items else []), self.predicate])


class DecisionFunction:
    """Says when to plan anew, by nothing but what it is told; this one never does.

    `distance` is what it has learned, which a restart has to know; `watched` is what it looks at; `rule` says
    when to plan anew.
    """

    distance: float = 0.0
    watched: Sequence[Invariant] = ()
    rule = "never"

    def adopt(self, decided: Decided, shape: Shape, variances: Sequence[float] = ()) -> None:
        """Take note of a plan that was made, of the statistics then, and of how the rates of items vary."""

    def violation(self, shape: Shape) -> Violation | None:  # noqa: ARG002
        """Return why to plan anew under the statistics of a moment, or None."""
        return None

    def learn(self, gain: float) -> None:
        """Take note of the share of the cost that planning anew has saved."""

    def recall(self, distance: float) -> None:
        """Go on with what another one has learned, of the same kind."""


class Invariants(DecisionFunction):
    """Plan anew when one of `k` conditions of a block, or of all, is violated beyond a distance.

    These are the tightest by their difference when the plan was made, or those that are most likely to be
    violated, as the rates vary. The distance is a number; or "average", which is the average relative
    difference of all conditions whenever a plan is adopted; or "tuned". A tuned distance starts with
    `switch_cost`, the gain from which planning anew is worth what it costs. A gain below it makes the
    distance d become 2d + `switch_cost`, but not more than FARTHEST. A gain of at least twice that makes it
    become 0.9d. So few poor plans in a row keep the function from answering to small differences, and it
    takes many good ones until it does again.

    With a distance of 0, a violation means that the algorithm returns another plan, as long as its
    conditions price all nodes of a plan anew.

    >>> from weft.cost.partial_matches import PartialMatches
    >>> from weft.optimizer.orders.greedy_order import decide_greedy_order
    >>> before, after = (Shape((100.0, 15.0, rate), (0, 0, 0), window=1.0) for rate in (10.0, 16.0))
    >>> invariants = Invariants(PartialMatches())
    >>> invariants.adopt(decide_greedy_order(before), before)
    >>> invariants.violation(after).sentence("ABC")
    'the choice of C costs 16, another one 15'
    """

    def __init__(
        self,
        model: CostModel,
        k: int | None = 1,
        distance: float | Literal["average", "tuned"] = 0.0,
        selection: Selection = "tightest",
        *,
        switch_cost: float = 0.05,
    ) -> None:
        self._model, self._k, self._distance, self._selection = model, k, distance, selection
        self._switch_cost = switch_cost
        self.distance = switch_cost if distance == "tuned" else 0.0 if distance == "average" else distance
        self.watched = ()
        self.rule = _rule_of(k, distance, selection)
        self._terms: Terms | None = None
        self._check: QuickCheck | None = None

    def adopt(self, decided: Decided, shape: Shape, variances: Sequence[float] = ()) -> None:
        """Choose the invariants of a plan."""
        if self._terms is None:
            self._terms = terms_of(shape, self._model)
        if self._k is None and self._terms is not None:
            self._watch_all(decided, shape, self._terms)
        else:
            is_likely = self._selection == "violation-probability"
            tightness = by_violation_probability(shape, variances) if is_likely else by_difference
            self.watched = select_invariants(decided, shape, self._model, self._k, tightness)
            self._check = None if self._terms is None else QuickCheck(self.watched, self._terms)
        if self._distance == "average":
            self.distance = average_relative_difference(decided, shape, self._model)

    def violation(self, shape: Shape) -> Violation | None:
        """Return the first invariant that is violated, parts of the plan before the whole."""
        prices = CachedPrices(self._model)
        for invariant in self._suspects(shape):
            taken, other = invariant.condition.values(shape, prices)
            if not invariant.condition.allows(taken, other, self.distance):
                allowed = f", which {self.distance:.1%} of difference do not allow" if self.distance else ""
                costs = f"costs {taken:.6g}, another one {other:.6g}{allowed}"
                return Violation("the choice", costs, invariant.block)
        return None

    def _watch_all(self, decided: Decided, shape: Shape, terms: Terms) -> None:
        """Watch all conditions, none of which has to be priced by itself to be chosen."""
        unpriced = [
            Invariant(block.mask, condition, 0.0, 0.0)
            for block in decided.blocks
            for condition in block.conditions
        ]
        self._check = QuickCheck(unpriced, terms)
        taken, other = (side.tolist() for side in self._check.sides(shape))
        self.watched = tuple(
            replace(invariant, taken=cost, other=others)
            for invariant, cost, others in zip(unpriced, taken, other, strict=True)
        )

    def _suspects(self, shape: Shape) -> Sequence[Invariant]:
        """Return the invariants that may be violated, most of the time none."""
        if self._check is None:
            return self.watched
        return [self.watched[number] for number in self._check.suspects(shape, self.distance)]

    def learn(self, gain: float) -> None:
        """Tune the distance, if it is to be tuned."""
        if self._distance != "tuned":
            return
        if gain < self._switch_cost:
            self.distance = min(FARTHEST, 2.0 * self.distance + self._switch_cost)
        elif gain >= 2.0 * self._switch_cost:
            self.distance *= 0.9

    def recall(self, distance: float) -> None:
        """Go on with a distance, if it is tuned."""
        if self._distance == "tuned":
            self.distance = distance


class Threshold(DecisionFunction):
    """Plan anew when any statistic is farther from its value at adoption than `t`.

    That is a share of the value; or, as in the paper, an amount: the same for all rates and selectivities.

    >>> from weft.optimizer.orders.greedy_order import decide_greedy_order
    >>> before, after = (Shape((100.0, 15.0, rate), (0, 0, 0), window=1.0) for rate in (10.0, 16.0))
    >>> threshold = Threshold(0.5)
    >>> threshold.adopt(decide_greedy_order(before), before)
    >>> threshold.violation(after).sentence("ABC")
    'the rate of C is 16, more than 50% away from 10'
    >>> threshold = Threshold(5.0, is_share=False)
    >>> threshold.adopt(decide_greedy_order(before), before)
    >>> threshold.violation(after).sentence("ABC")
    'the rate of C is 16, more than 5 away from 10'
    """

    def __init__(self, t: float, *, is_share: bool = True) -> None:
        self._t, self._is_share = t, is_share
        self._allowed = f"more than {t:.0%} away" if is_share else f"more than {t:g} away"
        self.rule = f"when a statistic is {self._allowed} from what it was when the plan was made"
        self._adopted: list[float] = []

    def adopt(self, decided: Decided, shape: Shape, variances: Sequence[float] = ()) -> None:  # noqa: ARG002
        """Take note of the statistics."""
        self._adopted = [value for _, _, value in statistics_of(shape)]

    def violation(self, shape: Shape) -> Violation | None:
        """Return the first statistic that deviates too much."""
        for (subject, mask, value), adopted in zip(statistics_of(shape), self._adopted, strict=False):
            if abs(value - adopted) > self._t * (adopted if self._is_share else 1.0):
                deviation = f"is {value:.6g}, {self._allowed} from {adopted:.6g}"
                return Violation(f"the {subject}", deviation, mask)
        return None


class Unconditional(DecisionFunction):
    """Plan anew whenever asked."""

    rule = "in every step that is watched"

    def violation(self, shape: Shape) -> Violation | None:  # noqa: ARG002
        """Return that it is time."""
        return Violation("planned anew", "without asking")


class Static(DecisionFunction):
    """Never plan anew."""


def _rule_of(k: int | None, distance: float | str, selection: Selection) -> str:
    """Say which conditions are watched, and how far they may be violated.

    >>> _rule_of(1, 0.1, "tightest")
    'when the tightest condition of a part is violated by more than 10%'
    """
    measure = "likeliest" if selection == "violation-probability" else "tightest"
    which = "any condition"
    if k is not None:
        which = f"the {measure} condition" if k == 1 else f"one of the {k} {measure} conditions"
    allowed = f"a distance that is {distance}" if isinstance(distance, str) else f"{distance:.0%}"
    return f"when {which} of a part is violated by more than {allowed}"


def statistics_of(shape: Shape) -> Iterator[tuple[str, int, float]]:
    """Yield all statistics of a pattern: what they are, the items they speak of, and their values.

    >>> list(statistics_of(Shape((2.0,), (0,), window=60.0)))
    [('window', 0, 60.0), ('agreement on keys', 0, 1.0), ('rate', 1, 2.0)]
    """
    yield "window", 0, shape.window  # of a number of events, it depends on their rate
    yield "agreement on keys", 0, shape.agreement
    for item, rate in enumerate(shape.rates):
        yield "rate", 1 << item, rate
    for group in shape.groups:
        yield "selectivity", group.mask, group.selectivity
        yield "selectivity of equalities", group.mask, group.equality
    for item, bounds in shape.lists.items():
        yield "selectivity between elements", 1 << item, bounds.edge
        yield "selectivity of lists", 1 << item, bounds.whole
    for check in shape.checks:
        yield "share that a negation leaves", check.needs, check.survival
