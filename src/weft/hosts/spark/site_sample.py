"""Count the events of each kind at each site on Spark, in one scan."""

from collections.abc import Collection, Mapping
from functools import reduce

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows
from pyspark.sql import types as T  # noqa: N812

from weft.errors import DataError
from weft.hosts.spark.batch import Input
from weft.hosts.spark.pushdown import quoted, to_column
from weft.hosts.spark.schemas import require_column
from weft.placement.site_statistics import SiteCounts
from weft.statistics.model import ItemKey

SITE, BYTES, KIND = "weft_site", "weft_bytes", "weft_kind"
NUMBER_BYTES = 8  # of a number, and of a time


def site_counts(
    source: Input, site: str, kinds: Mapping[str, ItemKey], attributes: Collection[str]
) -> SiteCounts:
    """Return how many events of each kind there are at each site; rows without a site do not count.

    Without events that a query looks at there are no sites, but it is an error if none of them has one.
    A condition that Spark might read in another way is left out, and the kind counted among the bounds.
    `attributes` are those that queries mention: what an event takes is its time, its id and these.
    """
    require_column(source.events.schema, site, "the site")
    types = sorted({key.type for key in kinds.values()})
    conditions = {kind: kind_condition(source, key) for kind, key in kinds.items()}
    rows, has_site = source.events.where(source.is_of_type(types)), F.col(quoted(site)).isNotNull()
    counted = (
        rows.where(source.is_good & has_site)
        .groupBy(site_column(site).alias(SITE))
        .agg(
            F.avg(_size(source, attributes)).alias(BYTES),
            *(
                F.count_if(condition).alias(f"{KIND}{number}")
                for number, (condition, _) in enumerate(conditions.values())
            ),
        )
        .collect()
    )
    if not counted and not rows.where(~has_site).isEmpty():
        raise DataError(f"no event that a query looks at has a site: column {site!r} is NULL in all of them")
    counted.sort(key=lambda row: _rank(row[SITE]))
    counts = {
        kind: np.array([row[f"{KIND}{number}"] for row in counted], np.float64)
        for number, kind in enumerate(conditions)
    }
    return SiteCounts(
        sites=tuple(row[SITE] for row in counted),
        counts=counts,
        bounds=frozenset(kind for kind, (_, is_exact) in conditions.items() if not is_exact),
        event_bytes=float(np.mean([row[BYTES] for row in counted])) if counted else 0.0,
    )


def site_column(site: str) -> Column:
    """Return the name of a row's site."""
    return F.col(quoted(site)).cast("string")


def _rank(site: str) -> tuple[bool, int, str]:
    """Order sites by their names, numbers as numbers."""
    return (not site.isdigit(), len(site) if site.isdigit() else 0, site)


def kind_condition(source: Input, key: ItemKey) -> tuple[Column, bool]:
    """Return when a row is an event of a kind, and whether that is exact."""
    columns = [to_column(predicate) for predicate in key.predicates]
    known = [column for column in columns if column is not None]
    return reduce(lambda a, b: a & b, known, source.is_of_type([key.type])), len(known) == len(columns)


def _size(source: Input, attributes: Collection[str]) -> Column:
    """Return the bytes of an event: numbers take 8, texts what they have."""
    names = [name for name in (source.id, *sorted(attributes)) if name is not None and name != source.time]
    fields = {field.name: field.dataType for field in source.events.schema.fields}
    texts = [name for name in names if isinstance(fields.get(name), T.StringType)]
    lengths = [F.coalesce(F.octet_length(F.col(quoted(name))), F.lit(0)) for name in texts]
    plain = NUMBER_BYTES * (1 + len(names) - len(texts))
    return reduce(lambda a, b: a + b, lengths, F.lit(plain)).cast("double")
