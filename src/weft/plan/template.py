"""What the machine does for a trend query: an automaton whose states are sums over trends.

A trend walks through the positions of a pattern, one event at each. The number of trends that end with
an event is the sum of those it extends, so the machine keeps sums and no trends. A `TrendSum` is such a
sum: over the trends that have just ended at a position and may still be extended along some transitions.
A negation between two operands takes from a source all that it held when the negated event came.
"""

from weft.codec import stored
from weft.expressions import AggregateFunction, ComparisonOperator, Expression
from weft.schema import Type

START = -1  # the position before the first event
EVENT = "$0"  # the variable of the event at hand, in the expressions of a template
PREVIOUS = "$1"  # the variable of the event before it


@stored
class TrendItem:
    """Events that a pattern takes or negates: those of a type that satisfy predicates on EVENT."""

    type: str
    predicates: tuple[Expression, ...] = ()


@stored
class EdgePredicate:
    """A condition on two adjacent events of a trend: `left`, on PREVIOUS, compares with `right`, on EVENT."""

    operator: ComparisonOperator
    left: Expression
    right: Expression


@stored
class TrendSum:
    """A sum over trends that end at a position; before the first event, START, it is one.

    It falls to zero when an event of one of the items in `negated` comes. With steps, only those trends
    count whose last event satisfies all of them with the event that follows.
    """

    position: int
    negated: tuple[int, ...] = ()
    steps: tuple[EdgePredicate, ...] = ()


@stored
class Transition:
    """A source that an event at a position adds to, in how many ways."""

    source: int
    ways: int = 1


@stored
class Position:
    """A place in the pattern: the variable that is bound there, the item, and what an event there extends."""

    variable: str
    item: int
    feeds: tuple[Transition, ...]


@stored
class Automaton:
    """A pattern without AND: its positions, and the sources that add up to all of its trends.

    An event of one of the items in `undone_by`, negated in an AND, undoes all trends that have begun at
    its time or before.
    """

    positions: tuple[Position, ...]
    sources: tuple[TrendSum, ...]
    ends: tuple[Transition, ...]
    undone_by: tuple[int, ...] = ()


@stored
class TrendColumn:
    """A column of the result: an aggregate, of all events bound to a variable, or of the trends.

    `function` is None for a column of the group, whose attribute is `name`; COUNT(*) has no variable.
    STDDEV and `distinct` are of patterns of a single event. A column that is calculated has an `expression`,
    and none of these.
    """

    column: str
    function: AggregateFunction | None
    variable: str | None
    name: str | None
    type: Type | None  # of the attribute, or of the expression
    expression: Expression | None = None

    @property
    def is_group(self) -> bool:
        """Whether this is an attribute of the group."""
        return self.function is None and self.expression is None


@stored
class Template:
    """A trend query for the machine.

    Its trends are those of all alternatives; a trend of an alternative is one trend of each of its
    automata. All events of a trend agree on `keys`, of which `group_by` are shown. Without a window,
    `length` and `slide` are None. Expressions of columns and the thresholds, all of which must be true of a
    result, mention `inputs` by their names, as attributes of EVENT. Of the results with equal `quiet_keys`,
    none counts whose window ends less than `quiet` after that of the one before that does.
    """

    query: str
    items: tuple[TrendItem, ...]
    alternatives: tuple[tuple[Automaton, ...], ...]
    keys: tuple[str, ...]
    group_by: tuple[str, ...]
    length: int | None
    slide: int | None
    columns: tuple[TrendColumn, ...]
    inputs: tuple[TrendColumn, ...] = ()
    thresholds: tuple[Expression, ...] = ()
    quiet: int | None = None
    quiet_keys: tuple[str, ...] = ()

    @property
    def measured(self) -> tuple[TrendColumn, ...]:
        """The columns that are shown, and those that expressions mention."""
        return (*self.columns, *self.inputs)
