"""Conditions that contradict each other, themselves, the order of the pattern or the window.

What is reported has no match, whatever the events are; what is not reported may have none all the same.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations, product
from math import prod

from weft.expressions import Attribute, Comparison, Expression, IsNull, Literal, Not, variables_of
from weft.normalize.atoms import Conjunction, ways_to_hold
from weft.normalize.differences import DifferenceBound, are_feasible
from weft.normalize.pipeline import normalize
from weft.normalize.value_bounds import TIME, BoundReader, attributes_needed, bound_on, counts_of
from weft.pattern.nodes import Event, Kleene, Query, TimeWindow
from weft.pattern.normal_form import Item, NegatedForm, NormalForm, project
from weft.schema import TIMESTAMP
from weft.tree import find

MOST_CASES = 128  # combinations of ways in which conditions can hold


@dataclass(frozen=True, slots=True)
class Premise:
    """Something that holds of every match: a condition, or what the pattern, the window and keys say.

    Of the other premises, `order` has the two variables that the pattern puts one before the other, `key` the
    attribute on which all agree, `item` the list whose length is bounded; with none of these, the window.
    """

    condition: Expression | None = None
    order: tuple[str, str] | None = None
    key: str | None = None
    item: Item | None = None
    ways: tuple[Conjunction, ...] = field(default=((),), compare=False)

    @property
    def is_window(self) -> bool:
        return (self.condition, self.order, self.key, self.item) == (None,) * 4


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Premises that never hold together, and the variables of the alternative of the query that have them.

    Where `negated` has variables, it is a NOT of these that never finds what it forbids.
    """

    premises: tuple[Premise, ...]
    variables: tuple[str, ...]
    negated: tuple[str, ...] = ()


def find_contradictions(
    query: Query, times: Collection[str], *, tie_break: bool
) -> tuple[list[Contradiction], Sequence[NormalForm]]:
    """Return the contradictions of a bound query, one at most of each alternative and NOT.

    The alternatives are returned with them. `times` are the names of the event time. With a tie-break, events
    in sequence may have equal times.

    >>> from weft.pattern.nodes import Event
    >>> from weft.schema import LONG
    >>> x = Attribute("a", "x", type=LONG)
    >>> where = (Comparison(">", x, Literal(5, LONG)), Comparison("<", x, Literal(3, LONG)))
    >>> found, _ = find_contradictions(Query("q", Event("A", "a"), where), {"ts"}, tie_break=False)
    >>> [premise.condition == condition for premise, condition in zip(found[0].premises, where)]
    [True, True]
    """
    repeated = [kleene.operand for kleene in find(query.pattern, Kleene)]
    if not query.conditions or not all(isinstance(operand, Event) for operand in repeated):
        return [], ()  # there is nothing to contradict, or a variable in a repeated group has many events
    forms = list(chain.from_iterable(map(_parts, normalize(query))))
    found = [
        contradiction for form in forms for contradiction in _of_form(form, query, times, tie_break=tie_break)
    ]
    return found, forms


def _parts(form: NormalForm) -> Iterator[NormalForm]:
    """Yield a form; of one that is SOME, what it says of one or two items, and of those of each condition."""
    if not form.is_some:
        yield form
        return
    single = [{variable} for variable in form.variables]
    pairs = map(set, combinations(form.variables, 2))
    said = (set(variables_of(predicate)) for predicate in form.predicates)
    for part in dict.fromkeys(map(frozenset, chain(single, pairs, said))):
        if part:
            yield project(form, part)


def _of_form(
    form: NormalForm, query: Query, times: Collection[str], *, tie_break: bool
) -> Iterator[Contradiction]:
    premises = _premises(form, (), query)
    core = _core(premises, form, times, tie_break=tie_break)
    if core:
        yield Contradiction(core, form.variables)
        return
    yield from _of_negations(form.negations, form, premises, query, times, tie_break=tie_break)


def _of_negations(
    negations: Sequence[NegatedForm],
    outer: NormalForm,
    around: Sequence[Premise],
    query: Query,
    times: Collection[str],
    *,
    tie_break: bool,
) -> Iterator[Contradiction]:
    """Yield what keeps NOTs from ever finding what they forbid, or NOTs inside them.

    A NOT of optional parts is several here, with variables in common: all of them must be kept from it.
    """
    written = [negation for negation in negations if not negation.is_strategic]
    cores: list[tuple[Premise, ...]] = []
    for negation in written:
        both, premises = _inside(negation, outer, around, query)
        cores.append(_core(premises, both, times, tie_break=tie_break))
        if not cores[-1]:
            inner = negation.form.negations
            yield from _of_negations(inner, both, premises, query, times, tie_break=tie_break)
    for negation, core in zip(written, cores, strict=True):
        names = set(negation.form.variables)
        family = zip(written, cores, strict=True)
        if all(other for sibling, other in family if names & set(sibling.form.variables)):
            yield Contradiction(core, outer.variables, negation.form.variables)


def _inside(
    negation: NegatedForm, outer: NormalForm, around: Sequence[Premise], query: Query
) -> tuple[NormalForm, list[Premise]]:
    """Return what is around a NOT and in it as one form, and the premises of both."""
    inner = negation.form
    order = {(before, own) for before in negation.after for own in inner.variables}
    order |= {(own, after) for own in inner.variables for after in negation.before}
    both = NormalForm((*outer.items, *inner.items), outer.order | inner.order | order, keys=inner.keys)
    return both, [*around, *_premises(both, outer.variables, query)]


