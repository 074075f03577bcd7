"""Times without a zone: they are in UTC, whatever the zone of the session, as constants of queries are."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.hosts.spark.pushdown import MICROSECONDS_PER_DAY, column_of


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
