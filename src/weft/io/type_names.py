"""Name types of Arrow as Spark names its own, for messages."""

import pyarrow as pa

NAMES = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "halffloat": "float16",
    "date32[day]": "date",
    "timestamp[us]": "timestamp_ntz",
}


def type_name(kind: pa.DataType) -> str:
    """Return the name of a type, in Spark's words.

    >>> type_name(pa.list_(pa.int64())), type_name(pa.struct([("a", pa.bool_())])), type_name(pa.binary())
    ('array<bigint>', 'struct<a:boolean>', 'binary')
    """
    if pa.types.is_map(kind):
        return f"map<{type_name(kind.key_type)},{type_name(kind.item_type)}>"
    if pa.types.is_struct(kind):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return f"struct<{','.join(f'{field.name}:{type_name(field.type)}' for field in fields)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return f"array<{type_name(kind.value_type)}>"
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return "timestamp" if kind == pa.timestamp("us", "UTC") else NAMES.get(str(kind), str(kind))
