"""Statistics as JSON that a person can read and write, and back.

{
  "version": 4,
  "duration": 3600,
  "total_rate": 1000,
  "rates": [{"pattern": "A a", "where": "a.x > 3", "per_second": 47}],
  "selectivities": [
    {"pattern": "AND(A a, B b)", "where": "a.x < b.x", "selectivity": 0.1},
    {"pattern": "A+ a[]", "where": "a[i].x > a[i-1].x", "selectivity": 0.4}
  ],
  "agreements": {"user": 0.01},
  "corrections": [
    {"pattern": "SEQ(A a, B b)", "where": "[user] AND a.x < b.x", "within": "1 hour", "times": 12.5}
  ]
}

Everything but the version may be left out. Patterns and conditions are in the query language. Names of
variables, the order of the events and the spelling of conditions do not matter: what a file says holds
for every query with the same predicates. The order matters in corrections, which say how many times as many
partial matches a part of a query has as all other numbers let expect.
"""

import json
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from weft.codec import VERSION, check_version, write_text
from weft.errors import DataError, QueryError, WeftError, near_name
from weft.expressions import Aggregate, Attribute, Expression, variables_of
from weft.language.printer import expression_to_text, pattern_to_text
from weft.language.read import read_queries, text_of_file
from weft.normalize.pipeline import expand
from weft.pattern.canonical import column_variable, in_columns, own_predicates, rename_variables
from weft.pattern.nodes import Conjunction, Event, Kleene, Query
from weft.pattern.normal_form import NormalForm
from weft.schema import Schema
from weft.statistics.model import GroupKey, ItemKey, PatternKey, Statistics, group_key
from weft.statistics.pattern_entry import is_writable, pattern_entry, variable_name, where_text
from weft.statistics.sub_patterns import item_key, names_of
from weft.tree import find

Json = Any  # what json.loads gives


# The fields of an object of the file, and whether each is required.
DOCUMENT = dict.fromkeys(
    ("version", "duration", "total_rate", "rates", "selectivities", "agreements", "corrections"), False
)
RATE = {"pattern": True, "per_second": True, "where": False}
SELECTIVITY = dict.fromkeys(("pattern", "where", "selectivity"), True)
CORRECTION = {"pattern": True, "times": True, "where": False, "within": False}


def save_statistics(statistics: Statistics, path: str | Path) -> None:
    """Write statistics to a file that `load_statistics` reads."""
    text = json.dumps(to_document(statistics), indent=2, ensure_ascii=False)
    write_text(path, text + "\n")


def load_statistics(path: str | Path, schema: Schema) -> Statistics:
    """Return the statistics of a file, checked against the schema of the events they speak of."""
    try:
        document = json.loads(text_of_file(path))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}") from None
    except ValueError as error:  # a number of thousands of digits
        raise DataError(f"{path}: {error}") from None
    except RecursionError:
        raise DataError(f"{path}: this nests too deeply to be statistics") from None
    return from_document(document, schema, origin=str(path))


def to_document(statistics: Statistics) -> dict[str, Json]:
    """Return statistics as the lists and dictionaries that JSON knows.

    >>> to_document(Statistics(rates={ItemKey("Login"): 47.0}, agreements={"user": 0.01}))["rates"]
    [{'pattern': 'Login a', 'per_second': 47.0}]
    """
    rates = [{**_entry([item]), "per_second": rate} for item, rate in statistics.rates.items()]
    selectivities = [
        {**_entry(group.items, group.predicates), "selectivity": share}
        for group, share in statistics.selectivities.items()
    ]
    document: dict[str, Json] = {"version": VERSION}
    if statistics.duration is not None:
        document["duration"] = statistics.duration
    if statistics.total_rate is not None:
        document["total_rate"] = statistics.total_rate
    document |= {
        "rates": sorted(rates, key=_text_of_entry),
        "selectivities": sorted(selectivities, key=_text_of_entry),
        "agreements": dict(sorted(statistics.agreements.items())),
    }
    corrections = [
        {**pattern_entry(key), "times": times}
        for key, times in statistics.corrections.items()
        if is_writable(key)
    ]
    return document | ({"corrections": sorted(corrections, key=_text_of_entry)} if corrections else {})


def _text_of_entry(entry: Mapping[str, Json]) -> tuple[str, str, str]:
    return entry["pattern"], entry.get("where", ""), entry.get("within", "")


