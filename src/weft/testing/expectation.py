"""What rules are expected to find in a test, read from a file or from Python."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from weft.errors import near_name
from weft.language.findings import Findings
from weft.pattern.nodes import Query
from weft.testing.given_value import GivenValue

Ids: TypeAlias = tuple[str, ...]  # of the events of a match, sorted
TrendRow: TypeAlias = Mapping[str, str]  # columns of a result of a trend query

WINDOWS = ("window_start", "window_end")
MATCHES_HINT = "write a list of ids for each match, such as [[1, 2], [4, 5]], or none"
TRENDS_HINT = "write a mapping for each window and group, such as {window_start: 09:00, trends: 3}, or none"
TIMEOUTS_HINT = "write a list of ids for each timeout, or {events: [1, 2], missing: c}, or none"


@dataclass(frozen=True, slots=True)
class ExpectedEvents:
    """The events of a match; of a timeout, also the variable that is missing, if that is said."""

    ids: Ids
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """What each rule that is mentioned is to find; of the others nothing is said."""

    matches: Mapping[str, tuple[Ids, ...]]
    trends: Mapping[str, tuple[TrendRow, ...]]
    timeouts: Mapping[str, tuple[ExpectedEvents, ...]]

    @property
    def rules(self) -> frozenset[str]:
        """The rules that are mentioned."""
        return frozenset((*self.matches, *self.trends, *self.timeouts))


def known_ids(events: Any, column: str) -> dict[str, None] | None:
    """Return the ids of a table in order, None where the events are no table.

    >>> import pyarrow as pa
    >>> list(known_ids(pa.table({"id": [7, None, 8]}), "id"))
    ['7', '8']
    """
    if not isinstance(events, pa.Table) or column not in events.column_names:
        return None
    return dict.fromkeys(str(value) for value in events[column].to_pylist() if value is not None)


class ExpectationReader:
    """Reads what is expected of some rules, whose events have known ids if it is not None."""

    def __init__(self, rules: Collection[Query], ids: Collection[str] | None, findings: Findings) -> None:
        self.rules = {rule.name: rule for rule in rules}
        self.ids = ids
        self.findings = findings

    def read(self, expect: GivenValue | None, timeouts: GivenValue | None = None) -> Expectation:
        """Return what is expected; mistakes become findings.

        >>> from weft.language.parser import parse
        >>> from weft.testing.given_value import of_python
        >>> reader = ExpectationReader(parse("QUERY q PATTERN SEQ(A a, B b)"), {"1", "2"}, Findings())
        >>> reader.read(of_python({"q": [[2, 1]]})).matches
        {'q': (('1', '2'),)}
        """
        counting = [name for name, rule in self.rules.items() if rule.is_trend]
        timed = [name for name, rule in self.rules.items() if rule.policy.timeouts]
        matches: dict[str, tuple[Ids, ...]] = {}
        trends: dict[str, tuple[TrendRow, ...]] = {}
        reached: dict[str, tuple[ExpectedEvents, ...]] = {}
        for name, value in self._by_rule(expect, list(self.rules), "expect").items():
            if name in counting:
                trends[name] = self._trends(name, value)
            else:
                matches[name] = self._matches(name, value)
        for name, value in self._by_rule(timeouts, timed, "timeouts").items():
            reached[name] = self._timeouts(name, value)
        return Expectation(matches, trends, reached)

    def _by_rule(self, value: GivenValue | None, known: list[str], what: str) -> Mapping[str, GivenValue]:
        """Return what is expected by rule; `none` is said of all of them."""
        if value is None:
            return {}
        if value.is_none:
            return dict.fromkeys(known, value)
        if not isinstance(value.content, Mapping):
            self.findings.complain(
                f"{what} is {value.kind}; expected a mapping from rules to what they find",
                value.span,
                f"write {known[0] if known else 'rule'}: [[1, 2]], or {what}: none",
            )
            return {}
        for name, own in value.content.items():
            if name not in known:
                self._complain_of_rule(name, own, known)
        return {name: own for name, own in value.content.items() if name in known}

    def _complain_of_rule(self, name: str, value: GivenValue, known: list[str]) -> None:
        if name in self.rules:
            self.findings.complain(
                f"rule {name} has no timeouts", value.key_span, "add TIMEOUTS to the rule, or leave it out"
            )
            return
        near = near_name(name, known)
        hint = f"did you mean {near}?" if near else f"the rules are {', '.join(sorted(known)) or 'none'}"
        self.findings.complain(f"there is no rule {name}", value.key_span, hint)

    def _members(self, rule: str, value: GivenValue, hint: str) -> tuple[GivenValue, ...]:
        if value.is_none:
            return ()
        if isinstance(value.content, tuple):
            return value.content
        self.findings.complain(f"rule {rule} is to find {value.kind}; expected a list", value.span, hint)
        return ()

    def _matches(self, rule: str, value: GivenValue) -> tuple[Ids, ...]:
        members = self._members(rule, value, MATCHES_HINT)
        if members and all(isinstance(member.content, str) for member in members):
            message = f"rule {rule} is to find a list of ids; expected one for each match, in a list"
            self.findings.complain(message, value.span, MATCHES_HINT)
            return ()
        found = (self._ids(rule, member, MATCHES_HINT) for member in members)
        return tuple(ids for ids in found if ids)

    def _ids(self, rule: str, value: GivenValue, hint: str) -> Ids:
        """Return the ids of the events of one match, none after noting what is wrong."""
        if not isinstance(value.content, tuple) or not value.content:
            found = "an empty list" if value.content == () else value.kind
            self.findings.complain(
                f"a match of rule {rule} is {found}; expected a list of ids", value.span, hint
            )
            return ()
        ids = []
        for member in value.content:
            if not isinstance(member.content, str):
                self.findings.complain(
                    f"an id in a match of rule {rule} is {member.kind}; expected a text or a number",
                    member.span,
                    hint,
                )
            elif self.ids is not None and member.content not in self.ids:
                self._complain_of_id(member)
            else:
                ids.append(member.content)
        return tuple(sorted(ids))

    def _complain_of_id(self, value: GivenValue) -> None:
        known = list(self.ids or ())
        shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        near = near_name(str(value.content), known)
        hint = f"did you mean {near}?" if near else f"the events are {shown or 'none at all'}"
        self.findings.complain(f"there is no event {value.content}", value.span, hint)

    def _timeouts(self, rule: str, value: GivenValue) -> tuple[ExpectedEvents, ...]:
        found = []
        for member in self._members(rule, value, TIMEOUTS_HINT):
            ids, missing = member, None
            if isinstance(member.content, Mapping):
                unknown = member.content.keys() - {"events", "missing"}
                if unknown or "events" not in member.content:
                    self.findings.complain(
                        f"a timeout of rule {rule} has the keys {', '.join(member.content)}",
                        member.span,
                        TIMEOUTS_HINT,
                    )
                    continue
                ids, own = member.content["events"], member.content.get("missing")
                missing = str(own.content) if own is not None else None
            found.append(ExpectedEvents(self._ids(rule, ids, TIMEOUTS_HINT), missing))
        return tuple(found)

    def _trends(self, rule: str, value: GivenValue) -> tuple[TrendRow, ...]:
        query = self.rules[rule]
        known = (*WINDOWS, *query.group_by, *(column.name for column in query.returns))
        rows: list[TrendRow] = []
        for member in self._members(rule, value, TRENDS_HINT):
            if not isinstance(member.content, Mapping) or not member.content:
                self.findings.complain(
                    f"rule {rule} counts trends, and is to find {member.kind}; expected a mapping of columns",
                    member.span,
                    TRENDS_HINT,
                )
                continue
            for name, own in member.content.items():
                if name not in known or not isinstance(own.content, str):
                    hint = f"the columns are {', '.join(dict.fromkeys(known))}"
                    self.findings.complain(f"rule {rule} has no column {name} of values", own.key_span, hint)
            row = {name: own.content for name, own in member.content.items() if isinstance(own.content, str)}
            if rows and row.keys() != rows[0].keys():
                self.findings.complain(
                    f"this result of rule {rule} has other columns than the first",
                    member.span,
                    f"give {', '.join(rows[0])} in each of them",
                )
            rows.append(row)
        return tuple(rows)
