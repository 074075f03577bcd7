"""The shared plan: frozen nodes, identified by what they compute.

A node is a function from sorted event columns to a sorted table of partial matches. The columns of a
table are numbered; in a node's expressions the variable `$3` is column 3. No name of a query or of a
user's variable occurs below `Output`, so equal sub-plans of different queries are the same node.
"""

from typing import Literal, TypeAlias

from weft.codec import Shared, stored
from weft.expressions import Expression
from weft.pattern.normal_form import Scope
from weft.schema import Type


@stored
class Extent:
    """How far apart the events of one (partial) match may be: clock(last) - clock(first) <= length.

    The clock is the event time in microseconds, or the position among all events (of the partition).
    """

    clock: Literal["time", "position"]
    length: int
    partition_by: tuple[str, ...] = ()


@stored
class Scan(Shared):
    """All events of one type.

    Scans with different copy numbers are different nodes: what is built on them is not shared. The type
    may be EVERY_TYPE, which all events have.
    """

    type: str
    copy: int = 0


@stored
class Filter(Shared):
    """The rows of the input that satisfy the predicates."""

    input: "Node"
    predicates: tuple[Expression, ...]


@stored
class Join(Shared):
    """Pairs of a left and a right row; columns of the left first.

    `order` holds pairs (earlier column, later column), `distinct` pairs of columns that must not hold
    the same event.
    """

    left: "Node"
    right: "Node"
    order: tuple[tuple[int, int], ...]
    distinct: tuple[tuple[int, int], ...]
    predicates: tuple[Expression, ...]
    extent: Extent | None


@stored
class SubsetJoin(Shared):
    """Every combination of events of some inputs: one of each or none, but not none at all.

    The inputs have single events. Column n is the event of input n, absent where the combination has none.
    All events agree on the `keys`. `distinct` holds pairs of columns that must not hold the same event. What
    a predicate or a pair says concerns the combinations that have all of its columns.
    """

    inputs: tuple["Node", ...]
    keys: tuple[str, ...]
    distinct: tuple[tuple[int, int], ...]
    predicates: tuple[Expression, ...]
    extent: Extent | None


@stored
class KleeneExpand(Shared):
    """Each input row with every list of `least` to `most` elements as a further column.

    Without an input, every list alone. `order` and `distinct` relate input columns to the new one. The lists
    satisfy the absence `passed`, of what is not passed over between two elements. Where a list
    `begins_early`, only those are wanted in which nothing that could have been an element comes before the
    first, after what the order puts before the list; where it `ends_late`, only those in which none comes
    after the last, before what the order puts after the list.
    """

    input: "Node | None"
    elements: "Node"
    least: int
    most: int | None
    order: tuple[tuple[int, int], ...]
    distinct: tuple[tuple[int, int], ...]
    predicates: tuple[Expression, ...]
    extent: Extent | None
    passed: "Absence | None" = None
    begins_early: bool = False
    ends_late: bool = False


@stored
class Absence:
    """No row of `negated` lies in the scope of a row.

    The scope is bounded by the last event of the columns `after` and the first event of the columns
    `before`. Where these are empty, it is bounded by the extent, or in the `scope` of the match by the first
    and the last event of the row. A gap lies between each two neighbors of the list in the one column that is
    `after` and `before`; predicates call the earlier of the two previous. In `predicates` and `distinct` the
    columns of `negated` follow those of the row. A negated row for which one of `unless` does not hold does
    not count: these are NOTs inside the NOT that look at the row too.
    """

    negated: "Node"
    after: tuple[int, ...]
    before: tuple[int, ...]
    distinct: tuple[tuple[int, int], ...]
    predicates: tuple[Expression, ...]
    extent: Extent | None
    unless: tuple["Absence", ...] = ()
    scope: Scope = "window"

    @property
    def looks_back(self) -> bool:
        """Whether the scope begins one window before the end of the row."""
        return bool(self.before and not self.after and self.scope == "window")


@stored
class NegationCheck(Shared):
    """The input rows that satisfy an absence."""

    input: "Node"
    absence: Absence

    @property
    def extent(self) -> Extent | None:
        return self.absence.extent


@stored
class Project(Shared):
    """The input rows whose events fit the extent and the order, with the input's columns in another order.

    Column n of the table is column `columns[n]` of the input. `order` holds pairs (earlier column, later
    column) of the table, single events all. A reader with a window shorter than that of a shared node, or
    with a stricter order, reads it through a Project; so does a union, which needs one order of columns.
    """

    input: "Node"
    columns: tuple[int, ...]
    extent: Extent | None = None
    order: tuple[tuple[int, int], ...] = ()


@stored
class DistinctUnion(Shared):
    """The rows of the inputs, equal rows once."""

    inputs: tuple["Node", ...]


@stored
class Await(Shared):
    """The input rows, as soon as all events up to `extent` after a row's first or last one are there.

    Without an extent, that is when there are no more events.
    """

    input: "Node"
    extent: Extent | None
    since: Literal["first", "last"] = "last"


MOMENT = Extent("time", 0)  # to await the time of an event, and no more


@stored
class Chain(Shared):
    """Each input row that goes on, with the nearest element: the first one after the row that fits.

    Of elements at the same place in the order, that is the one with the smallest id. It is a single event in
    a further column, the `first` of a list in a further column, or the `next` of the list in the last column.
    Predicates call it the column after those of the input. No two input rows begin with the same event.
    """

    input: "Node"
    elements: "Node"
    predicates: tuple[Expression, ...]
    extent: Extent
    place: Literal["single", "first", "next"] = "single"


