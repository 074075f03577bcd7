"""SOME of many single events as one node: what it shares, what it is expected to cost, how it is told."""

import pytest
from tests.helpers.strategies import SCHEMA
from tests.helpers.workloads import rates

from weft.explanation.plans import plan_lines
from weft.language.binder import bind
from weft.language.parser import parse
from weft.optimizer.pipeline import Optimized, choose_plan, optimize, plan_of_weave, weave_for
from weft.optimizer.planning import Planning
from weft.pattern.nodes import Query
from weft.plan.dag import readers
from weft.plan.nodes import Extent, Filter, Scan, SubsetJoin

SOME = "QUERY some PATTERN SOME(A a, B b, A c, D d) WHERE [k] AND a.x < c.x AND d.x > 1 WITHIN 10 seconds"
SEQUENCE = "QUERY seq PATTERN SEQ(A a, D d) WHERE d.x > 1 WITHIN 5 seconds"


def queries_of(*texts: str) -> tuple[Query, ...]:
    return bind(parse("\n".join(texts)), SCHEMA, source="\n".join(texts))


def chosen(*texts: str, plan: str = "auto", cost: str = "measured") -> Optimized:
    settings = Planning(plan=plan, statistics=rates(A=2, B=3, D=1), cost=cost, steps=20)  # type: ignore[arg-type]
    return choose_plan(queries_of(*texts), SCHEMA, settings)


def test_its_conditions_and_its_events_are_those_of_the_query() -> None:
    (branch,) = optimize(queries_of(SOME), SCHEMA).outputs[0].branches
    node = branch.node
    assert isinstance(node, SubsetJoin)
    assert branch.variables == ("a", "b", "c", "d")
    assert node.inputs[:3] == (Scan("A"), Scan("B"), Scan("A"))
    assert isinstance(node.inputs[3], Filter)
    assert (node.keys, node.distinct, len(node.predicates)) == (("k",), ((0, 2),), 1)
    assert node.extent == Extent("time", 10_000_000)


def test_it_shares_its_events_unless_nothing_is_to_be_shared() -> None:
    for plan, shared in (("auto", {"some", "seq"}), ("trivial", None)):
        read = readers(chosen(SOME, SEQUENCE, plan=plan).plan)
        filters = [names for node, names in read.items() if isinstance(node, Filter)]
        assert (filters == [shared]) if shared else ([len(names) for names in filters] == [1, 1])


@pytest.mark.parametrize("cost", ["measured", "partial-matches"])
def test_it_has_a_price_and_an_expected_number(cost: str) -> None:
    both, alone = chosen(SOME, SEQUENCE, cost=cost), chosen(SEQUENCE, cost=cost)
    assert both.cost > alone.cost
    (node,) = [node for node in both.expected if isinstance(node, SubsetJoin)]
    assert both.expected[node] > sum(both.expected[source] for source in set(node.inputs))


def test_a_stored_plan_knows_it_and_has_no_tree_of_it() -> None:
    stored = chosen(SOME, SEQUENCE).stored
    assert stored.trees["some"] == ()
    again = choose_plan(
        queries_of(SOME, SEQUENCE), SCHEMA, Planning(plan=type(stored).from_json(stored.to_json()))
    )
    assert again.plan == chosen(SOME, SEQUENCE).plan
    assert not again.notes


def test_it_comes_and_goes() -> None:
    queries = queries_of(SOME, SEQUENCE)
    weave = weave_for(SCHEMA, Planning(statistics=rates(A=2, B=3, D=1)))
    for query in queries:
        weave.add(query)
    before = weave.cost
    assert plan_of_weave(weave, queries, SCHEMA) == optimize(queries, SCHEMA)
    weave.remove("some")
    assert weave.cost < before
    assert plan_of_weave(weave, queries[1:], SCHEMA) == optimize(queries[1:], SCHEMA)


def test_it_is_told_in_one_line() -> None:
    lines = [line.strip() for line in plan_lines(optimize(queries_of(SOME), SCHEMA))]
    assert "n5 combinations with equal k where $0.x < $2.x within 10 seconds" in lines
    assert lines[0] == "Shared plan: 5 nodes, 0 shared"
