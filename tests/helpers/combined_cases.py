"""Many cases as one workload over one stream: each has types and ids of its own, and a stretch of time."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from tests.helpers.case_files import TextCase, match_lines, trend_lines
from tests.helpers.engine import Bindings, arrow_events, bindings_of, expected_outcome, plain
from tests.helpers.strategies import Case

from weft.hosts.results import TrendNames
from weft.reference.trends import TrendResults

Lines = dict[str, tuple[str, ...]]
AnyRow = Row | Mapping[str, Any]  # of Spark, or of Arrow
STRETCH = 210_000_000_000  # microseconds, of which every slide of the cases is a part
IDS = 1_000  # for each case
TYPE = re.compile(r"\b([A-E])(?=(?:[+*?]|\{[\d,]*\})? \w)")
TYPE_NAME = re.compile(r"\b([A-E]\d+)\b")
ORDER = "rank"


@dataclass(frozen=True)
class Combined:
    """Cases together: what they ask for, the events of all of them, and the lines of what they find."""

    cases: Sequence[Case]
    text: str
    events: Sequence[Mapping[str, object]]
    expected: Lines
    stretch: int

    def frame(
        self,
        spark: SparkSession,
        events: Sequence[Mapping[str, object]] | None = None,
        *more: tuple[str, pa.DataType],
    ) -> DataFrame:
        """Return the events, or those given with more columns; `letters` is for conditions on types."""
        return spark.createDataFrame(self.table(events, *more))

    def table(
        self, events: Sequence[Mapping[str, object]] | None = None, *more: tuple[str, pa.DataType]
    ) -> pa.Table:
        """Return what `frame` holds."""
        table, _ = arrow_events(self.cases[0])
        own = [(field.name, field.type) for field in table.schema if not field.name.startswith("__")]
        columns = [*own, ("__type", pa.string()), ("__id", pa.int64()), ("letters", pa.string()), *more]
        given = self.events if events is None else events
        return pa.Table.from_pylist(given, schema=pa.schema(columns))

    @property
    def types(self) -> dict[str, str]:
        """Conditions for the types, as events with several of them need."""
        names = {name for event in self.events for name in str(event["letters"]).split(";") if name}
        return {name: f"contains(letters, ';{name};')" for name in names | set(TYPE_NAME.findall(self.text))}

    def found(self, matches: Iterable[AnyRow], columns: Mapping[str, Mapping[str, str]]) -> Lines:
        """Return the lines of each query for matches; none may come twice."""
        known: dict[str, dict[Bindings, dict[str, object]]] = {}
        for row in matches:
            _, number = named(row["query"])
            bindings = frozenset(
                (variable, tuple(int(str(one)) - IDS * number for one in ids))
                for variable, ids in bindings_of(
                    [event.asDict() if isinstance(event, Row) else event for event in row["events"]]
                )
            )
            own = known.setdefault(row["query"], {})
            assert bindings not in own, "a match was emitted twice"
            own[bindings] = {name: plain(row[column]) for name, column in columns[row["query"]].items()}
        return {name: match_lines(own) for name, own in known.items()}

    def trends(self, rows: Iterable[AnyRow], names: Mapping[str, TrendNames]) -> Lines:
        """Return the lines of each trend query, from rows whose times are microseconds."""
        known: dict[str, TrendResults] = {}
        for row in rows:
            columns, start = names[row["query"]], row["window_start"]
            if start is not None:
                start -= self.stretch * named(row["query"])[1]
            place = (start, tuple(row[column] for column in columns.group.values()))
            own = known.setdefault(row["query"], {})
            assert place not in own, "a window and group was emitted twice"
            own[place] = {name: _whole(row[column]) for name, column in columns.aggregates.items()}
        lines = {}
        for query, own in known.items():
            name, number = named(query)
            (asked,) = (one for one in self.cases[number].queries if one.name == name)
            lines[query] = trend_lines(asked, own)
        return lines


def named(query: str) -> tuple[str, int]:
    """Return the name that a query has in its case, and the number of the case."""
    name, _, number = query.rpartition("_")
    return name, int(number)


def combined_texts(cases: Sequence[TextCase]) -> Combined:
    """Put cases that are written as text together, each in a stretch of time of its own."""
    return _combined([one.case for one in cases], [{"q": one.found} for one in cases], STRETCH)


def combined_random(cases: Sequence[Case]) -> Combined:
    """Put random cases together, all in the same time: none of them may have a window of events."""
    expected = [
        {name: match_lines(found) for name, found in expected_outcome(case).items()} for case in cases
    ]
    return _combined(cases, expected, 0)


def _combined(cases: Sequence[Case], expected: Sequence[Lines], stretch: int) -> Combined:
    texts, events = [], []
    for number, case in enumerate(cases):
        text = TYPE.sub(rf"\g<1>{number}", case.text)
        texts.append(re.sub(r"QUERY (\w+)", rf"QUERY \g<1>_{number}", text))
        events += _events(case, number, stretch)
    lines = {
        f"{name}_{number}": own for number, found in enumerate(expected) for name, own in found.items() if own
    }
    return Combined(tuple(cases), "\n\n".join(texts), events, lines, stretch)


def _events(case: Case, number: int, stretch: int) -> list[Mapping[str, object]]:
    shift = stretch * number
    moved = [
        replace(event, time=event.time + shift, attributes={**event.attributes, "ts": event.time + shift})
        for event in case.events
    ]
    table, _ = arrow_events(replace(case, events=tuple(moved)))
    rows = []
    for event, row in zip(case.events, table.to_pylist(), strict=True):
        names = sorted(f"{name}{number}" for name in event.types)
        own = {name: value for name, value in row.items() if not name.startswith("__")}
        own |= {"__type": names[0], "letters": f";{';'.join(names)};"}
        own["__id"] = IDS * number + (event.row if event.id is None else int(event.id))
        own[ORDER] = own[ORDER] if case.tie_break else None
        rows.append(own)
    return rows


def _whole(value: object) -> object:
    return int(value) if isinstance(value, Decimal) and value == int(value) else value
