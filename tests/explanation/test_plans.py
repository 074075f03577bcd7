"""What `explain` says of a small workload, word for word."""

from pathlib import Path

from tests.helpers.strategies import SCHEMA

from weft.explanation.plans import explain, form_lines, plan_lines
from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import optimize
from weft.plan.nodes import Branch, Extent, Join, Node, Output, Plan, Project, Scan
from weft.runtime.budget import NodeMetrics

GOLDEN = Path(__file__).with_name("plans.txt")
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
    """To accept a change: `python -m tests.explain.test_plans`."""
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


def drawn(node: Node, *, actual: dict[Node, NodeMetrics] | None = None) -> list[str]:
    return plan_lines(Plan((Output("q", (), (Branch(node, (), ()),)),)), actual=actual)


def test_a_projection_and_a_copy_are_named() -> None:
    pairs = Join(Scan("A", 3), Scan("B"), ((0, 1),), (), (), None)
    lines = drawn(Project(Project(pairs, (0, 1), Extent("position", 4, ("k",))), (1, 0)))
    texts = [line.strip() for line in lines]
    assert "n5 project $1, $0" in texts
    assert "n4 project within 5 events of each k" in texts
    assert "n1 scan A (copy 3)" in texts
    assert "n2 scan B" in texts


def test_the_columns_of_an_analysis_are_aligned() -> None:
    scans = [Scan(letter) for letter in "AB"]
    join = Join(*scans, ((0, 1),), (), (), None)
    actual = {
        scans[0]: NodeMetrics(1_234_567, 0, 250_000),
        scans[1]: NodeMetrics(8, 0, 250_000),
        join: NodeMetrics(9, 12_345_678, 1_500_000_000),
    }
    lines = drawn(join, actual=actual)
    assert lines[1].split() == ["queries", "rows", "candidates", "ms", "share"]
    (top,) = [line for line in lines[:5] if "n3 join" in line]
    assert top.split()[:5] == ["1", "9", "12,345,678", "1,500.0", "100.0%"]
    for heading in ("queries", "rows", "candidates", "ms", "share"):
        end = lines[1].index(heading) + len(heading)
        assert all(line[end] == " " and line[end - 1] != " " for line in lines[3:6])


def test_of_many_nodes_the_dearest_are_listed() -> None:
    scans = [Scan("A", copy) for copy in range(50)]
    plan = Plan(tuple(Output(f"q{n}", (), (Branch(scan, ("a",), ()),)) for n, scan in enumerate(scans)))
    actual = {scan: NodeMetrics(1, 0, 1_000_000 * n) for n, scan in enumerate(scans)}
    lines = plan_lines(plan, actual=actual)
    table = lines[lines.index("") + 1 :]
    assert table[0].startswith("Dearest nodes: 20 of 50, 64.5% of 1,225.0 ms")
    assert [line.rsplit(" ", 1)[-1] for line in table[2:]] == [f"{n})" for n in range(49, 29, -1)]


if __name__ == "__main__":
    GOLDEN.write_text(explained(WORKLOAD) + "\n", encoding="utf-8")


def test_or_is_kept_apart_from_and() -> None:
    (query,) = parse("PATTERN A a WHERE (a.x = 1 OR a.x = 2) AND a.k = 3")
    assert "(a.x = 1 OR a.x = 2) AND a.k = 3" in explain([query])


def test_strategies_are_told_in_words() -> None:
    text = """
    QUERY burst PATTERN SEQ(A{5,} a[], B b) WHERE [k] WITHIN 1 minute STRATEGY NEXT
    QUERY apart PATTERN AND(A a, C c) WITHIN 1 minute STRATEGY STRICT
    QUERY chain PATTERN SEQ(A a, C c) WHERE [k] WITHIN 1 minute STRATEGY NEXT
    """
    queries = bind(parse(text), SCHEMA, source=text)
    forms = "\n".join(form_lines(queries))
    assert "not     a between: A between neighbors in a\n" in forms
    assert "not     between: any event within the match where" in forms
    assert "not     c sooner: C after a and before c\n" in forms
    plan = "\n".join(plan_lines(optimize(queries, SCHEMA)))
    assert "kleene {5,} of neighbors to the last $1 < $0 where $0.k = $1.k within 1 minute" in plan
    assert "scan all events" in plan
    assert plan.count("nearest join") == 1
    assert "\0" not in forms + plan
