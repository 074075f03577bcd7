"""Reports in JUnit XML, read back."""

from pathlib import Path
from xml.etree import ElementTree as Tree

from weft.testing.junit import junit_xml
from weft.testing.rule_test_run import RuleFileOutcome, RuleTestOutcome

PASSED = RuleTestOutcome("all is well", 3, 0.0123)
FAILED = RuleTestOutcome("<nothing>\x00", 9, 0.5, "rule q: 1 match missing\n  missing [1]\n    - 1")
ENDED = RuleTestOutcome("odd", 12, 0.25, error="a.yaml:1:2: unknown attribute")


def test_a_report_has_suites_cases_and_counts() -> None:
    outcomes = [
        RuleFileOutcome(Path("rules/a.test.yaml"), (PASSED, FAILED, ENDED), untested=("q",)),
        RuleFileOutcome(Path("b.test.yaml"), error="b.test.yaml:1:1: the file has no `rules`"),
    ]
    root = Tree.fromstring(junit_xml(outcomes))
    assert root.tag == "testsuites"
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    first, second = root.findall("testsuite")
    assert (first.get("name"), first.get("tests"), first.get("time")) == ("rules/a.test.yaml", "3", "0.762")
    passed, failed, ended = first.findall("testcase")
    assert (passed.get("name"), passed.get("classname"), passed.get("line"), passed.get("time")) == (
        *("all is well", "rules/a.test.yaml", "3", "0.012"),
    )
    assert len(passed) == 0
    assert failed.get("name") == "<nothing>\N{REPLACEMENT CHARACTER}"
    told = failed.find("failure")
    assert told is not None
    assert told.get("message") == "rule q: 1 match missing"
    assert told.text == FAILED.difference
    assert ended.find("error") is not None
    assert "no test mentions it" in (first.findtext("system-out") or "")
    assert second.find("testcase/error") is not None


def test_what_is_undecided_fails_where_that_is_asked_for() -> None:
    outcome = RuleFileOutcome(Path("a.test.yaml"), (PASSED,), untested=("q",))
    for is_strict, n_cases, n_failures in ((False, "1", "0"), (True, "2", "1")):
        root = Tree.fromstring(junit_xml([outcome], is_strict=is_strict))
        assert (root.get("tests"), root.get("failures")) == (n_cases, n_failures)
    decided = RuleFileOutcome(Path("a.test.yaml"), (PASSED,))
    assert Tree.fromstring(junit_xml([decided], is_strict=True)).get("failures") == "0"
