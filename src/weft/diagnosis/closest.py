"""Find the closest miss: run the queries that leave out what fails, and say what their best match lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from weft.diagnosis.candidates import DISTANCE, Candidate
from weft.diagnosis.miss import ClosestMiss, MissedEvent
from weft.diagnosis.relaxation import Relaxer
from weft.diagnosis.values import condition_text, in_utc, time_text, value_text
from weft.expressions import Attribute
from weft.hosts.host import Frame, Host
from weft.hosts.queries import columns_of_queries, count_queries
from weft.pattern.nodes import Query, TimeWindow
from weft.runtime.budget import Budget

Row = Mapping[str, Any]


def first_rows(host: Host[Any], queries: Sequence[Query], budget: Budget) -> Row | None:
    """Return the closest match of the first query that has any, with the query as `query`.

    A query that exceeds the budget still has the matches that were found before.
    """
    returned = columns_of_queries(queries).returned.names
    found: dict[str, Row] = {}

    def pick(matches: Frame) -> None:
        for query in queries:
            own = [column.name for column in query.returns]
            columns = dict(zip(own, returned[query.name], strict=True))
            by = DISTANCE if DISTANCE in own else None
            for row in host.closest_matches(matches, query.name, columns, by=by, most=1):
                found[query.name] = row
                return

    count_queries(host, queries, budget, pick)
    return next((found[query.name] for query in queries if query.name in found), None)


def closest_miss(
    host: Host[Any], relaxer: Relaxer, candidates: Sequence[Candidate], budget: Budget
) -> ClosestMiss | None:
    """Return the best match of the first candidate that has any."""
    rule = relaxer.alternative.rule.name
    named = {f"{rule}, miss {number}": candidate for number, candidate in enumerate(candidates, start=1)}
    queries = [relaxer.query(name, own.asked, own.returns) for name, own in named.items()]
    if not queries or (row := first_rows(host, queries, budget)) is None:
        return None
    return _Teller(relaxer, named[row["query"]], row).tell()


def events_of_row(
    row: Row, attributes: Mapping[str, Mapping[str, Any]], blockers: frozenset[str]
) -> tuple[MissedEvent, ...]:
    """Return the events of a match, with attributes by variable."""
    return tuple(
        MissedEvent(
            variable=event["variable"],
            type=event["type"],
            time=in_utc(event["ts"]),
            id=event["id"],
            attributes=attributes.get(event["variable"], {}),
            is_blocker=event["variable"] in blockers,
        )
        for event in row["events"]
    )


@dataclass(frozen=True)
class _Teller:
    """Says what a match of a candidate lacks."""

    relaxer: Relaxer
    candidate: Candidate
    row: Row

    def tell(self) -> ClosestMiss:
        return ClosestMiss(self.candidate.condition, self._found(), self.events)

    @property
    def events(self) -> tuple[MissedEvent, ...]:
        shown: dict[str, dict[str, Any]] = {}
        for number, attribute in enumerate(self.candidate.attributes):
            shown.setdefault(attribute.variable, {})[attribute.name] = self.row[f"attribute{number}"]
        return events_of_row(self.row, shown, self.candidate.blockers)

    def _found(self) -> str:
        match self.candidate.finding:
            case "values":
                return self._values()
            case "order":
                return self._order()
            case "key":
                return self._keys()
            case "window":
                return self._window()
            case "length":
                length = self.candidate.length
                return f"the longest list has {length}" if length != 1 else "no list has more than one"
            case "blocker":
                own = next(event for event in self.events if event.is_blocker)
                return f"{own.type} {own.variable}, id {own.id}, at {time_text(own.time)}"
            case "nothing":
                return "there is none"
            case "missing":
                return "there is no such event"

    def _values(self) -> str:
        terms = self.candidate.terms
        values = [value_text(self.row[f"term{number}"]) for number in range(len(terms))]
        if len(terms) == 1:
            return f"was {values[0]}"
        return ", ".join(
            f"{condition_text(term)} was {value}" for term, value in zip(terms, values, strict=True)
        )

    def _order(self) -> str:
        """Say how the item lies to the last event that should be before it."""
        item = self.candidate.item or ""
        is_before = self.relaxer.alternative.is_before
        own = next(event for event in self.events if event.variable == item)
        earlier = max(
            (event for event in self.events if is_before(event.variable, item)), key=lambda event: event.time
        )
        apart = earlier.time - own.time
        names = f"{own.type} {own.variable}", f"{earlier.type} {earlier.variable}"
        if not apart:
            return f"{names[0]} is at the same time as {names[1]}"
        return f"{names[0]} is {apart} before {names[1]}"

    def _keys(self) -> str:
        values = zip(self.candidate.attributes, self._attribute_values(), strict=True)
        return ", ".join(f"{condition_text(one)} was {value}" for one, value in values)

    def _attribute_values(self) -> list[str]:
        return [value_text(self.row[f"attribute{number}"]) for number, _ in self._shown]

    @property
    def _shown(self) -> list[tuple[int, Attribute]]:
        return list(enumerate(self.candidate.attributes))

    def _window(self) -> str:
        took: timedelta = self.row["end"] - self.row["start"]
        if isinstance(self.relaxer.alternative.rule.window, TimeWindow):
            return f"took {took}"
        return f"more events lie between, in {took}"
