"""The columns of results: those that all queries of a workload share, and the names users see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from weft.errors import WeftError
from weft.expressions import type_of
from weft.pattern.nodes import Query
from weft.plan.template import Template
from weft.runtime.stages.messages import SHARD
from weft.runtime.stages.outcomes import KIND, MISSING, REPORT, TREND
from weft.runtime.stages.task import ColumnType, MergedColumns, ResultColumns
from weft.runtime.trends.emit import result_type

SHOWN = {  # columns as users see them
    KIND: "kind",
    TREND: "trend",
    MISSING: "missing",
    SHARD: "shard",
    REPORT: "report",
}


def result_columns(queries: Sequence[Query], templates: Sequence[Template]) -> ResultColumns:
    """Give every RETURN value and every column of trend queries a column of the results."""
    returned = {
        query.name: {column.name: type_of(column.expression) for column in query.returns}
        for query in queries
        if not query.is_trend
    }
    trends = {
        template.query: {column.column: result_type(column) for column in template.columns}
        for template in templates
    }
    timed = [query.name for query in queries if query.policy.timeouts]
    merged = merge_columns(returned)
    if timed and (taken := [name for name in merged.types if name.casefold() == SHOWN[MISSING]]):
        raise WeftError(
            f"a query returns a column {taken[0]}, which says what is missing of the timeouts of {timed[0]}\n"
            f"  hint: give it another name in RETURN, for example with AS {taken[0]}_value"
        )
    return ResultColumns(merged, merge_columns(trends), has_timeouts=bool(timed))


def merge_columns(types_of: Mapping[str, Mapping[str, ColumnType]]) -> MergedColumns[ColumnType]:
    """Return the columns of all queries with their types, and for each query the columns of its values.

    Values of one name and type have one column; where types differ, or the case of the name, to which
    Spark pays no heed, there is one per query.

    >>> merge_columns({"p": {"n": 1, "x": 2}, "q": {"n": 1, "X": 2}})
    MergedColumns(types={'n': 1, 'p_x': 2, 'q_X': 2}, names={'p': ('n', 'p_x'), 'q': ('n', 'q_X')})
    """
    kinds: dict[str, set[tuple[str, ColumnType]]] = {}
    for own in types_of.values():
        for name, kind in own.items():
            kinds.setdefault(name.casefold(), set()).add((name, kind))
    types: dict[str, ColumnType] = {}
    names: dict[str, tuple[str, ...]] = {}
    for query, own in types_of.items():
        columns = {name: name if len(kinds[name.casefold()]) == 1 else f"{query}_{name}" for name in own}
        types |= {columns[name]: kind for name, kind in own.items()}
        names[query] = tuple(columns.values())
    return MergedColumns(types, names)


def shown_name(name: str) -> str:
    """Return the name that users see; a RETURN column may not have one of these.

    >>> shown_name("weft_kind"), shown_name("amount")
    ('kind', 'amount')
    """
    if name.casefold() in SHOWN.values():
        raise WeftError(
            f"a query returns a column {name}, which among outcomes says something else\n"
            f"  hint: give it another name in RETURN, for example with AS {name}_value"
        )
    return SHOWN.get(name, name)


@dataclass(frozen=True, slots=True)
class TrendNames:
    """The columns of the results that hold the values of one query, by the query's own names."""

    group: Mapping[str, str]
    aggregates: Mapping[str, str]


def trend_names(templates: Sequence[Template], columns: Mapping[str, Sequence[str]]) -> dict[str, TrendNames]:
    """Return where the values of each query are; `columns` has those of each."""
    names: dict[str, TrendNames] = {}
    for template in templates:
        pairs = list(zip(template.columns, columns[template.query], strict=True))
        names[template.query] = TrendNames(
            {own.column: name for own, name in pairs if own.function is None},
            {own.column: name for own, name in pairs if own.function is not None},
        )
    return names
