"""What is said of lists without an upper bound."""

from dataclasses import replace

import pytest

from weft.language.parser import parse
from weft.normalize.cautions import list_cautions
from weft.pattern.policies import Policy, Strategy


@pytest.mark.parametrize(
    "pattern",
    [
        "Failure{5,} f[]",
        "SEQ(Login l, Failure+ f[])",
        "SEQ(Login l, Failure* f[], Logout o)",
        "OR(A a, B+ b[])",
    ],
)
def test_a_list_without_an_upper_bound_is_told_once(pattern: str) -> None:
    query = f"QUERY burst PATTERN {pattern} WITHIN 1 minute"
    (caution,) = list_cautions(parse(query)).values()
    assert caution.query == "burst"
    assert "[] has no upper bound" in caution.reason
    assert "STRATEGY NEXT takes the next that fits in place of every choice" in str(caution)


@pytest.mark.parametrize(("strategy", "is_told"), [("any", True), ("next", False), ("strict", False)])
def test_only_where_every_choice_is_a_match(strategy: Strategy, is_told: bool) -> None:
    (query,) = parse("PATTERN SEQ(Login l, Failure+ f[]) WITHIN 1 minute")
    asked = replace(query, policy=Policy(strategy=strategy))
    assert bool(list_cautions([asked])) == is_told


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(Login l, Failure{5,9} f[]) WITHIN 1 minute",
        "PATTERN SEQ(Login l, Failure? f[], Logout o) WITHIN 1 minute",
        "PATTERN SEQ(Login l, NOT Failure f, Logout o) WITHIN 1 minute",
        "PATTERN Failure+ f WITHIN 1 minute RETURN COUNT(*)",
    ],
)
def test_nothing_is_said_of_others(query: str) -> None:
    assert list_cautions(parse(query)) == {}
