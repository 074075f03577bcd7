"""What `explain` says of a small workload, word for word."""

from pathlib import Path

from tests.strategies import SCHEMA

from weft.explain import explain
from weft.language.binder import bind
from weft.language.parser import parse

GOLDEN = Path(__file__).parent.parent / "golden" / "explain.txt"
WORKLOAD = """
QUERY rising
PATTERN SEQ(A a, B b)
WHERE [k] AND a.x < b.x
WITHIN 1 minute

QUERY rising_twice
PATTERN SEQ(A first, B second, C third)
WHERE [k] AND second.x > first.x AND third.y >= 1.5
WITHIN 1 minute

QUERY either
PATTERN SEQ(A a, OR(B b, C? c))
WITHIN 1 minute

QUERY quiet
PATTERN SEQ(A a, NOT SEQ(C x, NOT A y, B z), B b)
WHERE x.name = 'ann' AND z.x = a.x
WITHIN 1 minute

QUERY climb
PATTERN SEQ(A a, C{2,5} l[], B b)
WHERE l[i].y > l[i-1].y AND COUNT(l) < b.x AND a.x != l.x
WITHIN 1 minute

QUERY dense
PATTERN AND(A a, A other, NOT D d)
WHERE d.day = DATE '2024-02-29'
WITHIN 20 EVENTS
PARTITION BY name
"""


def explained(text: str) -> str:
    return explain(bind(parse(text), SCHEMA, source=text), SCHEMA)


def test_the_workload_is_explained_as_in_the_golden_file() -> None:
    """To accept a change: `python -m tests.plan.test_explain`."""
    assert explained(WORKLOAD) + "\n" == GOLDEN.read_text(encoding="utf-8")


def test_the_golden_file_shows_what_it_should() -> None:
    golden = GOLDEN.read_text(encoding="utf-8")
    for wanted in ("[shared by rising, rising_twice]", "(shown above)", "alternative 2", "within 20 events"):
        assert wanted in golden


def test_many_readers_are_counted_not_listed() -> None:
    text = "\n".join(f"QUERY q{number} PATTERN A a{number}" for number in range(9))
    assert "n1 scan A  [shared by q0, q1, q2, q3 and 5 more]" in explained(text)


def test_a_query_alone_shares_nothing() -> None:
    assert "Shared plan: 3 nodes, 0 shared" in explained("PATTERN SEQ(A a, B b)")


if __name__ == "__main__":
    GOLDEN.write_text(explained(WORKLOAD) + "\n", encoding="utf-8")


def test_or_is_kept_apart_from_and() -> None:
    (query,) = parse("PATTERN A a WHERE (a.x = 1 OR a.x = 2) AND a.k = 3")
    assert "(a.x = 1 OR a.x = 2) AND a.k = 3" in explain([query])
