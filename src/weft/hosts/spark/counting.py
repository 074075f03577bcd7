"""Count the events of a frame by their kind: of a type, with conditions on them alone, each event once."""

from collections.abc import Collection, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from weft.errors import near_name
from weft.hosts.host import InputCounts
from weft.hosts.meaning import ID, TIME
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.pushdown import column_of
from weft.hosts.spark.sampling import kind_condition
from weft.pattern.normal_form import EVERY_TYPE
from weft.statistics.model import ItemKey

MOST_NAMES = 1_000  # of types that are looked through for the nearest one
FEW_ROWS = 10_000  # through which one may look at once
TYPE_COLUMN, KIND_COLUMN = "weft_counted_type", "weft_counted_kind"


def count_rows(source: EventFrame, types: Collection[str]) -> InputCounts:
    """Return how many rows there are, which of some types no event has, and from when to when events are."""
    good, time = source.is_good, F.unix_micros(source.time_column)
    derived = {name: f"{KIND_COLUMN}{number}" for number, name in enumerate(source.types) if name in types}
    plain = [name for name in types if name not in derived]
    kind = F.lit(None) if source.type is None else column_of(source.type).cast("string")
    counted = source.events.agg(
        F.count(F.lit(1)).alias("all"),
        F.count_if(good).alias("good"),
        F.min(F.when(good, time)).alias("earliest"),
        F.max(F.when(good, time)).alias("latest"),
        F.collect_set(F.when(good & kind.isin(plain), kind)).alias("seen"),
        *(F.count_if(good & source.is_of_type([name])).alias(own) for name, own in derived.items()),
    ).collect()[0]
    seen = {*counted["seen"], *(name for name, own in derived.items() if counted[own])}
    absent = sorted(set(types) - seen)
    return InputCounts(
        counted["good"],
        counted["all"] - counted["good"],
        _with_nearest(source, absent if counted["good"] else []),
        counted["earliest"],
        counted["latest"],
    )


def absent_types(source: EventFrame, types: Collection[str]) -> dict[str, str | None]:
    """Return which of some types no event has, with the nearest one; nothing where there are many rows."""
    names = sorted(types)
    told = [source.is_of_type([name]).alias(f"{KIND_COLUMN}{place}") for place, name in enumerate(names)]
    rows = source.events.where(source.is_good).select(*told).limit(FEW_ROWS + 1).collect()
    if not rows or len(rows) > FEW_ROWS:
        return {}
    return _with_nearest(
        source, [name for place, name in enumerate(names) if not any(row[place] for row in rows)]
    )


def _with_nearest(source: EventFrame, absent: Collection[str]) -> dict[str, str | None]:
    """Return for names that no event has as its type the nearest of the types there are."""
    known = set(_some_types(source)) - set(absent) if absent else set()
    return {name: near_name(name, known) for name in absent}


def _some_types(source: EventFrame) -> list[str]:
    if source.type is None:
        return list(source.types)
    kind = column_of(source.type).cast("string").alias(TYPE_COLUMN)
    rows = source.events.select(kind).where(F.col(TYPE_COLUMN).isNotNull()).distinct().limit(MOST_NAMES)
    return [row[TYPE_COLUMN] for row in rows.collect()]


def count_types(source: EventFrame) -> dict[str, int]:
    """Return the number of events of each type."""
    derived = count_kinds(source, {name: ItemKey(name) for name in source.types})
    if source.type is None:
        return derived
    kind = column_of(source.type).cast("string")
    found = _distinct(source, {TYPE_COLUMN: kind}).groupBy(TYPE_COLUMN).count().collect()
    return {row[TYPE_COLUMN]: row["count"] for row in found} | derived


def count_kinds(source: EventFrame, kinds: Mapping[str, ItemKey]) -> dict[str, int]:
    """Return the number of events of those kinds whose conditions mean the same to Spark."""
    told = {name: kind_condition(source, kind) for name, kind in kinds.items()}
    exact = {name: condition for name, (condition, is_exact) in told.items() if is_exact}
    if not exact:
        return {}
    numbered = dict(enumerate(exact))
    conditions = {f"{KIND_COLUMN}{number}": exact[name] for number, name in numbered.items()}
    rows = _distinct(source, conditions, [kinds[name].type for name in exact])
    counts = rows.agg(*(F.count_if(F.col(column)).alias(column) for column in conditions)).collect()[0]
    return {name: counts[f"{KIND_COLUMN}{number}"] for number, name in numbered.items()}


def _distinct(
    source: EventFrame, columns: Mapping[str, Column], types: Sequence[str] = (EVERY_TYPE,)
) -> DataFrame:
    """Return columns of the events, each of which is there once, however often it was delivered."""
    rows = source.events.where(source.is_good & source.is_of_type(sorted(set(types))))
    counted = [column.alias(name) for name, column in columns.items()]
    if source.id is None:  # every row is an event
        return rows.select(*counted)
    identity = [source.time_column.alias(TIME), column_of(source.id).alias(ID)]
    return rows.select(*identity, *counted).dropDuplicates([TIME, ID])
