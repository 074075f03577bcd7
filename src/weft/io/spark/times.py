"""Turn a column that holds times in any usual form into timestamps."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.io.time_texts import DATE_FIRST, ISO_SPELLINGS, NUMBER
from weft.io.units import EARLIEST, LATEST, TimeUnit, microseconds_in


def event_time(time: Column, data_type: T.DataType, unit: TimeUnit) -> Column | None:
    """Return a column as timestamps, NULL where a value is no time; None when its type cannot hold any.

    Numbers are counted from the epoch in `unit`. Text is a number or ISO 8601; without an offset it is
    in the session's time zone.
    """
    factor = microseconds_in(unit)
    match data_type:
        case T.TimestampType() | T.TimestampNTZType():
            return time
        case T.DateType() | T.NullType():
            return time.cast("timestamp")
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return _from_epoch(_of_integer(time.cast("long"), factor))
        case T.FloatType() | T.DoubleType() | T.DecimalType():
            return _from_epoch(_whole_microseconds(time, factor))
        case T.StringType():
            return _from_text(time, factor)
        case _:
            return None


def from_nanoseconds(nanoseconds: Column) -> Column:
    """Return nanoseconds since the epoch as timestamps, rounded down to whole microseconds."""
    return F.timestamp_micros(_rounded_down(nanoseconds))


def _rounded_down(nanoseconds: Column) -> Column:
    is_above = (nanoseconds < 0) & (nanoseconds % F.lit(1000) != 0)  # Spark rounds to zero
    return F.call_function("div", nanoseconds, F.lit(1000)) - is_above.cast("long")


def _from_epoch(microseconds: Column) -> Column:
    return F.when(microseconds.between(EARLIEST, LATEST), F.timestamp_micros(microseconds))


def _of_integer(number: Column, factor: int) -> Column:
    return F.try_multiply(number, F.lit(factor)) if factor else _rounded_down(number)


def _whole_microseconds(number: Column, factor: int) -> Column:
    if not factor:
        exact = number / F.lit(1000)
        nearest = F.round(exact)
        return (nearest - (nearest > exact).cast("int")).try_cast("long")
    return F.round(number * F.lit(factor)).try_cast("long")


def _from_text(text: Column, factor: int) -> Column:
    respelled = text
    for pattern, replacement in ISO_SPELLINGS:
        respelled = F.regexp_replace(respelled, pattern, replacement)
    iso = F.coalesce(text.try_cast("timestamp"), respelled.try_cast("timestamp"))
    integer = _of_integer(text.try_cast("long"), factor)
    number = F.coalesce(integer, _whole_microseconds(text.try_cast("double"), factor))
    return F.when(text.rlike(NUMBER), _from_epoch(number)).when(text.rlike(DATE_FIRST), iso)
