"""Nodes of a plan, put together from a normal form along a tree: written down one by one."""

from dataclasses import replace

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload

from weft.expressions import Attribute, Comparison, Expression
from weft.optimizer.assemble import Assembled, Content, assemble, needs_of
from weft.optimizer.demands import LONGEST, anchor_of, demands_of
from weft.optimizer.pipeline import context_of
from weft.optimizer.trees import Demands, Tree, leaf, order_tree, pair, uncheck
from weft.pattern.nodes import TimeWindow
from weft.pattern.normal_form import NormalForm
from weft.plan.nodes import (
    Absence,
    Extent,
    Filter,
    Join,
    KleeneExpand,
    NegationCheck,
    Node,
    Project,
    Scan,
    column_types,
)
from weft.schema import Schema

A, B, C = Scan("A"), Scan("B"), Scan("C")
TEN = Extent("time", 10_000_000)


def form_of(text: str) -> NormalForm:
    return Workload((text,)).patterns["P1"].form


def built(text: str, tree: Tree | None = None, contents: dict[Node, Content] | None = None) -> Assembled:
    form = form_of(text)
    chosen = tree or order_tree(range(len(form.items)))
    return assemble(form, chosen, context_of(SCHEMA), contents)


def attribute(column: int, name: str) -> Attribute:
    return Attribute(f"${column}", name, type=SCHEMA.type_of(name))


def equal(a: int, b: int, name: str) -> Expression:
    return Comparison("=", attribute(a, name), attribute(b, name))


def test_an_item_is_a_scan_with_the_predicates_on_it_alone() -> None:
    found = built("SEQ(A a, B b) WHERE a.x < 3 AND a.x < b.x WITHIN 10 seconds").node
    assert isinstance(found, Join)
    assert isinstance(found.left, Filter)
    assert found.left.input == A
    assert [
        predicate.operator for predicate in found.left.predicates if isinstance(predicate, Comparison)
    ] == ["<"]
    assert found.right == B
    assert found.predicates == (Comparison("<", attribute(0, "x"), attribute(1, "x")),)
    assert found.extent == TEN


def test_one_item_with_a_key_must_have_it() -> None:
    assert built("A a").node == A
    assert built("A a WHERE [k]").node == Filter(A, (equal(0, 0, "k"),))


def test_a_list_alone_is_expanded_from_nothing_and_agrees_with_its_first_element() -> None:
    first = Attribute("$0", "k", "first", SCHEMA.type_of("k"))
    same = (Comparison("=", attribute(0, "k"), first),)
    assert built("A{2,3} a[] WHERE [k]").node == KleeneExpand(None, A, 2, 3, (), (), same, None)


def test_a_list_is_expanded_where_the_other_part_stands() -> None:
    expected = KleeneExpand(A, B, 1, None, ((0, 1),), (), (), TEN)
    found = built("SEQ(A a, B+ b[]) WITHIN 10 seconds")
    assert found == Assembled(expected, ("a", "b"))
    assert built("SEQ(B+ b[], A a) WITHIN 10 seconds") == Assembled(
        KleeneExpand(A, B, 1, None, ((1, 0),), (), (), TEN), ("a", "b")
    )


def test_lists_alone_stand_one_upon_the_other_as_they_are_joined() -> None:
    inner = KleeneExpand(None, A, 1, None, (), (), (), None)
    two = built("SEQ(A+ a[], B{2} b[])")
    assert two == Assembled(KleeneExpand(inner, B, 2, 2, ((0, 1),), (), (), None), ("a", "b"))
    three = built("SEQ(A+ a[], B{2} b[], C+ c[])")
    assert three == Assembled(KleeneExpand(two.node, C, 1, None, ((1, 2),), (), (), None), ("a", "b", "c"))


def test_a_single_event_stands_for_all_in_an_equality_of_keys() -> None:
    form = form_of("SEQ(A+ a[], B b, C+ c[])")
    assert anchor_of(("a", "c", "b"), form) == "b"
    assert anchor_of(("c", "a"), form) == "c"


