"""Windows and columns of a plan: what its nodes may ask of their inputs."""

import pytest

from weft.expressions import Attribute, Comparison
from weft.pattern.invariants import InvariantError
from weft.plan.invariants import check_plan
from weft.plan.nodes import (
    Absence,
    Branch,
    Chain,
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
    SubsetJoin,
    list_columns,
)

A, B, C = map(Scan, "ABC")
NEAR, FAR, COUNT = Extent("time", 5), Extent("time", 9), Extent("position", 5)


def pairs(extent: Extent | None) -> Join:
    return Join(A, B, ((0, 1),), (), (), extent)


def check(node: Node, after: tuple[int, ...], before: tuple[int, ...], extent: Extent | None) -> Node:
    return NegationCheck(node, Absence(C, after, before, (), (), extent))


def longer(source: Node, extent: Extent | None) -> Join:
    return Join(source, C, ((1, 2),), (), (), extent)


ALLOWED: dict[str, Node] = {
    "a shared node, narrowed for a reader": Project(pairs(FAR), (0, 1), NEAR),
    "a join that narrows by itself": longer(pairs(FAR), NEAR),
    "columns in another order": Project(pairs(FAR), (1, 0)),
    "a check between columns of wider rows": check(pairs(FAR), (0,), (1,), NEAR),
    "a check to the end of the window": check(Project(pairs(FAR), (0, 1), NEAR), (1,), (), NEAR),
    "a check on single events": check(A, (), (), NEAR),
    "a check without a window": check(pairs(FAR), (1,), (), None),
    "a union of what was aligned": DistinctUnion(
        (pairs(NEAR), Project(Join(B, A, ((1, 0),), (), (), FAR), (1, 0)))
    ),
    "a list on wider rows": KleeneExpand(pairs(FAR), C, 1, None, ((1, 2),), (), (), NEAR),
    "a list that a chain goes on with": Chain(Chain(A, B, (), FAR, "first"), B, (), FAR, "next"),
}
REFUSED: dict[str, tuple[Node, str]] = {
    "a column twice": (
        Project(pairs(FAR), (0, 0)),
        "Project: columns are those of the input in some order",
    ),
    "a column left out": (
        Project(pairs(FAR), (1,)),
        "Project: columns are those of the input in some order",
    ),
    "an extent that restricts nothing": (
        Project(pairs(NEAR), (0, 1), FAR),
        "Project: the extent is at most that of the input",
    ),
    "narrowed too early": (
        longer(Project(pairs(FAR), (0, 1), NEAR), FAR),
        "Join: an input reaches at least as far as its reader",
    ),
    "narrowed too early, below a check": (
        longer(check(pairs(NEAR), (0,), (1,), NEAR), FAR),
        "Join: an input reaches at least as far as its reader",
    ),
    "a window below none": (longer(pairs(FAR), None), "Join: an input reaches at least as far as its reader"),
    "a check to the end of a shorter window": (
        check(pairs(FAR), (1,), (), NEAR),
        "NegationCheck: a scope that the window bounds has an input within that window",
    ),
    "a check from the start of a shorter window": (
        check(pairs(FAR), (), (0,), NEAR),
        "NegationCheck: a scope that the window bounds has an input within that window",
    ),
    "a check on another clock": (
        check(pairs(FAR), (), (), COUNT),
        "NegationCheck: a scope that the window bounds has an input within that window",
    ),
    "a negated pattern that is too short": (
        NegationCheck(A, Absence(pairs(NEAR), (0,), (), (), (), FAR)),
        "NegationCheck: what is negated reaches at least as far as the check",
    ),
    "an order inside one side": (
        Join(pairs(FAR), C, ((0, 1),), (), (), FAR),
        "Join: order and distinct relate one side to the other",
    ),
    "the right side first": (
        Join(A, B, (), ((1, 0),), (), FAR),
        "Join: order and distinct relate one side to the other",
    ),
    "a chain that goes on with no list": (
        Chain(Chain(A, B, (), FAR), B, (), FAR, "next"),
        "Chain: what comes next is added to a list",
    ),
    "a chain of lists": (
        Chain(A, KleeneExpand(None, B, 1, None, (), (), (), FAR), (), FAR),
        "Chain: elements are single events",
    ),
    "a chain that goes on for longer than it was": (
        Chain(Chain(A, B, (), NEAR), C, (), FAR),
        "Chain: an input reaches at least as far as its reader",
    ),
    "combinations of pairs": (
        SubsetJoin((A, pairs(FAR)), (), (), (), FAR),
        "SubsetJoin: inputs are single events",
    ),
    "combinations whose events are told apart backwards": (
        SubsetJoin((A, A), (), ((1, 0),), (), FAR),
        "SubsetJoin: distinct relates existing columns",
    ),
    "a condition on what is not combined": (
        SubsetJoin((A, B), (), (), (Comparison("=", Attribute("$0", "x"), Attribute("$2", "x")),), FAR),
        "SubsetJoin: predicates mention columns of the inputs only",
    ),
    "a list after itself": (
        KleeneExpand(pairs(FAR), C, 1, None, ((0, 1),), (), (), FAR),
        "KleeneExpand: order and distinct relate one side to the other",
    ),
}


def plan_of(node: Node, n_columns: int) -> Plan:
    return Plan((Output("q", (), (Branch(node, tuple(f"v{n}" for n in range(n_columns)), ()),)),))


@pytest.mark.parametrize("node", ALLOWED.values(), ids=ALLOWED)
def test_a_reader_may_want_less_than_its_input_has(node: Node) -> None:
    check_plan(plan_of(node, len(list_columns(node))), "some_step")


@pytest.mark.parametrize(("node", "what"), REFUSED.values(), ids=REFUSED)
def test_a_reader_that_wants_more_is_reported(node: Node, what: str) -> None:
    with pytest.raises(InvariantError, match=f"^after some_step: {what}$"):
        check_plan(plan_of(node, 1), "some_step")
