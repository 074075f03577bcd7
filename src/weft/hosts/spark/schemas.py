"""Spark schemas to the types Weft computes with, and back."""

import pyarrow as pa
from pyspark.sql import types as T

from weft.hosts.meaning import NOT_A_VALUE
from weft.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    DURATION,
    LONG,
    MAX_DECIMAL_DIGITS,
    STRING,
    TIMESTAMP,
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


def column_kinds(frame: T.StructType) -> dict[str, Type | str]:
    """Return the type of each column, or why Weft cannot compute with it."""
    return {field.name: value_type(field.dataType) or _why_unusable(field.dataType) for field in frame.fields}


def _why_unusable(kind: T.DataType) -> str:
    if not isinstance(kind, T.DecimalType):
        return kind.simpleString() + NOT_A_VALUE
    return (
        f"{kind.simpleString()} has more than {MAX_DECIMAL_DIGITS} digits; "
        f"cast it to decimal({MAX_DECIMAL_DIGITS},{min(kind.scale, 6)}) or double"
    )
