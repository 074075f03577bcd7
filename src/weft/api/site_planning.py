"""Where queries are evaluated when events have sites: what is asked of the events for it."""

from collections.abc import Sequence

from weft.api.planning import estimated_statistics
from weft.explanation.placements import ExplainedPlacement
from weft.hosts.spark.frame import EventFrame
from weft.hosts.spark.sampling import site_counts
from weft.pattern.nodes import Query
from weft.placement.normal_form_query import normal_form_queries
from weft.placement.pipeline import place
from weft.placement.site_program import attributes_by_type
from weft.placement.site_statistics import SiteStatistics, kinds_of, site_statistics
from weft.statistics.model import Statistics


def network_of(
    source: EventFrame, queries: Sequence[Query], site: str, statistics: Statistics | None = None
) -> SiteStatistics:
    """Return the network of the sites in a column, and the queries to place there.

    Events are counted in one scan. Selectivities come from the statistics, or from a sample of the events.
    """
    known = estimated_statistics(source, queries, is_quick=False) if statistics is None else statistics
    placed = normal_form_queries(queries, source.schema, known)
    attributes = set[str]().union(*attributes_by_type(placed, source.schema).values())
    counted = site_counts(source, site, kinds_of(placed), attributes)
    return site_statistics(queries, source.schema, known, counted)


def explain_placement(
    source: EventFrame,
    queries: Sequence[Query],
    site: str,
    statistics: Statistics | None = None,
    *,
    seconds: float | None = None,
) -> ExplainedPlacement:
    """Place queries on the sites in a column of the events; `seconds` limit the search."""
    known = network_of(source, queries, site, statistics)
    return ExplainedPlacement(place(known.network, known.queries, seconds=seconds), known)