def test_the_order_between_two_parts_leaves_out_what_follows() -> None:
    found = built("SEQ(A a, B b, C c)", pair(pair(leaf(0), leaf(2)), leaf(1)))
    assert found.variables == ("b", "a", "c")  # what ends the match stands right
    assert isinstance(found.node, Join)
    assert found.node.order == ((0, 2), (1, 0))
    last = built("SEQ(A a, B b, C c)").node
    assert isinstance(last, Join)
    assert last.order == ((1, 2),)  # a before c follows


def test_events_of_one_type_that_nothing_orders_are_distinct() -> None:
    found = built("AND(A a, A b)").node
    assert isinstance(found, Join)
    assert (found.order, found.distinct) == ((), ((0, 1),))
    ordered = built("SEQ(A a, A b)").node
    assert isinstance(ordered, Join)
    assert (ordered.order, ordered.distinct) == (((0, 1),), ())
    apart = built("AND(A a, B b)").node
    assert isinstance(apart, Join)
    assert apart.distinct == ()


@pytest.mark.parametrize("text", ["SEQ(A a, B b)", "AND(A a, B b)", "AND(B b, A a)", "AND(A a, A b)"])
def test_a_join_is_the_same_whoever_names_its_parts(text: str) -> None:
    other = text.replace(" a", " x").replace(" b", " y")
    assert built(text).node == built(other).node


def test_what_ends_a_match_stands_right() -> None:
    assert built("SEQ(B b, A a)").variables == ("b", "a")
    assert built("AND(B b, A a)").variables == ("a", "b")  # by the types


def test_keys_are_compared_at_a_single_event() -> None:
    found = built("SEQ(A+ a[], B b, C c) WHERE [k]", pair(pair(leaf(0), leaf(1)), leaf(2)))
    assert isinstance(found.node, Join)
    column = found.variables.index("b")
    assert equal(column, 2, "k") in found.node.predicates


NEGATED = "SEQ(A a, NOT D n, B b, C c) WITHIN 10 seconds"


def absence_in(node: Node) -> Absence:
    assert isinstance(node, NegationCheck)
    return node.absence


def test_a_negation_is_checked_as_soon_as_its_items_are_there() -> None:
    found = built(NEGATED).node
    assert isinstance(found, Join)
    absence = absence_in(found.left)
    assert absence == Absence(Scan("D"), after=(0,), before=(1,), distinct=(), predicates=(), extent=TEN)


def test_a_tree_that_leaves_negations_to_its_reader_is_checked_last() -> None:
    found = built(NEGATED, uncheck(order_tree([0, 1, 2]))).node
    absence = absence_in(found)
    assert (absence.after, absence.before) == ((0,), (1,))
    assert isinstance(found, NegationCheck)
    assert isinstance(found.input, Join)
    assert not isinstance(found.input.left, NegationCheck)


def test_a_negation_that_the_window_bounds_waits_for_the_whole_match() -> None:
    found = built("SEQ(A a, B b, C c, NOT D n) WITHIN 10 seconds").node
    absence = absence_in(found)
    assert (absence.after, absence.before, absence.extent) == ((2,), (), TEN)
    assert isinstance(found, NegationCheck)
    assert isinstance(found.input, Join)


def test_what_is_bound_does_not_negate() -> None:
    """The second A may lie in the scope; then it is waited for, and is no forbidden event."""
    text = "AND(SEQ(A a, NOT A n, B b), A d) WITHIN 10 seconds"
    found = built(text, pair(pair(leaf(0), leaf(1)), leaf(2)))
    absence = absence_in(found.node)
    place = found.variables.index("d")
    assert (place, 3) in absence.distinct


