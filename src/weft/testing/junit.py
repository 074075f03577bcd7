"""Outcomes of tests as JUnit XML, which servers of continuous integration read."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as Tree

from weft.testing.rule_test_run import RuleFileOutcome, RuleTestOutcome, undecided_lines

STRICT = "every condition is decided"
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(outcomes: Sequence[RuleFileOutcome], *, is_strict: bool = False) -> str:
    """Return the report: a suite for each file, a case for each test.

    What no test decides stands in `system-out`; to be strict is to make it a case that fails.

    >>> from pathlib import Path
    >>> refused = RuleFileOutcome(Path("a.test.yaml"), error="there is nothing in it")
    >>> "<error" in junit_xml([refused])
    True
    """
    root = Tree.Element("testsuites", name="weft")
    for outcome in outcomes:
        suite = Tree.SubElement(root, "testsuite", name=_valid(str(outcome.path)))
        for test in outcome.tests:
            _add_case(suite, outcome, test)
        if outcome.error:
            error = RuleTestOutcome(outcome.path.name, 1, 0.0, error=outcome.error)
            _add_case(suite, outcome, error)
        undecided = list(undecided_lines(outcome.undecided, outcome.untested))
        if is_strict and not outcome.error:
            _add_case(suite, outcome, RuleTestOutcome(STRICT, 1, 0.0, "\n".join(undecided)))
        if undecided:
            Tree.SubElement(suite, "system-out").text = _valid("\n".join(undecided))
        _add_counts(suite)
    _add_counts(root)
    Tree.indent(root)
    return Tree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: Tree.Element, outcome: RuleFileOutcome, test: RuleTestOutcome) -> None:
    own = {"name": test.name, "classname": str(outcome.path), "file": str(outcome.path)}
    attributes = {key: _valid(value) for key, value in own.items()}
    case = Tree.SubElement(
        suite, "testcase", {**attributes, "line": str(test.line), "time": f"{test.seconds:.3f}"}
    )
    told = test.error or test.difference
    if told:
        kind = "error" if test.error else "failure"
        Tree.SubElement(case, kind, message=_valid(told.splitlines()[0])).text = _valid(told)


def _add_counts(element: Tree.Element) -> None:
    cases = list(element.iter("testcase"))
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(1 for _ in element.iter("failure"))))
    element.set("errors", str(sum(1 for _ in element.iter("error"))))
    element.set("time", f"{sum(float(case.get('time', 0)) for case in cases):.3f}")


def _valid(text: str) -> str:
    """Return a text without what XML cannot hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
