"""What patterns have in common: figure 7, the examples of appendix A, and the definition itself."""

import random
from itertools import combinations, permutations

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import Workload, items, random_workload, sequence

from weft.cost.shape import items_of
from weft.expressions import Expression
from weft.optimizer.pipeline import weave_for
from weft.optimizer.planning import Planning
from weft.optimizer.sharing.multi_pattern_graph import MultiPatternGraph
from weft.optimizer.sharing.pattern import Pattern
from weft.optimizer.sharing.sub_patterns import InternTable
from weft.pattern.canonical import canonical, rename_variables
from weft.pattern.nodes import CountWindow
from weft.pattern.normal_form import Item, NormalForm, project
from weft.statistics.model import Statistics


def test_the_example_of_section_4_1_has_one_maximal_common_sub_pattern() -> None:
    graph = Workload((sequence("ABCD", 10), sequence("AECD", 20))).graph()
    assert graph.maximal("P1", "P2") == [items("ACD", "ABCD")]
    common = {items(part, "ABCD") for part in ("AC", "AD", "CD", "ACD")}
    assert set(graph.common("P1")) == common
    assert set(graph.common("P2")) == {items(part, "AECD") for part in ("AC", "AD", "CD", "ACD")}


class TestFigure7:
    """Six patterns as the caption tells them."""

    texts = ("ABCD", "AECF", "ACGH", "CHG", "IJKL", "IKL")
    workload = Workload(tuple(map(sequence, texts)))
    graph = workload.graph()

    def maximal(self, one: int, other: int) -> set[frozenset[str]]:
        """Return the maximal common sub-patterns of two patterns as sets of types."""
        names = self.texts[one - 1]
        masks = self.graph.maximal(f"P{one}", f"P{other}")
        return {frozenset(names[item] for item in items_of(mask)) for mask in masks}

    def test_a_triplet_shares_one_maximal_common_sub_pattern(self) -> None:
        for one, other in ((1, 2), (1, 3), (2, 3), (3, 1)):
            assert self.maximal(one, other) == {frozenset("AC")}
        label = self.workload.patterns["P1"].label(items("AC", "ABCD"))
        assert self.graph.owners(label.number) == {
            "P1": [items("AC", "ABCD")],
            "P2": [items("AC", "AECF")],
            "P3": [items("AC", "ACGH")],
        }

    def test_two_patterns_may_have_two_maximal_common_sub_patterns(self) -> None:
        assert self.maximal(3, 4) == {frozenset("CG"), frozenset("CH")}
        assert self.maximal(4, 3) == {frozenset("CG"), frozenset("CH")}

    def test_a_pattern_may_be_contained_in_another(self) -> None:
        assert self.maximal(5, 6) == {frozenset("IKL")}
        assert self.graph.maximal("P6", "P5") == [0b111]

    def test_single_events_are_common_too_but_make_no_neighbors(self) -> None:
        assert self.maximal(1, 4) == {frozenset("C")}
        assert self.graph.maximal("P1", "P5") == []
        assert self.graph.neighbors("P1") == {"P2", "P3"}
        assert self.graph.neighbors("P3") == {"P1", "P2", "P4"}
        assert self.graph.neighbors("P4") == {"P3"}
        assert self.graph.neighbors("P6") == {"P5"}

    def test_components_are_solved_on_their_own(self) -> None:
        assert self.graph.components() == [["P1", "P2", "P3", "P4"], ["P5", "P6"]]

    def test_without_one_pattern_the_others_fall_apart(self) -> None:
        graph = self.workload.graph()
        graph.remove("P3")
        assert graph.components() == [["P1", "P2"], ["P4"], ["P5", "P6"]]
        assert graph.common("P4") == {}


def test_appendix_a_conflicting_conditions_leave_what_they_do_not_speak_of() -> None:
    texts = ("AND(A a, B b, C c) WHERE a.x < 10", "AND(A a, D d, C c) WHERE a.x >= 10")
    assert Workload(texts).graph().maximal("P1", "P2") == [items("C", "ABC")]
    same = (texts[0], "AND(A a, D d, C c) WHERE 10 > a.x")
    assert Workload(same).graph().maximal("P1", "P2") == [items("AC", "ABC")]


def test_appendix_a_two_orders_of_three_events_have_two_maximal_common_sub_patterns() -> None:
    graph = Workload((sequence("ABC"), sequence("ACB"))).graph()
    assert graph.maximal("P1", "P2") == [items("AB", "ABC"), items("AC", "ABC")]


def test_windows_and_negations_do_not_restrict_what_is_common() -> None:
    texts = ("SEQ(A a, NOT D n, B b) WITHIN 5 seconds", "SEQ(A a, B b) WITHIN 50 seconds")
    assert Workload(texts).graph().maximal("P1", "P2") == [0b11]


def test_count_windows_share_with_count_windows_only() -> None:
    texts = tuple(f"SEQ(A a, B b) WITHIN {window}" for window in ("5 EVENTS", "9 EVENTS", "5 seconds"))
    graph = Workload(texts).graph()
    assert graph.maximal("P1", "P2") == [0b11]
    assert graph.maximal("P1", "P3") == [0b01, 0b10]