def test_a_part_for_more_general_demands_is_narrowed_by_its_reader() -> None:
    text = "SEQ(A a, B b, C c) WITHIN 10 seconds"
    general = Demands(frozenset(), Extent("time", 20_000_000))
    tree = pair(pair(leaf(0), leaf(1))._replace(computed_for=general), leaf(2))
    found = built(text, tree).node
    assert isinstance(found, Join)
    inner = Join(A, B, (), (), (), Extent("time", 20_000_000))
    assert found.left == Project(inner, (0, 1), TEN, ((0, 1),))
    same_window = Demands(frozenset(), TEN)
    tree = pair(pair(leaf(0), leaf(1))._replace(computed_for=same_window), leaf(2))
    found = built(text, tree).node
    assert isinstance(found, Join)
    assert found.left == Project(Join(A, B, (), (), (), TEN), (0, 1), None, ((0, 1),))


def test_contents_tell_what_each_node_holds() -> None:
    contents: dict[Node, Content] = {}
    found = built(NEGATED, None, contents)
    own = demands_of(form_of(NEGATED))
    assert contents[found.node].tree.mask == 0b111
    assert contents[found.node].checks == -1  # all of them
    assert isinstance(found.node, Join)
    checked = found.node.left
    assert (contents[checked].tree.mask, contents[checked].checks) == (0b011, 1)
    assert isinstance(checked, NegationCheck)
    assert (contents[checked.input].tree.mask, contents[checked.input].checks) == (0b011, 0)
    assert contents[C].tree == leaf(2)
    assert all(content.demands == own for content in contents.values())


def test_a_window_of_events_counts_positions() -> None:
    found = built("SEQ(A a, B b) WITHIN 5 EVENTS").node
    assert isinstance(found, Join)
    assert found.extent == Extent("position", 4)
    keyed = built("SEQ(A a, B b) PARTITION BY name, k WITHIN 5 EVENTS").node
    assert isinstance(keyed, Join)
    assert keyed.extent == Extent("position", 4, ("k", "name"))


def test_a_window_is_never_too_long_to_add() -> None:
    form = replace(form_of("SEQ(A a, B b)"), window=TimeWindow(1 << 62))
    assert demands_of(form).extent == Extent("time", LONGEST)


def test_predicates_on_one_item_and_its_key_are_one_filter() -> None:
    found = built("A a WHERE a.x < 3 AND [k]").node
    assert isinstance(found, Filter)
    assert found.input == A
    assert len(found.predicates) == 2
    assert equal(0, 0, "k") in found.predicates


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("AND(A a, A b) WHERE a.x < b.x", "AND(A a, A b) WHERE b.x < a.x"),
        ("AND(A a, A b) WHERE a.x < 3 AND b.x > 5", "AND(A a, A b) WHERE b.x < 3 AND a.x > 5"),
        ("SEQ(A a, A b) WHERE a.x < b.x", "SEQ(A y, A x) WHERE x.x > y.x"),
    ],
)
def test_parts_of_one_type_are_told_apart_by_what_is_said_of_them(text: str, other: str) -> None:
    assert built(text).node == built(other).node


def test_the_smaller_part_stands_right() -> None:
    text = "AND(A a, B b, C c)"
    assert built(text, pair(leaf(0), pair(leaf(1), leaf(2)))).variables == ("b", "c", "a")
    assert built(text, pair(pair(leaf(0), leaf(1)), leaf(2))).variables == ("a", "b", "c")


def test_a_part_ends_the_match_only_if_all_of_the_other_comes_before_some_of_it() -> None:
    assert built("SEQ(A a, AND(B b, C c))", pair(leaf(0), pair(leaf(1), leaf(2)))).variables[0] == "a"
    form = form_of("AND(SEQ(A a, C c), B b, D d, A e)")
    a, c, b, d, e = (leaf(form.variables.index(name)) for name in "acbde")
    found = built("AND(SEQ(A a, C c), B b, D d, A e)", pair(pair(a, b), pair(pair(c, d), e)))
    assert set(found.variables[:3]) == {"c", "d", "e"}  # b comes before none of them, so the size decides


