"""A stored plan: written and read again, and errors that say what was found and expected."""

import json
import random

import pytest
from tests.helpers.random_trees import random_tree
from tests.helpers.workloads import random_workload

from weft.errors import WeftError
from weft.optimizer.stored_plan import Named, StoredPlan, tree_from_names, tree_to_names
from weft.optimizer.trees import leaf, order_tree, pair


@pytest.mark.parametrize(
    "plan",
    [
        StoredPlan({}),
        StoredPlan({"q": ("a",)}),
        StoredPlan({"q": ([["a", "c"], "b"],), "é": ({"bare": ["x", {"bare": ["y", "z"]}]}, "a")}),
        StoredPlan({"q": ("a",)}, is_shared=False),
    ],
)
def test_a_plan_is_read_as_it_was_written(plan: StoredPlan) -> None:
    assert StoredPlan.from_json(plan.to_json()) == plan


def test_what_is_written_is_readable() -> None:
    written = json.loads(StoredPlan({"q": ([["a", "c"], "b"],)}, is_shared=False).to_json())
    assert written == {"version": 4, "shared": False, "queries": {"q": [[["a", "c"], "b"]]}}
    assert "é" in StoredPlan({"é": ("a",)}).to_json()


def test_a_plan_is_shared_unless_it_says_otherwise() -> None:
    assert StoredPlan.from_json('{"version": 4, "queries": {}}').is_shared


WRONG = {
    "not JSON": ("{", "plan.json is not JSON"),
    "another kind of document": ("[1]", "version 'list', expected 4"),
    "no version": ('{"queries": {}}', "version None, expected 4"),
    "another version": ('{"version": 2, "queries": {}}', "version 2, expected 4"),
    "no queries": ('{"version": 4}', 'lacks "queries"'),
    "queries of another kind": ('{"version": 4, "queries": []}', 'lacks "queries"'),
    "one tree instead of a list": ('{"version": 4, "queries": {"q": "a"}}', 'query q: found "a"'),
    "a join of three": ('{"version": 4, "queries": {"q": [["a", "b", "c"]]}}', "query q: found"),
    "a join of one": ('{"version": 4, "queries": {"q": [["a"]]}}', "query q: found"),
    "a number in a tree": ('{"version": 4, "queries": {"q": [["a", 1]]}}', "query q: found"),
    "an unknown mark": ('{"version": 4, "queries": {"q": [{"naked": ["a", "b"]}]}}', "query q: found"),
    "a mark on a leaf": ('{"version": 4, "queries": {"q": [{"bare": "a"}]}}', "query q: found"),
    "demands without an extent": (
        '{"version": 4, "queries": {"q": [{"parts": ["a", "b"], "order": []}]}}',
        "query q: found",
    ),
    "an order of one": (
        '{"version": 4, "queries": {"q": [{"parts": ["a", "b"], "order": [["a"]], "extent": null}]}}',
        "query q: found",
    ),
    "an extent of another kind": (
        '{"version": 4, "queries": {"q": [{"bare": ["a", "b"], "order": [], "extent": 10}]}}',
        "query q: found",
    ),
    "a window that ends before it begins": (
        '{"version": 4, "queries": {"q": [{"bare": ["a", "b"], "order": [], "extent": '
        '{"clock": "time", "length": -1, "partition_by": []}}]}}',
        "query q: found",
    ),
    "a window beyond all time": (
        '{"version": 4, "queries": {"q": [{"bare": ["a", "b"], "order": [], "extent": '
        '{"clock": "time", "length": 9223372036854775807, "partition_by": []}}]}}',
        "query q: found",
    ),
    "far too deep for JSON": ("[" * 200_000, "plan.json is not JSON"),
    "far too deep for a tree": (
        '{"version": 4, "queries": {"q": [' + '["a", ' * 900 + '"b"' + "]" * 900 + "]}}",
        "query q: found",
    ),
    "a number of too many digits": ('{"version": ' + "9" * 5_000 + "}", "plan.json is not JSON"),
    "parts without demands": ('{"version": 4, "queries": {"q": [{"parts": ["a", "b"]}]}}', "query q: found"),
    "nothing": (
        '{"version": 4, "queries": {"q": [null]}}',
        "query q: found [null], expected a list of trees",
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_stored_plan_is_said(text: str, message: str) -> None:
    with pytest.raises(WeftError) as caught:
        StoredPlan.from_json(text, "plan.json")
    assert str(caught.value).startswith("plan.json")
    assert message in str(caught.value)


def test_what_is_wrong_with_shared_is_said() -> None:
    with pytest.raises(WeftError, match="shared"):
        StoredPlan.from_json('{"version": 4, "shared": 1, "queries": {}}')


@pytest.mark.parametrize("seed", range(20))
def test_trees_keep_their_form_under_names(seed: int) -> None:
    dice = random.Random(seed)
    workload = random_workload(dice, 3, (2, 3, 4, 5), has_lists=True, has_negations=True)
    for pattern in workload.patterns.values():
        tree = random_tree(pattern, dice)
        stored = json.loads(json.dumps(tree_to_names(tree, pattern.variables)))
        assert tree_from_names(stored, pattern.variables) == tree


def test_a_tree_names_each_variable_once_or_fits_not() -> None:
    names = ("a", "b", "c")
    assert tree_from_names([["a", "c"], "b"], names) == pair(pair(leaf(0), leaf(2)), leaf(1))
    assert tree_from_names([["c", "a"], "b"], names) == pair(pair(leaf(0), leaf(2)), leaf(1))
    wrong: list[Named] = ["a", ["a", "b"], [["a", "b"], "d"], [["a", "b"], "b"], [[["a", "b"], "c"], "c"]]
    for tree in wrong:
        assert tree_from_names(tree, names) is None


def test_a_tree_that_leaves_negations_to_its_reader_says_so() -> None:
    tree = pair(pair(leaf(0), leaf(1))._replace(unchecked=True), leaf(2))
    assert tree_to_names(tree, ("a", "b", "c")) == [{"bare": ["a", "b"]}, "c"]
    assert tree_to_names(order_tree([1, 0, 2]), ("a", "b", "c")) == [["a", "b"], "c"]
