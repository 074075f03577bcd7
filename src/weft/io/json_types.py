"""The types of JSON values, and what holds the values of two: the rules by which Spark infers them."""

import pyarrow as pa
import pyarrow.compute as pc

from weft.io.arrow_texts import wider


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that holds the values of two; text where they have nothing in common.

    >>> common_type(pa.int64(), pa.float64()), common_type(pa.int64(), pa.list_(pa.int64()))
    (DataType(double), DataType(string))
    """
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return pa.struct(list(common_fields(_fields(one), _fields(other)).items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(pa.field("element", common_type(one.value_type, other.value_type)))
    return wider(one, other)


def common_fields(one: dict[str, pa.DataType], other: dict[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Return the fields of two objects, in order of their names."""
    return {
        name: common_type(one.get(name, pa.null()), other.get(name, pa.null()))
        for name in sorted({*one, *other})
    }


def _fields(kind: pa.DataType) -> dict[str, pa.DataType]:
    return {kind.field(place).name: kind.field(place).type for place in range(kind.num_fields)}


def observed_type(values: pa.Array) -> pa.DataType:
    """Return the type of values that Arrow has read: text is text, also where it looks like a time.

    Text that is empty throughout tells nothing, as in Spark.

    >>> observed_type(pa.array(["", None])), observed_type(pa.array([{"b": 1, "a": [True]}]))
    (DataType(null), StructType(struct<a: list<element: bool>, b: int64>))
    """
    kind = values.type
    if pa.types.is_string(kind):
        return pa.string() if (pc.max(pc.binary_length(values)).as_py() or 0) > 0 else pa.null()
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(pa.field("element", observed_type(values.flatten())))
    if pa.types.is_struct(kind):
        children = zip(_fields(kind), values.flatten(), strict=True)
        own = {name: observed_type(child) for name, child in children if name}
        return pa.struct([(name, own[name]) for name in sorted(own)])
    return kind


def settled_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the type of a column once all is seen: text for what was never there, None for empty objects.

    >>> settled_type(pa.null()), settled_type(pa.list_(pa.struct([])))
    (DataType(string), None)
    """
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        element = settled_type(kind.value_type)
        return None if element is None else pa.list_(pa.field("element", element))
    if pa.types.is_struct(kind):
        settled = {name: settled_type(own) for name, own in _fields(kind).items()}
        known = [(name, own) for name, own in settled.items() if own is not None]
        return pa.struct(known) if known else None
    return kind


def has_type(kind: pa.DataType, wanted: str) -> bool:
    """Return whether a type is, or has inside, one of some name: `double`, `decimal`."""
    if str(kind).startswith(wanted):
        return True
    return any(has_type(kind.field(place).type, wanted) for place in range(kind.num_fields))
