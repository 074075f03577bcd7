"""Turn the strategy of a query into negations: what must not lie between the events of its matches.

Under NEXT, no event that could have been taken lies before the one that was, nor after the end of a list that
might have gone on. Under STRICT, no event at all lies between two that follow each other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from weft.expressions import (
    RANK,
    Aggregate,
    Attribute,
    Comparison,
    Expression,
    Literal,
    Or,
    Place,
    variables_of,
)
from weft.normalize.resolve_absent import resolve_absent
from weft.normalize.simplify_predicates import simplify_predicates
from weft.normalize.split_alternatives import negated_variables, positive_variables
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query
from weft.pattern.nodes import Sequence as Seq
from weft.pattern.normal_form import EVERY_TYPE, Item, NegatedForm, NormalForm, Scope
from weft.schema import LONG
from weft.tree import find, transform_up


def apply_strategy(form: NormalForm, query: Query, empty: frozenset[str]) -> NormalForm:
    """Return the form whose matches are those that the strategy of a query keeps.

    `empty` are the optional variables of the query that the form leaves out.

    >>> from weft.pattern.policies import Policy
    >>> pattern = Seq((Event("A", "a"), Event("B", "b")))
    >>> form = NormalForm((Item("a", "A"), Item("b", "B")), frozenset({("a", "b")}))
    >>> (sooner,) = apply_strategy(form, Query("q", pattern, policy=Policy("next")), frozenset()).negations
    >>> sooner.form.items[0].type, sooner.after, sooner.before
    ('B', ('a',), ('b',))
    """
    strategy = query.policy.strategy
    if strategy is None or strategy == "any":
        return form
    forbidden = _NextEvents(form, query, empty).forbidden() if strategy == "next" else _between(form)
    items = tuple(replace(item, strategy=strategy) if item.is_list else item for item in form.items)
    return replace(form, items=items, negations=(*form.negations, *forbidden))


def _between(form: NormalForm) -> Iterator[NegatedForm]:
    """Yield what forbids other events between those of a match.

    Where all items are in order, that is said of each two neighbors, so that it can be used early.
    """
    if 2 * len(form.order) == len(form.items) * (len(form.items) - 1):
        ordered = sorted(form.variables, key=lambda name: sum(b == name for _, b in form.order))
        for earlier, later in zip(ordered, ordered[1:], strict=False):
            yield _negate(form, Item(f"{later} between", EVERY_TYPE), (), (earlier,), (later,))
        for item in form.items:
            if item.is_list:
                name, own = f"{item.variable} between", (item.variable,)
                yield _negate(form, Item(name, EVERY_TYPE), (), own, own, "gap")
    else:
        name = "between"
        apart = [Comparison("!=", _rank_of(item, "each"), _rank(name)) for item in form.items]
        yield _negate(form, Item(name, EVERY_TYPE), apart, (), (), "match")


@dataclass(frozen=True)
class _NextEvents:
    """The events that could have been taken instead of, or besides, those that a form binds."""

    form: NormalForm
    query: Query
    empty: frozenset[str]

    def forbidden(self) -> Iterator[NegatedForm]:
        """Yield what forbids such events."""
        for item in self.form.items:
            yield from self._sooner(item)
            if item.is_list:
                yield from self._within(item)
                yield from self._after_end(item)
        for event in find(self.query.pattern, Event):
            if event.variable in self.empty:
                yield from self._instead_of_nothing(event)

    def _sooner(self, item: Item) -> Iterator[NegatedForm]:
        """Yield what forbids events before the one that an item, or the first element of a list, binds."""
        order = self.form.order
        earlier = [v for v in self.form.variables if (v, item.variable) in order]
        if earlier or not all(v == item.variable or (item.variable, v) in order for v in self.form.variables):
            name = f"{item.variable} sooner"
            asked = self._asked(item.variable, name, after=None)
            scope: Scope = "window" if earlier else "match"
            yield self._negate(item.type, name, asked, self._latest(earlier), (item.variable,), scope)

    def _within(self, item: Item) -> Iterator[NegatedForm]:
        """Yield what forbids events between an element of a list and the next."""
        name, own = f"{item.variable} between", (item.variable,)
        if item.most != 1:
            asked = self._asked(item.variable, name, after="previous")
            yield self._negate(item.type, name, asked, own, own, "gap")

    def _after_end(self, item: Item) -> Iterator[NegatedForm]:
        """Yield what forbids events after the last element of a list that could go on."""
        later = [v for v in self.form.variables if (item.variable, v) in self.form.order]
        if later and item.least != item.most:
            name = f"{item.variable} more"
            asked = self._asked(item.variable, name, after="last")
            if item.most is not None:
                asked.append(Comparison("<", Aggregate("count", item.variable), Literal(item.most, LONG)))
            yield self._negate(item.type, name, asked, (item.variable,), self._earliest(later))

    def _instead_of_nothing(self, event: Event) -> Iterator[NegatedForm]:
        """Yield what forbids events where an optional one is left out."""
        earlier = [v for v in self.form.variables if (v, event.variable) in self._written]
        later = [v for v in self.form.variables if (event.variable, v) in self._written]
        if earlier and later:
            name = f"{event.variable} taken"
            asked = self._asked(event.variable, name, after=None)
            yield self._negate(event.type, name, asked, self._latest(earlier), self._earliest(later))

    @property
    def _written(self) -> frozenset[tuple[str, str]]:
        return written_order(self.query.pattern)

    def _negate(
        self,
        event_type: str,
        name: str,
        asked: Sequence[Expression],
        after: tuple[str, ...],
        before: tuple[str, ...],
        scope: Scope = "window",
    ) -> NegatedForm:
        return _negate(self.form, Item(name, event_type), asked, after, before, scope)

    def _asked(self, variable: str, name: str, after: Place | None) -> list[Expression]:
        """Return the conditions on an item that an event `name` must satisfy to be taken for it.

        It comes `after` the previous or the last element of a list. Conditions on whole lists are not asked,
        nor those on what comes later; those on what may come before or after it, if it came before.
        """
        hidden = negated_variables(self.query.pattern)
        asked: dict[Expression, None] = {}
        for written in self.query.conditions:
            if variable not in variables_of(written) or variables_of(written) & hidden:
                continue
            bound = {*self.form.variables, variable}
            condition = resolve_absent(written, bound, self.empty - {variable})
            is_single = any(item.variable == variable and not item.is_list for item in self.form.items)
            if condition is None or not is_single and speaks_of_whole(condition, variable):
                continue
            others = variables_of(condition) - {variable}
            speaks_of_pairs = any(
                a.place == "previous" for a in find(condition, Attribute) if a.variable == variable
            )
            if any((variable, v) in self._written for v in others) or (speaks_of_pairs and after is None):
                continue
            loose = [v for v in sorted(others) if (v, variable) not in self._written]
            for part in simplify_predicates([about_event(condition, variable, name, after)]):
                asked[self._if_before(part, condition, loose, name)] = None
        return list(asked)

    def _if_before(self, part: Expression, condition: Expression, loose: list[str], name: str) -> Expression:
        """Return a condition that is asked only where the events of some variables come before another's."""
        if not loose:
            return part
        items = [item for item in self.form.items if item.variable in loose]
        ranks = [_rank_of(item, _decisive_place(condition, item.variable)) for item in items]
        return Or((*(Comparison(">=", rank, _rank(name)) for rank in ranks), part))

    def _latest(self, variables: Sequence[str]) -> tuple[str, ...]:
        """Return those of some variables that no other of them follows."""
        return tuple(v for v in variables if not any((v, w) in self.form.order for w in variables))

    def _earliest(self, variables: Sequence[str]) -> tuple[str, ...]:
        """Return those of some variables that no other of them precedes."""
        return tuple(v for v in variables if not any((w, v) in self.form.order for w in variables))


