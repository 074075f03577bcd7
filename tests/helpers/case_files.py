"""Cases as text: a query, its events, and what it finds, a paragraph each.

=== a title
query   SEQ(A a, B b) WITHIN 10 ms RETURN b.x AS x
events  A 0; B 10 x=1; AB 11 x=2
match   a=0 b=1 | x=1

Times are milliseconds. An event is its types, its time and its attributes; it is named by its place, from 0
on, or by its `id` where it has one. `order rank` breaks ties by that attribute. A query without matches has
`none`. A trend query has a line for every window and group:

trends  0 k=1 | n=3

A query with TIMEOUTS has a line for each: the chain, and what is missing.

timeout a=0 b=1 missing=c | x=1
"""

import re
from ast import literal_eval
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path

from tests.helpers.engine import Bindings, Timeouts, expected_outcome, expected_timeouts, plain
from tests.helpers.strategies import SCHEMA, Case

from weft.pattern.nodes import Query
from weft.reference.events import ReferenceEvent
from weft.reference.trends import TrendResults, find_trend_results
from weft.reference.values import Value

FOLDER = Path(__file__).parents[1] / "cases"
RESULTS = ("match", "timeout", "trends", "none")
SPECIAL = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf"), "TRUE": True, "FALSE": False}
MILLISECOND = 1_000


@dataclass(frozen=True)
class TextCase:
    """One paragraph of a file."""

    file: Path
    title: str
    query: str
    events: str
    order: str | None
    found: tuple[str, ...]  # the lines of matches or trends; none for none
    timeouts: tuple[str, ...] = ()

    @cached_property
    def case(self) -> Case:
        """The case of the one query, whose name is q."""
        events = events_of(self.events, self.order)
        has_ids = any(event.id is not None for event in events)
        return Case(f"QUERY q PATTERN {self.query}", events, self.order, "id" if has_ids else None)

    @property
    def bound(self) -> Query:
        """The query itself."""
        return self.case.queries[0]

    @property
    def is_trend(self) -> bool:
        return self.bound.is_trend

    def by_reference(self) -> tuple[str, ...]:
        """Return the lines that the reference finds."""
        if not self.is_trend:
            return match_lines(expected_outcome(self.case)["q"])
        return trend_lines(
            self.bound, find_trend_results(self.bound, self.case.events, tie_break=self.case.tie_break)
        )

    def timeouts_by_reference(self) -> tuple[str, ...]:
        """Return the lines of timeouts that the reference finds."""
        if not self.bound.policy.timeouts:
            return ()
        return timeout_lines(expected_timeouts(self.case)["q"])

    def text(self, found: Iterable[str], timeouts: Iterable[str]) -> str:
        """Return the paragraph with other results."""
        kind = "trends" if self.is_trend else "match"
        lines = [f"=== {self.title}", *_folded("query", self.query), *_folded("events", self.events)]
        lines += [f"order   {self.order}"] if self.order else []
        results = [f"{kind:<7} {line}" for line in found] + [f"timeout {line}" for line in timeouts]
        return "\n".join([*lines, *(results or ["none"])])


def load_cases() -> list[TextCase]:
    """Return the cases of all files."""
    return [case for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)]


def read_cases(path: Path) -> list[TextCase]:
    """Return the cases of a file; what stands before the first is a comment."""
    _, *paragraphs = re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.M)
    return [_read(path, paragraph.strip()) for paragraph in paragraphs]


def _read(path: Path, paragraph: str) -> TextCase:
    title, *lines = paragraph.splitlines()
    fields: dict[str, list[str]] = {}
    name = ""
    for line in lines:
        word, _, rest = line.partition(" ")
        if word:  # a line that begins with blanks continues the one before
            name = word
            fields.setdefault(name, []).append(rest.strip())
        else:
            fields[name][-1] += " " + rest.strip()
    unknown = fields.keys() - {"query", "events", "order", *RESULTS}
    assert not unknown, f"{path.name}: {title}: unknown words {sorted(unknown)}"
    assert any(word in fields for word in RESULTS), f"{path.name}: {title}: say what it finds, or none"
    assert len(fields["query"]) == len(fields["events"]) == 1, f"{path.name}: {title}"
    found = (*fields.get("match", ()), *fields.get("trends", ()))
    timeouts = tuple(fields.get("timeout", ()))
    assert bool(found or timeouts) != ("none" in fields), f"{path.name}: {title}: none, and something"
    order = fields["order"][0] if "order" in fields else None
    return TextCase(path, title, fields["query"][0], fields["events"][0], order, found, timeouts)


