"""Types that are derived from other columns, told of rows by the engine's own expressions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from weft.errors import WeftError
from weft.expressions import Attribute, Expression
from weft.hosts.local.columns import wire_column
from weft.language.conditions import parse_condition
from weft.runtime.columns.evaluate import holds_everywhere
from weft.runtime.columns.events import Events
from weft.runtime.columns.ingest import attribute_columns
from weft.runtime.matches.table import events_table
from weft.schema import Schema, Type
from weft.tree import find


@dataclass(frozen=True)
class DerivedType:
    """The condition under which a row is an event of a type; NULL is no."""

    condition: Expression

    @cached_property
    def attributes(self) -> Mapping[str, Type]:
        """The columns that the condition mentions."""
        return {own.name: own.type for own in find(self.condition, Attribute) if own.type is not None}

    def holds(self, rows: pa.RecordBatch) -> pa.BooleanArray:
        """Return which rows are events of the type."""
        values = {name: wire_column(rows.column(name), kind) for name, kind in self.attributes.items()}
        columns, pool = attribute_columns(pa.table(values), self.attributes)
        n_rows = rows.num_rows
        events = Events(
            times=np.zeros(n_rows, np.int64),
            type_codes=np.zeros(n_rows, np.int16),
            type_names=("",),
            columns=columns,
            ids=pa.nulls(n_rows, pa.int64()),
            strings=pool,
        )
        holds = holds_everywhere(self.condition, events, events_table(np.arange(n_rows)))
        return pa.array(np.asarray(holds))


def derive_type(name: str, condition: object, schema: Schema) -> DerivedType:
    """Return a type that is derived by a condition in the language of queries.

    >>> from weft.schema import LONG, TIMESTAMP
    >>> schema = Schema({"ts": TIMESTAMP, "volume": LONG}, time="ts")
    >>> large = derive_type("BigTrade", "volume > 10000", schema)
    >>> large.holds(pa.record_batch({"volume": [5, 20_000, None]})).to_pylist()
    [False, True, False]
    """
    if not isinstance(condition, str):
        kind = f"{type(condition).__module__}.{type(condition).__qualname__}"
        raise WeftError(
            f"the condition of the type {name} is a {kind}\n"
            "  hint: without Spark, write it as text in the language of queries"
        )
    return DerivedType(parse_condition(condition, schema, origin=f"type {name}"))
