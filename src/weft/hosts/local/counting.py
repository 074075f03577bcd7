"""Count the events of a table by their kind: of a type, with conditions on them alone, each event once."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from weft.expressions import Aggregate, Attribute
from weft.hosts.demand import Demand
from weft.hosts.local.columns import texts_of
from weft.hosts.local.events import LocalEvents
from weft.hosts.local.wire import Wire, is_good, required_columns
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import ingest
from weft.statistics.model import ItemKey
from weft.statistics.sampling import rows_of_item
from weft.tree import find


def count_types(source: LocalEvents) -> dict[str, int]:
    """Return the number of events of each type."""
    known = set(source.types)
    if source.type is not None:
        for rows in source.rows.batches(required_columns(source)):
            good = is_good(rows, source)
            events = rows if good is None else rows.filter(good)
            known |= set(texts_of(events.column(source.type)).unique().to_pylist())
    return count_kinds(source, {name: ItemKey(name) for name in sorted(known)})


def count_kinds(source: LocalEvents, kinds: Mapping[str, ItemKey]) -> dict[str, int]:
    """Return the number of events of each kind."""
    counts = dict.fromkeys(kinds, 0)
    types = frozenset(kind.type for kind in kinds.values())
    conditions = [one for kind in kinds.values() for one in kind.predicates]
    mentioned = {own.name for one in conditions for own in find(one, Attribute)}
    mentioned |= {own.name for one in conditions for own in find(one, Aggregate) if own.name is not None}
    for events in _events(source, types, mentioned):
        for name, kind in kinds.items():
            counts[name] += len(rows_of_item(kind, events.rows_of_type(kind.type), events))
    return counts


def _events(source: LocalEvents, types: Collection[str], attributes: Collection[str]) -> Iterator[Events]:
    """Yield the events of some types; together where they have ids, as these may occur again in any batch."""
    wire = Wire.of(source, Demand(frozenset(types), frozenset(attributes)))
    wire = replace(wire, layout=replace(wire.layout, content=None))
    parts = (wire.events_of(rows)[0] for rows in wire.batches())
    if source.id is None:
        for part in parts:
            yield ingest(pa.Table.from_batches([part]), wire.layout)
    elif together := list(parts):
        yield ingest(pa.Table.from_batches(together), wire.layout)
