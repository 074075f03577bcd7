"""Turn a pattern without AND into its position automaton, in which every binding is one run."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from weft.normalize.trend_conditions import Between, Conditions, refusal
from weft.pattern import nodes
from weft.pattern.nodes import Event, Kleene, Negation, Pattern, Query
from weft.plan.template import START, Automaton, EdgePredicate, Position, Transition, TrendItem, TrendSum

MOST_POSITIONS = 64


class Items:
    """The items of a template, each once: events with the conditions on them alone."""

    def __init__(self, query: Query, conditions: Conditions) -> None:
        self.query = query
        self.conditions = conditions
        self._numbers: dict[TrendItem, int] = {}

    def number_of(self, event: Event) -> int:
        """Return the number of the item of an event, a new one if it has not been seen."""
        item = TrendItem(event.type, self.conditions.on_event.get(event.variable, ()))
        return self._numbers.setdefault(item, len(self._numbers))

    def number_of_negated(self, negation: Negation) -> int:
        """Return the number of the item that a negation of a single event speaks of."""
        if not isinstance(negation.operand, Event):
            message = "NOT of more than a single event"
            raise refusal(self.query, message, negation.span, "write NOT before each of the events")
        return self.number_of(negation.operand)

    @property
    def all(self) -> tuple[TrendItem, ...]:
        return tuple(self._numbers)


@dataclass(frozen=True, slots=True)
class Built:
    """The automaton of a pattern; `empty` are the items negated where it binds nothing, None if it must."""

    automaton: Automaton
    empty: frozenset[int] | None

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(position.variable for position in self.automaton.positions)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of the automaton: where it may begin and end, and how it may be passed without an event.

    `first` and `last` give for a position the items negated on the way to it and from it. `empty` are
    those negated where the part binds nothing, None where it binds something. There is at most one way
    into a position, out of it, or past the part: what binds nothing leaves no trace in the binding.
    """

    first: dict[int, frozenset[int]]
    last: dict[int, frozenset[int]]
    empty: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class _Edge:
    """From a position to the next, while no event of the negated items comes, if the steps hold."""

    before: int
    after: int
    negated: frozenset[int] = frozenset()
    steps: tuple[EdgePredicate, ...] = ()


def build_automaton(pattern: Pattern, items: Items) -> Built:
    """Return the automaton of a pattern without operators of one operand; new items are added to `items`.

    Each match in the list of a repeated group binds at least one event: `(A?)+` takes what `A+` takes.
    `(P)?` and `(P){1}` are no lists, but P itself, which may be absent.

    >>> pattern = Kleene(Kleene(Event("A", "a"), 1, None), 1, None)
    >>> build_automaton(pattern, Items(Query("q", pattern), Conditions({"a": ()}, {}, ()))).automaton
    ... # doctest: +NORMALIZE_WHITESPACE
    Automaton(positions=(Position(variable='a', item=0, feeds=(Transition(source=0, ways=1),
                                                               Transition(source=1, ways=2))),),
              sources=(TrendSum(position=-1, negated=(), steps=()),
                       TrendSum(position=0, negated=(), steps=())),
              ends=(Transition(source=1, ways=1),), undone_by=())
    """
    builder = _Builder(items)
    part = builder.build(pattern)
    builder.start(part)
    for condition in items.conditions.between:
        builder.add_step(condition)
    return Built(builder.automaton(part), part.empty)


def too_many_positions(query: Query) -> Exception:
    """Return the error for a pattern with more positions than a template may have."""
    message = f"the pattern has more than {MOST_POSITIONS} events, each repetition by {{n}} being one"
    return refusal(query, message, query.pattern.span, "use smaller numbers in { }, or write several queries")


