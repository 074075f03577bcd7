"""Statistics measured on the events themselves, as Weft does when it is given none."""

from collections.abc import Sequence

from weft.normalize.pipeline import normalize
from weft.optimizer.correct_statistics import correct
from weft.optimizer.shape_of import inquiry_of
from weft.pattern.nodes import Query
from weft.runtime.columns.events import Events
from weft.statistics.measure import measure
from weft.statistics.model import Statistics
from weft.statistics.partial_matches import count_partial_matches


def estimated_statistics(queries: Sequence[Query], events: Events) -> Statistics:
    """Return what the events say of all that the optimizer would like to know; queries have time windows."""
    forms = [form for query in queries for form in normalize(query)]
    duration = float(events.times[-1] - events.times[0]) / 1e6
    measured = measure(events, inquiry_of(forms), duration=duration)
    return correct(measured, count_partial_matches(events, forms), forms, duration=duration)
