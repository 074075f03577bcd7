"""Rates and selectivities measured on the events themselves, as Weft does when it is given none."""

from collections.abc import Sequence

from weft.normalize.pipeline import normalize
from weft.optimizer.shape_of import item_keys, questions_of
from weft.pattern.nodes import Query, TimeWindow
from weft.runtime.columns.events import Events
from weft.statistics.measure import measure
from weft.statistics.model import Statistics


def estimated_statistics(queries: Sequence[Query], events: Events) -> Statistics:
    """Return what the events say of all that the optimizer would like to know; queries have time windows."""
    forms = [form for query in queries for form in normalize(query)]
    items = dict.fromkeys(key for form in forms for key in item_keys(form))
    questions = [
        question
        for form in forms
        if isinstance(form.window, TimeWindow)
        for question in questions_of(form, form.window.length / 1e6)
    ]
    keys = dict.fromkeys(key for form in forms for key in form.keys)
    duration = float(events.times[-1] - events.times[0]) / 1e6
    return measure(events, items, dict.fromkeys(questions), keys, duration=duration)
