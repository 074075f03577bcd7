"""Turn a column that holds times in any usual form into timestamps."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.errors import DataError
from weft.io.units import EARLIEST, LATEST, MICROSECONDS, TimeUnit

NUMBER = r"^\s*[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\s*$"
DATE_FIRST = r"^\s*\d{4}-?\d\d"  # Spark would read a lone `10:00` as a time of today
# ISO 8601 spellings Spark does not know, turned one after the other into the one it knows.
ISO_SPELLINGS = (
    (r"^\s*(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)", "$1-$2-$3T$4:$5"),  # 20260131T1200.. to 2026-01-31T12:00..
    (r"(T\d\d:\d\d)(\d\d)", "$1:$2"),  # ..T12:0059 to ..T12:00:59
    (r"([T ]\d\d:\d\d)(Z|[+-]|\s*$)", "$1:00$2"),  # ..T12:00Z to ..T12:00:00Z
    (",", "."),  # ..T12:00:59,5 to ..T12:00:59.5
)


def event_time(time: Column, data_type: T.DataType, unit: TimeUnit) -> Column | None:
    """Return a column as timestamps, NULL where a value is no time; None when its type cannot hold any.

    Numbers are counted from the epoch in `unit`. Text is a number or ISO 8601; without an offset it is
    in the session's time zone.
    """
    if unit not in MICROSECONDS:
        raise DataError(f"the time unit is {unit!r}; it must be one of {', '.join(MICROSECONDS)}")
    match data_type:
        case T.TimestampType() | T.TimestampNTZType():
            return time
        case T.DateType() | T.NullType():
            return time.cast("timestamp")
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return _from_epoch(F.try_multiply(time.cast("long"), F.lit(MICROSECONDS[unit])))
        case T.FloatType() | T.DoubleType() | T.DecimalType():
            return _from_epoch(_whole_microseconds(time, unit))
        case T.StringType():
            return _from_text(time, unit)
        case _:
            return None


def from_nanoseconds(nanoseconds: Column) -> Column:
    """Return nanoseconds since the epoch as timestamps, rounded down to whole microseconds."""
    whole = nanoseconds - F.pmod(nanoseconds, F.lit(1000))
    return F.timestamp_micros(F.call_function("div", whole, F.lit(1000)))


def _from_epoch(microseconds: Column) -> Column:
    return F.when(microseconds.between(EARLIEST, LATEST), F.timestamp_micros(microseconds))


def _whole_microseconds(number: Column, unit: TimeUnit) -> Column:
    return F.round(number * F.lit(MICROSECONDS[unit])).try_cast("long")


def _from_text(text: Column, unit: TimeUnit) -> Column:
    respelled = text
    for pattern, replacement in ISO_SPELLINGS:
        respelled = F.regexp_replace(respelled, pattern, replacement)
    iso = F.coalesce(text.try_cast("timestamp"), respelled.try_cast("timestamp"))
    integer = F.try_multiply(text.try_cast("long"), F.lit(MICROSECONDS[unit]))
    number = F.coalesce(integer, _whole_microseconds(text.try_cast("double"), unit))
    return F.when(text.rlike(NUMBER), _from_epoch(number)).when(text.rlike(DATE_FIRST), iso)