def test_a_pattern_that_shares_with_nobody_but_itself_has_nothing_in_common() -> None:
    graph = Workload(("SEQ(A a1, A a2, A a3)", "SEQ(B b, C c)")).graph()
    assert graph.common("P1") == {}
    assert graph.components() == [["P1"], ["P2"]]


def test_lists_alone_are_not_shared() -> None:
    texts = ("AND(A+ a[], B+ b[], C c)", "AND(A+ a[], B+ b[], D d)")
    graph = Workload(texts).graph()
    assert graph.common("P1") == {}


def test_a_name_is_used_once() -> None:
    workload = Workload((sequence("AB"),))
    graph = workload.graph()
    with pytest.raises(ValueError, match="'P1' already"):
        graph.add("P1", workload.patterns["P1"])


# The definition: a common sub-pattern is a set of items of each, equal up to the names of variables.


def is_same(one: NormalForm, other: NormalForm) -> bool:
    """Say whether two forms differ in nothing but names, by trying all of them."""
    if len(one.items) != len(other.items) or (len(one.items) > 1 and _frame(one) != _frame(other)):
        return False
    return any(
        _renamed(one, dict(zip(one.variables, names, strict=True))) == _renamed(other)
        for names in permutations(other.variables)
    )


def _frame(form: NormalForm) -> tuple[object, ...]:
    kind = None if form.window is None else isinstance(form.window, CountWindow)
    return (form.keys, form.partition_by if kind else (), kind)


def _renamed(form: NormalForm, names: dict[str, str] | None = None) -> tuple[object, ...]:
    names = names or {variable: variable for variable in form.variables}
    predicates: set[Expression] = {
        canonical(rename_variables(predicate, names)) for predicate in form.predicates
    }
    described = {
        Item(names[item.variable], item.type, item.is_list, item.least, item.most) for item in form.items
    }
    return described, {(names[a], names[b]) for a, b in form.order}, predicates


def maximal_common(one: Pattern, other: Pattern) -> list[int]:
    """Return the maximal common sub-patterns of two patterns, by the definition."""

    def parts(pattern: Pattern) -> dict[int, NormalForm]:
        names = pattern.form.variables
        return {
            mask: project(pattern.form, {names[item] for item in items_of(mask)})
            for mask in range(1, 1 << pattern.n_items)
        }

    others = list(parts(other).values())
    common = [mask for mask, form in parts(one).items() if any(is_same(form, part) for part in others)]
    return [mask for mask in common if not any(mask != more and not mask & ~more for more in common)]


@pytest.mark.parametrize("seed", range(25))
def test_the_maximal_common_sub_patterns_are_those_of_the_definition(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(
        dice, 4, (2, 3, 4), n_types=3 + seed % 3, has_lists=seed % 2 == 0, has_negations=seed % 3 == 0
    )
    graph = workload.graph()
    for one, pattern in workload.patterns.items():
        for other, second in workload.patterns.items():
            if one != other:
                assert graph.maximal(one, other) == maximal_common(pattern, second), workload.texts


def told(graph: MultiPatternGraph[str]) -> dict[str, object]:
    """Return all that a graph says of its patterns."""
    keys = [key for component in graph.components() for key in component]
    return {
        "components": {frozenset(component) for component in graph.components()},
        "common": {key: graph.common(key) for key in keys},
        "neighbors": {key: graph.neighbors(key) for key in keys},
        "maximal": {(a, b): graph.maximal(a, b) for a in keys for b in keys if a != b},
        "owners": {
            (key, number): {owner: sorted(masks) for owner, masks in graph.owners(number).items()}
            for key in keys
            for number in graph.common(key).values()
        },
    }


@pytest.mark.parametrize("seed", range(20))
def test_adding_and_removing_in_any_order_equals_building_anew(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, 6, (2, 3, 4), n_types=4, has_lists=True, has_negations=True)
    graph: MultiPatternGraph[str] = MultiPatternGraph()
    present: set[str] = set()
    for _ in range(25):
        key = dice.choice(list(workload.patterns))
        if key in present:
            graph.remove(key)
        else:
            graph.add(key, workload.patterns[key])
        present ^= {key}
        anew: MultiPatternGraph[str] = MultiPatternGraph()
        for other in workload.patterns:
            if other in present:
                anew.add(other, workload.patterns[other])
        assert told(graph) == told(anew)


def test_a_thousand_patterns_of_five_items() -> None:
    dice = random.Random(0)
    types, numbers = [f"T{number}" for number in range(40)], InternTable()
    context = weave_for(SCHEMA, Planning(cost="partial-matches")).context
    patterns = {}
    graph: MultiPatternGraph[int] = MultiPatternGraph()
    for key in range(1_000):
        chosen = tuple(Item(name.lower(), name) for name in dice.sample(types, 5))
        order = frozenset((a.variable, b.variable) for a, b in combinations(chosen, 2))
        patterns[key] = Pattern(NormalForm(chosen, order), Statistics(), context, numbers)
        graph.add(key, patterns[key])
    for _ in range(10):
        one, other = dice.sample(range(1_000), 2)
        assert graph.maximal(one, other) == maximal_common(patterns[one], patterns[other])
    before = graph.common(7)
    graph.remove(500)
    graph.add(500, patterns[500])
    assert graph.common(7) == before
    assert sum(map(len, graph.components())) == 1_000