def _entry(items: Sequence[ItemKey], predicates: Sequence[Expression] = ()) -> dict[str, Json]:
    """Return the pattern of some items, and the conditions on each and on all of them."""
    names = {column_variable(place): variable_name(place) for place in range(len(items))}
    lists = {name for predicate in predicates for name in _list_variables(predicate)}
    conditions = [rename_variables(predicate, names) for predicate in predicates]
    events: list[Event | Kleene] = []
    own: list[Expression] = []
    for item, (column, name) in zip(items, names.items(), strict=True):
        event = Event(item.type, name)
        events.append(Kleene(event, 1, None) if column in lists else event)
        own += [rename_variables(predicate, {"$0": name}) for predicate in item.predicates]
    pattern = events[0] if len(events) == 1 else Conjunction(tuple(events))
    where = {"where": where_text([*own, *conditions])} if own or conditions else {}
    return {"pattern": pattern_to_text(pattern), **where}


def from_document(document: Json, schema: Schema, *, origin: str = "<statistics>") -> Statistics:
    """Return the statistics of lists and dictionaries as JSON gives them, which Python can write too.

    >>> from weft.schema import LONG, TIMESTAMP
    >>> schema = Schema({"ts": TIMESTAMP, "x": LONG}, time="ts")
    >>> rate = {"pattern": "Login l", "where": "3 < l.x", "per_second": 47}
    >>> (item,) = from_document({"version": VERSION, "rates": [rate]}, schema).rates
    >>> item.type, expression_to_text(item.predicates[0])
    ('Login', '"$0".x > 3')
    """
    return _Reader(schema, origin).statistics(document)


