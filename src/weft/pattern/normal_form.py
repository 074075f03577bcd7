"""The normal form of one alternative of a query: items, a strict partial order, predicates, negations.

Sharing, ordering and distribution all work on this form, because its projection to a subset of its
items is again a normal form.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from weft.expressions import Expression, variables_of
from weft.pattern.nodes import Window
from weft.pattern.policies import Strategy

Scope = Literal["window", "match", "gap"]
EVERY_TYPE = "\0every"  # the type of an item that any event is


@dataclass(frozen=True, slots=True)
class Item:
    """A positive event, or a list of `least` to `most` events when `is_list`.

    The `strategy` of a list says which events follow each other in it: any, always the next that could be
    taken, or always the very next of the input.
    """

    variable: str
    type: str
    is_list: bool = False
    least: int = 1
    most: int | None = 1
    strategy: Strategy = "any"


@dataclass(frozen=True, slots=True)
class NegatedForm:
    """A pattern that must not match inside its scope.

    The scope opens after the last event of the variables `after` and closes before the first event of
    the variables `before`. Where one side is empty, the window bounds that side; where both are, the
    scope reaches from the first event of the match to the end of the window. In a `scope` that is the match,
    its first and its last event bound the sides that are empty. One that is a gap lies between every two
    events that follow each other in a list, which is `after` and `before`; of these two, predicates call the
    earlier one previous. What the strategy of the query forbids is told apart from what its pattern does.
    """

    form: "NormalForm"
    after: tuple[str, ...]
    before: tuple[str, ...]
    predicates: tuple[Expression, ...] = ()
    scope: Scope = "window"
    is_strategic: bool = False

    @property
    def outer_variables(self) -> frozenset[str]:
        """The variables of the surrounding match that the negation, or one inside it, looks at."""
        inner = {item.variable for item in self.form.items}
        mentioned = frozenset[str]().union(
            *map(variables_of, self.predicates),
            *(negation.outer_variables for negation in self.form.negations),
        )
        return (mentioned - inner) | frozenset(self.after) | frozenset(self.before)

    @property
    def needs_whole_match(self) -> bool:
        """Whether the scope depends on the first or last event of the whole match."""
        return not (self.after and self.before)

    @property
    def looks_back(self) -> bool:
        """Whether the scope begins before the match: that of a NOT first in its SEQ."""
        return bool(self.before and not self.after and self.scope == "window")


@dataclass(frozen=True, slots=True)
class NormalForm:
    """One OR-free alternative of a query.

    `order` is transitively closed and irreflexive; `keys` are the attributes on which all events
    agree; `partition_by` are those among them inside which a count window counts. Of a form that `is_some`,
    each match of a non-empty part of the items is one, and a predicate speaks of those that bind all its
    variables; its items are single events without an order.
    """

    items: tuple[Item, ...]
    order: frozenset[tuple[str, str]]
    predicates: tuple[Expression, ...] = ()
    keys: tuple[str, ...] = ()
    negations: tuple[NegatedForm, ...] = ()
    window: Window | None = None
    partition_by: tuple[str, ...] = ()
    is_some: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(item.variable for item in self.items)


def project(form: NormalForm, variables: Set[str]) -> NormalForm:
    """Return the part of a normal form that speaks of `variables` alone.

    Every match of the form, restricted to the variables, is a match of the projection.

    >>> a, b, c = Item("a", "A"), Item("b", "B"), Item("c", "C")
    >>> form = NormalForm((a, b, c), frozenset({("a", "b"), ("a", "c"), ("b", "c")}))
    >>> project(form, {"a", "c"}).order
    frozenset({('a', 'c')})
    """
    return NormalForm(
        items=tuple(item for item in form.items if item.variable in variables),
        order=frozenset((a, b) for a, b in form.order if a in variables and b in variables),
        predicates=tuple(p for p in form.predicates if variables_of(p) and variables_of(p) <= variables),
        keys=form.keys,
        negations=tuple(
            negation
            for negation in form.negations
            if not negation.needs_whole_match
            and negation.outer_variables <= variables
            and _of_negated_types(form, negation) <= variables
        ),
        window=form.window,
        partition_by=form.partition_by,
        is_some=form.is_some,
    )


def _of_negated_types(form: NormalForm, negation: NegatedForm) -> set[str]:
    """The items of a negated type: what one of them binds does not negate."""
    negated_types = {item.type for item in negation.form.items}
    return {item.variable for item in form.items if item.type in negated_types}
