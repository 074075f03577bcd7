"""Batches of rows as the engine is given them: the events that plans read, and of these what they need."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.hosts.demand import Demand
from weft.hosts.local.columns import is_coded, microseconds, places_in, plain, texts_of, wire_column
from weft.hosts.local.content import content_hashes
from weft.hosts.local.events import LocalEvents
from weft.hosts.meaning import CONTENT, ID, TIE, TIME, TYPE, flagged_types
from weft.pattern.normal_form import EVERY_TYPE
from weft.runtime.columns.layout import Layout


@dataclass
class RowCounts:
    """How many rows were read, how many of them are no events, and how many events each type has."""

    n_rows: int = 0
    n_rejected: int = 0
    n_of_type: dict[str, int] = field(default_factory=dict)
    earliest: int | None = None
    latest: int | None = None

    def add(self, other: "RowCounts") -> None:
        """Add what was counted elsewhere."""
        self.n_rows += other.n_rows
        self.n_rejected += other.n_rejected
        self.earliest = _extreme(min, self.earliest, other.earliest)
        self.latest = _extreme(max, self.latest, other.latest)
        for name, count in other.n_of_type.items():
            self.n_of_type[name] = self.n_of_type.get(name, 0) + count


def _extreme(choose: Callable[[int, int], int], one: int | None, other: int | None) -> int | None:
    return choose(one, other) if one is not None and other is not None else one if other is None else other


@dataclass(frozen=True)
class Wire:
    """What the engine is given of each row for what plans ask of the events."""

    source: LocalEvents
    demand: Demand
    layout: Layout

    @staticmethod
    def of(source: LocalEvents, demand: Demand) -> "Wire":
        """Return what plans are given of some events."""
        return Wire(source, demand, source.layout(demand))

    @cached_property
    def read_columns(self) -> list[str]:
        """The columns of the rows that are needed; without an id, that is all that identify a row."""
        source = self.source
        if self.layout.content is not None:
            return list(source.rows.schema.names)
        names = [source.time, *source.required, *([source.order_by] if source.order_by else [])]
        names += [
            source.time if column == TIME else name for name, (column, _) in self.layout.attributes.items()
        ]
        names += [
            name for derived in self.layout.derived_types for name in source.derived[derived].attributes
        ]
        return list(dict.fromkeys(names))

    @property
    def coded(self) -> frozenset[str]:
        """The column of the type, if nothing else is wanted of it."""
        type_column = self.source.type
        is_read = self.layout.content is not None or type_column in self.layout.attributes
        return frozenset() if type_column is None or is_read else frozenset({type_column})

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows."""
        return self.source.rows.batches(self.read_columns, self.coded)

    def events_of(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch, RowCounts]:
        """Return the events that plans want, as the engine is given them and as they are, and counts."""
        source = self.source
        rows, counts = good_rows(rows, source, self.layout.derived_types)
        flags = {name: source.derived[name].holds(rows) for name in self.layout.derived_types}
        known = pa.array(self.layout.type_names, pa.string())
        codes = None if source.type is None else places_in(rows.column(source.type), known)
        wanted = self._is_wanted(codes, flags)
        if wanted is not None:
            rows = rows.filter(wanted)
            codes = None if codes is None else codes.filter(wanted)
            flags = {name: own.filter(wanted) for name, own in flags.items()}
        return self._wired(rows, codes, flags), rows, counts

    def _is_wanted(
        self, codes: pa.Int32Array | None, flags: Mapping[str, pa.BooleanArray]
    ) -> pa.BooleanArray | None:
        """Return which rows some plan reads by their types; None: all."""
        if EVERY_TYPE in self.demand.types or self.demand.counts:
            return None
        tests = [*([] if codes is None else [codes.is_valid()]), *flags.values()]
        if not tests:
            return None
        wanted = tests[0]
        for own in tests[1:]:
            wanted = pc.or_(wanted, own)
        return None if pc.all(wanted, min_count=0).as_py() else wanted

    def _wired(
        self, rows: pa.RecordBatch, codes: pa.Int32Array | None, flags: Mapping[str, pa.BooleanArray]
    ) -> pa.RecordBatch:
        source, layout = self.source, self.layout
        columns: dict[str, pa.Array] = {TIME: microseconds(rows.column(source.time))}
        if codes is not None:
            names = pa.array(layout.type_names, pa.string())
            columns[TYPE] = pa.DictionaryArray.from_arrays(codes, names)
        if source.id is not None:
            columns[ID] = plain(rows.column(source.id)).cast(source.id_type)
        elif layout.content is not None:
            columns[CONTENT] = pa.array(content_hashes(rows))
        if source.order_by is not None:
            columns[TIE] = wire_column(
                rows.column(source.order_by), source.schema.attributes[source.order_by]
            )
        for name, types in flagged_types(layout).items():
            bits = np.zeros(rows.num_rows, np.int64)
            for place, own in enumerate(types):
                bits |= np.asarray(flags[own].to_numpy(zero_copy_only=False)).astype(np.int64) << place
            columns[name] = pa.array(bits)
        for name, (column, kind) in layout.attributes.items():
            if column != TIME:
                columns[column] = wire_column(rows.column(name), kind)
        return pa.RecordBatch.from_pydict(columns)


def good_rows(
    rows: pa.RecordBatch, source: LocalEvents, derived_types: Collection[str]
) -> tuple[pa.RecordBatch, RowCounts]:
    """Return the rows that are events, and counts of all rows."""
    good = is_good(rows, source)
    events = rows if good is None else rows.filter(good)
    counts = RowCounts(rows.num_rows, rows.num_rows - events.num_rows)
    if not events.num_rows:
        return events, counts
    if source.type is not None:
        counts.n_of_type = count_texts(events.column(source.type))
    counts.n_of_type |= {name: source.derived[name].holds(events).true_count for name in derived_types}
    extremes = pc.min_max(microseconds(events.column(source.time)))
    counts.earliest, counts.latest = extremes["min"].as_py(), extremes["max"].as_py()
    return events, counts


def is_good(rows: pa.RecordBatch, source: LocalEvents) -> pa.BooleanArray | None:
    """Return which rows have a time, and a type, an id and a site where asked for; None: all."""
    good = None
    for name in (source.time, *source.required):
        column = rows.column(name)
        if column.null_count or (pa.types.is_dictionary(column.type) and not is_coded(column)):
            valid = plain(column).is_valid()
            good = valid if good is None else pc.and_(good, valid)
    return good


def count_texts(values: pa.Array) -> dict[str, int]:
    """Return how many rows have each text."""
    coded = values if is_coded(values) else texts_of(values).dictionary_encode()
    counted = pc.value_counts(coded.indices)
    counts: dict[str, int] = {}  # a dictionary may have a text twice
    for code, count in zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True):
        text = coded.dictionary[code].as_py()
        counts[text] = counts.get(text, 0) + count
    return counts


def required_columns(source: LocalEvents, names: Collection[str] = ()) -> list[str]:
    """Return the columns that tell whether a row is an event, and some others."""
    return list(dict.fromkeys([source.time, *source.required, *names]))
