"""Write the results of trend queries, together with matches where there are both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from weft.io.sinks import (
    JSON_OPTIONS,
    MATCHES,
    TRENDS,
    is_json_lines,
    json_lines,
    json_object,
    json_value,
    labels_and_positions,
    opened,
    write_lines,
)
from weft.plan.template import Template
from weft.runtime.trends.emit import BEYOND, WINDOW_END, WINDOW_START

LAYOUT = (
    "query string, group_labels array<string>, group_positions array<int>, "
    "labels array<string>, positions array<int>"
)


@dataclass(frozen=True, slots=True)
class TrendNames:
    """The columns of the results that hold the values of one query, by the query's own names."""

    group: Mapping[str, str]
    aggregates: Mapping[str, str]


def trend_names(templates: Sequence[Template], columns: Mapping[str, Sequence[str]]) -> dict[str, TrendNames]:
    """Return where the values of each query are; `columns` has those of each."""
    found: dict[str, TrendNames] = {}
    for template in templates:
        pairs = list(zip(template.columns, columns[template.query], strict=True))
        found[template.query] = TrendNames(
            {own.column: name for own, name in pairs if own.function is None},
            {own.column: name for own, name in pairs if own.function is not None},
        )
    return found


def write_results(
    matches: DataFrame | None,
    trends: DataFrame | None,
    returned: Mapping[str, Mapping[str, str]],
    names: Mapping[str, TrendNames],
    path: str,
) -> None:
    """Write matches, results of trend queries, or both, to FILE.jsonl or to a directory of Parquet.

    Parquet of both kinds is written to two directories in the given one, since their columns differ.
    """
    if is_json_lines(path):
        lines = [json_lines(matches, returned)] if matches is not None else []
        lines += [trend_lines(trends, names)] if trends is not None else []
        write_lines(lines[0] if len(lines) == 1 else lines[0].unionAll(lines[1]), path)
        return
    target = Path(path).absolute()
    both = matches is not None and trends is not None
    for name, frame in ((MATCHES, matches), (TRENDS, trends)):
        if frame is not None:
            frame.write.mode("overwrite").parquet(str(target / name if both else target))


def trend_lines(trends: DataFrame, names: Mapping[str, TrendNames]) -> DataFrame:
    """Return each result as the text of one JSON object, in order of windows, with all digits."""
    sources = sorted(
        {source for one in names.values() for source in (*one.group.values(), *one.aggregates.values())}
    )
    layout = [
        (query, *labels_and_positions(one.group, sources), *labels_and_positions(one.aggregates, sources))
        for query, one in names.items()
    ]
    layouts = trends.sparkSession.createDataFrame(layout, LAYOUT)
    shared = F.to_json(F.struct("query", WINDOW_START, WINDOW_END), JSON_OPTIONS)
    line = F.concat(
        opened(shared),
        F.lit(',"group":'),
        json_object("group_labels", "group_positions"),
        F.lit(',"aggregates":'),
        json_object("labels", "positions"),
        F.lit("}"),
    )
    return (
        trends.join(F.broadcast(layouts), "query", "left")
        .withColumn("values", F.array(*(_value(trends.schema, source) for source in sources)))
        .select(WINDOW_START, "query", line.alias("line"))
        .orderBy(WINDOW_START, "query", "line")
        .select("line")
    )


def _value(schema: T.StructType, name: str) -> Column:
    """Return one value as JSON text, also when it does not fit its column."""
    return F.coalesce(F.col(BEYOND)[name], json_value(schema, name))
