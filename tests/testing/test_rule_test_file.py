"""Files of tests: what they hold, and what is said of every mistake in them."""

from pathlib import Path
from textwrap import dedent

import pyarrow as pa
import pyarrow.parquet
import pytest

from weft.errors import WeftError
from weft.testing.rule_test_file import RuleTestFile, read_rule_tests

RULES = """\
rules: |
  -- one rule
  QUERY q
  PATTERN SEQ(A a, B b)
  WITHIN 1 hour
"""
ONE = """\
tests:
  - name: one
    events: |
      ts     type
      09:00  A
      09:01  B
    expect: {q: [[1, 2]]}
"""


def read(folder: Path, text: str) -> RuleTestFile:
    path = folder / "a.test.yaml"
    path.write_text(text, encoding="utf-8")
    return read_rule_tests(path)


def refused(folder: Path, text: str) -> str:
    """Return what is said of a file, without the name of its folder."""
    with pytest.raises(WeftError) as caught:
        read(folder, text)
    return str(caught.value).replace(f"{folder}/", "")


def test_a_file_has_rules_columns_and_tests(tmp_path: Path) -> None:
    file = read(
        tmp_path,
        RULES + "columns: {time: at, id: key, time_unit: s, day: 2030-01-01}\n" + ONE.replace("ts ", "at "),
    )
    assert [query.name for query in file.rules.queries] == ["q"]
    (test,) = file.tests
    assert (test.name, test.line) == ("one", 8)
    assert test.events.column_names == ["key", "at", "type"]
    assert str(test.events["at"][0]) == "2030-01-01 09:00:00+00:00"
    assert test.expected.matches == {"q": (("1", "2"),)}


@pytest.mark.parametrize(
    "rules",
    [
        "rules: q.weft",
        "rules: [q.weft]",
        "rules: .",
        "rules: QUERY q PATTERN SEQ(A a, B b)",
        'rules: "QUERY q\\nPATTERN SEQ(A a, B b)"',
        "rules:\n  - |\n    QUERY q\n    PATTERN SEQ(A a, B b)",
    ],
)
def test_rules_are_paths_beside_the_file_or_queries(tmp_path: Path, rules: str) -> None:
    (tmp_path / "q.weft").write_text("QUERY q PATTERN SEQ(A a, B b)", encoding="utf-8")
    assert [query.name for query in read(tmp_path, f"{rules}\n{ONE}").rules.queries] == ["q"]


def test_defaults_of_rules(tmp_path: Path) -> None:
    file = read(tmp_path, f"{RULES}strategy: next\nskip: past last\nsuppress: 1 hour\n{ONE}")
    policy = file.rules.queries[0].policy
    assert (policy.strategy, policy.skip) == ("next", "past last")
    assert policy.suppression is not None
    assert "strategy is 'nxt'" in refused(tmp_path, f"{RULES}strategy: nxt\n{ONE}")


def test_what_looks_like_another_type_is_a_text(tmp_path: Path) -> None:
    """YAML knows truth values and numbers to the base of sixty."""
    text = """\
        rules: "QUERY on PATTERN SEQ(A a, B b)"
        tests:
          - name: 12:30
            events: |
              id     ts     type  yes
              on     09:00  A     off
              1:20   09:01  B     no
              007    09:02  B     no
            expect: {on: [[on, 1:20], [on, 007]]}
        """
    (test,) = read(tmp_path, dedent(text)).tests
    assert test.name == "12:30"
    assert test.expected.matches == {"on": (("1:20", "on"), ("007", "on"))}
    assert test.events["yes"].to_pylist() == ["off", "no", "no"]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_events_of_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"day.{kind}"
    if kind == "csv":
        path.write_text("ts,type,amount\n1000,A,1\n2000,B,\n", encoding="utf-8")
    elif kind == "jsonl":
        path.write_text(
            '{"ts": "1970-01-01T00:00:01Z", "type": "A"}\n{"ts": "1970-01-01 00:00:02", "type": "B"}\n'
        )
    else:
        times = pa.array([1_000_000, 2_000_000], pa.timestamp("us"))
        pa.parquet.write_table(pa.table({"ts": times, "type": ["A", "B"]}), path)
    tests = f"tests: [{{name: one, events: {path.name}, expect: {{q: [[1, 2]]}}}}]"
    text = f"{RULES}columns: {{types: {{amount: double}}}}\n{tests}"
    (test,) = read(tmp_path, text).tests
    assert test.events.column_names == ["id", "ts", "type", "amount"]
    assert test.events.schema.field("amount").type == pa.float64()
    assert [f"{str(moment)[:19]}+00:00" for moment in test.events["ts"]] == [
        "1970-01-01 00:00:01+00:00",
        "1970-01-01 00:00:02+00:00",
    ]


def test_what_stands_for_itself_is_refused(tmp_path: Path) -> None:
    assert "this nests without an end" in refused(tmp_path, "rules: &a [*a]")


def test_all_mistakes_of_a_file_are_told_each_with_its_place(tmp_path: Path) -> None:
    text = """\
        rules: |
          QUERY q
          PATTERN SEQ(A a, B b)
        columnz: {}
        tests:
          - name: one
            events: |
              ts     type
              09:00  A
              soon   B
            expect:
              p: none
          - name: one
            eventz: x
            events: |
              ts     type
              09:00  A
            expect:
              q: [[1, 3]]
        """
    assert refused(tmp_path, dedent(text)) == dedent(
        """\
        a.test.yaml:4:1: the file has the unknown key columnz
          columnz: {}
          ^^^^^^^
          hint: did you mean columns?
        a.test.yaml:12:7: there is no rule p
                p: none
                ^
          hint: the rules are q
        a.test.yaml:14:5: a test has the unknown key eventz
              eventz: x
              ^^^^^^
          hint: did you mean events?
        a.test.yaml:19:15: there is no event 3
                q: [[1, 3]]
                        ^
          hint: the events are 1
        a.test.yaml:10:7: 'soon' does not fit; expected a time: 09:00, 09:00:30.5, 2026-01-01 09:00, or an \
offset such as +5m, 90s, 1 hour
                soon   B
                ^^^^"""
    )


