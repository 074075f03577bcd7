"""Which matches count in queries that do not say: what is read, what is refused, to whom it goes."""

from datetime import timedelta

import pytest

from weft.errors import QueryError, WeftError
from weft.language.policy_words import default_policy
from weft.language.read import read_queries
from weft.pattern.policies import ALL_MATCHES, Policy, Suppression

HOUR = 3_600_000_000
DEFAULT = Policy("next", "past last", suppression=Suppression(HOUR))


@pytest.mark.parametrize(
    ("given", "policy"),
    [
        ({}, ALL_MATCHES),
        ({"strategy": "any", "skip": "none"}, Policy("any", "none")),
        ({"strategy": "Strict", "skip": "TO NEXT"}, Policy("strict", "to next")),
        ({"skip": "past-last"}, Policy(skip="past last")),
        ({"suppress": "1 hour"}, Policy(suppression=Suppression(HOUR))),
        ({"suppress": timedelta(hours=1)}, Policy(suppression=Suppression(HOUR))),
    ],
)
def test_words(given: dict[str, str], policy: Policy) -> None:
    assert default_policy(**given) == policy


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"strategy": "nxt"}, "strategy is 'nxt'; expected 'any', 'next', 'strict'; did you mean next?"),
        ({"strategy": ""}, "strategy is ''; expected 'any', 'next', 'strict'"),
        ({"skip": "everything"}, "skip is 'everything'; expected 'none', 'to next', 'past last'"),
        ({"skip": 3}, "skip is 3; expected 'none', 'to next', 'past last'"),
        (
            {"suppress": "a while"},
            "suppress is 'a while'; expected a length of time above 0, such as '1 hour'",
        ),
        ({"suppress": "0 s"}, "suppress is '0 s'; expected a length of time above 0, such as '1 hour'"),
        ({"suppress": timedelta(0)}, "suppress is datetime.timedelta(0); expected a length of time above 0"),
    ],
)
def test_what_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(WeftError) as raised:
        default_policy(**given)
    assert str(raised.value).startswith(message)


def policies(text: str, default: Policy = DEFAULT) -> list[Policy]:
    return [query.policy for query in read_queries(text, None, default=default)]


def test_the_text_wins_clause_by_clause() -> None:
    text = """
    QUERY silent PATTERN SEQ(A a, B b)
    QUERY loud PATTERN SEQ(A a, B b) STRATEGY ANY AFTER MATCH SKIP NONE SUPPRESS 1 minute PER a.x
    QUERY half PATTERN SEQ(A a, B b) AFTER MATCH SKIP TO NEXT
    """
    silent, loud, half = policies(text)
    assert silent == DEFAULT
    assert (loud.strategy, loud.skip) == ("any", "none")
    assert loud.suppression is not None
    assert loud.suppression.length == 60_000_000
    assert half == Policy("next", "to next", suppression=Suppression(HOUR))


def test_trend_queries_stay_as_they_are() -> None:
    text = "QUERY t PATTERN SEQ(A a, B+ b) RETURN COUNT(*)\nQUERY m PATTERN SEQ(A a, B b)"
    assert policies(text) == [ALL_MATCHES, DEFAULT]


def test_statements_of_ccl_take_defaults() -> None:
    assert policies("SELECT a.x FROM A a, B b MATCHING [1 second: a, b]") == [DEFAULT]


def test_what_depends_on_a_default_is_judged_with_it() -> None:
    text = "PATTERN SEQ(A a, B b) PREFER LONGEST RETURN SUPPRESSED() AS n"
    (policy,) = policies(text)
    assert policy == Policy("next", "past last", prefer_longest=True, suppression=Suppression(HOUR))
    with pytest.raises(QueryError) as raised:
        policies(text, Policy("next", "none"))
    assert [problem.message for problem in raised.value.problems] == [
        "PREFER LONGEST orders the matches for AFTER MATCH SKIP, but this query skips none",
        "SUPPRESSED() counts what SUPPRESS leaves out, but this query has no SUPPRESS",
    ]