def test_a_list_with_predicates_on_its_elements_is_expanded_from_those_that_pass() -> None:
    found = built("SEQ(A a, B+ b[]) WHERE b.x > 3 AND SUM(b.x) > 9 AND [k] WITHIN 10 seconds").node
    assert isinstance(found, KleeneExpand)
    assert isinstance(found.elements, Filter)
    assert (found.input, found.elements.input, len(found.elements.predicates)) == (A, B, 1)
    assert equal(0, 1, "k") in found.predicates
    assert len(found.predicates) == 2  # the sum, and the key of a single event


def test_a_list_and_a_later_event_of_its_type_are_not_compared_again() -> None:
    found = built("SEQ(A+ a[], A b)").node
    assert isinstance(found, KleeneExpand)
    assert (found.order, found.distinct) == (((1, 0),), ())
    free = built("AND(A+ a[], A b)").node
    assert isinstance(free, KleeneExpand)
    assert (free.order, free.distinct) == ((), ((0, 1),))


def test_a_predicate_stands_where_its_items_meet() -> None:
    found = built("SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x AND a.x + b.x < c.x").node
    assert isinstance(found, Join)
    assert isinstance(found.left, Join)
    assert found.left.predicates == (Comparison("<", attribute(0, "x"), attribute(1, "x")),)
    assert len(found.predicates) == 2


def test_where_one_event_may_have_several_types_all_that_are_unordered_are_distinct() -> None:
    overlapping = Schema(SCHEMA.attributes, SCHEMA.time, frozenset("ABD"), types_overlap=True)
    tree, context = order_tree([0, 1]), context_of(overlapping)
    apart = assemble(form_of("AND(A a, B b)"), tree, context).node
    assert isinstance(apart, Join)
    assert apart.distinct == ((0, 1),)
    ordered = assemble(form_of("SEQ(A a, B b)"), tree, context).node
    assert isinstance(ordered, Join)
    assert ordered.distinct == ()
    checked = assemble(form_of("AND(SEQ(A a, NOT D n), B b) WITHIN 10 seconds"), tree, context).node
    assert (1, 2) in absence_in(checked).distinct  # b may be a D too


def test_what_the_window_bounds_is_checked_after_all_that_is_not() -> None:
    text = "SEQ(NOT C m, A a, NOT D n, B b) WITHIN 10 seconds"
    for tree in (order_tree([0, 1]), uncheck(order_tree([0, 1]))):
        found = built(text, tree).node
        assert absence_in(found).negated == C
        assert isinstance(found, NegationCheck)
        assert absence_in(found.input).negated == Scan("D")


def test_items_outside_the_scope_do_not_compete() -> None:
    found = built("SEQ(D d, A a, NOT D n, B b, D e) WITHIN 10 seconds", order_tree([1, 2, 0, 3])).node
    while not isinstance(found, NegationCheck):
        assert isinstance(found, Join)
        found = found.left if len(column_types(found.left)) > 1 else found.right
    assert column_types(found) == ("A", "B")
    assert found.absence.distinct == ()


def test_only_events_of_the_same_type_compete() -> None:
    text = "AND(SEQ(A a, NOT SEQ(D n, C m), B b), D d) WITHIN 10 seconds"
    found = built(text, pair(pair(leaf(0), leaf(1)), leaf(2)))
    absence = absence_in(found.node)
    negated = column_types(absence.negated).index("D")
    assert absence.distinct == ((found.variables.index("d"), 3 + negated),)


def test_a_negation_lies_between_all_that_is_around_it() -> None:
    found = built("SEQ(AND(A a, B b), NOT D n, C c) WITHIN 10 seconds")
    absence = absence_in(found.node)
    assert [found.variables[column] for column in absence.after] == ["a", "b"]
    assert [found.variables[column] for column in absence.before] == ["c"]