Node: TypeAlias = (
    Scan | Filter | Join | SubsetJoin | KleeneExpand | NegationCheck | Project | DistinctUnion | Await | Chain
)


@stored
class Branch:
    """One alternative of a query: where its matches come from, and what to call the columns.

    `per` are the values for each of which a walk suppresses matches; without any, those of its keys.
    """

    node: Node
    variables: tuple[str, ...]
    returns: tuple[Expression, ...]
    per: tuple[Expression, ...] = ()


@stored
class TimeoutBranch:
    """How far a query got from first events without a match: its rows, and the variable that is missing.

    None is missing where all of the pattern was reached, and yet there is no match.
    """

    node: Node
    variables: tuple[str, ...]
    returns: tuple[Expression, ...]
    missing: str | None


@stored
class ReturnedColumn:
    """Name and type of a RETURN column."""

    name: str
    type: Type


@stored
class MatchWalk:
    """How the matches of a query are walked in order, so that those kept decide about others.

    There is a walk for each value of `keys`. Of the matches that it keeps, those are suppressed that end
    less than `quiet` microseconds after the one kept before. `counts` says whether it is asked how many these
    were.
    """

    keys: tuple[str, ...]
    skip: Literal["none", "to next", "past last"] = "none"
    prefer_longest: bool = False
    quiet: int | None = None
    counts: bool = False

    @property
    def is_twofold(self) -> bool:
        """Whether matches are walked by their first event, and those kept again by their last one."""
        return self.skip != "none" and self.prefer_longest and self.quiet is not None


@stored
class Output:
    """The matches of one query, or with a walk, what it is to choose from."""

    query: str
    columns: tuple[ReturnedColumn, ...]
    branches: tuple[Branch, ...]
    walk: MatchWalk | None = None
    timeouts: tuple[TimeoutBranch, ...] = ()

    @property
    def all_branches(self) -> tuple[Branch | TimeoutBranch, ...]:
        """What comes out: matches, and after them timeouts."""
        return (*self.branches, *self.timeouts)


@stored
class Plan:
    """One plan for a whole workload."""

    outputs: tuple[Output, ...]

    def without(self, queries: frozenset[str]) -> "Plan":
        """Return the plan without some queries."""
        return Plan(tuple(output for output in self.outputs if output.query not in queries))


def nodes_read(output: Output, branch: Branch | TimeoutBranch) -> tuple[Node, ...]:
    """Return the nodes whose rows a branch reads: before those of a second walk, those of the first."""
    match branch.node:
        case Await(input=Await(since="first") as ahead) if output.walk is not None and output.walk.is_twofold:
            return (ahead, branch.node)
    return (branch.node,)


def inputs_of(node: Node) -> tuple[Node, ...]:
    """Return the nodes a node reads."""
    match node:
        case Scan():
            return ()
        case Filter(input=source) | Project(input=source) | Await(input=source):
            return (source,)
        case Join(left=left, right=right):
            return (left, right)
        case KleeneExpand(input=source, elements=elements, passed=passed):
            sources = (elements,) if source is None else (source, elements)
            return sources if passed is None else (*sources, *negated_nodes(passed))
        case Chain(input=source, elements=elements):
            return (source, elements)
        case NegationCheck(input=source, absence=absence):
            return (source, *negated_nodes(absence))
        case DistinctUnion(inputs=inputs) | SubsetJoin(inputs=inputs):
            return inputs


def negated_nodes(absence: Absence) -> tuple[Node, ...]:
    """Return the nodes whose rows an absence looks for, nested ones included."""
    return (absence.negated, *(node for inner in absence.unless for node in negated_nodes(inner)))


def columns_of(node: Node) -> tuple[tuple[str, bool], ...]:
    """Return, for each column of a node's table, the type of its events and whether it holds lists of them.

    >>> columns_of(KleeneExpand(Scan("A"), Scan("B"), 1, None, ((0, 1),), (), (), None))
    (('A', False), ('B', True))
    """
    match node:
        case Scan(type=name):
            return ((name, False),)
        case Filter(input=source) | NegationCheck(input=source) | Await(input=source):
            return columns_of(source)
        case Join(left=left, right=right):
            return columns_of(left) + columns_of(right)
        case SubsetJoin(inputs=inputs):
            return tuple(column for source in inputs for column in columns_of(source))
        case KleeneExpand(input=source, elements=elements):
            ((name, _),) = columns_of(elements)
            return (*(() if source is None else columns_of(source)), (name, True))
        case Chain(input=source, place="next"):
            return columns_of(source)
        case Chain(input=source, elements=elements, place=place):
            ((name, _),) = columns_of(elements)
            return (*columns_of(source), (name, place == "first"))
        case Project(input=source, columns=columns):
            unordered = columns_of(source)
            return tuple(unordered[column] for column in columns)
        case DistinctUnion(inputs=inputs):
            return columns_of(inputs[0])


def list_columns(node: Node) -> tuple[bool, ...]:
    """Return, for each column of a node's table, whether it holds lists of events."""
    return tuple(is_list for _, is_list in columns_of(node))


def column_types(node: Node) -> tuple[str, ...]:
    """Return the event type of each column of a node's table."""
    return tuple(name for name, _ in columns_of(node))
