"""assert_matches passes where rules find what is expected, and otherwise tells the difference."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import weft
from weft.errors import QueryError, WeftError
from weft.testing import assert_matches, events

PAID = "QUERY paid PATTERN SEQ(Login a, Pay b) WHERE [user] AND b.amount > 5 WITHIN 1 hour"
DAY = """
ts     type   user  amount
09:00  Login  ann   -
09:05  Pay    ann   10
09:10  Pay    bob   10
09:20  Pay    ann   20
10:30  Pay    ann   20
"""


def differs(rules: object, text: object, expected: object, **options: object) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_matches(rules, text, expected, **options)  # type: ignore[arg-type]
    return str(caught.value)


def refused(expected: object, **options: object) -> str:
    with pytest.raises(WeftError) as caught:
        assert_matches(PAID, DAY, expected, **options)  # type: ignore[arg-type]
    return str(caught.value)


def test_what_is_expected_is_found() -> None:
    for expected in ({"paid": [[1, 2], [1, 4]]}, {"paid": [(4, 1), ["2", "1"]]}, [[1, 2], [1, 4]], {}):
        assert_matches(PAID, DAY, expected)


def test_nothing_is_expected() -> None:
    bought = PAID.replace("paid", "bought").replace("Pay", "Buy")
    for expected in (None, "none", {"bought": None}, {"bought": "none"}, {"bought": []}, []):
        assert_matches(bought, DAY, expected)
    assert "rule paid: 2 matches not expected" in differs([PAID, bought], DAY, None)
    assert_matches([PAID, bought], DAY, {"bought": None})  # of the other, nothing is said


def test_the_difference_is_told() -> None:
    assert differs(PAID, DAY, {"paid": [[1, 2], [1, 3], [3, 5]]}).splitlines() == [
        "rules do not find what is expected",
        "rule paid: 2 matches missing, 1 match not expected",
        "  expected [1, 3], found [1, 4]",
        "      1  +0:00:00  Login  a",
        "    - 3  +0:10:00  Pay",
        "    + 4  +0:20:00  Pay    b",
        "  missing [3, 5]",
        "    - 3  +0:10:00  Pay",
        "    - 5  +1:30:00  Pay",
    ]


def test_matches_with_the_same_events_count_each() -> None:
    both = "QUERY both PATTERN AND(A a, A b) WITHIN 1 hour"
    two = "\nts type\n0 A\n1s A\n"
    assert_matches(both, two, [[1, 2], [2, 1]])
    assert "1 match not expected" in differs(both, two, [[1, 2]])
    assert "1 match missing" in differs(both, two, [[1, 2]] * 3)


def test_defaults_say_which_matches_count() -> None:
    assert_matches(PAID, DAY, [[1, 2]], skip="to next")
    assert_matches(PAID, DAY, [[1, 2]], strategy="next")
    assert_matches(PAID, DAY, [[1, 2]], suppress="1 hour")


def test_the_order_of_events_of_one_time() -> None:
    text = "\nts type n\n0 A 1\n0 B 2\n"
    assert_matches("PATTERN SEQ(A a, B b) WITHIN 1 hour", text, [[1, 2]], order_by="n")
    assert_matches("PATTERN SEQ(A a, B b) WITHIN 1 hour", text, None)


def test_tables_frames_and_files(tmp_path: Path) -> None:
    table = events(DAY)
    assert_matches(PAID, table, [[1, 2], [1, 4]])
    assert_matches(PAID, weft.detect(table, "PATTERN Pay p", time="ts", type="type", id="id").arrow, {})
    csv = tmp_path / "day.csv"
    csv.write_text("at,kind,user,amount\n1000,Login,ann,\n2000,Pay,ann,10\n", encoding="utf-8")
    assert_matches(PAID, csv, [[1, 2]], time="at", type="kind")
    with pytest.raises(WeftError, match=r"absent\.csv: there is no such file"):
        assert_matches(PAID, "absent.csv", [])
    other = table.rename_columns({"ts": "at", "type": "kind", "id": "key"})
    assert_matches(PAID, other, [[1, 2], [1, 4]], time="at", type="kind", id="key")


class Exported:
    """Rows of another library, of which nothing is known but that Arrow can read them."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def test_the_events_of_other_libraries_are_told_by_what_is_found() -> None:
    assert_matches(PAID, Exported(events(DAY)), [[1, 2], [1, 4]])
    assert differs(PAID, Exported(events(DAY)), [[1, 2], [7, 8]]).splitlines()[2:] == [
        "  missing [7, 8]",
        "    - 7",
        "    - 8",
        "  not expected [1, 4]",
        "    + 1  2026-01-01 09:00:00  Login  a",
        "    + 4  2026-01-01 09:20:00  Pay    b",
    ]


def test_results_of_trend_queries() -> None:
    spending = """
        QUERY spending PATTERN Pay+ p[] WITHIN 1 hour GROUP BY user
        RETURN user, COUNT(*) AS trends, AVG(p.amount) AS mean, MAX(p.amount) AS most
    """
    nine, ten = datetime(2026, 1, 1, 9, tzinfo=UTC), "10:00"
    ann = {"window_start": nine, "user": "ann", "trends": 3, "mean": 15.0, "most": "20"}
    expected = [
        {**ann, "window_start": ten, "trends": 1, "mean": 20},
        {**ann, "user": "bob", "trends": 1, "mean": 10, "most": 10},
        ann,
    ]
    assert_matches(spending, DAY, {"spending": expected})
    assert_matches(spending, DAY, [{"user": name} for name in ("ann", "bob", "ann")])
    told = differs(spending, DAY, [{"user": "ann", "trends": 3}, {"user": "bob", "trends": 2}])
    _, second, *rest = told.splitlines()
    assert second == "rule spending: 1 result missing, 2 results not expected"
    assert sorted(rest) == [
        "    + user=ann  trends=1",
        "    + user=bob  trends=1",
        "    - user=bob  trends=2",
    ]
    assert "3 results not expected" in differs(spending, DAY, None)
    assert "window_start=2026-01-01 10:00:00" in differs(spending, DAY, None)


