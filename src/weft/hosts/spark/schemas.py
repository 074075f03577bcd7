"""Spark schemas to the types Weft computes with, and back."""

from collections.abc import Mapping

import pyarrow as pa
from pyspark.sql import types as T

from weft.errors import DataError, near_name
from weft.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
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


def spark_schema(schema: pa.Schema) -> T.StructType:
    """Return an Arrow schema as Spark has it."""
    return T.StructType([T.StructField(field.name, spark_type_of(field.type)) for field in schema])


def spark_type_of(kind: pa.DataType) -> T.DataType:
    """Return the Spark type of an Arrow type.

    >>> spark_type_of(pa.decimal128(38, 2)), spark_type_of(pa.list_(pa.struct([("x", pa.int64())])))
    (DecimalType(38,2), ArrayType(StructType([StructField('x', LongType(), True)]), True))
    """
    if pa.types.is_decimal(kind):
        return T.DecimalType(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        return T.MapType(spark_type_of(kind.key_type), spark_type_of(kind.item_type))
    if pa.types.is_list(kind):
        return T.ArrayType(spark_type_of(kind.value_type))
    if pa.types.is_struct(kind):
        return spark_schema(kind)
    if pa.types.is_timestamp(kind):
        return T.TimestampType()
    return {
        pa.int64(): T.LongType(),
        pa.float64(): T.DoubleType(),
        pa.bool_(): T.BooleanType(),
        pa.string(): T.StringType(),
        pa.date32(): T.DateType(),
        pa.duration("us"): T.DayTimeIntervalType(),
    }[kind]


def event_schema(
    frame: T.StructType, *, time: str, has_type_column: bool, types: Mapping[str, str] | None
) -> Schema:
    """Return what the queries may mention of a frame; derived types may overlap."""
    attributes: dict[str, Type] = {}
    unusable: dict[str, str] = {}
    for field in frame.fields:
        kind = value_type(field.dataType)
        if kind is not None:
            attributes[field.name] = kind
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
