"""When rows come into being, and until when they are kept, read off the plan."""

from weft.plan.dag import topological_order
from weft.plan.extents import INSTANT, add_extents, is_within, longest, span_of
from weft.plan.lags import lags_of
from weft.plan.nodes import (
    Absence,
    Branch,
    DistinctUnion,
    Extent,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Output,
    Plan,
    Project,
    Scan,
)
from weft.runtime.matches.retention import Need, needs_of

A, B, C = map(Scan, "ABC")
FIVE, SEVEN, TEN, FIFTEEN = (Extent("time", length) for length in (5, 7, 10, 15))
COUNT = Extent("position", 4)


def nodes_of(node: Node) -> tuple[Node, ...]:
    return topological_order(Plan((Output("q", (), (Branch(node, (), ()),)),)))


def lag_of(node: Node) -> Extent | None:
    return lags_of(nodes_of(node))[node]


def needs(node: Node) -> dict[Node, set[Need]]:
    order = nodes_of(node)
    return needs_of(order, lags_of(order))


def join(left: Node, right: Node, *order: tuple[int, int], extent: Extent | None = FIVE) -> Join:
    return Join(left, right, order, (), (), extent)


def absence(
    negated: Node, after: tuple[int, ...], before: tuple[int, ...], extent: Extent = FIVE, *unless: Absence
) -> Absence:
    return Absence(negated, after, before, (), (), extent, unless)


TRAILING = NegationCheck(A, absence(B, (0,), ()))


def test_extents_compare_and_add_on_one_clock_only() -> None:
    assert longest([FIVE, INSTANT, SEVEN]) == SEVEN
    assert longest([]) == INSTANT
    assert longest([FIVE, None]) is longest([FIVE, COUNT]) is None
    assert add_extents(FIVE, TEN) == FIFTEEN
    assert add_extents(FIVE, INSTANT) == add_extents(INSTANT, FIVE) == FIVE
    assert add_extents(FIVE, None) is add_extents(FIVE, COUNT) is None
    assert is_within(FIVE, SEVEN)
    assert is_within(SEVEN, None)
    assert is_within(INSTANT, FIVE)
    assert not is_within(SEVEN, FIVE)
    assert not is_within(None, FIVE)
    assert not is_within(FIVE, COUNT)


def test_the_span_of_rows_is_that_of_the_node_that_built_or_narrowed_them() -> None:
    built = join(A, B, extent=TEN)
    assert span_of(A) == INSTANT
    assert span_of(NegationCheck(built, absence(C, (0,), (1,)))) == TEN
    assert span_of(Project(built, (1, 0))) == TEN
    assert span_of(Project(built, (1, 0), FIVE)) == FIVE
    assert span_of(DistinctUnion((built, Project(built, (1, 0), FIVE)))) == TEN


def test_only_a_scope_without_end_delays_a_row() -> None:
    between = NegationCheck(join(A, C), absence(B, (0,), (1,)))
    assert lag_of(between) == lag_of(join(between, B)) == INSTANT
    assert lag_of(TRAILING) == lag_of(Project(TRAILING, (0,))) == FIVE
    assert lag_of(NegationCheck(A, absence(B, (), ()))) == FIVE


def test_delays_add_up_where_a_scope_waits_for_late_rows() -> None:
    assert lag_of(NegationCheck(C, absence(TRAILING, (0,), (), SEVEN))) == Extent("time", 12)
    assert lag_of(NegationCheck(join(C, C), absence(TRAILING, (0,), (1,), SEVEN))) == FIVE
    inner = absence(B, (1,), (), SEVEN)
    assert lag_of(NegationCheck(C, absence(A, (0,), (), FIVE, inner))) == Extent("time", 12)
    assert lag_of(NegationCheck(C, absence(TRAILING, (0,), (), COUNT))) is None


def test_a_side_that_ends_the_match_waits_only_for_late_events() -> None:
    first, last = Need("first", FIVE), Need("last", INSTANT)
    assert needs(join(A, B, (0, 1))) == {A: {first}, B: {last}}
    assert needs(join(A, B, (1, 0))) == {A: {last}, B: {first}}
    assert needs(join(A, B)) == {A: {first}, B: {first}}


def test_rows_wait_for_others_that_come_late() -> None:
    assert needs(join(C, TRAILING))[C] == {Need("first", TEN)}
    assert needs(join(C, TRAILING, (1, 0)))[C] == {Need("last", FIVE)}
    assert needs(join(C, TRAILING))[TRAILING] == {Need("first", FIVE)}
    lists = KleeneExpand(TRAILING, C, 1, None, (), (), (), FIVE)
    assert needs(lists)[C] == needs(lists)[TRAILING] == {Need("first", TEN)}


def test_negated_rows_are_kept_as_far_back_as_a_scope_begins() -> None:
    wide = join(A, C, (0, 1), extent=TEN)
    assert needs(NegationCheck(wide, absence(B, (0,), (1,))))[B] == {Need("first", TEN)}
    leading = NegationCheck(join(A, C, (0, 1)), absence(B, (), (0,), SEVEN))
    assert needs(leading)[B] == {Need("first", SEVEN)}
    assert needs(TRAILING)[B] == {Need("first", FIVE)}


def test_a_not_inside_a_not_may_look_back_once_more() -> None:
    inner = absence(C, (), (1,), SEVEN)
    check = NegationCheck(join(A, A, (0, 1)), absence(B, (0,), (1,), FIVE, inner))
    assert needs(check)[B] == {Need("first", FIVE)}
    assert needs(check)[C] == {Need("first", Extent("time", 12))}


def test_a_union_remembers_rows_only_when_an_input_decides_late() -> None:
    prompt = DistinctUnion((join(A, B, (0, 1)), Project(join(B, A, (1, 0)), (1, 0))))
    assert prompt not in needs(prompt)
    between = NegationCheck(join(A, B, (0, 1)), absence(C, (0,), (1,)))
    late = DistinctUnion((join(A, B, (0, 1)), Project(between, (0, 1))))
    assert needs(late)[late] == {Need("last", INSTANT)}
    later = DistinctUnion((A, TRAILING))
    assert needs(later)[later] == {Need("last", FIVE)}