def test_mistakes_in_rules_have_the_places_of_the_file(tmp_path: Path) -> None:
    assert refused(tmp_path, RULES.replace("B b", "B").replace("WITHIN", "WHERE x.y > 1 WITHIN") + ONE) == (
        "a.test.yaml:5:9: query q: unknown variable x\n"
        "    WHERE x.y > 1 WITHIN 1 hour\n"
        "          ^^^\n"
        "  hint: there are B, a"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "a.test.yaml: there is nothing in it\n  hint: give rules, tests"),
        ("rules", "a.test.yaml:1:1: the file is the text 'rules'; expected a mapping with rules, columns"),
        ("rules: [", "a.test.yaml:1:9: this is no YAML: expected the node content"),
        ("rules: 'a\x01'", "a.test.yaml:1:10: this is no YAML: special characters are not allowed"),
        ("{}", "a.test.yaml:1:1: the file has no `rules`\n  {}\n  ^\n  hint: add `rules:`"),
        (RULES, "the file has no `tests`"),
        (RULES + "tests: []", "tests is an empty list; expected a list of tests"),
        (RULES + "tests: {a: b}", "tests is a mapping; expected a list of tests"),
        (RULES + "tests: [a]", "a test is the text 'a'; expected a mapping with name, events"),
        (RULES + "tests: [{}]", "a test has no `name`"),
        (RULES + "tests: [{}]", "a test has no `expect`"),
        (
            RULES + ONE + "rules: x",
            "a.test.yaml:13:1: rules is given twice\n  rules: x\n  ^^^^^\n  hint: leave one",
        ),
        (RULES + ONE.replace("name: one", "name: ''"), "the name of a test is empty; expected a text"),
        (RULES + ONE.replace("name: one", "name: [a]"), "the name of a test is a list; expected a text"),
        (RULES + ONE + ONE.partition("\n")[2], "the test of line 7 has the same name"),
        (RULES + "columns: x\n" + ONE, "columns is the text 'x'; expected a mapping with time, type, id"),
        (RULES + "columns: {tme: x}\n" + ONE, "columns has the unknown key tme"),
        (RULES + "columns: {time: []}\n" + ONE, "time is a list; expected the name of a column"),
        (RULES + "columns: {time: at}\n" + ONE, "there is no column at for the time"),
        (RULES + "columns: {time_unit: min}\n" + ONE, "time_unit is 'min'; expected s, ms, us"),
        (RULES + "columns: {day: today}\n" + ONE, "day is 'today'; expected a date"),
        (
            RULES + "columns: {types: x}\n" + ONE,
            "types is the text 'x'; expected a mapping from columns to types",
        ),
        (RULES + "columns: {types: {x: int8}}\n" + ONE, "unknown type int8\n"),
        ("rules: []\n" + ONE, "rules is an empty list; expected a path or queries"),
        ("rules: {}\n" + ONE, "rules is a mapping; expected a path or queries"),
        ("rules: absent.weft\n" + ONE, "absent.weft: there is no such file or directory of queries"),
        ("rules: QUERY q PATRN A\n" + ONE, "a.test.yaml: rules:1:9: "),
        (
            RULES + "tests: [{name: a, events: no.csv, expect: none}]",
            "a.test.yaml:6:27: no.csv: there is no such file",
        ),
        (
            RULES + "tests: [{name: a, events: bad.csv, expect: none}]",
            "bad.csv: there is no column `ts`\n",
        ),
        (
            RULES + "tests: [{name: a, events: odd.csv, expect: none}]",
            "odd.csv: event 1 has no time that can be read\n",
        ),
        (
            RULES + "tests: [{name: a, events: true.csv, expect: none}]",
            "true.csv: event 1 has no time that can be read\n",
        ),
        (
            RULES + "columns: {types: {type: long}}\ntests: [{name: a, events: fine.csv, expect: none}]",
            "fine.csv: the column type is no long: ",
        ),
        (
            RULES + "tests: [{name: a, events: bad.jsonl, expect: none}]",
            "bad.jsonl: there is no column `ts`\n",
        ),
        (RULES + ONE.replace("q: [[1, 2]]", "q: [[1, 2, 9]]"), "there is no event 9\n"),
        (RULES + ONE.replace("{q: [[1, 2]]}", "q"), "expect is the text 'q'; expected a mapping from rules"),
        (RULES + ONE.replace("expect: ", "timeouts: "), "rule q has no timeouts\n"),
        (
            RULES.replace("hour", "hour TIMEOUTS")
            + ONE.replace("expect: {q: [[1, 2]]", "timeouts: {q: [{a: 1}]"),
            "a timeout of rule q has the keys a\n",
        ),
    ],
)
def test_mistakes(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bad.csv").write_text("at,type\n1,A\n", encoding="utf-8")
    (tmp_path / "odd.csv").write_text("ts,type\nsoon,A\n", encoding="utf-8")
    (tmp_path / "true.csv").write_text("ts,type\ntrue,A\n", encoding="utf-8")
    (tmp_path / "fine.csv").write_text("ts,type\n1,A\n", encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text("{\n", encoding="utf-8")
    assert told in refused(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WeftError, match=r"absent\.yaml: No such file"):
        read_rule_tests(tmp_path / "absent.yaml")
