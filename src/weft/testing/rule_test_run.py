"""The run of the tests of a file: what each test finds, and the conditions that none of them decides."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

from weft.errors import QueryError, WeftError
from weft.testing.difference import difference
from weft.testing.expectation import Expectation
from weft.testing.known_events import KnownEvents
from weft.testing.rule_conditions import RuleCondition
from weft.testing.rule_results import RuleResults, detect_rules
from weft.testing.rule_set import RuleSet
from weft.testing.rule_test_file import RuleTest, RuleTestFile, read_rule_tests
from weft.testing.undecided import DecisionRecord


@dataclass(frozen=True)
class RuleTestOutcome:
    """What came of a test: how its rules differ, or the error that ended it; nothing where it passes."""

    name: str
    line: int
    seconds: float
    difference: str = ""
    error: str = ""
    decided: tuple[RuleCondition, ...] = ()  # that no test before decided

    @property
    def passes(self) -> bool:
        """Whether all rules find what they should."""
        return not self.difference and not self.error

    @property
    def status(self) -> str:
        """One word for it."""
        return "error" if self.error else ("failed" if self.difference else "passed")


@dataclass(frozen=True)
class RuleFileOutcome:
    """What came of the tests of a file, or the error for which it was refused."""

    path: Path
    tests: tuple[RuleTestOutcome, ...] = ()
    error: str = ""
    undecided: tuple[RuleCondition, ...] = ()
    untested: tuple[str, ...] = ()  # rules that no test mentions

    @property
    def passes(self) -> bool:
        """Whether the file could be read and all its tests pass."""
        return not self.error and all(test.passes for test in self.tests)

    @property
    def decides_all(self) -> bool:
        """Whether tests decide each condition of each rule."""
        return not self.undecided and not self.untested


class RuleTestRun:
    """The run of the tests of one file."""

    def __init__(self, file: RuleTestFile) -> None:
        self.file = file

    @cached_property
    def untested(self) -> tuple[str, ...]:
        """The rules that no test mentions."""
        mentioned = frozenset[str]().union(*(test.expected.rules for test in self.file.tests))
        return tuple(query.name for query in self.file.rules.queries if query.name not in mentioned)

    @cached_property
    def record(self) -> DecisionRecord:
        """Which conditions were decided so far, of the rules that tests mention."""
        rules = self.file.rules
        mentioned = {query.name for query in rules.queries} - set(self.untested)
        return DecisionRecord.of_rules(rules.named(mentioned), rules.columns)

    def run(self, test: RuleTest) -> RuleTestOutcome:
        """Return what came of a test of the file."""
        started = perf_counter()
        rules, expected = self.file.rules, test.expected
        try:
            results = find(rules, test.events, expected.rules)
            known = KnownEvents.of(test.events, rules.columns)
            differs = difference(expected, results, known)
            decided = tuple(self.record.see(test.events, results, expected.rules))
        except WeftError as error:
            return RuleTestOutcome(test.name, test.line, perf_counter() - started, error=str(error))
        return RuleTestOutcome(test.name, test.line, perf_counter() - started, differs, decided=decided)


def find(rules: RuleSet, events: Any, names: Iterable[str]) -> RuleResults:
    """Return what the rules of some names find in events."""
    own = rules.named(frozenset(names))
    if not own:
        return RuleResults({}, {}, {}, {})
    try:
        return detect_rules(events, own, rules.columns)
    except QueryError as error:
        raise rules.with_places(error, events, {query.name for query in own}) from None


def compare(rules: RuleSet, events: Any, expected: Expectation) -> str:
    """Return how what rules find in events differs from what is expected, nothing where it does not."""
    results = find(rules, events, expected.rules)
    return difference(expected, results, KnownEvents.of(events, rules.columns))


def run_file(path: Path, is_wanted: Callable[[str], bool] = lambda _: True) -> RuleFileOutcome:
    """Run the tests of a file whose names are wanted, and return what came of them.

    Conditions that no test decides are told where all tests were run.
    """
    try:
        file = read_rule_tests(path)
    except WeftError as error:
        return RuleFileOutcome(path, error=str(error))
    run = RuleTestRun(file)
    wanted = [test for test in file.tests if is_wanted(test.name)]
    outcomes = tuple(run.run(test) for test in wanted)
    if len(wanted) < len(file.tests):
        return RuleFileOutcome(path, outcomes)
    return RuleFileOutcome(path, outcomes, "", tuple(run.record.undecided), run.untested)


def undecided_lines(conditions: Iterable[RuleCondition], untested: Iterable[str] = ()) -> Iterator[str]:
    """Yield what no test decides, a line for each condition.

    >>> list(undecided_lines([], ["takeover"]))
    ['rule takeover: no test mentions it; say what it finds, or none, in `expect`']
    """
    for condition in conditions:
        yield f"rule {condition.rule}: no test decides `{condition.text}`; {condition.hint}"
    for name in untested:
        yield f"rule {name}: no test mentions it; say what it finds, or none, in `expect`"