def write_expectations(path: Path) -> None:
    """Write what the cases of a file find, by the reference."""
    comment = path.read_text(encoding="utf-8").split("=== ", 1)[0].rstrip()
    cases = [case.text(case.by_reference(), case.timeouts_by_reference()) for case in read_cases(path)]
    path.write_text("\n\n".join([comment, *cases]) + "\n", encoding="utf-8")


def events_of(text: str, order: str | None) -> tuple[ReferenceEvent, ...]:
    """Read "A 0 x=1; AB 5.5": types, milliseconds, attributes."""
    events = []
    for row, line in enumerate(filter(None, map(str.strip, text.split(";")))):
        types, at, *settings = line.split()
        values = {name: _value(name, value) for name, value in (each.split("=", 1) for each in settings)}
        time = int(Decimal(at) * MILLISECOND)
        key = values.pop("id", None)
        attributes = {**dict.fromkeys(SCHEMA.attributes), "ts": time, "id": row if key is None else key}
        tie = None if order is None else values.get(order)
        events.append(
            ReferenceEvent(row, frozenset(types), time, key, {**attributes, **values}, tie)  # type: ignore[arg-type]
        )
    return tuple(events)


def _value(name: str, text: str) -> Value:
    if text in SPECIAL:
        return SPECIAL[text]
    if name == "amount":
        return Decimal(text)
    value: Value = literal_eval(text)
    return float(value) if name == "y" else value  # type: ignore[arg-type]


def match_lines(matches: Mapping[Bindings, Mapping[str, object]]) -> tuple[str, ...]:
    """Return a line for each match: its variables with the names of their events, and its RETURN values."""
    lines = []
    for bindings, values in matches.items():
        bound = " ".join(f"{variable}={','.join(map(str, ids))}" for variable, ids in sorted(bindings))
        lines.append(bound + _shown(values))
    return tuple(sorted(lines, key=_by_number))


def timeout_lines(timeouts: Timeouts) -> tuple[str, ...]:
    """Return a line for each timeout: its chain, what is missing, and its RETURN values."""
    lines = []
    for (bindings, missing), values in timeouts.items():
        (chain,) = match_lines({bindings: {}})
        lines.append(f"{chain} missing={missing or 'NULL'}{_shown(values)}")
    return tuple(sorted(lines, key=_by_number))


def trend_lines(query: Query, results: TrendResults) -> tuple[str, ...]:
    """Return a line for each window, by its start, and group."""
    lines = []
    for (start, group), values in results.items():
        begin = "-" if start is None else f"{Decimal(start) / MILLISECOND:f}"
        names = zip(query.group_by, group, strict=True)
        own = {name: value for name, value in values.items() if name not in query.group_by}
        lines.append(" ".join([begin, *(f"{name}={_told(value)}" for name, value in names)]) + _shown(own))
    return tuple(sorted(lines, key=_by_number))


def _by_number(line: str) -> list[object]:
    """Sort 10 after 9."""
    return [
        (0, float(part), "") if re.fullmatch(r"-?\d+(\.\d+)?", part) else (1, 0.0, part)
        for part in re.split(r"(-?\d+(?:\.\d+)?)", line)
    ]


def _shown(values: Mapping[str, object]) -> str:
    return f" | {' '.join(f'{name}={_told(value)}' for name, value in values.items())}" if values else ""


def _told(value: object) -> str:
    value = plain(value)
    names = {None: "NULL", True: "TRUE", False: "FALSE"}
    if value is None or isinstance(value, bool):
        return names[value]
    if isinstance(value, str):
        return value if value == "NaN" else repr(value)
    return str(value)


def _folded(word: str, text: str, width: int = 110) -> list[str]:
    """Return a field, over several lines where it is long."""
    lines, line = [], f"{word:<7}"
    for part in text.split(" "):
        if len(line) + 1 + len(part) > width:
            lines.append(line)
            line = " " * 7
        line += f" {part}"
    return [*lines, line]
