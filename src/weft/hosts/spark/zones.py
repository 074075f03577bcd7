"""Times without a zone: they are in UTC, whatever the zone of the session, as constants of queries are."""

from collections.abc import Collection, Iterator, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.expressions import Attribute, Expression, Literal
from weft.hosts.spark.pushdown import MICROSECONDS_PER_DAY, column_of
from weft.notices import Notice
from weft.pattern.nodes import Query
from weft.schema import TIMESTAMP
from weft.tree import find

SESSION_ZONE = "spark.sql.session.timeZone"
OF_UTC = frozenset({"UTC", "ETC/UTC", "GMT", "ETC/GMT", "Z", "ZULU", "UCT", "UNIVERSAL", "+00:00", "GMT0"})


def zoneless_columns(schema: T.StructType) -> list[str]:
    """Return the columns of type timestamp_ntz.

    >>> zoneless_columns(T.StructType([T.StructField("ts", T.TimestampNTZType())]))
    ['ts']
    """
    return [field.name for field in schema.fields if isinstance(field.dataType, T.TimestampNTZType)]


def in_utc(events: DataFrame) -> DataFrame:
    """Return events in which times without a zone are timestamps, read in UTC."""
    names = zoneless_columns(events.schema)
    return events.withColumns({name: _in_utc(column_of(name)) for name in names}) if names else events


def _in_utc(time: Column) -> Column:
    """Return a time without a zone as the moment at which clocks in UTC show it.

    A cast would read it in the zone of the session, where some times never are and others come twice.
    """
    days = F.unix_date(time.cast("date")).cast("long")
    seconds = F.hour(time) * F.lit(3600) + F.minute(time) * F.lit(60) + F.second(time)
    within = F.date_format(time, "SSSSSS").cast("long")
    micros = days * F.lit(MICROSECONDS_PER_DAY) + seconds.cast("long") * F.lit(1_000_000) + within
    return F.timestamp_micros(micros)


def zone_notices(queries: Sequence[Query], zoneless: Collection[str], time: str, zone: str) -> list[Notice]:
    """Return what may surprise in a session whose zone is not UTC: constants, and columns without a zone.

    >>> from weft.pattern.nodes import Event
    >>> [notice.reason for notice in zone_notices([Query("q", Event("A", "a"))], ["ts"], "ts", "Asia/Tokyo")]
    ['times without a zone are in UTC, not in Asia/Tokyo, the zone of the session: column ts']
    """
    if zone.upper() in OF_UTC:
        return []
    mentioned = {own.name for query in queries for part in _parts(query) for own in find(part, Attribute)}
    mentioned |= {time} if queries else set()
    read = sorted(name for name in zoneless if name in mentioned)
    notices = []
    if read:
        columns = f"column{'s' if len(read) > 1 else ''} {', '.join(read)}"
        notices.append(
            Notice(
                kind="time zone",
                reason=f"times without a zone are in UTC, not in {zone}, the zone of the session: {columns}",
                remedy='make them timestamps where they are local: F.col("ts").cast("timestamp")',
            )
        )
    with_constants = sorted({query.name for query in queries if any(map(_has_time, _parts(query)))})
    notices += (
        Notice(
            kind="time zone",
            query=name,
            reason=f"its times without an offset are in UTC, not in {zone}, the zone of the session",
            remedy="write the offset, as in TIMESTAMP '2026-03-01 10:00:00-05:00'",
        )
        for name in with_constants
    )
    return notices


def _parts(query: Query) -> Iterator[Expression]:
    yield from query.conditions
    yield from (column.expression for column in query.returns)
    yield from query.having


def _has_time(expression: Expression) -> bool:
    return any(literal.type == TIMESTAMP for literal in find(expression, Literal))