def test_trends_that_are_too_many_for_a_column() -> None:
    rows = "\n".join(f"{second}s A" for second in range(200))
    trends = "QUERY many PATTERN A+ a[] WITHIN 1 hour RETURN COUNT(*) AS trends"
    assert_matches(trends, f"ts type\n{rows}", [{"trends": 2**200 - 1}])
    assert "1 result missing" in differs(trends, f"ts type\n{rows}", [{"trends": 2**200}])


def test_timeouts() -> None:
    waiting = "QUERY waiting PATTERN SEQ(Login a, Buy b, Pay c) WITHIN 1 hour TIMEOUTS"
    text = "\nts type\n0 Login\n1m Buy\n2h Login\n"
    reached = [[1, 2], {"events": [3], "missing": "b"}]
    assert_matches(waiting, text, None, timeouts={"waiting": reached})
    assert differs(waiting, text, {}, timeouts={"waiting": [[1, 2], {"events": [3], "missing": "c"}]}) == (
        "rules do not find what is expected\n"
        "rule waiting: 1 timeout missing, 1 timeout not expected\n"
        "  expected [3] without c, found [3] without b\n"
        "      3  +2:00:00  Login  a"
    )
    assert "2 timeouts not expected" in differs(waiting, text, {}, timeouts="none")
    assert "rule paid has no timeouts\n  hint: add TIMEOUTS to the rule" in refused({}, timeouts={"paid": []})


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"pad": None}, "there is no rule pad\n  hint: did you mean paid?"),
        ({"paid": [[1, 7]]}, "there is no event 7\n  hint: the events are 1, 2, 3, 4, 5"),
        ({"paid": [1, 2]}, "rule paid is to find a list of ids; expected one for each match, in a list"),
        ({"paid": [[]]}, "a match of rule paid is an empty list; expected a list of ids"),
        ({"paid": {"x": 1}}, "rule paid is to find a mapping; expected a list"),
        ({"paid": [[[1]]]}, "an id in a match of rule paid is a list; expected a text or a number"),
        ("all", "expect is the text 'all'; expected a mapping from rules to what they find"),
    ],
)
def test_what_cannot_be_expected(expected: object, told: str) -> None:
    assert refused(expected).startswith(f"expected: {told}")


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ([[1, 2]], "rule n counts trends, and is to find a list; expected a mapping of columns"),
        ([{"x": 1}], "rule n has no column x of values\n  hint: the columns are window_start, window_end, n"),
        ([{"n": 1}, {"window_start": 0}], "this result of rule n has other columns than the first"),
    ],
)
def test_what_cannot_be_expected_of_trend_queries(expected: object, told: str) -> None:
    with pytest.raises(WeftError) as caught:
        assert_matches("QUERY n PATTERN Pay+ p[] WITHIN 1 hour RETURN COUNT(*) AS n", DAY, expected)
    assert told in str(caught.value)


def test_mistakes_in_rules_have_their_places() -> None:
    wrong = PAID.replace("amount", "amuont")
    with pytest.raises(QueryError) as caught:
        assert_matches(wrong, DAY, None)
    assert "<rules>:1:57: query paid: unknown attribute amuont" in str(caught.value)
    assert "did you mean amount?" in str(caught.value)
    assert_matches([PAID, wrong.replace("paid", "other")], DAY, {"paid": [[1, 2], [1, 4]]})
    with pytest.raises(QueryError, match="expected"):
        assert_matches("PATTERN SEQ(", DAY, None)


def test_a_rule_that_explodes_is_told() -> None:
    rows = "\n".join(f"{second}s A" for second in range(40))
    told = differs("QUERY every PATTERN A+ a[] WITHIN 1 hour", f"ts type\n{rows}", {"every": None})
    assert "rule every was stopped: query every: more than 200,000 partial matches for" in told
    assert told.endswith("an equality such as [key] or a selective condition")


def test_many_differences_are_not_all_shown() -> None:
    rows = "\n".join(f"{second}s A" for second in range(30))
    told = differs("PATTERN A a", f"ts type\n{rows}", None)
    assert told.count("not expected [") == 10
    assert told.endswith("  and 20 more")


def test_the_functions_are_found_in_the_package() -> None:
    assert weft.testing.assert_matches is assert_matches
    assert weft.testing.events is events
    assert {"assert_matches", "events"} <= set(dir(weft.testing))
    with pytest.raises(AttributeError, match=r"module 'weft\.testing' has no attribute 'assert_match'"):
        _ = weft.testing.assert_match


def test_frames_of_spark(spark: SparkSession) -> None:
    rows = [(1, "2026-01-01 09:00:00", "Login", "ann", None), (2, "2026-01-01 09:05:00", "Pay", "ann", 10.0)]
    frame = spark.createDataFrame(rows, "id long, ts string, type string, user string, amount double")
    frame = frame.withColumn("ts", F.to_timestamp("ts"))
    assert_matches(PAID, frame, {"paid": [[1, 2]]})
    assert "+ 2  2026-01-01 09:05:00  Pay    b" in differs(PAID, frame, None)
