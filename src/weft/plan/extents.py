"""How far apart the events of a node's rows may be, and arithmetic with extents.

No extent (None) is longer than every extent. Extents of different clocks do not compare: their sum and
the longer of them are None, which is never too short.
"""

from collections.abc import Iterable

from weft.plan import nodes
from weft.plan.nodes import Extent, Node

INSTANT = Extent("position", 0)  # one moment, on whatever clock
LONGEST_SUM = 1 << 61  # far from overflow when added to a clock


def span_of(node: Node) -> Extent | None:
    """Return the extent that every row of a node fits.

    >>> pairs = nodes.Join(nodes.Scan("A"), nodes.Scan("B"), ((0, 1),), (), (), Extent("time", 9))
    >>> span_of(nodes.Project(pairs, (1, 0), Extent("time", 5))), span_of(nodes.Scan("A")) == INSTANT
    (Extent(clock='time', length=5, partition_by=()), True)
    """
    match node:
        case nodes.Scan():
            return INSTANT
        case nodes.Filter(input=source) | nodes.NegationCheck(input=source) | nodes.Await(input=source):
            return span_of(source)
        case nodes.Join(extent=extent) | nodes.KleeneExpand(extent=extent) | nodes.Chain(extent=extent):
            return extent
        case nodes.SubsetJoin(extent=extent):
            return extent
        case nodes.Project(input=source, extent=extent):
            return span_of(source) if extent is None else extent
        case nodes.DistinctUnion(inputs=inputs):
            return longest(map(span_of, inputs))


def is_instant(extent: Extent | None) -> bool:
    """Whether the extent holds only events of which none precedes another."""
    return extent is not None and extent.clock == "position" and extent.length == 0


def same_clock(a: Extent, b: Extent) -> bool:
    """Whether two extents measure the same."""
    return a.clock == b.clock and a.partition_by == b.partition_by


def is_within(inner: Extent | None, outer: Extent | None) -> bool:
    """Whether all that fits the inner extent surely fits the outer one."""
    if outer is None or is_instant(inner):
        return True
    return inner is not None and same_clock(inner, outer) and inner.length <= outer.length


def longest(extents: Iterable[Extent | None]) -> Extent | None:
    """Return the longest of some extents."""
    longer: Extent | None = INSTANT
    for extent in extents:
        if longer is None or extent is None:
            return None
        if is_within(longer, extent):
            longer = extent
        elif not is_within(extent, longer):
            return None
    return longer


def add_extents(a: Extent | None, b: Extent | None) -> Extent | None:
    """Return the extent of two extents, the second after the first.

    >>> add_extents(Extent("time", 5), Extent("time", 7)).length
    12
    """
    if a is None or b is None:
        return None
    if is_instant(a) or is_instant(b):
        return b if is_instant(a) else a
    if not same_clock(a, b):
        return None
    return Extent(a.clock, min(a.length + b.length, LONGEST_SUM), a.partition_by)
