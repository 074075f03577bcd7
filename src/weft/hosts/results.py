"""The columns of results: those that all queries of a workload share, and the names users see."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from weft.errors import MAX_NAMED, WeftError
from weft.expressions import type_of
from weft.notices import Notice
from weft.pattern.nodes import Query
from weft.plan.template import Template
from weft.runtime.stages.messages import SHARD
from weft.runtime.stages.outcomes import KIND, MISSING, REPORT, TREND
from weft.runtime.stages.task import ColumnType, MergedColumns, ResultColumns
from weft.runtime.trends.emit import result_type
from weft.schema import Type

SHOWN = {  # columns as users see them
    KIND: "kind",
    TREND: "trend",
    MISSING: "missing",
    SHARD: "shard",
    REPORT: "report",
}


def result_columns(queries: Sequence[Query], templates: Sequence[Template]) -> ResultColumns:
    """Give every RETURN value and every column of trend queries a column of the results."""
    returned, trends = _types_of(queries, templates)
    timed = [query.name for query in queries if query.policy.timeouts]
    merged = merge_columns(returned)
    if timed and (taken := [name for name in merged.types if name.casefold() == SHOWN[MISSING]]):
        raise WeftError(
            f"a query returns a column {taken[0]}, which says what is missing of the timeouts of {timed[0]}\n"
            f"  hint: give it another name in RETURN, for example with AS {taken[0]}_value"
        )
    return ResultColumns(merged, merge_columns(trends), has_timeouts=bool(timed))


def _types_of(
    queries: Sequence[Query], templates: Sequence[Template]
) -> tuple[dict[str, dict[str, Type]], dict[str, dict[str, pa.DataType]]]:
    """Return the types of the RETURN values of queries, and of the columns of trend queries, by name."""
    returned = {
        query.name: {column.name: type_of(column.expression) for column in query.returns}
        for query in queries
        if not query.is_trend
    }
    trends = {
        template.query: {column.column: result_type(column) for column in template.columns}
        for template in templates
    }
    return returned, trends


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


def renamed_columns(queries: Sequence[Query], templates: Sequence[Template]) -> list[Notice]:
    """Return what to say of columns that have several types, or differ in case, and so are several columns.

    >>> from weft.expressions import Literal
    >>> from weft.pattern.nodes import Event, ReturnColumn
    >>> from weft.schema import LONG, STRING
    >>> p, q = ReturnColumn("n", Literal(1, LONG)), ReturnColumn("n", Literal("1", STRING))
    >>> queries = [Query("p", Event("A", "a"), returns=(p,)), Query("q", Event("A", "a"), returns=(q,))]
    >>> print(renamed_columns(queries, [])[0])
    the column n is long in query p and string in q: the columns of the results are p_n and q_n
      hint: name them differently with AS, or let the values be of one type
    """
    returned, trends = _types_of(queries, templates)
    return [*_renamed(returned), *_renamed(trends)]


def _renamed(types_of: Mapping[str, Mapping[str, ColumnType]]) -> Iterator[Notice]:
    """Yield a notice for each name that stands for several columns."""
    merged = merge_columns(types_of)
    uses: dict[str, list[tuple[str, str, str]]] = {}  # by name, whatever the case: query, own name, column
    for query, own in types_of.items():
        for name, column in zip(own, merged.names[query], strict=True):
            if column != name:
                uses.setdefault(name.casefold(), []).append((query, name, column))
    for given in uses.values():
        names = list(dict.fromkeys(name for _, name, _ in given))
        if len(names) > 1:
            what = f"the columns {_listed(names)} differ in case, or in type,"
            parts = [f"of {query}" for query, _, _ in given]
        else:
            what = f"the column {names[0]} is"
            parts = [f"{types_of[query][name]} in {query}" for query, name, _ in given]
            parts[0] = parts[0].replace(" in ", " in query ", 1)
        columns = _listed([column for _, _, column in given])
        yield Notice(
            kind="renamed columns",
            reason=f"{what} {_listed(parts)}: the columns of the results are {columns}",
            remedy="name them differently with AS, or let the values be of one type",
        )


def _listed(words: Sequence[str]) -> str:
    """Return words joined for a sentence, the first few of many."""
    if len(words) > MAX_NAMED:
        return f"{', '.join(words[:MAX_NAMED])} and {len(words) - MAX_NAMED} more"
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


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
            {own.column: name for own, name in pairs if own.is_group},
            {own.column: name for own, name in pairs if not own.is_group},
        )
    return names
