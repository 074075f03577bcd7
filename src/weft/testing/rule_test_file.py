"""A file of tests in YAML: its rules, what its columns mean, and its tests.

rules: fraud.weft
columns: {time: ts, type: type, id: id}
tests:
  - name: a password change, then a large transfer
    events: |
      ts     type            user  amount
      09:00  PasswordChange  ann   -
      09:10  Transfer        ann   2500
    expect:
      takeover: [[1, 2]]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import get_args

import pyarrow as pa

from weft.errors import Problem, Span, WeftError, near_name
from weft.io.units import TimeUnit
from weft.language.findings import Findings
from weft.language.read import ENDINGS, text_of_file
from weft.testing.cell_values import KIND_NAMES, TEXT, kind_named
from weft.testing.event_source import read_events
from weft.testing.event_text import events, refusal
from weft.testing.expectation import Expectation, ExpectationReader, known_ids
from weft.testing.given_value import GivenValue, mapping_of, of_yaml, text_of
from weft.testing.moments import DAY, start_of
from weft.testing.rule_set import RuleColumns, RuleSet

POLICIES = ("strategy", "skip", "suppress")
KEYS = ("rules", "columns", *POLICIES, "tests")
COLUMNS = ("time", "type", "id", "order_by", "time_unit", "types", "day")
TEST_KEYS = ("name", "events", "expect", "timeouts")


@dataclass(frozen=True)
class RuleTest:
    """Events, and what rules are to find in them; `line` is where the test begins in its file, from 1 on."""

    name: str
    line: int
    events: pa.Table
    expected: Expectation


@dataclass(frozen=True)
class RuleTestFile:
    """The rules of a file and its tests."""

    path: Path
    rules: RuleSet
    tests: tuple[RuleTest, ...]


def read_rule_tests(path: Path) -> RuleTestFile:
    """Return the tests of a file; all that is wrong with it is reported together, each with its place."""
    return _FileReader(path, text_of_file(path)).read()


class _FileReader:
    """The reading of one file, and what was found to be wrong."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        self.findings = Findings()
        self.refused: list[str] = []  # of rules and events, which tell their own places
        self.columns = RuleColumns()
        self.time_unit: TimeUnit | None = None
        self.types: dict[str, str] = {}
        self.day = DAY

    def read(self) -> RuleTestFile:
        content = of_yaml(self.text, self.findings)
        if content is None and not self.findings.problems:
            self.findings.complain("there is nothing in it", None, f"give {', '.join(('rules', 'tests'))}")
        keys = {} if content is None else mapping_of(content, "the file", KEYS, self.findings)
        if content is not None and isinstance(content.content, Mapping):
            self._require(keys, ("rules", "tests"), "the file", content)
        if "columns" in keys:
            self._read_columns(keys["columns"])
        rules = self._read_rules(keys) if "rules" in keys else None
        tests = self._read_tests(keys["tests"], rules) if "tests" in keys else ()
        messages = list(self.refused)
        if self.findings.problems:
            messages.insert(0, str(refusal(self.findings.problems, self.text, str(self.path))))
        if messages or rules is None:
            raise WeftError("\n".join(messages))
        return RuleTestFile(self.path, rules, tests)

    def _require(
        self, keys: Mapping[str, GivenValue], names: tuple[str, ...], what: str, value: GivenValue
    ) -> None:
        for name in names:
            if name not in keys:
                span = value.span and Span(value.span.start, value.span.start + 1)
                self.findings.complain(f"{what} has no `{name}`", span, f"add `{name}:`")

    def _read_columns(self, given: GivenValue) -> None:
        keys = mapping_of(given, "columns", COLUMNS, self.findings)
        names: dict[str, str] = {}
        for name in ("time", "type", "id", "order_by"):
            said = text_of(keys[name], name, self.findings, "the name of a column") if name in keys else None
            names |= {name: said} if said is not None else {}
        self.columns = RuleColumns(**names)
        if "time_unit" in keys:
            units = get_args(TimeUnit)
            said = text_of(keys["time_unit"], "time_unit", self.findings, " or ".join(units))
            self.time_unit = next((unit for unit in units if unit == said), None)
            if said is not None and self.time_unit is None:
                self.findings.complain(
                    f"time_unit is {said!r}; expected {', '.join(units)}", keys["time_unit"].span
                )
        if "day" in keys:
            self.day = text_of(keys["day"], "day", self.findings, "a date") or DAY
            if start_of(self.day) is None:
                self.findings.complain(f"day is {self.day!r}; expected a date", keys["day"].span)
                self.day = DAY
        if "types" in keys:
            self._read_types(keys["types"])

    def _read_types(self, given: GivenValue) -> None:
        if not isinstance(given.content, Mapping):
            self.findings.complain(
                f"types is {given.kind}; expected a mapping from columns to types",
                given.span,
                "write for example {amount: double}",
            )
            return
        for name, own in given.content.items():
            said = text_of(own, f"the type of {name}", self.findings)
            if said is not None and kind_named(said, TEXT) is None:
                near = near_name(said, KIND_NAMES)
                hint = f"did you mean {near}?" if near else f"the types are {', '.join(KIND_NAMES)}"
                self.findings.complain(f"unknown type {said}", own.span, hint)
            elif said is not None:
                self.types[name] = said

    def _read_rules(self, keys: Mapping[str, GivenValue]) -> RuleSet | None:
        given = keys["rules"]
        members = given.content if isinstance(given.content, tuple) else (given,)
        texts = [text_of(member, "rules", self.findings, "a path or queries") for member in members]
        policies = {
            name: text_of(keys[name], name, self.findings) if name in keys else None for name in POLICIES
        }
        if not all(texts) or not texts:
            if not texts:
                self.findings.complain("rules is an empty list; expected a path or queries", given.span)
            return None
        rules = [self._rule_given(member) for member in members]
        origin = str(self.path) if any(member.is_block for member in members) else f"{self.path}: rules"
        try:
            only = rules[0] if len(rules) == 1 else rules
            return RuleSet.read(only, self.columns, **policies, origin=origin)
        except WeftError as error:
            self.refused.append(str(error))
            return None

    def _rule_given(self, given: GivenValue) -> str | Path:
        """Return a path relative to the file, or query text, which stands where it does in the file."""
        text = str(given.content).strip()
        is_path = text.endswith(ENDINGS) or " " not in text or (self.path.parent / text).exists()
        return self.path.parent / text if "\n" not in text and is_path else self._in_place(given)

    def _in_place(self, given: GivenValue) -> str:
        """Return a text with as much blank before it that its places are those of the file."""
        text = str(given.content)
        if not given.is_block or given.span is None:
            return text
        n_before = self.text.count("\n", 0, given.span.start) + 1
        first = next((line for line in text.splitlines() if line.strip()), "")
        own = next(
            (line for line in self.text.splitlines()[n_before:] if line.strip() == first.strip()), first
        )
        return "\n" * n_before + indent(text, " " * (len(own.rstrip()) - len(first.rstrip())))

    def _read_tests(self, given: GivenValue, rules: RuleSet | None) -> tuple[RuleTest, ...]:
        if not isinstance(given.content, tuple) or not given.content:
            found = "an empty list" if given.content == () else given.kind
            self.findings.complain(
                f"tests is {found}; expected a list of tests",
                given.span or given.key_span,
                "begin each with `- name:`",
            )
            return ()
        tests: dict[str, RuleTest] = {}
        for member in given.content:
            test = self._read_test(member, rules)
            if test is not None and test.name in tests:
                first = tests[test.name].line
                span = member.content["name"].span if isinstance(member.content, Mapping) else None
                hint = "give each test a name of its own"
                self.findings.complain(f"the test of line {first} has the same name", span, hint)
            elif test is not None:
                tests[test.name] = test
        return tuple(tests.values())

    def _read_test(self, given: GivenValue, rules: RuleSet | None) -> RuleTest | None:
        keys = mapping_of(given, "a test", TEST_KEYS, self.findings)
        if isinstance(given.content, Mapping):
            self._require(keys, ("name", "events"), "a test", given)
            if "expect" not in keys and "timeouts" not in keys:
                self._require(keys, ("expect",), "a test", given)
        name = text_of(keys["name"], "the name of a test", self.findings) if "name" in keys else None
        table = self._read_events(keys["events"]) if "events" in keys else None
        if rules is None:
            return None
        reader = ExpectationReader(rules.queries, known_ids(table, self.columns.id), self.findings)
        expected = reader.read(keys.get("expect"), keys.get("timeouts"))
        if name is None or table is None or given.span is None:
            return None
        return RuleTest(name, self.text.count("\n", 0, given.span.start) + 1, table, expected)

    def _read_events(self, given: GivenValue) -> pa.Table | None:
        """Return the events of a table in text, or of the file that is named."""
        text = text_of(given, "events", self.findings, "a table in text, or the path of a file")
        if text is None:
            return None
        columns = self.columns
        try:
            if "\n" not in text:
                path = self.path.parent / text
                unit = self.time_unit or "ms"
                return read_events(path, columns, self.types, time_unit=unit)
            return events(
                self._in_place(given),
                time=columns.time,
                type=columns.type,
                id=columns.id,
                types=self.types,
                day=self.day,
                time_unit=self.time_unit,
                origin=str(self.path),
            )
        except WeftError as error:
            self._refuse_events(error, given)
            return None

    def _refuse_events(self, error: WeftError, given: GivenValue) -> None:
        """Note what is wrong with events; of a file, the place is where it is named."""
        if str(error).startswith(f"{self.path}:"):
            self.refused.append(str(error))
        else:
            message, _, hint = str(error).partition("\n  hint: ")
            self.findings.note(Problem(message, given.span, hint or None))