class _Builder:
    """The positions and transitions of one automaton on its way."""

    def __init__(self, items: Items) -> None:
        self.query = items.query
        self.items = items
        self.positions: list[tuple[str, int]] = []
        self.ways: Counter[_Edge] = Counter()

    def build(self, pattern: Pattern) -> _Part:
        match pattern:
            case Event():
                return self._event(pattern)
            case nodes.Sequence():
                return self._sequence(pattern)
            case nodes.Disjunction():
                return self._disjunction(pattern)
            case Kleene():
                return self._kleene(pattern)
            case Negation():
                message = "NOT stands by itself, not among the operands of SEQ"
                hint = "write it in SEQ, next to what may not be preceded or followed by it"
                raise refusal(self.query, message, pattern.span, hint)
            case nodes.Conjunction():
                message = "AND inside another operator"
                hint = "AND of a trend query stands at the top of the pattern, or directly in an OR that does"
                raise refusal(self.query, message, pattern.span, hint)
            case nodes.Some():
                hint = "write the combinations as operands of OR"
                raise refusal(self.query, "SOME in a trend query", pattern.span, hint)

    def _event(self, event: Event) -> _Part:
        if len(self.positions) == MOST_POSITIONS:
            raise too_many_positions(self.query)
        position = len(self.positions)
        self.positions.append((event.variable, self.items.number_of(event)))
        return _Part({position: frozenset()}, {position: frozenset()}, None)

    def _negation(self, negation: Negation) -> _Part:
        return _Part({}, {}, frozenset({self.items.number_of_negated(negation)}))

    def _sequence(self, sequence: nodes.Sequence) -> _Part:
        first: dict[int, frozenset[int]] = {}
        last: dict[int, frozenset[int]] = {}
        empty: frozenset[int] | None = frozenset()
        for operand in sequence.operands:
            part = self._negation(operand) if isinstance(operand, Negation) else self.build(operand)
            self._connect(last, part.first)
            if empty is not None:
                first |= {position: empty | negated for position, negated in part.first.items()}
            passed = {} if part.empty is None else {p: negated | part.empty for p, negated in last.items()}
            last = passed | part.last
            empty = None if empty is None or part.empty is None else empty | part.empty
        return _Part(first, last, empty)

    def _disjunction(self, disjunction: nodes.Disjunction) -> _Part:
        parts = [self.build(operand) for operand in disjunction.operands]
        first = {position: negated for part in parts for position, negated in part.first.items()}
        last = {position: negated for part in parts for position, negated in part.last.items()}
        ways_past = [part.empty for part in parts if part.empty is not None]
        empty = min(ways_past, key=len, default=None)
        if empty is not None and not all(empty <= other for other in ways_past):
            message = "two operands of OR may bind nothing, each with a NOT of its own"
            raise refusal(self.query, message, disjunction.span, "write a query for each operand of OR")
        return _Part(first, last, empty)

    def _kleene(self, kleene: Kleene) -> _Part:
        least, most = kleene.least, kleene.most
        if least < 0 or most is not None and (most < 1 or most < least):
            message = f"expected {{n,m}} with 0 <= n <= m and 0 < m, found {{{least},{most}}}"
            raise refusal(self.query, message, kleene.span, "leave the event out, or change the numbers")
        steps: tuple[EdgePredicate, ...] = ()
        if isinstance(kleene.operand, Event):
            steps = self.items.conditions.in_list.get(kleene.operand.variable, ())
        elif most == 1:
            part = self.build(kleene.operand)
            return part if least else replace(part, empty=frozenset())
        copies = [self._element(kleene)]
        while len(copies) < (max(least, 1) if most is None else most):
            copies.append(self._element(kleene))
            self._connect(copies[-2].last, copies[-1].first, steps)
        if most is None:
            self._connect(copies[-1].last, copies[-1].first, steps)
        last = {p: negated for copy in copies[max(least, 1) - 1 :] for p, negated in copy.last.items()}
        return _Part(copies[0].first, last, None if least else frozenset())

    def _element(self, kleene: Kleene) -> _Part:
        part = self.build(kleene.operand)
        if part.empty or any(part.first.values()) or any(part.last.values()):
            message = "NOT comes first or last in a repeated group, or can when optional events are missing"
            hint = "inside a repeated group, put NOT between two operands of SEQ that bind an event"
            raise refusal(self.query, message, kleene.span, hint)
        return part

    def _connect(
        self,
        last: dict[int, frozenset[int]],
        first: dict[int, frozenset[int]],
        steps: tuple[EdgePredicate, ...] = (),
    ) -> None:
        for before, negated_after_it in last.items():
            for after, negated_before_it in first.items():
                self.ways[_Edge(before, after, negated_after_it | negated_before_it, steps)] += 1

    def start(self, whole: _Part) -> None:
        """Let the trends begin."""
        self._connect({START: frozenset()}, whole.first)

    def add_step(self, condition: Between) -> None:
        """Put a condition on two events on the transitions between them, if this automaton has both."""
        if not {condition.before, condition.after} <= {variable for variable, _ in self.positions}:
            return
        before, after, step = condition.before, condition.after, condition.step
        if self._predecessors(before) == {after}:
            before, after, step = after, before, condition.flipped
        if self._predecessors(after) != {before}:
            message = f"{condition.before} and {condition.after} are compared, but neither always comes"
            raise refusal(self.query, f"{message} directly before the other", condition.span)
        changed: Counter[_Edge] = Counter()
        for transition, ways in self.ways.items():
            if self.positions[transition.after][0] == after:
                steps = tuple(sorted({*transition.steps, step}, key=repr))
                transition = replace(transition, steps=steps)
            changed[transition] += ways
        self.ways = changed

    def _predecessors(self, variable: str) -> set[str | None]:
        """Return the variables bound directly before a variable; None if it may begin a trend."""
        return {
            None if transition.before == START else self.positions[transition.before][0]
            for transition in self.ways
            if self.positions[transition.after][0] == variable
        }

    def automaton(self, whole: _Part) -> Automaton:
        """Return the automaton of the whole pattern, its sources and feeds in one order."""
        ends = [TrendSum(position, tuple(sorted(negated))) for position, negated in whole.last.items()]
        unordered = {_source(transition) for transition in self.ways}.union(ends)
        sources = sorted(unordered, key=lambda source: (source.position, source.negated, repr(source.steps)))
        numbers = {source: number for number, source in enumerate(sources)}
        feeds: list[list[Transition]] = [[] for _ in self.positions]
        for transition, ways in self.ways.items():
            feeds[transition.after].append(Transition(numbers[_source(transition)], ways))
        positions = tuple(
            Position(variable, item, _in_order(feeds[place]))
            for place, (variable, item) in enumerate(self.positions)
        )
        return Automaton(positions, tuple(sources), _in_order(Transition(numbers[source]) for source in ends))


def _source(transition: _Edge) -> TrendSum:
    return TrendSum(transition.before, tuple(sorted(transition.negated)), transition.steps)


def _in_order(feeds: Iterable[Transition]) -> tuple[Transition, ...]:
    return tuple(sorted(feeds, key=lambda feed: feed.source))
