"""Spark schemas to the types Weft computes with, and back."""

from collections.abc import Mapping

from pyspark.sql import types as T  # noqa: N812 - the name everybody knows

from weft.errors import DataError, near_name
from weft.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    EMITTED_DIGITS,
    LONG,
    MAX_DECIMAL_DIGITS,
    STRING,
    TIMESTAMP,
    Schema,
    Type,
    decimal,
)


def value_type(data_type: T.DataType) -> Type | None:
    """Return the value type of a Spark type, or None when Weft does not compute with it.

    >>> value_type(T.DecimalType(10, 2)), value_type(T.BinaryType())
    (Type(kind='decimal', scale=2), None)
    """
    match data_type:
        case T.ByteType() | T.ShortType() | T.IntegerType() | T.LongType():
            return LONG
        case T.FloatType() | T.DoubleType():
            return DOUBLE
        case T.BooleanType():
            return BOOLEAN
        case T.StringType() | T.VarcharType() | T.CharType():
            return STRING
        case T.TimestampType() | T.TimestampNTZType():
            return TIMESTAMP
        case T.DateType():
            return DATE
        case T.DayTimeIntervalType():
            return DURATION
        case T.DecimalType(precision=precision, scale=scale) if precision <= MAX_DECIMAL_DIGITS:
            return decimal(scale)
    return None


def spark_type(kind: Type) -> T.DataType:
    """Return the Spark type of a value type."""
    if kind.kind == "decimal":
        return T.DecimalType(EMITTED_DIGITS, kind.scale)
    return {
        "long": T.LongType(),
        "double": T.DoubleType(),
        "boolean": T.BooleanType(),
        "string": T.StringType(),
        "timestamp": T.TimestampType(),
        "date": T.DateType(),
        "duration": T.DayTimeIntervalType(),
    }[kind.kind]


def event_schema(
    frame: T.StructType, *, time: str, has_type_column: bool, types: Mapping[str, str] | None
) -> Schema:
    """Return what the queries may mention of a frame; derived types may overlap."""
    attributes: dict[str, Type] = {}
    unusable: dict[str, str] = {}
    for field in frame.fields:
        found = value_type(field.dataType)
        if found is not None:
            attributes[field.name] = found
        elif isinstance(field.dataType, T.DecimalType):
            unusable[field.name] = (
                f"{field.dataType.simpleString()} has more than {MAX_DECIMAL_DIGITS} digits; "
                f"cast it to decimal({MAX_DECIMAL_DIGITS},{min(field.dataType.scale, 6)}) or double"
            )
        else:
            unusable[field.name] = f"{field.dataType.simpleString()} is not a type Weft computes with"
    known = None if has_type_column or types is None else frozenset(types)
    return Schema(attributes, time, known, types_overlap=bool(types), unusable=unusable)


def require_column(frame: T.StructType, name: str, role: str) -> T.DataType:
    """Return the type of a column that the caller named, or say which columns there are."""
    if name in frame.fieldNames():
        return frame[name].dataType
    near = near_name(name, frame.fieldNames())
    hint = f"; did you mean {near!r}?" if near else "."
    columns = ", ".join(frame.fieldNames())
    raise DataError(f"no column {name!r} for {role}{hint} The columns are: {columns}")
