"""Columns of results: what is told of those that several queries name alike."""

import pytest

from weft.hosts.results import renamed_columns
from weft.language.read import read_queries
from weft.schema import LONG, STRING, TIMESTAMP, Schema

SCHEMA = Schema({"ts": TIMESTAMP, "x": LONG, "name": STRING}, time="ts")


def reasons_of(*returned: str) -> list[str]:
    text = "\n".join(
        f"QUERY {name} PATTERN A a RETURN {own}" for name, own in zip("pqr", returned, strict=False)
    )
    return [notice.reason for notice in renamed_columns(read_queries(text, SCHEMA), [])]


@pytest.mark.parametrize(
    ("returned", "reasons"),
    [
        (("a.x AS v", "a.x AS v"), []),
        (("a.x AS v", "a.name AS w"), []),
        (
            ("a.x AS v", "a.name AS v", "a.x AS v"),
            [
                "the column v is long in query p, string in q and long in r: "
                "the columns of the results are p_v, q_v and r_v"
            ],
        ),
        (
            ("a.x AS v", "a.x AS V"),
            [
                "the columns v and V differ in case, or in type, of p and of q: "
                "the columns of the results are p_v and q_V"
            ],
        ),
    ],
)
def test_renamed_columns_are_told(returned: tuple[str, ...], reasons: list[str]) -> None:
    assert reasons_of(*returned) == reasons