def _premises(form: NormalForm, outer: Sequence[str], query: Query) -> list[Premise]:
    """Return what holds of the items of a form; of those around a NOT only what speaks of others too."""
    bound = frozenset(form.variables)
    known = frozenset(outer)
    premises = [
        Premise(condition, ways=ways_to_hold(condition))
        for condition in query.conditions
        if variables_of(condition) <= bound
        and not (outer and variables_of(condition) <= known)
        and not any(attribute.place == "previous" for attribute in find(condition, Attribute))
    ]
    premises += (Premise(key=key) for key in form.keys)
    premises += (Premise(item=item) for item in form.items if item.is_list and item.variable not in known)
    if isinstance(form.window, TimeWindow):
        premises.append(Premise())
    premises += (Premise(order=pair) for pair in sorted(form.order) if not set(pair) <= known)
    return premises


def _core(
    premises: Sequence[Premise], form: NormalForm, times: Collection[str], *, tie_break: bool
) -> tuple[Premise, ...]:
    """Return as few of the premises as contradict each other, nothing where they do not."""
    system = _System(premises, form, times, tie_break=tie_break)
    premises = [one for one in premises if one.condition or one.key or any(system.said(one))]
    if system.may_hold(premises):
        return ()
    core = list(premises)
    for premise in reversed(premises):
        rest = [other for other in core if other is not premise]
        if not system.may_hold(rest):
            core = rest
    return tuple(core)


class _System:
    """What premises say of values: bounds, and which of them are NULL."""

    def __init__(
        self, premises: Sequence[Premise], form: NormalForm, times: Collection[str], *, tie_break: bool
    ) -> None:
        atoms = [atom for premise in premises for way in premise.ways for atom in way]
        literals = (literal for atom in atoms for literal in find(atom, Literal))
        texts = [literal.value for literal in literals if isinstance(literal.value, str)]
        self.reader = BoundReader(times, texts)
        self.window = form.window
        self.tie_break = tie_break
        attributes = {own for atom in atoms for own in find(atom, Attribute)}
        self.times = sorted(
            {Attribute(own.variable, TIME, own.place, TIMESTAMP) for own in attributes if own.name in times},
            key=lambda own: (own.variable, own.place),
        )
        self.keyed = {
            key: sorted(
                (own for own in attributes if own.name == key), key=lambda own: (own.variable, own.place)
            )
            for key in form.keys
        }
        self.counts = {own for atom in atoms for own in counts_of(atom)}

    def may_hold(self, premises: Sequence[Premise]) -> bool:
        """Return whether the premises may hold together, as far as is known."""
        ways = [premise.ways for premise in premises if premise.condition is not None]
        if prod(map(len, ways)) > MOST_CASES:
            ways = [way for way in ways if len(way) <= 1]
        own = [bound for premise in premises for bound in self.said(premise)]
        needed = {own for premise in premises if premise.key for own in self.keyed[premise.key]}
        return any(self._is_feasible(chain.from_iterable(case), own, needed) for case in product(*ways))

    def _is_feasible(
        self, atoms: Iterable[Expression], own: Sequence[DifferenceBound], keys: Collection[Expression]
    ) -> bool:
        """Return whether comparisons and tests for NULL may hold together with bounds and keys."""
        bounds, unequal = list(own), list[DifferenceBound]()
        nulls, needed = set[Expression](), set[Expression](keys)
        for atom in atoms:
            match atom:
                case Comparison(left=left, right=right):
                    held, excluded = self.reader.bounds_of(atom)
                    bounds += held
                    unequal += excluded
                    needed |= {*attributes_needed(left), *attributes_needed(right)}
                case IsNull(operand=operand):
                    nulls.add(operand)
                case Not(operand=IsNull(operand=operand)):
                    needed |= {*attributes_needed(operand)}
        if any(null in needed or self._is_time(null) for null in nulls):
            return False
        return are_feasible(bounds, unequal)

    def _is_time(self, value: Expression) -> bool:
        return isinstance(value, Attribute) and value.name in self.reader.times

    def said(self, premise: Premise) -> Iterator[DifferenceBound]:
        """Yield the bounds that a premise sets which is no condition."""
        if premise.order is not None:
            before, after = premise.order
            for early in (own for own in self.times if own.variable == before):
                for late in (own for own in self.times if own.variable == after):
                    yield bound_on(early, late, 0, is_strict=not self.tie_break, is_whole=True)
        elif premise.key is not None:
            for first, second in zip(self.keyed[premise.key], self.keyed[premise.key][1:], strict=False):
                yield bound_on(first, second, 0)
                yield bound_on(second, first, 0)
        elif premise.item is not None:
            yield from self._lengths(premise.item)
        elif premise.is_window and isinstance(self.window, TimeWindow):
            for first, second in product(self.times, self.times):
                yield bound_on(first, second, self.window.length)

    def _lengths(self, item: Item) -> Iterator[DifferenceBound]:
        for count in (own for own in self.counts if own.variable == item.variable):
            if item.most is not None:
                yield bound_on(count, None, item.most)
            yield bound_on(None, count, -item.least if count.name is None else 0)
