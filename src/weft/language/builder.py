"""Build the same queries from Python: variables, predicates and patterns as ordinary objects."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from weft.expressions import (
    Aggregate,
    Attribute,
    CountTrends,
    Equivalence,
    Expression,
    Place,
    Predicate,
    Suppressed,
    conjuncts,
)
from weft.language.columns import name_columns
from weft.language.policy_words import SKIPS, STRATEGIES, Word, microseconds_of, word_among
from weft.language.terms import Term, expression_of, refusal
from weft.pattern.nodes import (
    Conjunction,
    CountWindow,
    Disjunction,
    Event,
    Kleene,
    Negation,
    Pattern,
    Query,
    ReturnColumn,
    Sequence,
    Some,
    TimeWindow,
    Window,
)
from weft.pattern.policies import ALL_MATCHES, Policy, Suppression

_COUNT_WINDOW = re.compile(r"\s*(\d+)\s+EVENTS?\s*", re.IGNORECASE | re.ASCII)


class Element:
    """One element of a list variable: its attributes are terms."""

    __slots__ = ("_place", "_variable")
    __iter__ = None  # or Python would try the attributes 0, 1, 2 ... without end

    def __init__(self, variable: str, place: Place) -> None:
        self._variable = variable
        self._place = place

    def __getattr__(self, name: str) -> Term:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Term:
        return Term(Attribute(self._variable, name, self._place))


class Variable(Element):
    """An event of a pattern; its attributes are terms: `v.level`, `v["odd name"]`."""

    __slots__ = ("node",)

    def __init__(self, node: Event | Kleene) -> None:
        event_node = node.operand if isinstance(node, Kleene) else node
        assert isinstance(event_node, Event)
        super().__init__(event_node.variable, "each")
        self.node: Event | Kleene = node

    def plus(self) -> "Variable":
        """Return a list of one or more such events."""
        return self.at_least(1)

    def star(self) -> "Variable":
        """Return a list of any number of such events, also none."""
        return self.at_least(0)

    def optional(self) -> "Variable":
        """Return a list of at most one such event."""
        return self.times(0, 1)

    def at_least(self, least: int) -> "Variable":
        """Return a list of `least` or more such events."""
        return Variable(Kleene(self._single(), least, None))

    def times(self, least: int, most: int | None = None) -> "Variable":
        """Return a list of exactly `least` such events, or of `least` to `most`."""
        return Variable(Kleene(self._single(), least, least if most is None else most))

    def _single(self) -> Event:
        if isinstance(self.node, Event):
            return self.node
        raise refusal(f"{self._variable} has a quantifier already", "start from the event itself")

    @property
    def at_i(self) -> Element:
        """The current element of a list, `v[i]`."""
        return Element(self._variable, "current")

    @property
    def at_previous(self) -> Element:
        """The element before the current one, `v[i-1]`."""
        return Element(self._variable, "previous")

    @property
    def first(self) -> Element:
        """The first element of a list, `FIRST(v)`."""
        return Element(self._variable, "first")

    @property
    def last(self) -> Element:
        """The last element of a list, `LAST(v)`."""
        return Element(self._variable, "last")

    def count(self) -> Term:
        """Return the length of the list, `COUNT(v)`."""
        return Term(Aggregate("count", self._variable))


Part: TypeAlias = Variable | Pattern


def event(event_type: str, variable: str | None = None) -> Variable:
    """Return an event of a type; its variable is named like the type unless another name is given.

    >>> event("Gate", "g").plus().node
    Kleene(operand=Event(type='Gate', variable='g'), least=1, most=None)
    """
    named = event_type if variable is None else variable
    return Variable(Event(_name(event_type, "a type"), _name(named, "a variable")))


def seq(*parts: Part) -> Sequence:
    """Return the pattern SEQ(...): each part wholly before the next.

    >>> seq(event("A"), event("B")).operands
    (Event(type='A', variable='A'), Event(type='B', variable='B'))
    """
    return Sequence(tuple(map(_node, parts)))


def and_(*parts: Part) -> Conjunction:
    """Return the pattern AND(...): all parts, in any order.

    >>> len(and_(event("A"), event("B")).operands)
    2
    """
    return Conjunction(tuple(map(_node, parts)))


def or_(*parts: Part) -> Disjunction:
    """Return the pattern OR(...): any one of the parts.

    >>> len(or_(event("A"), event("B")).operands)
    2
    """
    return Disjunction(tuple(map(_node, parts)))


def some(*parts: Part) -> Some:
    """Return the pattern SOME(...): every combination of the parts, at least one, in any order.

    >>> len(some(event("A"), event("B")).operands)
    2
    """
    return Some(tuple(map(_node, parts)))


def not_(part: Part) -> Negation:
    """Return the pattern NOT: no match of the part lies where it stands.

    >>> not_(event("Guard", "x"))
    Negation(operand=Event(type='Guard', variable='x'))
    """
    return Negation(_node(part))


def repeat(part: Part, least: int = 1, most: int | None = None) -> Kleene:
    """Return a repeated group of a trend query, `(P)+` unless other bounds are given.

    >>> repeat(seq(event("A"), event("B")), 2).least
    2
    """
    return Kleene(_node(part), least, most)


def count_trends() -> Term:
    """Return the number of trends, `COUNT(*)`.

    >>> count_trends()
    Term(CountTrends())
    """
    return Term(CountTrends())


def suppressed() -> Term:
    """Return how many matches the quiet time before a match left out, `SUPPRESSED()`.

    >>> suppressed()
    Term(Suppressed())
    """
    return Term(Suppressed())


def same(*attributes: str) -> Equivalence:
    """Return the predicate `[a, b]`: all events of a match agree on each attribute.

    >>> same("person", "site")
    Equivalence(attributes=('person', 'site'))
    """
    return Equivalence(attributes)


def query(name: str) -> "QueryBuilder":
    """Start a query.

    >>> gate, vault = event("Gate", "g"), event("Vault", "v")
    >>> q = query("late").pattern(seq(gate, vault)).where(vault.level > 3).within("10 minutes")
    >>> q.window
    TimeWindow(length=600000000)
    """
    return QueryBuilder(_name(name, "a query"))


@dataclass(frozen=True, slots=True)
class QueryBuilder:
    """A query under construction, taken wherever a query is; every method returns a new builder."""

    name: str
    parts: Pattern | None = None
    predicates: tuple[Predicate, ...] = ()
    window: Window | None = None
    keys: tuple[str, ...] = ()
    columns: tuple[ReturnColumn, ...] = ()  # without a name until the query is built
    step: int | None = None
    group: tuple[str, ...] = ()
    policy: Policy = ALL_MATCHES
    thresholds: tuple[Expression, ...] = ()

    def pattern(self, part: Part) -> "QueryBuilder":
        """Set the pattern."""
        return replace(self, parts=_node(part))

    def where(self, *predicates: Term | Equivalence) -> "QueryBuilder":
        """Add predicates, all of which must hold."""
        added: list[Predicate] = []
        for predicate in predicates:
            if isinstance(predicate, Equivalence):
                added.append(predicate)
            elif isinstance(predicate, Term):
                added += conjuncts(predicate.expression)
            else:
                raise refusal(f"expected a predicate, found {predicate!r}", "write for example v.level > 3")
        return replace(self, predicates=(*self.predicates, *added))

    def within(self, length: str | timedelta) -> "QueryBuilder":
        """Set the window: a timedelta, or a text such as "10 minutes" or "500 EVENTS"."""
        return replace(self, window=_window(length))

    def slide(self, step: str | timedelta) -> "QueryBuilder":
        """Start a window of a trend query every so often: a timedelta, or a text such as "1 minute"."""
        return replace(self, step=_microseconds(step, "1 minute"))

    def group_by(self, *attributes: str | Term) -> "QueryBuilder":
        """Aggregate the trends of each combination of values of the attributes by themselves."""
        return replace(self, group=tuple(dict.fromkeys(map(_key, attributes))))

    def having(self, *predicates: Term) -> "QueryBuilder":
        """Add conditions on aggregates, all of which must hold of a result of a trend query."""
        added = [part for predicate in predicates for part in conjuncts(expression_of(predicate))]
        return replace(self, thresholds=(*self.thresholds, *added))

    def partition_by(self, *attributes: str) -> "QueryBuilder":
        """Match each combination of values of the attributes by itself."""
        return replace(self, keys=tuple(map(_key, attributes)))

    def strategy(self, strategy: str) -> "QueryBuilder":
        """Say which events a match may leave out between its own: "any", none that fit ("next"), "strict"."""
        return replace(self, policy=replace(self.policy, strategy=_word(STRATEGIES, strategy)))

    def skip(self, skip: str) -> "QueryBuilder":
        """Say which matches count after one that does: all ("none"), "to next" or "past last"."""
        return replace(self, policy=replace(self.policy, skip=_word(SKIPS, skip)))

    def prefer_longest(self) -> "QueryBuilder":
        """Let `skip` take of the matches that begin with an event the longest, not the one complete first."""
        return replace(self, policy=replace(self.policy, prefer_longest=True))

    def suppress(self, length: str | timedelta, *, per: Iterable[Term] = ()) -> "QueryBuilder":
        """Keep no match that ends so soon after the last one kept, for each value of attributes."""
        attributes = tuple(map(_attribute, per))
        suppression = Suppression(_microseconds(length, "1 hour"), attributes)
        return replace(self, policy=replace(self.policy, suppression=suppression))

    def timeouts(self) -> "QueryBuilder":
        """Tell also of first events that nothing completed in time."""
        return replace(self, policy=replace(self.policy, timeouts=True))

    def returns(self, *columns: Term, **named: Term) -> "QueryBuilder":
        """Add RETURN columns; one without a name gets the name that the language gives it."""
        added = [*self.columns, *(ReturnColumn("", expression_of(term)) for term in columns)]
        added += (ReturnColumn(name, expression_of(term)) for name, term in named.items())
        return replace(self, columns=tuple(added))


def as_query(given: Query | QueryBuilder) -> Query:
    """Return the query of a builder, unbound, as parsing its text would.

    >>> as_query(query("q").pattern(event("A", "a"))).pattern
    Event(type='A', variable='a')
    """
    if isinstance(given, Query):
        return given
    if given.parts is None:
        raise refusal(
            f"the query {given.name} has no pattern",
            f'go on with .pattern(...), as in weft.query("{given.name}").pattern(weft.seq(a, b))',
        )
    rest = (given.window, given.keys, given.columns, None, given.step, given.group, given.policy)
    return name_columns(Query(given.name, given.parts, given.predicates, *rest, given.thresholds))


def _name(given: object, what: str) -> str:
    if isinstance(given, str) and given:
        return given
    raise refusal(f"{given!r} is no name of {what}", f'write it as a text: "{given or "name"}"')


def _node(part: Part) -> Pattern:
    if isinstance(part, Variable):
        return part.node
    if isinstance(part, Pattern):
        return part
    raise refusal(f"expected an event or a pattern, found {part!r}", 'write for example event("Gate", "g")')


def _key(attribute: str | Term) -> str:
    if isinstance(attribute, str):
        return attribute
    return _attribute(attribute, 'group_by("district")').name


def _attribute(term: str | Term, example: str = "per=[u.user]") -> Attribute:
    expression = term.expression if isinstance(term, Term) else None
    if isinstance(expression, Attribute) and expression.place == "each":
        return expression
    raise refusal(f"expected an attribute, found {term!r}", f"write for example {example}")


def _word(words: tuple[Word, ...], given: str) -> Word:
    word = word_among(words, given)
    if word is None:
        raise refusal(f"{given!r} is none of {', '.join(map(repr, words))}")
    return word


def _window(length: str | timedelta) -> Window:
    events = _COUNT_WINDOW.fullmatch(length) if isinstance(length, str) else None
    if events:
        return CountWindow(int(events[1]))
    microseconds = microseconds_of(length)
    if microseconds is None:
        amount = _bare_amount(length)
        if amount is not None:
            hint = f'write "{amount} seconds", "{amount} minutes" ... or "{amount} EVENTS"'
            raise refusal(f"the window {amount} has no unit", hint)
        raise refusal(f"{length!r} is no window", 'write for example "10 minutes" or "500 EVENTS"')
    return TimeWindow(microseconds)


def _microseconds(length: str | timedelta, example: str) -> int:
    microseconds = microseconds_of(length)
    if microseconds is None:
        amount = _bare_amount(length)
        if amount is not None:
            raise refusal(
                f"the length {amount} has no unit", f'write "{amount} seconds", "{amount} minutes" ...'
            )
        raise refusal(f"{length!r} is no length of time", f'write for example "{example}"')
    return microseconds


def _bare_amount(length: object) -> str | None:
    """Return a number that was given for a length, without a unit."""
    text = str(length).strip() if isinstance(length, int | float | str) else ""
    return text if re.fullmatch(r"\d+(\.\d+)?", text) else None
