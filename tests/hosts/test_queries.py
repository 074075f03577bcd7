"""Queries that are run as they are written, and events that are counted by kind, on a host without Spark."""

from tests.helpers.local_cases import detection_on, table_of

import weft
from weft.expressions import Attribute, Comparison, Literal
from weft.hosts.queries import count_events, count_queries, plan_as_written
from weft.language.binder import bind
from weft.language.parser import parse
from weft.plan.nodes import Join
from weft.runtime.budget import Budget
from weft.schema import LONG
from weft.statistics.model import ItemKey

ROWS = [(0, "A", 1, 1, 5), (1, "B", 2, 1, 7), (1, "B", 2, 1, 7), (2, "B", 3, 2, 1)]
LARGE = Comparison(">", Attribute("$0", "x", type=LONG), Literal(5, LONG))


def test_prefixes_are_parts_of_longer_queries() -> None:
    detection = detection_on(ROWS, "QUERY q PATTERN A a")
    text = "QUERY s PATTERN SEQ(A a, B b) WITHIN 1 minute QUERY t PATTERN SEQ(A a, B b, C c) WITHIN 1 minute"
    short, long = plan_as_written(bind(parse(text), detection.source.schema), detection.source.schema).outputs
    assert isinstance(long.branches[0].node, Join)
    assert long.branches[0].node.left == short.branches[0].node


def test_queries_with_keys_and_without_are_divided_by_themselves() -> None:
    detection = detection_on(ROWS, "QUERY q PATTERN A a")
    text = "QUERY s PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 minute QUERY t PATTERN SEQ(A a, B b)"
    queries = bind(parse(text), detection.source.schema)
    assert dict(count_queries(detection.host, queries, Budget()).counts) == {"s": 1, "t": 2}
    assert not count_queries(detection.host, [], Budget()).counts


def test_each_event_is_counted_once() -> None:
    host = detection_on(ROWS, "QUERY q PATTERN A a").host
    kinds = {"b": ItemKey("B"), "large": ItemKey("B", (LARGE,)), "none": ItemKey("X")}
    assert dict(count_events(host, kinds, Budget()).counts) == {"b": 2, "large": 1, "none": 0}
    assert host.count_types() == {"A": 1, "B": 2}


def test_without_an_id_every_row_is_an_event() -> None:
    host = weft.prepare(table_of(ROWS).drop_columns("id"), "PATTERN A a", time="ts", type="type").host
    assert host.count_types() == {"A": 1, "B": 3}


def test_a_host_may_leave_the_counting_to_queries() -> None:
    host = detection_on(ROWS, "QUERY q PATTERN A a").host
    host.count_kinds = lambda kinds: {}  # type: ignore[method-assign]
    kinds = {"b": ItemKey("B"), "large": ItemKey("B", (LARGE,))}
    assert dict(count_events(host, kinds, Budget()).counts) == {"b": 2, "large": 1}