class _Reader:
    """Reads one document; every complaint says where in it."""

    def __init__(self, schema: Schema, origin: str) -> None:
        self.schema = schema
        self.origin = origin

    def statistics(self, document: Json) -> Statistics:
        fields = self._fields(document, "", DOCUMENT)
        check_version(document, self.origin)
        rates: dict[ItemKey, float] = {}
        for place, entry in self._entries(fields, "rates", RATE):
            self._add(rates, self._item(entry, place), self._number(entry, "per_second", place), place)
        selectivities: dict[GroupKey, float] = {}
        for place, entry in self._entries(fields, "selectivities", SELECTIVITY):
            share = self._number(entry, "selectivity", place, most=1.0)
            self._add(selectivities, self._group(entry, place), share, place)
        corrections: dict[PatternKey, float] = {}
        for place, entry in self._entries(fields, "corrections", CORRECTION):
            times = self._number(entry, "times", place)
            self._add(corrections, self._sub_pattern(entry, place), times, place)
        return Statistics(
            rates,
            selectivities,
            self._agreements(fields.get("agreements", {})),
            total_rate=self._number(fields, "total_rate", "") if "total_rate" in fields else None,
            duration=self._number(fields, "duration", "") if "duration" in fields else None,
            corrections=corrections,
        )

    def _error(self, place: str, found: str, remedy: str) -> WeftError:
        where = f"{self.origin}: {place}" if place else self.origin
        return WeftError(f"{where}: found {found}; {remedy}")

    def _fields(self, value: Json, place: str, known: Mapping[str, bool]) -> Mapping[str, Json]:
        if not isinstance(value, dict):
            raise self._error(
                place, f"{_excerpt(value)}, expected an object", f"its fields are {_quote_names(known)}"
            )
        self._check_names(value, known, place, "field")
        for name, is_required in known.items():
            if is_required and name not in value:
                raise self._error(place, f'no "{name}"', f"an entry has the fields {_quote_names(known)}")
        return value

    def _check_names(self, names: Iterable[str], known: Collection[str], place: str, kind: str) -> None:
        for name in names:
            if name not in known:
                near = near_name(name, known)
                remedy = f'did you mean "{near}"?' if near else f"the {kind}s are {_quote_names(known)}"
                raise self._error(place, f"the unknown {kind} {_excerpt(name)}", remedy)

    def _entries(
        self, fields: Mapping[str, Json], name: str, known: Mapping[str, bool]
    ) -> Iterator[tuple[str, Mapping[str, Json]]]:
        entries = fields.get(name, [])
        if not isinstance(entries, list):
            raise self._error(name, f"{_excerpt(entries)}, expected a list", "put the entries in [ ]")
        for number, entry in enumerate(entries):
            place = f"{name}[{number}]"
            yield place, self._fields(entry, place, known)

    def _number(
        self, fields: Mapping[str, Json], name: str, place: str, most: float = sys.float_info.max
    ) -> float:
        value = fields[name]
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
            return float(value)
        limits = f"from 0 to {most:g}" if most == 1 else "of at least 0"
        unit = "it is a share of all tuples" if most == 1 else "it counts seconds, or events in a second"
        raise self._error(place, f'"{name}": {_excerpt(value)}, expected a number {limits}', unit)

    def _agreements(self, value: Json) -> dict[str, float]:
        if not isinstance(value, dict):
            remedy = 'write for example {"user": 0.01}'
            raise self._error("agreements", f"{_excerpt(value)}, expected an object", remedy)
        self._check_names(value, self.schema.attributes, "agreements", "attribute")
        return {name: self._number(value, name, "agreements", most=1.0) for name in value}

    def _add(self, known: dict[Any, float], key: object, value: float, place: str) -> None:
        if key in known:
            earlier = f"{place.partition('[')[0]}[{list(known).index(key)}]"
            raise self._error(place, f"the same events and conditions as in {earlier}", "remove one of them")
        known[key] = value

    def _item(self, fields: Mapping[str, Json], place: str) -> ItemKey:
        form = self._form(fields, place)
        if len(form.items) != 1 or form.items[0].is_list:
            remedy = 'give each event an entry of its own, such as "pattern": "A a"'
            raise self._error(place, "a pattern of more than one event", remedy)
        return item_key(form.items[0], form)

    def _group(self, fields: Mapping[str, Json], place: str) -> GroupKey:
        form = self._form(fields, place)
        own = {predicate for item in form.items for predicate in own_predicates(item, form)}
        about = [predicate for predicate in form.predicates if predicate not in own]
        names = ", ".join(form.variables)
        for predicate in about:
            if variables_of(predicate) != set(form.variables):
                found = f"{expression_to_text(predicate)}, which does not speak of all of {names}"
                raise self._error(place, found, "give it an entry of its own")
        if not about:
            remedy = "a condition on single events belongs to a rate"
            raise self._error(place, f"no condition that speaks of all of {names}", remedy)
        return group_key([item_key(item, form) for item in form.items], in_columns(about, form.variables))

    def _sub_pattern(self, fields: Mapping[str, Json], place: str) -> PatternKey:
        query, form = self._read(fields, place)
        names = names_of(form)
        if names is None or query.returns or len(form.items) < 2:
            remedy = 'write for example "SEQ(A a, B b)" and "1 hour"'
            raise self._error(place, "no pattern of two events or more, within a time", remedy)
        return names.key((1 << len(form.items)) - 1)

    def _form(self, fields: Mapping[str, Json], place: str) -> NormalForm:
        """Return the normal form of an entry: events without order that matters, and conditions."""
        query, form = self._read(fields, place)
        if form.keys:
            remedy = 'how often events agree stands under "agreements"'
            raise self._error(place, f"agreement on {', '.join(form.keys)}", remedy)
        if query.window is not None or query.returns:
            raise self._error(place, "WITHIN or RETURN", "an entry has a pattern and conditions only")
        return form

    def _read(self, fields: Mapping[str, Json], place: str) -> tuple[Query, NormalForm]:
        """Return the query of an entry, and its normal form."""
        for name in ("pattern", "where", "within"):
            if not isinstance(fields.get(name, ""), str):
                found = f'"{name}": {_excerpt(fields[name])}, expected text'
                raise self._error(place, found, 'write for example "AND(A a, B b)" or "a.x < b.x"')
        text = f"PATTERN {fields['pattern']}"
        if fields.get("where", "").strip():
            text += f"\nWHERE {fields['where']}"
        if fields.get("within", "").strip():
            text += f"\nWITHIN {fields['within']}"
        origin = f"{self.origin}: {place}"
        queries = read_queries(text, self.schema, origin=origin, tie_break=True)
        try:
            forms = [form for query in queries for form in expand(query)]
        except QueryError as error:
            raise QueryError(error.problems, text, origin) from None
        if len(forms) != 1 or forms[0].negations:
            remedy = "join single events by AND, without OR, NOT, * and ?"
            raise self._error(place, f"a pattern with alternatives or negations: {fields['pattern']}", remedy)
        return queries[0], forms[0]


def _list_variables(predicate: Expression) -> set[str]:
    """Return the variables of which a predicate concerns more than one element at a time."""
    places = {attribute.variable for attribute in find(predicate, Attribute) if attribute.place != "each"}
    return places | {aggregate.variable for aggregate in find(predicate, Aggregate)}


def _excerpt(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _quote_names(names: Collection[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