def _negate(
    form: NormalForm,
    item: Item,
    asked: Sequence[Expression],
    after: tuple[str, ...],
    before: tuple[str, ...],
    scope: Scope = "window",
) -> NegatedForm:
    """Return what forbids a match of a form an event of an item in a scope."""
    alone = tuple(part for part in asked if variables_of(part) == {item.variable})
    event = NormalForm((item,), frozenset(), alone, form.keys, (), form.window, form.partition_by)
    crossing = tuple(part for part in asked if part not in alone)
    return NegatedForm(event, after, before, crossing, scope, is_strategic=True)


def without_strategy(form: NormalForm) -> NormalForm:
    """Return the form of a query that differs in its strategy alone, which is any."""
    items = tuple(replace(item, strategy="any") for item in form.items)
    negations = tuple(negation for negation in form.negations if not negation.is_strategic)
    return replace(form, items=items, negations=negations)


def written_order(pattern: Pattern) -> frozenset[tuple[str, str]]:
    """Return the order that a pattern as written gives to its positive variables, optional ones included.

    >>> optional = Kleene(Event("B", "b"), 0, None)
    >>> sorted(written_order(Seq((Event("A", "a"), Negation(Event("N", "n")), optional))))
    [('a', 'b')]
    """
    if isinstance(pattern, Negation | Event):
        return frozenset()
    if isinstance(pattern, Kleene):
        return written_order(pattern.operand)
    pairs = {pair for operand in pattern.operands for pair in written_order(operand)}
    if isinstance(pattern, Seq):
        own = [positive_variables(operand) for operand in pattern.operands]
        pairs |= {
            (a, b)
            for place, early in enumerate(own)
            for late in own[place + 1 :]
            for a in early
            for b in late
        }
    return frozenset(pairs)


def speaks_of_whole(condition: Expression, variable: str) -> bool:
    """Say whether a condition speaks of the list of a variable as a whole."""
    places = {a.place for a in find(condition, Attribute) if a.variable == variable}
    return bool(places & {"first", "last"}) or any(
        aggregate.variable == variable for aggregate in find(condition, Aggregate)
    )


def _decisive_place(condition: Expression, variable: str) -> Place:
    """Return the element of a list that is the last of which a condition speaks."""
    mentions = {a.place for a in find(condition, Attribute) if a.variable == variable}
    is_whole = any(aggregate.variable == variable for aggregate in find(condition, Aggregate))
    return "first" if mentions == {"first"} and not is_whole else "last"


def about_event(condition: Expression, variable: str, name: str, after: Place | None) -> Expression:
    """Return a condition on an item as one on another event, and on what that comes after."""

    def change(node: object) -> object:
        if isinstance(node, Aggregate) and node.variable == variable:
            return replace(node, variable=name)
        if not isinstance(node, Attribute) or node.variable != variable:
            return node
        if node.place == "previous" and after is not None:
            return replace(node, place=after)
        return replace(node, variable=name, place="each")

    return transform_up(condition, change)


def _rank(name: str) -> Attribute:
    return Attribute(name, RANK, type=LONG)


def _rank_of(item: Item, place: Place) -> Attribute:
    return Attribute(item.variable, RANK, place if item.is_list else "each", LONG)
