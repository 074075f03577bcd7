"""The assertion that rules find in some events what is expected."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from weft.errors import QueryError, WeftError
from weft.language.findings import Findings
from weft.language.read import Queries
from weft.testing.event_source import read_events
from weft.testing.event_text import events as events_of_text
from weft.testing.expectation import ExpectationReader, known_ids
from weft.testing.given_value import GivenValue, of_python
from weft.testing.rule_set import RuleColumns, RuleSet
from weft.testing.rule_test_run import compare


def assert_matches(
    rules: Queries,
    events: Any,
    expected: Any,
    *,
    timeouts: Any = None,
    time: str = "ts",
    type: str = "type",
    id: str = "id",
    order_by: str | None = None,
    types: Mapping[str, str] | None = None,
    strategy: str | None = None,
    skip: str | None = None,
    suppress: str | timedelta | None = None,
) -> None:
    '''Raise an AssertionError unless rules find in events what is expected; it tells the difference.

    Parameters
    ----------
    rules
        Query text, the path of a file or directory, Query objects, builders, or a list of these.
    events
        A small table in text (`weft.testing.events`), the path of a file, or whatever `weft.detect` takes of
        a batch.
    expected
        By rule, a list with the ids of the events of each match, or None; of a trend query, a list of
        mappings from columns to values. The order of matches, and that of ids, is of no matter. Of a rule
        that is not mentioned, nothing is expected. None alone says that no rule finds anything, and where
        there is one rule, its list may stand by itself.
    timeouts
        The same for the timeouts of rules with TIMEOUTS: ids, or `{"events": ids, "missing": variable}`.
    time, type, id, order_by
        The columns of the events.
    types
        The types of columns of a table in text.
    strategy, skip, suppress
        Which matches count in rules that do not say, as `weft.detect` takes them.

    >>> assert_matches(
    ...     "QUERY q PATTERN SEQ(Login a, Pay b) WHERE [user] WITHIN 1 hour",
    ...     """
    ...     ts     type   user
    ...     09:00  Login  ann
    ...     09:05  Pay    ann
    ...     09:06  Pay    bob
    ...     """,
    ...     {"q": [[1, 2]]},
    ... )
    '''
    __tracebackhide__ = True
    columns = RuleColumns(time=time, type=type, id=id, order_by=order_by)
    given = RuleSet.read(rules, columns, strategy=strategy, skip=skip, suppress=suppress)
    if isinstance(events, str) and "\n" in events.strip():
        events = events_of_text(events, time=time, type=type, id=id, types=types)
    elif isinstance(events, str | Path):
        events = read_events(Path(events), columns, types or {})
    findings = Findings()
    reader = ExpectationReader(given.queries, known_ids(events, id), findings)
    wanted = of_python(expected)
    if isinstance(wanted.content, tuple) and len(given.queries) == 1:
        wanted = GivenValue({given.queries[0].name: wanted})
    expectation = reader.read(wanted, None if timeouts is None else of_python(timeouts))
    if findings.problems:
        raise WeftError(str(QueryError(findings.problems, origin="expected")))
    differs = compare(given, events, expectation)
    if differs:
        raise AssertionError(f"rules do not find what is expected\n{differs}")
