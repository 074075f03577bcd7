"""Plans chosen for events on Spark: every way to choose one, statistics, stored plans."""

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.helpers.frames import events_frame

import weft
from weft.api.detection import Detection
from weft.codec import VERSION
from weft.errors import DataError, WeftError
from weft.optimizer.planning import STRATEGIES
from weft.statistics.model import ItemKey

TEXT = """
QUERY first  PATTERN SEQ(A a, B b, C c) WHERE a.n < c.n WITHIN 10 seconds
QUERY second PATTERN SEQ(A p, D q, C r) WHERE p.n < r.n WITHIN 20 seconds
"""
THIRD = "QUERY third PATTERN SEQ(A x, C y) WHERE x.n < y.n WITHIN 5 seconds"


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """B and D are frequent, A and C rare: the best trees join A and C first, and share that."""
    kinds = "ABDBDBDCBD"
    rows = [(second, kinds[second % 10], (second * 7) % 13) for second in range(400)]
    return events_frame(spark, rows, "at int, kind string, n long")


def prepared(events: DataFrame, text: str = TEXT, **options: object) -> Detection:
    planning = weft.Planning(**options)  # type: ignore[arg-type]
    return weft.prepare(events, text, time="ts", type="kind", planning=planning)


def counts(detection: Detection) -> dict[str, int]:
    return {row["query"]: row["count"] for row in detection.matches.groupBy("query").count().collect()}


def test_all_plans_find_the_same(events: DataFrame) -> None:
    found = {plan: counts(prepared(events, plan=plan)) for plan in STRATEGIES}
    assert all(found["auto"].values())
    assert all(one == found["auto"] for one in found.values())


def test_the_best_plan_shares_what_is_rare(events: DataFrame) -> None:
    detection = prepared(events)
    longer = {"clock": "time", "length": 20_000_000, "partition_by": []}
    shared = {"parts": ["a", "c"], "order": [["a", "c"]], "extent": longer}  # as far as the second asks
    assert detection.plan.trees == {"first": ([shared, "b"],), "second": ([["p", "r"], "q"],)}
    rates = detection.statistics.rates
    assert rates[ItemKey("B")] == pytest.approx(4 * rates[ItemKey("A")], rel=0.05)
    assert rates[ItemKey("A")] == pytest.approx(0.1, rel=0.05)


def test_explain_says_what_the_plan_costs_and_what_its_nodes_should_do(events: DataFrame) -> None:
    text = prepared(events).explain()
    costs = re.search(r"this plan ([\d.]+), trivial ([\d.]+), reorder ([\d.]+), share ([\d.]+)", text)
    assert costs is not None
    chosen, *others = map(float, costs.groups())
    assert all(chosen <= other for other in others)
    assert re.search(r"\n +2 +\d+ +n\d+ join .*within 20 seconds  \[shared by first, second\]", text)


def test_a_stored_plan_is_used_again_and_new_queries_are_added_to_it(
    events: DataFrame, tmp_path: Path
) -> None:
    detection = prepared(events)
    weft.save_plan(detection.plan, tmp_path / "plan.json")
    stored = weft.load_plan(tmp_path / "plan.json")
    again = prepared(events, TEXT + THIRD, plan=stored)
    assert again.plan.trees["first"] == detection.plan.trees["first"]
    assert counts(again) == counts(prepared(events, TEXT + THIRD))
    assert "added to the stored plan without a search: third" in again.explain()
    shared = [node for node in again.explain().splitlines() if "[shared by first, second, third]" in node]
    assert any(" join " in node for node in shared)
    fewer = prepared(events, TEXT.strip().splitlines()[0], plan=stored)
    assert set(counts(fewer)) == {"first"}


def test_a_stored_plan_for_another_query_of_that_name_is_refused(events: DataFrame) -> None:
    stored = prepared(events).plan
    other = TEXT.replace("A a, B b, C c", "A z, B b, C c").replace("a.n", "z.n")
    with pytest.raises(WeftError, match="does not fit first"):
        prepared(events, other, plan=stored).choose_plans()


def test_statistics_may_be_given_and_are_not_estimated_then(events: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "statistics.json"
    known = {"A": 9, "B": 0.01, "C": 9, "D": 0.01}
    rates = [{"pattern": f"{name} e", "per_second": rate} for name, rate in known.items()]
    path.write_text(json.dumps({"version": VERSION, "rates": rates}))
    detection = prepared(events, statistics=path)
    assert detection.statistics.rates[ItemKey("A")] == 9
    (tree,) = detection.plan.trees["first"]
    (joined_first,) = (part for part in tree if not isinstance(part, str))
    assert "b" in (joined_first["parts"] if isinstance(joined_first, dict) else joined_first)
    with pytest.raises(DataError, match="No such file"):
        prepared(events, statistics=tmp_path / "none.json")


def test_events_are_not_looked_at_when_there_is_nothing_to_choose(events: DataFrame) -> None:
    detection = prepared(events, THIRD)
    assert detection.sample_statistics().rates == {}
    assert prepared(events, plan="trivial").sample_statistics().rates == {}


def test_the_search_tells_how_far_it_is_and_stops_when_told_to(events: DataFrame) -> None:
    told: list[float] = []
    prepared(events).choose_plans(lambda used, _: told.append(used))
    assert told
    assert all(0 <= used <= 1 for used in told)
    stopped = prepared(events)
    stopped.choose_plans(is_cancelled=lambda: True)
    assert counts(stopped) == counts(prepared(events))


def test_an_unknown_plan_is_refused(events: DataFrame) -> None:
    with pytest.raises(WeftError, match="plan is 'best'; expected 'auto', 'trivial', 'reorder', 'share'"):
        prepared(events, plan="best")
    with pytest.raises(WeftError, match="search_seconds is -1"):
        prepared(events, search_seconds=-1)