def test_a_negated_event_agrees_with_the_match_and_a_negated_pattern_within_itself_too() -> None:
    event = absence_in(built("SEQ(A a, NOT D n, B b) WHERE [k]").node)
    assert (event.negated, event.predicates) == (Scan("D"), (equal(0, 2, "k"),))
    pattern = absence_in(built("SEQ(A a, NOT SEQ(C c, D d), B b) WHERE [k]").node)
    assert isinstance(pattern.negated, Join)
    assert pattern.negated.predicates == (equal(0, 1, "k"),)
    assert pattern.predicates == (equal(0, 2, "k"),)
    several = absence_in(built("SEQ(A a, NOT D{2} n[], B b) WHERE [k]").node).negated
    assert isinstance(several, KleeneExpand)
    assert len(several.predicates) == 1


def test_a_negation_within_a_negation_is_an_exception_where_it_speaks_of_the_match() -> None:
    text = "SEQ(A a, NOT SEQ(C c, NOT D d, B e), B b)"
    inward = absence_in(built(text).node)
    assert inward.unless == ()
    assert isinstance(inward.negated, NegationCheck)
    outward = absence_in(built(f"{text} WHERE d.x = a.x").node)
    assert isinstance(outward.negated, Join)
    (exception,) = outward.unless
    assert exception.negated == Scan("D")
    assert len(exception.predicates) == 1


def test_a_part_in_any_order_is_put_in_order_without_what_follows() -> None:
    tree = order_tree([0, 1, 2])._replace(computed_for=Demands(frozenset(), TEN))
    found = built("SEQ(A a, B b, C c) WITHIN 10 seconds", tree)
    assert isinstance(found.node, Project)
    pairs = [(found.variables[a], found.variables[b]) for a, b in found.node.order]
    assert sorted(pairs) == [("a", "b"), ("b", "c")]


def test_negations_are_checked_on_what_is_narrowed() -> None:
    tree = pair(pair(leaf(0), leaf(1))._replace(computed_for=Demands(frozenset(), TEN)), leaf(2))
    found = built(NEGATED, tree).node
    assert isinstance(found, Join)
    assert isinstance(found.left, NegationCheck)
    assert found.left.input == Project(Join(A, B, (), (), (), TEN), (0, 1), None, ((0, 1),))


def test_the_ends_of_a_scope_do_not_compete() -> None:
    for text in ("SEQ(D a, NOT D n, B b) WITHIN 10 seconds", "SEQ(A a, NOT D n, D b) WITHIN 10 seconds"):
        assert absence_in(built(text).node).distinct == ()


def test_what_the_window_bounds_needs_all_variables() -> None:
    form = form_of("SEQ(A a, NOT D m, B b, C c, NOT D n) WITHIN 10 seconds")
    needs = [needs_of(negation, form, context_of(SCHEMA)) for negation in form.negations]
    assert sorted(map(sorted, needs)) == [["a", "b"], ["a", "b", "c"]]


def test_a_negated_event_with_a_negation_of_its_own_agrees_with_that_on_the_keys() -> None:
    found = absence_in(built("SEQ(A a, NOT SEQ(D d, NOT C c), B b) WHERE [k] WITHIN 10 seconds").node)
    assert isinstance(found.negated, NegationCheck)
    assert found.negated.input == Filter(Scan("D"), (equal(0, 0, "k"),))
    assert found.negated.absence.predicates == (equal(0, 1, "k"),)


def test_an_exception_agrees_on_the_keys_with_the_negated_row_that_it_excuses() -> None:
    text = "SEQ(A a, NOT SEQ(C c, NOT D d, B e), B b) WHERE d.x = a.x AND [k]"
    (exception,) = absence_in(built(text).node).unless
    assert equal(2, 4, "k") in exception.predicates  # a and b of the match, then c and e, then d
    assert len(exception.predicates) == 2
    assert (exception.after, exception.before) == ((2,), (3,))
