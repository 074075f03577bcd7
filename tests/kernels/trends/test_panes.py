"""Panes against the windows that begin and end between them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from weft.kernels.trends.panes import pane_at, pane_end, pane_start, panes_at, panes_of

lengths, slides = st.integers(1, 40), st.integers(1, 12)


@given(lengths, slides, st.integers(-200, 200))
def test_a_pane_is_cut_where_a_window_begins_or_ends(length: int, slide: int, time: int) -> None:
    pane = pane_at(time, length, slide)
    start, end = pane_start(pane, length, slide), pane_end(pane, length, slide)
    assert start <= time < end
    assert all(pane_at(inside, length, slide) == pane for inside in range(start, end))
    for cut in (start, end):
        assert cut % slide == 0 or (cut - length) % slide == 0
    assert not any(inside % slide == 0 or (inside - length) % slide == 0 for inside in range(start + 1, end))


@given(lengths, slides, st.integers(-20, 20), st.integers(-300, 300))
def test_a_window_is_its_panes(length: int, slide: int, window: int, time: int) -> None:
    first, after = panes_of(window, length, slide)
    is_inside = window * slide <= time < window * slide + length
    assert is_inside == (first <= pane_at(time, length, slide) < after)
    assert panes_at(np.array([time]), length, slide).tolist() == [pane_at(time, length, slide)]
