"""The rides come in bursts, and their queries share what they promise to share."""

from itertools import groupby

import numpy as np
import pytest
from rides import TYPES, alike_queries, diverse_queries, rides, templates_of

from weft.plan.trend_sets import sharable_sets
from weft.runtime.trends.aggregate import aggregate_workload


def test_bursts_have_the_length_asked_for() -> None:
    events = rides(20_000, 1, districts=2, burst=40)
    assert events.n_events == 20_000
    own = events.type_codes[events.columns["district"].values == 1]
    lengths = [len(list(run)) for code, run in groupby(own == TYPES.index("Travel")) if code]
    assert np.mean(lengths) == pytest.approx(40, rel=0.2)
    assert np.array_equal(rides(20_000, 1, districts=2, burst=40).times, events.times)


def test_queries_that_are_alike_share_one_repetition() -> None:
    (one,) = sharable_sets(templates_of(alike_queries(20, "1 minute", "1 minute")))
    assert (len(one.templates), one.types, one.pane) == (20, ("Travel",), 60_000_000)


def test_diverse_queries_share_travel_in_panes_of_five_minutes() -> None:
    (one,) = sharable_sets(templates_of(diverse_queries(30)))
    assert "Travel" in one.types
    assert one.pane == 300_000_000


def test_all_modes_find_the_same_trends_in_rides() -> None:
    templates = templates_of(diverse_queries(8))
    events = rides(200, 20, districts=2, burst=10)
    found = []
    for mode in ("dynamic", "static", "none"):
        rows, _ = aggregate_workload(templates, events, mode, exact=True)  # type: ignore[arg-type]
        found.append([[one.numbers(place) for place in range(one.width)] for one in rows])
    assert found[0] == found[1] == found[2]
    assert all(own[0] for own in found[0])
